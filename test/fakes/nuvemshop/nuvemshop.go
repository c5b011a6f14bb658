// Package nuvemshop is a fake of Nuvemshop (Tiendanube): its API in the versions 2025-03 and v1, the sign-in of an app,
// and its notices. Made from the documentation alone: github.com/TiendaNube/api-docs (2023) and
// tiendanube.github.io/api-documentation, version 2025-03.
//
// What the documentation leaves open, this fake does in the way that is harder for a client:
//   - a listing begins with the newest order, but with since_id it begins with the oldest;
//   - updated_at_min and its kin leave out the second that they name ("after date");
//   - a listing without results, and a page after the last, is 404 "Last page is …" (seen in public clients);
//   - a User-Agent that does not name a contact in brackets is refused like none;
//   - numbers of an order from the storefront are text in "quantity" and "variant_id", of an order by API they are
//     numbers: the examples show both;
//   - in 2025-03 no example has "landing_url" and "shipping_cost_customer": shop.Options.Undocumented adds them; v1
//     has them always;
//   - "payment_status" is "partially_refunded" after a partial refund in 2025-03 (its table says so), and stays "paid"
//     in v1, whose table has no such word.
package nuvemshop

import (
	"crypto/subtle"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tributary-io/tributary/test/fakes/shop"
)

// scopes are the rights that an app asks for when the options name none.
const scopes = "read_orders,read_customers,read_products,write_coupons,write_scripts"

// bearer is the only documented spelling of the scheme, in the header "Authentication".
const bearer = "bearer "

// Platform is the fake of one store. Make it with New.
type Platform struct {
	options             shop.Options
	appID, storeID      int64
	clientSecret, scope string

	mu      sync.Mutex
	token   string // "" after an uninstall
	tokens  int
	codes   map[string]time.Time // until when a code lives
	scripts []script
}

type script struct {
	id                int64
	src, event, where string
	created, updated  time.Time
}

// New makes the fake of a store.
func New(options shop.Options) shop.Platform {
	p := &Platform{
		options: options, appID: options.Number("app", 1000), storeID: options.Number("store", 800_000),
		clientSecret: options.Secret("client secret", 48), scope: options.Scope, codes: map[string]time.Time{},
	}
	if p.scope == "" {
		p.scope = scopes
	}
	p.token = p.newToken()
	return p
}

// newToken ends the token before it: "they become invalid only after you get a new one".
func (p *Platform) newToken() string {
	p.tokens++
	return p.options.Secret(fmt.Sprint("token", p.tokens), 40)
}

// Name is "nuvemshop".
func (p *Platform) Name() string { return "nuvemshop" }

// Limit is 40 requests that leak at 2 a second (README, "Rate limiting").
func (p *Platform) Limit() shop.Limit { return shop.Limit{Capacity: 40, PerSecond: 2} }

// API says whether the path begins with a version.
func (p *Platform) API(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/2025-03/") || strings.HasPrefix(r.URL.Path, "/v1/")
}

// Cost is one for each request.
func (p *Platform) Cost(*http.Request) float64 { return 1 }

// LimitHeaders tells the bucket's size, what is left, and the milliseconds until it is empty.
func (p *Platform) LimitHeaders(header http.Header, level shop.Level) {
	header.Set("X-Rate-Limit-Limit", strconv.Itoa(int(level.Capacity)))
	header.Set("X-Rate-Limit-Remaining", strconv.Itoa(max(0, int(level.Capacity-level.Used))))
	header.Set("X-Rate-Limit-Reset", strconv.FormatInt(level.Empty.Milliseconds(), 10))
}

// TooMany answers 429; how long to wait is in the headers of the limit alone.
func (p *Platform) TooMany(w http.ResponseWriter, _ *http.Request, _ time.Duration) {
	refuse(w, http.StatusTooManyRequests, "Rate limit exceeded")
}

// Failed answers 5xx, as the edge in front of the API does: with HTML for 502 to 504.
func (p *Platform) Failed(w http.ResponseWriter, _ *http.Request, status int) {
	if status == http.StatusInternalServerError {
		refuse(w, status, "")
		return
	}
	shop.Answer(w, status, "text/html", fmt.Appendf(nil, "<html><head><title>%d %s</title></head></html>", status, http.StatusText(status)))
}

