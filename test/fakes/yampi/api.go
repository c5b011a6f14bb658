package yampi

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-io/tributary/test/fakes/shop"
)

// Bounds of listings.
const (
	standardPage = 10
	mostPage     = 100
)

// events are those that a webhook can ask for.
var events = []string{
	"order.created", "order.paid", "order.status.updated", "order.invoice.created", "order.invoice.updated", "transaction.payment.refused",
	"cart.reminder", "customer.created", "customer.address.created", "product.created", "product.updated", "product.deleted",
	"product.inventory.updated", "cashback.expiring",
}

// Handler serves the API.
func (p *Platform) Handler(s *shop.Shop) http.Handler {
	mux := http.NewServeMux()
	route := func(pattern string, handle func(*shop.Shop, http.ResponseWriter, *http.Request)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if p.allowed(s, w, r) {
				handle(s, w, r)
			}
		})
	}
	route("POST /v2/auth/me", p.me)
	route("GET /v2/{alias}/orders", p.orders)
	route("GET /v2/{alias}/orders/{id}", p.one)
	route("GET /v2/{alias}/orders/{id}/transactions", p.transactions)
	route("GET /v2/{alias}/webhooks", p.webhooks)
	route("POST /v2/{alias}/webhooks", p.newWebhook)
	route("GET /v2/{alias}/webhooks/{id}", p.webhook)
	route("PUT /v2/{alias}/webhooks/{id}", p.putWebhook)
	route("DELETE /v2/{alias}/webhooks/{id}", p.deleteWebhook)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusNotFound, "404 Not Found") })
	return mux
}

func (p *Platform) me(s *shop.Shop, w http.ResponseWriter, _ *http.Request) {
	merchant := shop.O("id", p.merchant, "active", true, "name", s.Options().Shop, "alias", p.alias, "domain", "shop.example", "email",
		"dono@example.com",
		"currency", s.Options().Currency, "timezone", "America/Sao_Paulo")
	answer(w, http.StatusOK, data(shop.O("id", p.merchant+1, "active", true, "name", "Dono", "social_name", nil, "email", "dono@example.com",
		"is_owner", true, "merchant_owner", true, "type", "user", "merchants", data([]shop.Object{merchant}))))
}

// span reads "updated_at:2026-11-01|2026-11-02": days of the shop's zone, both included; a time may follow the day.
func span(value string) (field string, from, to time.Time, err error) {
	field, days, ok := strings.Cut(value, ":")
	first, second, parted := strings.Cut(days, "|")
	if !ok || !parted || field != "created_at" && field != "updated_at" {
		return "", from, to, fmt.Errorf("date %q: want created_at:from|to or updated_at:from|to", value)
	}
	if from, _, err = day(first); err != nil {
		return "", from, to, err
	}
	if _, to, err = day(second); err != nil {
		return "", from, to, err
	}
	return field, from, to, nil
}

// day reads a day, or a moment of one: its first and its last second.
func day(text string) (first, last time.Time, err error) {
	if first, err = time.ParseInLocation(time.DateTime, text, zone); err == nil {
		return first, first, nil
	}
	if first, err = time.ParseInLocation(time.DateOnly, text, zone); err != nil {
		return first, last, fmt.Errorf("date: %w", err)
	}
	return first, first.AddDate(0, 0, 1).Add(-time.Second), nil
}

