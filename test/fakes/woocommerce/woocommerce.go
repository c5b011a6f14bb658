// Package woocommerce is a fake of a WooCommerce shop: the REST API wc/v3, the page where a merchant gives keys to an
// app, and webhooks. Made from github.com/woocommerce/woocommerce-rest-api-docs (wp-api-v3) and, for webhooks and the
// bounds of parameters, from the plug-in's own source (class-wc-webhook.php, class-wc-rest-crud-controller.php).
//
// What the documentation leaves open, this fake does in the way that is harder for a client:
//   - dates without "_gmt" are three hours behind, and modified_after is read in that time zone unless dates_are_gmt is
//     true; it leaves out the second that it names;
//   - coupon codes of orders are in lower case, as the plug-in keeps them;
//   - a webhook's body is the order at the time of sending, not at the time of the change;
//   - Basic auth is refused over http when shop.Options.StrictURLs is set (the plug-in wants OAuth 1.0a there);
//   - shop.Options.Undocumented adds members that newer versions of the plug-in send.
//
// The plug-in posts by HTTP/1.0; this fake posts by HTTP/1.1.
package woocommerce

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

// Versions of the User-Agent of webhooks.
const agent = "WooCommerce/10.3.5 Hookshot (WordPress/6.8.3)"

// zone is the site's time zone.
var zone = time.FixedZone("-03:00", -3*60*60)

// Platform is the fake of one shop. Make it with New.
type Platform struct {
	options     shop.Options
	mu          sync.Mutex
	key, secret string // "" after the keys were revoked
	keys        int
}

// New makes the fake of a shop.
func New(options shop.Options) shop.Platform {
	p := &Platform{options: options}
	p.newKeys()
	return p
}

func (p *Platform) newKeys() {
	p.keys++
	p.key = "ck_" + p.options.Secret(fmt.Sprint("consumer key", p.keys), 40)
	p.secret = "cs_" + p.options.Secret(fmt.Sprint("consumer secret", p.keys), 40)
}

// Name is "woocommerce".
func (p *Platform) Name() string { return "woocommerce" }

// Limit: WooCommerce has none of its own.
func (p *Platform) Limit() shop.Limit { return shop.Limit{Capacity: 1e9, PerSecond: 1e9} }

// API is what is below /wp-json.
func (p *Platform) API(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/wp-json") }

// Cost is one for each request.
func (p *Platform) Cost(*http.Request) float64 { return 1 }

// LimitHeaders writes none.
func (p *Platform) LimitHeaders(http.Header, shop.Level) {}

// TooMany is what a host in front of the shop answers.
func (p *Platform) TooMany(w http.ResponseWriter, _ *http.Request, wait time.Duration) {
	w.Header().Set("Retry-After", strconv.Itoa(max(1, int(wait.Seconds()))))
	shop.Answer(w, http.StatusTooManyRequests, "text/html", []byte("<html><body><h1>429 Too Many Requests</h1></body></html>"))
}

// Failed is WordPress's page for its own errors, and a host's for the others.
func (p *Platform) Failed(w http.ResponseWriter, _ *http.Request, status int) {
	if status == http.StatusInternalServerError {
		refuse(w, status, "internal_server_error", "There has been a critical error on this website.")
		return
	}
	shop.Answer(w, status, "text/html", fmt.Appendf(nil, "<html><body><h1>%d %s</h1></body></html>", status, http.StatusText(status)))
}

// refuse writes an error in the API's form.
func refuse(w http.ResponseWriter, status int, code, message string) {
	answer(w, status, shop.O("code", code, "message", message, "data", shop.O("status", status)))
}

func answer(w http.ResponseWriter, status int, v any) {
	shop.Answer(w, status, "application/json; charset=UTF-8", shop.PHPJSON(v))
}

// allowed checks the keys: Basic auth, or the same two in the query.
func (p *Platform) allowed(w http.ResponseWriter, r *http.Request) bool {
	key, secret, basic := r.BasicAuth()
	if !basic {
		key, secret = r.URL.Query().Get("consumer_key"), r.URL.Query().Get("consumer_secret")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case key == "" || r.TLS == nil && p.options.StrictURLs:
		refuse(w, http.StatusUnauthorized, "woocommerce_rest_cannot_view", "Sorry, you cannot list resources.")
	case subtle.ConstantTimeCompare([]byte(key), []byte(p.key)) != 1:
		refuse(w, http.StatusUnauthorized, "woocommerce_rest_authentication_error", "Consumer key is invalid.")
	case subtle.ConstantTimeCompare([]byte(secret), []byte(p.secret)) != 1:
		refuse(w, http.StatusUnauthorized, "woocommerce_rest_authentication_error", "Consumer secret is invalid.")
	default:
		return true
	}
	return false
}

// Expire does nothing: keys do not end by time.
func (p *Platform) Expire(*shop.Shop) bool { return false }

// Uninstall revokes the keys; webhooks stay, as they do in the plug-in.
func (p *Platform) Uninstall(*shop.Shop) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.key, p.secret = "", ""
}

// Keys are the shop's address and the keys that its admin shows once.
func (p *Platform) Keys(s *shop.Shop) []shop.Key {
	p.mu.Lock()
	defer p.mu.Unlock()
	return []shop.Key{
		{Name: "url", Value: s.URL()}, {Name: "consumer_key", Value: p.key}, {Name: "consumer_secret", Value: p.secret},
	}
}

// ThankYou is the page after the purchase: the order's key is in its address.
func (p *Platform) ThankYou(_ *shop.Shop, o shop.Order) (path, script string) {
	return fmt.Sprintf("/checkout/order-received/%d/?key=%s", o.ID, o.Key), ""
}