// refuse writes an error in the API's form.
func refuse(w http.ResponseWriter, status int, description string) {
	answer(w, status, shop.O("code", status, "message", http.StatusText(status), "description", description))
}

func answer(w http.ResponseWriter, status int, v any) {
	shop.Answer(w, status, "application/json; charset=UTF-8", shop.PHPJSON(v))
}

// allowed checks what each request needs, in the order in which the documentation tells it.
func (p *Platform) allowed(s *shop.Shop, w http.ResponseWriter, r *http.Request, scope string) bool {
	agent := r.UserAgent()
	switch {
	case !strings.Contains(agent, "(") || !strings.Contains(agent, ")"):
		refuse(w, http.StatusBadRequest, "Missing User-Agent")
	case s.Suspended():
		refuse(w, http.StatusPaymentRequired, "Payment Required")
	case !p.known(r):
		refuse(w, http.StatusUnauthorized, "Invalid access token")
	case r.PathValue("store") != strconv.FormatInt(p.storeID, 10):
		refuse(w, http.StatusUnauthorized, "Invalid access token")
	case !p.may(scope):
		refuse(w, http.StatusForbidden, "Missing a required scope: "+scope)
	case (r.Method == http.MethodPost || r.Method == http.MethodPut) && r.ContentLength != 0 &&
		!strings.HasPrefix(r.Header.Get("Content-Type"), "application/json"):
		refuse(w, http.StatusUnsupportedMediaType, "Content-Type must be application/json")
	default:
		return true
	}
	return false
}

func (p *Platform) known(r *http.Request) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	given, ok := strings.CutPrefix(r.Header.Get("Authentication"), bearer)
	return ok && p.token != "" && subtle.ConstantTimeCompare([]byte(strings.TrimSpace(given)), []byte(p.token)) == 1
}

// may says whether the app has a right; a right to write is one to read.
func (p *Platform) may(scope string) bool {
	if scope == "" {
		return true
	}
	for _, have := range strings.Split(p.scope, ",") {
		if have == scope || have == strings.Replace(scope, "read_", "write_", 1) {
			return true
		}
	}
	return false
}

// Expire does nothing: tokens do not end by time.
func (p *Platform) Expire(*shop.Shop) bool { return false }

// Uninstall ends the token, tells app/uninstalled, and asks for the store's data to be erased.
func (p *Platform) Uninstall(s *shop.Shop) {
	p.mu.Lock()
	p.token = ""
	p.mu.Unlock()
	s.Notify("app/uninstalled", shop.O("id", p.appID))
	s.Notify("store/redact", shop.Object{})
}

// RedactCustomer sends customers/redact about the buyer of an order to the address that shop.SetAddress gave.
func (p *Platform) RedactCustomer(s *shop.Shop, o shop.Order) {
	s.Notify("customers/redact", shop.O("customer", person(o), "orders_to_redact", []int64{o.ID}))
}

// AskCustomerData sends customers/data_request about the buyer of an order.
func (p *Platform) AskCustomerData(s *shop.Shop, o shop.Order) {
	s.Notify("customers/data_request", shop.O("customer", person(o), "orders_requested", []int64{o.ID},
		"checkouts_requested", []int64{}, "drafts_orders_requested", []int64{}, "data_request", shop.O("id", 456)))
}

func person(o shop.Order) shop.Object {
	return shop.O("id", o.Customer.ID, "email", o.Customer.Email, "phone", o.Customer.Phone, "identification", o.Customer.Document)
}

// Keys are the app's and the store's; access_token is that of an installed app.
func (p *Platform) Keys(*shop.Shop) []shop.Key {
	p.mu.Lock()
	defer p.mu.Unlock()
	return []shop.Key{
		{Name: "store_id", Value: strconv.FormatInt(p.storeID, 10)}, {Name: "app_id", Value: strconv.FormatInt(p.appID, 10)},
		{Name: "client_secret", Value: p.clientSecret}, {Name: "access_token", Value: p.token}, {Name: "scope", Value: p.scope},
	}
}
