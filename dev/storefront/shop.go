package storefront

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/tributary-io/tributary/internal/lang"
	sdkjs "github.com/tributary-io/tributary/sdk-js"
)

//go:embed templates/*.html
var templates embed.FS

//go:embed assets
var assets embed.FS

// texts has what the pages say, a catalogue a language (internal/lang).
//
//go:embed texts/*.txt
var texts embed.FS

// Config of the shop. All but DashboardURL, Coupons and Log are required.
type Config struct {
	EdgeURL   string // where browsers find the SDK
	CompanyID string
	AdminURL  string // with /admin/v1
	APIKey    string // with the scope write_orders
	// DashboardURL, without a slash at its end, is linked on the thank-you page.
	// Empty: no link.
	DashboardURL string
	Coupons      map[string]int // percent off, by code in upper case
	Log          *slog.Logger
}

// Shop is an http.Handler.
type Shop struct {
	config Config
	client *http.Client
	mux    *http.ServeMux

	languages *lang.Languages
	pages     map[string]*template.Template // by language

	mu     sync.Mutex
	orders map[string]order // the last ones, for the thank-you page
	recent []string         // their ids, oldest first
}

const (
	maxRecent   = 1000 // orders kept for the thank-you page
	maxForm     = 16 << 10
	orderPrefix = "loja-"
)

// New returns the shop.
func New(config Config) (*Shop, error) {
	languages, pages, err := loadPages()
	if err != nil {
		return nil, fmt.Errorf("storefront: %w", err)
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	s := &Shop{
		config: config, client: &http.Client{Timeout: 10 * time.Second},
		languages: languages, pages: pages, mux: http.NewServeMux(), orders: map[string]order{},
	}
	s.mux.Handle("GET /assets/", http.FileServerFS(assets))
	s.mux.HandleFunc("GET /{$}", s.home)
	s.mux.HandleFunc("GET /p/{id}", s.product)
	s.mux.HandleFunc("POST /cart", s.changeCart)
	s.mux.HandleFunc("GET /cart", s.cart)
	s.mux.HandleFunc("GET /checkout", s.checkout)
	s.mux.HandleFunc("POST /checkout", s.placeOrder)
	s.mux.HandleFunc("GET /thanks/{order}", s.thanks)
	s.mux.HandleFunc("GET /", s.notFound)
	return s, nil
}

// loadPages reads the texts, and parses the pages for each language.
func loadPages() (*lang.Languages, map[string]*template.Template, error) {
	languages, err := lang.Load(texts)
	if err != nil {
		return nil, nil, err
	}
	pages := map[string]*template.Template{}
	for _, l := range languages.All() {
		functions := template.FuncMap{
			"t": l.T, "lang": func() string { return l.Tag },
			"money": func(cents int64) string { return l.Money(cents, currency) },
		}
		if pages[l.Tag], err = template.New("").Funcs(functions).ParseFS(templates, "templates/*.html"); err != nil {
			return nil, nil, err
		}
	}
	return languages, pages, nil
}

// langOf returns the language that a request's browser asks for.
func (s *Shop) langOf(r *http.Request) *lang.Printer {
	return s.languages.Match(r.Header.Get("Accept-Language"))
}

func (s *Shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	s.mux.ServeHTTP(w, r)
}

// Serve serves on a listener until ctx ends. It returns nil if it was stopped by
// that.
func (s *Shop) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{Handler: s, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: time.Minute}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("storefront: serve: %w", err)
	case <-ctx.Done():
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := server.Shutdown(limited); err != nil {
		_ = server.Close() // what is left is cut off
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("storefront: serve: %w", err)
	}
	return nil
}

// page is the data of every template.
type page struct {
	Title     string        // key of the text that is shown before the shop's name; empty: only the name
	Kind      string        // what shop.js tracks: home | product | cart | checkout | thanks | other
	Snippet   template.HTML // loads the SDK
	CompanyID string
	CartCount int64
	Track     template.JS // JSON for shop.js: items and identity
	Products  []Product
	Product   Product
	Lines     []cartLine
	Shipping  int64 // cents, as all amounts here
	Total     int64
	Discount  int64
	OrderID   string
	Order     order
	Problem   string // key of a text
	Dashboard string // of the sale
}

// tracked is what shop.js passes to the SDK.
type tracked struct {
	Items    []trackedItem     `json:"items"`
	Identity map[string]string `json:"identity,omitempty"`
	OrderID  string            `json:"orderId,omitempty"`
}

type trackedItem struct {
	ItemID   string `json:"item_id"`
	Quantity int64  `json:"item_quantity"`
}

func (s *Shop) render(w http.ResponseWriter, r *http.Request, status int, name string, c cart, p page, t tracked) {
	p.Snippet = template.HTML(sdkjs.Snippet(s.config.EdgeURL, s.config.CompanyID)) //nolint:gosec // it escapes both
	p.CompanyID, p.CartCount = s.config.CompanyID, c.count()
	text, err := json.Marshal(t)
	if err != nil {
		s.fail(w, err)
		return
	}
	p.Track = template.JS(text) //nolint:gosec // encoding/json escapes <, > and &: it cannot end its script element
	var out bytes.Buffer
	if err := s.pages[s.langOf(r).Tag].ExecuteTemplate(&out, name, p); err != nil {
		s.fail(w, err)
		return
	}
	w.Header().Set("Vary", "Accept-Language")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = out.WriteTo(w) // an error means that the browser is gone
}

