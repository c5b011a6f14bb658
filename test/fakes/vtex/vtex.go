// Package vtex is a fake of a VTEX account: orders (list, one, group), feed v3, hook, and coupons and promotions to read.
// Made from github.com/vtex/openapi-schemas ("VTEX - Orders API.json", "VTEX - Promotions & Taxes API.json") and
// vtexdocs/dev-portal-content (Orders feed).
//
// What the documentation leaves open, this fake does in the way that is harder for a client:
//   - the list knows orders only after four minutes (times shop.Options.RetryScale), and gives 30 pages at most;
//   - orderFormId has dashes, as in the example of the Orders API; on the page after the purchase it has none, as in the
//     Checkout API;
//   - a refund lowers nothing: it is a restitution in a package; "value" is lowered by changes of the order alone. An order
//     whose money all went back stays as it was;
//   - of JSONata, feed and hook understand status = "…" (joined by or), isAllDelivered = true and the count of refunds that
//     the documentation shows; any other expression is true for every change;
//   - shop.Options.Undocumented masks the buyer's e-mail address as …@ct.vtex.com.br.
package vtex

import (
	"crypto/subtle"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/tributary-io/tributary/test/fakes/shop"
)

// lag is how late the list of orders is.
const lag = 4 * time.Minute

// Platform is the fake of one account. Make it with New.
type Platform struct {
	options         shop.Options
	account         string
	appKey, appTok  string
	mu              sync.Mutex
	revoked         bool
	feed            *feed
	hook            filter
	hookSub         int64
	hookURL         string
	hookHeaders     map[string]string
	fired           map[int64]bool // orders that the hook told once
	events, handles int
}

// New makes the fake of an account.
func New(options shop.Options) shop.Platform {
	return &Platform{
		options: options, account: fmt.Sprintf("loja%d", options.Number("account", 1000)), fired: map[int64]bool{},
		appKey: "vtexappkey-" + options.Secret("app key", 12), appTok: strings.ToUpper(options.Secret("app token", 60)),
	}
}

// Name is "vtex".
func (p *Platform) Name() string { return "vtex" }

// Limit is 6,000 a minute.
func (p *Platform) Limit() shop.Limit { return shop.Limit{Capacity: 6000, PerSecond: 100} }

// API is what is below /api.
func (p *Platform) API(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/api/") }

// Cost is one for each request.
func (p *Platform) Cost(*http.Request) float64 { return 1 }

// LimitHeaders writes none.
func (p *Platform) LimitHeaders(http.Header, shop.Level) {}

// TooMany answers 429 without a header: the documentation says to wait a minute.
func (p *Platform) TooMany(w http.ResponseWriter, _ *http.Request, _ time.Duration) {
	refuse(w, http.StatusTooManyRequests, "OMS029", "Too many requests")
}

// Failed answers 5xx; without JSON for 502 to 504.
func (p *Platform) Failed(w http.ResponseWriter, _ *http.Request, status int) {
	if status == http.StatusInternalServerError {
		refuse(w, status, "1", "Internal error")
		return
	}
	shop.Answer(w, status, "text/html", fmt.Appendf(nil, "<html><body><h1>%s</h1></body></html>", http.StatusText(status)))
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	answer(w, status, shop.O("error", shop.O("code", code, "message", message, "exception", nil)))
}

func answer(w http.ResponseWriter, status int, v any) {
	shop.Answer(w, status, "application/json; charset=utf-8", shop.JSON(v))
}

// allowed checks the pair of keys.
func (p *Platform) allowed(w http.ResponseWriter, r *http.Request) bool {
	key, token := r.Header.Get("X-VTEX-API-AppKey"), r.Header.Get("X-VTEX-API-AppToken")
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case key == "" || token == "":
		refuse(w, http.StatusUnauthorized, "1", "Acesso não autorizado")
	case p.revoked || key != p.appKey || subtle.ConstantTimeCompare([]byte(token), []byte(p.appTok)) != 1:
		refuse(w, http.StatusForbidden, "1", "Acesso negado")
	default:
		return true
	}
	return false
}

// Expire does nothing: keys do not end by time.
func (p *Platform) Expire(*shop.Shop) bool { return false }

// Uninstall revokes the key; feed and hook end with it.
func (p *Platform) Uninstall(s *shop.Shop) {
	p.mu.Lock()
	p.revoked, p.feed = true, nil
	p.mu.Unlock()
	s.UnsubscribeAll()
}

// Keys are the account and its application key.
func (p *Platform) Keys(*shop.Shop) []shop.Key {
	return []shop.Key{{Name: "account", Value: p.account}, {Name: "app_key", Value: p.appKey}, {Name: "app_token", Value: p.appTok}}
}

// Pages adds none: keys are made in the account's admin.
func (p *Platform) Pages(*shop.Shop, *http.ServeMux) {}

// ThankYou is the page after the purchase: the group of the order is in its address, the cart's id in the page.
func (p *Platform) ThankYou(_ *shop.Shop, o shop.Order) (path, script string) {
	return "/checkout/orderPlaced/?og=" + o.Group, fmt.Sprintf(`window.vtexjs = {checkout: {orderFormId: %q}};`, o.CheckoutToken)
}

// OrderID is the group, a dash and the order's place in it.
func (p *Platform) OrderID(o shop.Order) string { return fmt.Sprintf("%s-%02d", o.Group, o.Sequence) }

// OrderNumber is the sequence.
func (p *Platform) OrderNumber(o shop.Order) string { return fmt.Sprint(500_000 + o.Number) }

// Status is the order's status.
func (p *Platform) Status(o shop.Order) string {
	switch {
	case o.Cancelled || o.State == shop.Voided || o.Deleted:
		return "canceled"
	case o.State == shop.Pending || o.State == shop.Authorized:
		return "payment-pending"
	case !o.ShippedAt.IsZero():
		return "invoiced"
	case o.State == shop.Paid && len(o.History) > 2:
		return "handling"
	}
	return "ready-for-handling"
}

// Truly is Truth.Status: an order whose money all went back stays approved, with nothing left of it.
func (p *Platform) Truly(o shop.Order) string {
	if o.State == shop.Refunded && !o.Cancelled {
		return shop.StatusApproved
	}
	return o.Status()
}
