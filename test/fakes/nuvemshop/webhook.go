package nuvemshop

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-io/tributary/test/fakes/shop"
)

// events are those that can be subscribed to; those of privacy are set on the app (shop.SetAddress).
var events = []string{
	"app/uninstalled", "app/suspended", "app/resumed", "category/created", "category/updated", "category/deleted",
	"customer/created", "customer/updated", "customer/deleted", "order/created", "order/updated", "order/paid", "order/packed",
	"order/fulfilled", "order/cancelled", "order/custom_fields_updated", "order/edited", "order/pending", "order/voided", "order/unpacked",
	"product/created", "product/updated", "product/deleted", "product_variant/custom_fields_updated", "domain/updated",
	"order_custom_field/created", "order_custom_field/updated", "order_custom_field/deleted",
	"product_variant_custom_field/created", "product_variant_custom_field/updated", "product_variant_custom_field/deleted",
	"subscription/updated", "fulfillment/updated", "fulfillment_order/status_updated", "fulfillment_order/tracking_event_created",
	"fulfillment_order/tracking_event_updated", "fulfillment_order/tracking_event_deleted",
	"location/created", "location/updated", "location/deleted",
}

// Topics lists what a change of an order sends. Each change also sends order/updated, but for the order's beginning.
// An uninstalled app gets nothing.
func (p *Platform) Topics(kind shop.Kind, o shop.Order) []string {
	p.mu.Lock()
	uninstalled := p.token == ""
	p.mu.Unlock()
	if uninstalled {
		return nil
	}
	switch kind {
	case shop.Placed:
		return []string{"order/created", "order/pending"}
	case shop.PaidNow:
		return []string{"order/paid", "order/updated"}
	case shop.Edited:
		return []string{"order/edited", "order/updated"}
	case shop.Cancelled:
		if o.State == shop.Voided && !o.Cancelled {
			return []string{"order/voided", "order/updated"}
		}
		return []string{"order/cancelled", "order/updated"}
	case shop.Shipped:
		return []string{"order/packed", "order/fulfilled", "order/updated"}
	case shop.Delivered:
		return []string{"fulfillment_order/status_updated", "order/updated"}
	}
	return []string{"order/updated"}
}

// Policy: 3 s for an answer; up to 18 attempts: again at once, after about 5, 10 and 15 minutes, then each wait 1.4
// times the one before, within 48 hours.
func (p *Platform) Policy() shop.Policy {
	waits := []time.Duration{0, 5 * time.Minute, 5 * time.Minute, 5 * time.Minute}
	for wait := 5 * time.Minute; len(waits) < 17; {
		wait = wait * 14 / 10
		waits = append(waits, wait)
	}
	return shop.Policy{Timeout: 3 * time.Second, Waits: waits}
}

// Request makes the thin body and its signature: lower-case hex of the HMAC of the raw body with the app's secret.
func (p *Platform) Request(_ *shop.Shop, d shop.Delivery) (http.Header, []byte) {
	var body shop.Object
	switch {
	case d.Extra != nil && slices.Contains(events, d.Topic):
		body = append(shop.O("store_id", p.storeID, "event", d.Topic), d.Extra.(shop.Object)...)
	case d.Extra != nil:
		body = append(shop.O("store_id", p.storeID), d.Extra.(shop.Object)...)
	case strings.HasPrefix(d.Topic, "fulfillment_order/"):
		parcel := fulfillment(d.Order, "")
		body = shop.O("store_id", p.storeID, "event", d.Topic, "order_id", d.Order.ID, "fulfillment_id", parcel.Get("id"), "status",
			parcel.Get("status"))
	default:
		body = shop.O("store_id", p.storeID, "event", d.Topic, "id", d.Order.ID)
	}
	raw, secret := shop.PHPJSON(body), p.clientSecret
	if d.Forged == shop.ForgedKey {
		secret = "forged"
	}
	header := http.Header{"Content-Type": {"application/json"}, "User-Agent": {"LinkedStore Webhook (api@tiendanube.com)"}}
	for name, value := range d.Subscription.Headers {
		header.Set(name, value)
	}
	if d.Forged != shop.ForgedNone {
		header.Set("X-Linkedstore-Hmac-Sha256", Sign(raw, secret))
	}
	if d.Forged == shop.ForgedBody {
		raw = []byte(strings.Replace(string(raw), `"store_id":`, `"store_id": `, 1))
	}
	return header, raw
}

