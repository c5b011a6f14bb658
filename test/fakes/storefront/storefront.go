// Package storefront is the pages of a fake shop that people see: products, a cart with a coupon, the page after the
// purchase as the platform makes it, and the shop's admin with buttons that pay, refund and deliver. For a person who
// tries the product, and for tests in a browser.
//
// What may enter: plain HTML over the shop's own side. Ids of elements are what tests click.
package storefront

import (
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/tributary-io/tributary/test/fakes/shop"
)

//go:embed pages.html
var files embed.FS

var pages = template.Must(template.ParseFS(files, "pages.html"))

// landingCookie keeps the first page of a visit with its query, and where it came from.
const landingCookie = "fake_landing"

// row is an order in the admin's table.
type row struct {
	shop.Order
	Shown shop.Truth
}

// page is what a template shows.
type page struct {
	Shop     string
	Base     string
	Script   template.HTML
	Title    string
	Products []shop.Product
	Product  shop.Product
	Index    int
	Orders   []row
	Order    shop.Order
	Coupons  []shop.Coupon
	Keys     []shop.Key
	Platform template.JS
	Error    string
	Truth    shop.Truth
}

// Add adds the pages to a shop.
func Add(s *shop.Shop) {
	mux := s.Mux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		landing(w, r)
		show(s, w, "home", page{Title: "Products", Products: s.Products()})
	})
	mux.HandleFunc("GET /products/{index}", func(w http.ResponseWriter, r *http.Request) {
		landing(w, r)
		product(s, w, r, http.StatusOK, "")
	})
	mux.HandleFunc("POST /products/{index}", func(w http.ResponseWriter, r *http.Request) { buy(s, w, r) })
	mux.HandleFunc("GET /shop-admin", func(w http.ResponseWriter, _ *http.Request) {
		orders := s.Find(func(shop.Order) bool { return true })
		slices.Reverse(orders)
		rows := make([]row, 0, len(orders))
		for _, o := range orders {
			rows = append(rows, row{o, s.Truth(o)})
		}
		show(s, w, "admin", page{Title: "Admin", Orders: rows, Coupons: s.Coupons(), Keys: s.Keys()})
	})
	mux.HandleFunc("POST /shop-admin/orders/{id}", func(w http.ResponseWriter, r *http.Request) { act(s, w, r) })
	mux.HandleFunc("POST /shop-admin/coupons", func(w http.ResponseWriter, r *http.Request) { addCoupon(s, w, r) })
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) { thanks(s, w, r) })
}