func (s *Shop) fail(w http.ResponseWriter, err error) {
	s.config.Log.Error("storefront: page", "error", err)
	http.Error(w, "Something went wrong.", http.StatusInternalServerError)
}

func itemsOf(c cart) tracked {
	t := tracked{Items: []trackedItem{}, Identity: map[string]string{"cart_token": c.token}}
	for _, l := range c.lines {
		t.Items = append(t.Items, trackedItem{l.Product.ID, l.Quantity})
	}
	return t
}

func (s *Shop) home(w http.ResponseWriter, r *http.Request) {
	s.render(w, r, http.StatusOK, "home.html", readCart(r), page{Kind: "home", Products: Products()}, tracked{})
}

func (s *Shop) product(w http.ResponseWriter, r *http.Request) {
	p, known := productByID(r.PathValue("id"))
	if !known {
		s.notFound(w, r)
		return
	}
	s.render(w, r, http.StatusOK, "product.html", readCart(r), page{Kind: "product", Product: p},
		tracked{Items: []trackedItem{{p.ID, 1}}})
}

func (s *Shop) notFound(w http.ResponseWriter, r *http.Request) {
	s.render(w, r, http.StatusNotFound, "home.html", readCart(r),
		page{Title: "title.not_here", Kind: "other", Products: Products(), Problem: "problem.not_here"}, tracked{})
}

func (s *Shop) changeCart(w http.ResponseWriter, r *http.Request) {
	c := readCart(r)
	if p, known := productByID(r.PostFormValue("product")); known {
		if r.PostFormValue("action") == "remove" {
			c.remove(p.ID)
		} else {
			c.add(p, 1)
		}
	}
	c.write(w)
	http.Redirect(w, r, "/cart", http.StatusSeeOther)
}

func (s *Shop) cart(w http.ResponseWriter, r *http.Request) {
	c := readCart(r)
	s.render(w, r, http.StatusOK, "cart.html", c, cartPage("title.cart", "cart", c), itemsOf(c))
}

func cartPage(title, kind string, c cart) page {
	return page{Title: title, Kind: kind, Lines: c.lines, Shipping: shippingCents, Total: c.cents() + shippingCents}
}

func (s *Shop) checkout(w http.ResponseWriter, r *http.Request) {
	c := readCart(r)
	if len(c.lines) == 0 {
		http.Redirect(w, r, "/cart", http.StatusSeeOther)
		return
	}
	p := cartPage("title.checkout", "checkout", c)
	p.OrderID = orderPrefix + strings.ToLower(rand.Text()[:10])
	s.render(w, r, http.StatusOK, "checkout.html", c, p, itemsOf(c))
}

func (s *Shop) placeOrder(w http.ResponseWriter, r *http.Request) {
	c := readCart(r)
	o, problem := s.newOrder(r, c, time.Now())
	status := http.StatusUnprocessableEntity
	if problem == "" {
		if err := s.send(r.Context(), o); err != nil {
			s.config.Log.Warn("storefront: the order was not taken", "order", o.OrderID, "error", err)
			problem, status = "problem.not_placed", http.StatusBadGateway
		}
	}
	if problem != "" {
		p := cartPage("title.checkout", "other", c)
		p.OrderID, p.Order, p.Problem = o.OrderID, o, problem
		if p.OrderID == "" {
			p.OrderID = orderPrefix + strings.ToLower(rand.Text()[:10])
		}
		s.render(w, r, status, "checkout.html", c, p, itemsOf(c))
		return
	}
	s.keep(o)
	cart{token: rand.Text()}.write(w) // the next purchase is another cart
	http.Redirect(w, r, "/thanks/"+o.OrderID, http.StatusSeeOther)
}

// keep keeps an order for its thank-you page.
func (s *Shop) keep(o order) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.orders[o.OrderID]; !known {
		s.recent = append(s.recent, o.OrderID)
	}
	s.orders[o.OrderID] = o
	if len(s.recent) > maxRecent {
		delete(s.orders, s.recent[0])
		s.recent = s.recent[1:]
	}
}

func (s *Shop) thanks(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	o, known := s.orders[r.PathValue("order")]
	s.mu.Unlock()
	if !known {
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	t := tracked{OrderID: o.OrderID, Identity: map[string]string{
		"email": o.Customer.Email, "phone": o.Customer.Phone, "customer_id": o.Customer.CustomerID, "cart_token": o.CartToken,
	}}
	for _, item := range o.Items {
		t.Items = append(t.Items, trackedItem{item.ItemID, item.Quantity})
	}
	p := page{Title: "title.thanks", Kind: "thanks", Order: o, Total: int64(o.TotalPrice), Discount: int64(o.TotalDiscounts),
		Dashboard: s.saleURL(o)}
	s.render(w, r, http.StatusOK, "thanks.html", readCart(r), p, t)
}

// saleURL returns the dashboard's page of the order; "" without a dashboard.
func (s *Shop) saleURL(o order) string {
	if s.config.DashboardURL == "" {
		return ""
	}
	return s.config.DashboardURL + "/order?" + url.Values{"company": {s.config.CompanyID}, "id": {o.OrderID}}.Encode()
}

// customerID returns the shop's id of a customer, by the e-mail address.
func customerID(email string) string {
	sum := sha256.Sum256([]byte(strings.ToLower(email)))
	return "cust-" + hex.EncodeToString(sum[:6])
}