// Sign is the signature of a notice's raw body.
func Sign(body []byte, clientSecret string) string {
	mac := hmac.New(sha256.New, []byte(clientSecret))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// goodURL is https and not on localhost nor the platform's own domains; tests may listen on loopback by http.
func (p *Platform) goodURL(text string) bool {
	at, err := url.Parse(text)
	if err != nil || at.Host == "" {
		return false
	}
	if !p.options.StrictURLs {
		return at.Scheme == "https" || at.Scheme == "http"
	}
	host := strings.ToLower(at.Hostname())
	ip := net.ParseIP(host)
	return at.Scheme == "https" && host != "localhost" && !strings.Contains(host, "tiendanube") &&
		!strings.Contains(host, "nuvemshop") && (ip == nil || !ip.IsLoopback())
}

type webhookBody struct {
	Event   string            `json:"event"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
}

func (p *Platform) readWebhook(w http.ResponseWriter, r *http.Request) (body webhookBody, ok bool) {
	if err := shop.ReadJSON(r, &body); err != nil {
		answer(w, http.StatusBadRequest, shop.O("error", "Problems parsing JSON"))
		return body, false
	}
	var problems shop.Object
	if !slices.Contains(events, body.Event) {
		problems = append(problems, shop.O("event", []string{"Invalid event specified. Events allowed are available on Parameters section: " +
			"https://tiendanube.github.io/api-documentation/resources/webhook#parameters"})...)
	}
	if !p.goodURL(body.URL) {
		problems = append(problems, shop.O("url", []string{"invalid url specified"})...)
	}
	if len(problems) > 0 {
		answer(w, http.StatusUnprocessableEntity, problems)
		return body, false
	}
	category, _, _ := strings.Cut(body.Event, "/")
	if scope := map[string]string{"order": "read_orders", "product": "read_products", "customer": "read_customers"}[category]; !p.may(scope) {
		refuse(w, http.StatusForbidden, "Missing a required scope: "+scope)
		return body, false
	}
	return body, true
}

func webhook(sub shop.Subscription) shop.Object {
	return shop.O("created_at", stamp(sub.CreatedAt), "event", sub.Topics[0], "id", sub.ID, "updated_at", stamp(sub.UpdatedAt), "url", sub.URL)
}

func (p *Platform) webhooks(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	since, _ := strconv.ParseInt(query.Get("since_id"), 10, 64)
	var list []shop.Subscription
	for _, sub := range s.Subscriptions() {
		if sub.ID > since && (query.Get("url") == "" || query.Get("url") == sub.URL) &&
			(query.Get("event") == "" || query.Get("event") == sub.Topics[0]) {
			list = append(list, sub)
		}
	}
	if len(list) == 0 && query.Get("page") == "" {
		answer(w, http.StatusOK, []any{})
		return
	}
	page(s, w, r, len(list), func(i int) shop.Object { return webhook(list[i]) })
}

func (p *Platform) newWebhook(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	if body, ok := p.readWebhook(w, r); ok {
		sub := s.Subscribe(shop.Subscription{Topics: []string{body.Event}, URL: body.URL, Headers: body.Headers})
		show(w, r, http.StatusCreated, webhook(sub))
	}
}

func (p *Platform) webhook(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if sub, ok := s.Subscription(id); ok {
		show(w, r, http.StatusOK, webhook(sub))
		return
	}
	refuse(w, http.StatusNotFound, "Webhook not found")
}

func (p *Platform) putWebhook(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	body, ok := p.readWebhook(w, r)
	if !ok {
		return
	}
	id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64)
	sub, ok := s.ChangeSubscription(id, func(sub *shop.Subscription) {
		sub.Topics, sub.URL, sub.Headers = []string{body.Event}, body.URL, body.Headers
	})
	if !ok {
		refuse(w, http.StatusNotFound, "Webhook not found")
		return
	}
	show(w, r, http.StatusOK, webhook(sub))
}

func (p *Platform) deleteWebhook(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if !s.Unsubscribe(id) {
		refuse(w, http.StatusNotFound, "Webhook not found")
		return
	}
	answer(w, http.StatusOK, shop.Object{})
}