// landing remembers the first page of the visit.
func landing(w http.ResponseWriter, r *http.Request) {
	if _, err := r.Cookie(landingCookie); err == nil {
		return
	}
	//nolint:gosec // a shop on loopback has no TLS
	http.SetCookie(w, &http.Cookie{
		Name: landingCookie, Value: url.QueryEscape("http://"+r.Host+r.URL.RequestURI()) + "|" + url.QueryEscape(r.Referer()),
		Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

func visit(r *http.Request) (landing, referrer string) {
	cookie, err := r.Cookie(landingCookie)
	if err != nil {
		return "", ""
	}
	first, second, _ := strings.Cut(cookie.Value, "|")
	landing, _ = url.QueryUnescape(first)
	referrer, _ = url.QueryUnescape(second)
	return landing, referrer
}

func show(s *shop.Shop, w http.ResponseWriter, name string, p page) {
	p.Shop, p.Base = s.Options().Shop, s.URL()
	sources := []string{}
	script := s.Options().Script
	if s.Options().ScriptOf != nil {
		script = s.Options().ScriptOf()
	}
	if script != "" {
		sources = append(sources, script)
	}
	if platform, ok := s.Platform().(interface{ Scripts(place string) []string }); ok {
		place := "store"
		if name == "thanks" {
			place = "checkout"
		}
		sources = append(sources, platform.Scripts(place)...)
	}
	for _, source := range sources {
		p.Script += scriptTag(source)
	}
	p.Script += template.HTML(s.Head()) //nolint:gosec // what the merchant pasted, as shops' platforms print it
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if p.Error != "" {
		w.WriteHeader(http.StatusUnprocessableEntity)
	}
	if err := pages.ExecuteTemplate(w, name, p); err != nil {
		fmt.Fprint(w, template.HTMLEscapeString(err.Error()))
	}
}

// scriptTag embeds a script. What follows the first space of the source are attributes: the product's tag has some.
func scriptTag(source string) template.HTML {
	address, attributes, _ := strings.Cut(source, " ")
	//nolint:gosec // the person who starts the fake gives its tag, attributes included
	return template.HTML(`<script async src="` + template.HTMLEscapeString(address) + `" ` + attributes + `></script>`)
}

func product(s *shop.Shop, w http.ResponseWriter, r *http.Request, _ int, problem string) {
	index, err := strconv.Atoi(r.PathValue("index"))
	products := s.Products()
	if err != nil || index < 0 || index >= len(products) {
		http.NotFound(w, r)
		return
	}
	show(s, w, "product", page{Title: products[index].Name, Product: products[index], Index: index, Error: problem})
}

// buy places an order, pays it unless the buyer chose to pay later, and leads to the page after the purchase.
func buy(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	index, _ := strconv.Atoi(r.PathValue("index"))
	quantity, _ := strconv.Atoi(r.FormValue("quantity"))
	cart := shop.Cart{
		Lines: []shop.CartLine{{Product: index, Quantity: max(1, quantity)}}, Method: r.FormValue("method"), Shipping: 1250,
		Agent: r.UserAgent(), Customer: &shop.Customer{First: r.FormValue("name"), Email: r.FormValue("email")},
		CheckoutToken: r.FormValue("checkout_token"),
	}
	cart.Landing, cart.Referrer = visit(r)
	cart.IP, _, _ = strings.Cut(r.RemoteAddr, ":")
	for code := range strings.FieldsSeq(r.FormValue("coupon")) {
		cart.Codes = append(cart.Codes, code)
	}
	for name, values := range r.Form {
		if key, ok := strings.CutPrefix(name, "attribute_"); ok && values[0] != "" {
			cart.Attributes = append(cart.Attributes, shop.Attribute{Name: key, Value: values[0]})
		}
	}
	o, err := s.Place(cart)
	if err != nil {
		product(s, w, r, http.StatusUnprocessableEntity, err.Error())
		return
	}
	if r.FormValue("later") == "" {
		_ = s.Pay(o.ID) // a new order is pending
	}
	path, _ := s.Platform().ThankYou(s, o)
	http.Redirect(w, r, path, http.StatusSeeOther)
}

// thanks shows the page after the purchase at the address that the platform gives it: who does not know the order's
// secret does not see it.
func thanks(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	found := s.Find(func(o shop.Order) bool {
		path, _ := s.Platform().ThankYou(s, o)
		return path == r.URL.RequestURI()
	})
	if len(found) == 0 {
		http.NotFound(w, r)
		return
	}
	o := found[len(found)-1]
	_, script := s.Platform().ThankYou(s, o)
	//nolint:gosec // JSON of our own making
	show(s, w, "thanks", page{Title: "Thank you", Order: o, Truth: s.Truth(o), Platform: template.JS(script)})
}

// act does what a button of the admin says.
func act(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64)
	var err error
	switch r.FormValue("do") {
	case "pay":
		err = s.Pay(id)
	case "refund":
		var sum shop.Money
		if sum, err = shop.ParseMoney(r.FormValue("sum")); err == nil {
			err = s.RefundPart(id, sum)
		}
	case "refund all":
		err = s.RefundAll(id)
	case "cancel":
		err = s.Cancel(id)
	case "ship":
		err = s.Ship(id)
	case "deliver":
		err = s.Deliver(id)
	default:
		err = fmt.Errorf("do: want a button's word")
	}
	done(w, r, err)
}

func addCoupon(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	percent, err := shop.ParseMoney(r.FormValue("percent"))
	if err == nil {
		_, err = s.AddCoupon(shop.Coupon{Code: r.FormValue("code"), Kind: shop.CouponPercent, Value: int64(percent)})
	}
	done(w, r, err)
}

func done(w http.ResponseWriter, r *http.Request, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return
	}
	http.Redirect(w, r, "/shop-admin", http.StatusSeeOther)
}
