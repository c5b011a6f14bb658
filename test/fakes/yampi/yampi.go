// Package yampi is a fake of a Yampi shop: orders, webhooks and the shop's own data. Made from docs.yampi.com.br
// (introduction, auth, rate-limit, webhooks); the members of an order are those of answers that public clients keep.
//
// What the documentation leaves open, this fake does in the way that is harder for a client:
//   - amounts are JSON numbers with decimals, as the answers have them;
//   - times have no offset: they are local, beside the name of their zone;
//   - members that an include brings are absent without it; a webhook has them all;
//   - neither partial refunds nor changes of an order are documented: the fake has none;
//   - a notice that fails is not tried again; after 30 failures in a row the webhook is switched off.
package yampi

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

// ordersLimit is for GET of orders: 120 a minute. All else has 60 a minute.
var ordersLimit = shop.Limit{Capacity: 120, PerSecond: 2}

// Platform is the fake of one shop. Make it with New.
type Platform struct {
	options       shop.Options
	alias         string
	token, secret string
	merchant      int64
	orderBucket   *shop.Bucket

	mu      sync.Mutex
	revoked bool
}

// New makes the fake of a shop.
func New(options shop.Options) shop.Platform {
	scale := options.LimitScale
	if scale == 0 {
		scale = 1
	}
	merchant := options.Number("merchant", 700_000)
	return &Platform{
		options: options, merchant: merchant, alias: fmt.Sprintf("loja-%d", merchant), token: options.Secret("user token", 40),
		secret: "sk_" + options.Secret("user secret", 36), orderBucket: shop.NewBucket(ordersLimit, scale),
	}
}

// Name is "yampi".
func (p *Platform) Name() string { return "yampi" }

// Limit is 60 a minute for all but orders.
func (p *Platform) Limit() shop.Limit { return shop.Limit{Capacity: 60, PerSecond: 1} }

// API is what is below /v2.
func (p *Platform) API(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/v2/") }

// Cost is one for each request, but for orders, which have their own limit.
func (p *Platform) Cost(r *http.Request) float64 {
	if orders(r) {
		return 0
	}
	return 1
}

func orders(r *http.Request) bool {
	parts := strings.Split(r.URL.Path, "/")
	return r.Method == http.MethodGet && len(parts) > 3 && parts[3] == "orders"
}

// LimitHeaders writes the two that Laravel writes.
func (p *Platform) LimitHeaders(header http.Header, level shop.Level) {
	header.Set("X-RateLimit-Limit", strconv.Itoa(int(level.Capacity)))
	header.Set("X-RateLimit-Remaining", strconv.Itoa(max(0, int(level.Capacity-level.Used))))
}

// TooMany answers 429.
func (p *Platform) TooMany(w http.ResponseWriter, _ *http.Request, wait time.Duration) {
	w.Header().Set("Retry-After", strconv.Itoa(1+int(wait.Seconds())))
	refuse(w, http.StatusTooManyRequests, "Too Many Attempts.")
}

// Failed answers 5xx; without JSON for 502 to 504.
func (p *Platform) Failed(w http.ResponseWriter, _ *http.Request, status int) {
	if status == http.StatusInternalServerError {
		refuse(w, status, "Server Error")
		return
	}
	shop.Answer(w, status, "text/html", fmt.Appendf(nil, "<html><body>%s</body></html>", http.StatusText(status)))
}

func refuse(w http.ResponseWriter, status int, message string) {
	answer(w, status, shop.O("message", message, "status_code", status))
}

func answer(w http.ResponseWriter, status int, v any) {
	shop.Answer(w, status, "application/json", shop.PHPJSON(v))
}

// allowed checks the two headers and the shop's alias, and takes from the limit of orders.
func (p *Platform) allowed(s *shop.Shop, w http.ResponseWriter, r *http.Request) bool {
	p.mu.Lock()
	revoked := p.revoked
	p.mu.Unlock()
	token, secret := r.Header.Get("User-Token"), r.Header.Get("User-Secret-Key")
	if revoked || token != p.token || subtle.ConstantTimeCompare([]byte(secret), []byte(p.secret)) != 1 {
		refuse(w, http.StatusUnauthorized, "Unauthorized")
		return false
	}
	if alias := r.PathValue("alias"); alias != "" && alias != p.alias {
		refuse(w, http.StatusNotFound, "Merchant not found")
		return false
	}
	if orders(r) {
		level, wait, taken := s.TakeFrom(p.orderBucket, 1)
		p.LimitHeaders(w.Header(), level)
		if !taken {
			p.TooMany(w, r, wait)
			return false
		}
	}
	return true
}

// Expire does nothing: the pair of keys ends when the user's password changes.
func (p *Platform) Expire(*shop.Shop) bool { return false }

// Uninstall ends the pair of keys; webhooks stay.
func (p *Platform) Uninstall(*shop.Shop) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.revoked = true
}

// Keys are the shop's alias and the user's pair of keys.
func (p *Platform) Keys(*shop.Shop) []shop.Key {
	return []shop.Key{{Name: "alias", Value: p.alias}, {Name: "user_token", Value: p.token}, {Name: "user_secret_key", Value: p.secret}}
}

// Pages adds none.
func (p *Platform) Pages(*shop.Shop, *http.ServeMux) {}

// ThankYou is the page after the purchase, with the token of the cart in its address.
func (p *Platform) ThankYou(_ *shop.Shop, o shop.Order) (path, script string) {
	return "/checkout/thankyou/" + cartToken(o), fmt.Sprintf("window.yampi = {cart_token: %q, order_number: %d};", cartToken(o), number(o))
}

// Cannot says what the platform's API does not know: see the package's comment.
func (p *Platform) Cannot(kind shop.Kind) bool {
	return kind == shop.PartlyRefunded || kind == shop.Edited
}

// OrderID is the number as text.
func (p *Platform) OrderID(o shop.Order) string { return strconv.FormatInt(o.ID, 10) }

// OrderNumber is what the customer sees.
func (p *Platform) OrderNumber(o shop.Order) string { return strconv.FormatInt(number(o), 10) }

func number(o shop.Order) int64 { return o.ID*10 + int64(o.Number%10) }

// Status is the alias of the order's status.
func (p *Platform) Status(o shop.Order) string { return status(o).alias }

type state struct {
	id          int
	alias, name string
}

func status(o shop.Order) state {
	switch {
	case o.Cancelled || o.Deleted:
		return state{8, "cancelled", "Cancelado"}
	case o.State == shop.Refunded:
		return state{14, "refunded", "Estornado"}
	case o.State == shop.Voided:
		return state{9, "refused", "Pagamento recusado"}
	case o.State == shop.Authorized:
		return state{2, "authorized", "Pagamento autorizado"}
	case o.State == shop.Pending:
		return state{3, "waiting_payment", "Aguardando pagamento"}
	case !o.DeliveredAt.IsZero():
		return state{7, "delivered", "Entregue"}
	case !o.ShippedAt.IsZero():
		return state{6, "on_carriage", "Em transporte"}
	}
	return state{4, "paid", "Pagamento aprovado"}
}