func (p *Platform) orders(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	page, size := whole(query.Get("page"), 1), min(mostPage, whole(query.Get("limit"), standardPage))
	field, from, to := "", time.Time{}, time.Time{}
	if query.Get("date") != "" {
		var err error
		if field, from, to, err = span(query.Get("date")); err != nil {
			refuse(w, http.StatusUnprocessableEntity, err.Error())
			return
		}
	}
	found := s.Find(func(o shop.Order) bool {
		t := o.CreatedAt
		if field == "updated_at" {
			t = o.UpdatedAt
		}
		t = t.Truncate(time.Second)
		return !o.Deleted && (field == "" || !t.Before(from) && !t.After(to))
	})
	by := cmp.Or(query.Get("orderBy"), "id")
	slices.SortStableFunc(found, func(a, b shop.Order) int {
		order := cmp.Compare(a.ID, b.ID)
		switch by {
		case "created_at":
			order = cmp.Or(a.CreatedAt.Truncate(time.Second).Compare(b.CreatedAt.Truncate(time.Second)), order)
		case "updated_at":
			order = cmp.Or(a.UpdatedAt.Truncate(time.Second).Compare(b.UpdatedAt.Truncate(time.Second)), order)
		}
		if !strings.EqualFold(query.Get("sortedBy"), "asc") {
			return -order
		}
		return order
	})
	list := []shop.Object{}
	for i := (page - 1) * size; i < min(len(found), page*size); i++ {
		list = append(list, p.order(found[i], asked(query)))
	}
	p.page(s, w, r, list, len(found), page, size)
}

// page answers one page with its meta.
func (p *Platform) page(s *shop.Shop, w http.ResponseWriter, r *http.Request, list []shop.Object, total, page, size int) {
	pages, links := (total+size-1)/size, shop.Object{}
	query := r.URL.Query()
	link := func(page int, rel string) {
		query.Set("page", strconv.Itoa(page))
		links = append(links, shop.Member{Name: rel, Value: s.URL() + r.URL.Path + "?" + query.Encode()})
	}
	if page > 1 {
		link(page-1, "previous")
	}
	if page < pages {
		link(page+1, "next")
	}
	answer(w, http.StatusOK, shop.O("data", list, "meta", shop.O("pagination", shop.O("total", total, "count", len(list), "per_page", size,
		"current_page", page, "total_pages", pages, "links", links))))
	if page < pages {
		s.PageRead()
	}
}

func whole(text string, standard int) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return standard
	}
	return n
}

// asked says which includes a query wants: "items.sku" wants "items".
func asked(query url.Values) func(string) bool {
	var names []string
	for include := range strings.SplitSeq(query.Get("include"), ",") {
		name, _, _ := strings.Cut(include, ".")
		names = append(names, name)
	}
	return func(include string) bool { return slices.Contains(names, include) }
}

func find(s *shop.Shop, w http.ResponseWriter, r *http.Request) (shop.Order, bool) {
	id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64)
	o, ok := s.Order(id)
	if !ok || o.Deleted {
		refuse(w, http.StatusNotFound, "404 Not Found")
		return o, false
	}
	return o, true
}

func (p *Platform) one(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	if o, ok := find(s, w, r); ok {
		answer(w, http.StatusOK, data(p.order(o, asked(r.URL.Query()))))
	}
}

func (p *Platform) transactions(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	if o, ok := find(s, w, r); ok {
		answer(w, http.StatusOK, data([]shop.Object{transaction(o)}))
	}
}

func webhook(sub shop.Subscription, secret bool) shop.Object {
	out := shop.O("id", sub.ID, "active", !sub.Disabled, "name", sub.Name, "url", sub.URL, "events", sub.Topics, "total_failures",
		sub.Failures,
		"created_at", stamp(sub.CreatedAt), "updated_at", stamp(sub.UpdatedAt))
	if secret {
		out = append(out, shop.O("secret", sub.Secret)...)
	}
	return out
}

func (p *Platform) webhooks(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	subs, list := s.Subscriptions(), []shop.Object{}
	for _, sub := range subs {
		list = append(list, webhook(sub, true))
	}
	p.page(s, w, r, list, len(list), 1, max(1, len(list)))
}

type webhookBody struct {
	Name   string   `json:"name"`
	URL    string   `json:"url"`
	Events []string `json:"events"`
	Active *bool    `json:"active"`
}

func (p *Platform) readWebhook(w http.ResponseWriter, r *http.Request) (body webhookBody, ok bool) {
	if err := shop.ReadJSON(r, &body); err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return body, false
	}
	problems := shop.Object{}
	if body.Name == "" {
		problems = append(problems, shop.O("name", []string{"O campo name é obrigatório."})...)
	}
	at, err := url.Parse(body.URL)
	if err != nil || at.Host == "" || at.Scheme != "https" && (at.Scheme != "http" || p.options.StrictURLs) {
		problems = append(problems, shop.O("url", []string{"O campo url não é válido."})...)
	}
	if len(body.Events) == 0 || slices.ContainsFunc(body.Events, func(event string) bool { return !slices.Contains(events, event) }) {
		problems = append(problems, shop.O("events", []string{"O campo events não é válido."})...)
	}
	if len(problems) > 0 {
		answer(w, http.StatusUnprocessableEntity, shop.O("message", "The given data was invalid.", "errors", problems, "status_code", 422))
		return body, false
	}
	return body, true
}

func (p *Platform) newWebhook(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	if body, ok := p.readWebhook(w, r); ok {
		sub := s.Subscribe(shop.Subscription{Name: body.Name, URL: body.URL, Topics: body.Events,
			Secret: "wh_" + s.Options().Secret(fmt.Sprint("webhook", len(s.Subscriptions())), 36)})
		answer(w, http.StatusCreated, data(webhook(sub, true)))
	}
}

func (p *Platform) webhook(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if sub, ok := s.Subscription(id); ok {
		answer(w, http.StatusOK, data(webhook(sub, true)))
		return
	}
	refuse(w, http.StatusNotFound, "404 Not Found")
}

func (p *Platform) putWebhook(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	body, ok := p.readWebhook(w, r)
	if !ok {
		return
	}
	id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64)
	sub, ok := s.ChangeSubscription(id, func(sub *shop.Subscription) {
		sub.Name, sub.URL, sub.Topics = body.Name, body.URL, body.Events
		if body.Active != nil {
			sub.Disabled, sub.Failures = !*body.Active, 0
		}
	})
	if !ok {
		refuse(w, http.StatusNotFound, "404 Not Found")
		return
	}
	answer(w, http.StatusOK, data(webhook(sub, true)))
}

func (p *Platform) deleteWebhook(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if !s.Unsubscribe(id) {
		refuse(w, http.StatusNotFound, "404 Not Found")
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// Topics lists what a change sends.
func (p *Platform) Topics(kind shop.Kind, o shop.Order) []string {
	switch kind {
	case shop.Placed:
		return []string{"order.created"}
	case shop.PaidNow:
		return []string{"order.paid", "order.status.updated"}
	case shop.Touched, shop.Deleted:
		return nil
	case shop.Cancelled:
		if o.State == shop.Voided && !o.Cancelled {
			return []string{"transaction.payment.refused", "order.status.updated"}
		}
	}
	return []string{"order.status.updated"}
}

// Policy: 5 s for an answer, and 30 failures switch the webhook off.
func (p *Platform) Policy() shop.Policy {
	return shop.Policy{Timeout: 5 * time.Second, EndAfter: 30, Disable: true}
}

// Request makes the body, with all includes, and its signature: base64 of the HMAC of the raw body with the webhook's
// own secret.
func (p *Platform) Request(_ *shop.Shop, d shop.Delivery) (http.Header, []byte) {
	var resource any = p.order(d.Order, func(string) bool { return true })
	if d.Topic == "transaction.payment.refused" {
		resource = transaction(d.Order)
	}
	raw, secret := shop.PHPJSON(shop.O("event", d.Topic, "time", d.At.In(zone).Format(time.DateTime),
		"merchant", shop.O("id", p.merchant, "alias", p.alias), "resource", resource)), d.Subscription.Secret
	if d.Forged == shop.ForgedKey {
		secret = "forged"
	}
	header := http.Header{"Content-Type": {"application/json"}, "User-Agent": {"Yampi/Webhook"}}
	if d.Forged != shop.ForgedNone {
		header.Set("X-Yampi-Hmac-Sha256", Sign(raw, secret))
	}
	if d.Forged == shop.ForgedBody {
		raw = bytes.Replace(raw, []byte(`"event":`), []byte(`"event": `), 1)
	}
	return header, raw
}

// Sign is the signature of a webhook's raw body.
func Sign(body []byte, secret string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
