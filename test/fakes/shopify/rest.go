package shopify

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
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
	standardPage = 50
	mostPage     = 250
)

// recent is how far back an app without read_all_orders sees.
const recent = 60 * 24 * time.Hour

// Handler serves REST and GraphQL.
func (p *Platform) Handler(s *shop.Shop) http.Handler {
	mux := http.NewServeMux()
	rest := func(pattern, scope string, handle func(*shop.Shop, http.ResponseWriter, *http.Request)) {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" /admin/api/{version}"+path, func(w http.ResponseWriter, r *http.Request) {
			if !p.allowed(w, r) {
				return
			}
			level, wait, taken := s.TakeFrom(p.rest, 1)
			p.LimitHeaders(w.Header(), level)
			switch {
			case !taken:
				p.TooMany(w, r, wait)
			case scope != "" && !p.may(scope):
				answer(w, http.StatusForbidden, shop.O("errors", "[API] This action requires merchant approval for "+scope+" scope."))
			default:
				handle(s, w, r)
			}
		})
	}
	rest("GET /orders.json", "read_orders", p.orders)
	rest("GET /orders/count.json", "read_orders", p.count)
	rest("GET /orders/{id}", "read_orders", p.one)
	rest("GET /orders/{id}/refunds.json", "read_orders", p.refunds)
	rest("GET /shop.json", "", p.shop)
	rest("GET /webhooks.json", "", p.webhooks)
	rest("POST /webhooks.json", "", p.newWebhook)
	rest("DELETE /webhooks/{id}", "", p.deleteWebhook)
	rest("GET /discount_codes/lookup.json", "read_discounts", p.lookup)
	rest("POST /price_rules.json", "write_discounts", p.newRule)
	rest("POST /price_rules/{id}/discount_codes.json", "write_discounts", p.newCode)
	mux.HandleFunc("POST /admin/api/{version}/graphql.json", func(w http.ResponseWriter, r *http.Request) {
		if p.allowed(w, r) {
			p.graphQL(s, w, r)
		}
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusNotFound, shop.O("errors", "Not Found"))
	})
	return mux
}

// seen says whether the app may see an order, and whether the order is there.
func (p *Platform) seen(s *shop.Shop, o shop.Order) bool {
	return !o.Deleted && (p.may("read_all_orders") || s.Now().Sub(o.CreatedAt) < recent)
}

// filters lists the parameters of GET orders.json that cannot stand beside page_info.
var filters = []string{
	"status", "financial_status", "ids", "since_id", "created_at_min", "created_at_max", "updated_at_min", "updated_at_max",
	"processed_at_min",
	"processed_at_max",
}

// cursor is what page_info holds: the filters of the first page, and the last order of the page before.
type cursor struct {
	Query string `json:"query"`
	Last  int64  `json:"last_id"`
}

func (p *Platform) orders(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	limit := standardPage
	if text := query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > mostPage {
			answer(w, http.StatusBadRequest, shop.O("errors", shop.O("limit", "must be between 1 and 250")))
			return
		}
		limit = n
	}
	var from cursor
	where := query
	if info := query.Get("page_info"); info != "" {
		for _, name := range filters {
			if query.Has(name) {
				answer(w, http.StatusBadRequest, shop.O("errors", shop.O(name,
					name+" cannot be passed when page_info is present. See https://shopify.dev/api/usage/pagination-rest for more information.")))
				return
			}
		}
		text, err := base64.URLEncoding.DecodeString(info)
		if err == nil {
			err = json.Unmarshal(text, &from)
		}
		if err != nil {
			answer(w, http.StatusBadRequest, shop.O("errors", shop.O("page_info", "Invalid value.")))
			return
		}
		where, _ = url.ParseQuery(from.Query)
	}
	found, problem := p.filtered(s, where)
	if problem != nil {
		answer(w, http.StatusBadRequest, shop.O("errors", problem))
		return
	}
	oldest := where.Get("since_id") != ""
	if !oldest {
		slices.Reverse(found)
	}
	if from.Last != 0 {
		found = slices.DeleteFunc(found, func(o shop.Order) bool {
			return oldest && o.ID <= from.Last || !oldest && o.ID >= from.Last
		})
	}
	more := len(found) > limit
	found = found[:min(limit, len(found))]
	if more {
		next := shop.JSON(cursor{Query: where.Encode(), Last: found[limit-1].ID})
		w.Header().Set("Link", fmt.Sprintf(`<%s%s?limit=%d&page_info=%s>; rel="next"`, s.URL(), r.URL.Path, limit,
			base64.URLEncoding.EncodeToString(next)))
	}
	p.write(w, "orders", found, query.Get("fields"))
	if more {
		s.PageRead()
	}
}

func (p *Platform) write(w http.ResponseWriter, name string, found []shop.Order, fields string) {
	list := []json.RawMessage{}
	for _, o := range found {
		body := shop.JSON(p.order(o))
		if fields != "" {
			body = shop.Pick(body, strings.Split(fields, ","))
		}
		list = append(list, body)
	}
	answer(w, http.StatusOK, shop.O(name, list))
}

// filtered lists the orders of a query, oldest first.
func (p *Platform) filtered(s *shop.Shop, query url.Values) ([]shop.Order, shop.Object) {
	type bound struct {
		at   time.Time
		of   func(shop.Order) time.Time
		most bool
	}
	var bounds []bound
	for _, name := range filters[4:] {
		if query.Get(name) == "" {
			continue
		}
		at, err := moment(query.Get(name))
		if err != nil {
			return nil, shop.O(name, "Invalid value.")
		}
		of := func(o shop.Order) time.Time { return o.CreatedAt }
		if strings.HasPrefix(name, "updated") {
			of = func(o shop.Order) time.Time { return o.UpdatedAt }
		}
		bounds = append(bounds, bound{at, of, strings.HasSuffix(name, "max")})
	}
	since, _ := strconv.ParseInt(query.Get("since_id"), 10, 64)
	ids := strings.FieldsFunc(query.Get("ids"), func(c rune) bool { return c == ',' })
	return s.Find(func(o shop.Order) bool {
		if !p.seen(s, o) || o.ID <= since || len(ids) > 0 && !slices.Contains(ids, strconv.FormatInt(o.ID, 10)) {
			return false
		}
		switch cmp.Or(query.Get("status"), "open") {
		case "open":
			if o.Cancelled {
				return false
			}
		case "cancelled":
			if !o.Cancelled {
				return false
			}
		case "closed":
			return false
		}
		if money := cmp.Or(query.Get("financial_status"), "any"); money != "any" && money != financial(o) &&
			(money != "unpaid" || o.State != shop.Authorized && len(o.Refunds) == 0) {
			return false
		}
		for _, bound := range bounds {
			t := bound.of(o).Truncate(time.Second)
			if bound.most && t.After(bound.at) || !bound.most && t.Before(bound.at) {
				return false
			}
		}
		return true
	}), nil
}

func moment(text string) (t time.Time, err error) {
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04:05", time.DateOnly} {
		if t, err = time.ParseInLocation(form, text, zone); err == nil {
			return t, nil
		}
	}
	return t, fmt.Errorf("time %q: %w", text, err)
}

func (p *Platform) count(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	found, problem := p.filtered(s, r.URL.Query())
	if problem != nil {
		answer(w, http.StatusBadRequest, shop.O("errors", problem))
		return
	}
	answer(w, http.StatusOK, shop.O("count", len(found)))
}

// number reads the number of a path that ends in ".json".
func number(r *http.Request) int64 {
	id, _ := strconv.ParseInt(strings.TrimSuffix(r.PathValue("id"), ".json"), 10, 64)
	return id
}

func (p *Platform) one(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	o, ok := s.Order(number(r))
	if !ok || !p.seen(s, o) {
		answer(w, http.StatusNotFound, shop.O("errors", "Not Found"))
		return
	}
	body := json.RawMessage(shop.JSON(p.order(o)))
	if fields := r.URL.Query().Get("fields"); fields != "" {
		body = shop.Pick(body, strings.Split(fields, ","))
	}
	answer(w, http.StatusOK, shop.O("order", body))
}

func (p *Platform) refunds(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	o, ok := s.Order(number(r))
	if !ok || !p.seen(s, o) {
		answer(w, http.StatusNotFound, shop.O("errors", "Not Found"))
		return
	}
	list := []shop.Object{}
	for _, refund := range o.Refunds {
		list = append(list, p.refund(o, refund))
	}
	answer(w, http.StatusOK, shop.O("refunds", list))
}

func (p *Platform) shop(s *shop.Shop, w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, shop.O("shop", shop.O("id", p.shopID, "name", s.Options().Shop, "email", "dono@example.com", "domain", p.domain,
		"province", "SP", "country", "BR", "source", nil, "created_at", "2024-03-01T09:00:00-03:00", "country_code", "BR", "currency",
		s.Options().Currency,
		"timezone", "(GMT-03:00) America/Sao_Paulo", "iana_timezone", "America/Sao_Paulo", "money_format", "R$ {{amount_with_comma_separator}}",
		"plan_display_name", "Basic", "plan_name", "basic", "myshopify_domain", p.domain, "password_enabled", false)))
}

func webhook(sub shop.Subscription) shop.Object {
	return shop.O("id", sub.ID, "address", sub.URL, "topic", sub.Topics[0], "created_at", stamp(sub.CreatedAt), "updated_at",
		stamp(sub.UpdatedAt),
		"format", "json", "fields", []any{}, "metafield_namespaces", []any{}, "api_version", "2026-07", "private_metafield_namespaces", []any{})
}

func (p *Platform) webhooks(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	list, query := []shop.Object{}, r.URL.Query()
	for _, sub := range s.Subscriptions() {
		if (query.Get("topic") == "" || query.Get("topic") == sub.Topics[0]) && (query.Get("address") == "" || query.Get("address") == sub.URL) {
			list = append(list, webhook(sub))
		}
	}
	answer(w, http.StatusOK, shop.O("webhooks", list))
}

// goodURL is https; tests may listen on loopback by http.
func (p *Platform) goodURL(text string) bool {
	at, err := url.Parse(text)
	return err == nil && at.Host != "" && (at.Scheme == "https" || at.Scheme == "http" && !p.options.StrictURLs)
}

// subscribe adds a subscription, or says what is wrong by field.
func (p *Platform) subscribe(s *shop.Shop, topic, address, name string) (shop.Subscription, string, string) {
	switch {
	case !p.goodURL(address):
		return shop.Subscription{}, "address", "protocol http:// is not supported"
	case slices.ContainsFunc(s.Subscriptions(), func(sub shop.Subscription) bool { return sub.URL == address && sub.Topics[0] == topic }):
		return shop.Subscription{}, "address", "for this topic has already been taken"
	}
	return s.Subscribe(shop.Subscription{Topics: []string{topic}, URL: address, Name: name}), "", ""
}

func (p *Platform) newWebhook(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	var body struct {
		Webhook struct{ Topic, Address, Format string } `json:"webhook"`
	}
	if err := shop.ReadJSON(r, &body); err != nil {
		answer(w, http.StatusBadRequest, shop.O("errors", shop.O("webhook", "Required parameter missing or invalid")))
		return
	}
	known := false
	for _, topic := range topics {
		known = known || topic == body.Webhook.Topic
	}
	if !known {
		answer(w, http.StatusUnprocessableEntity, shop.O("errors", shop.O("topic", []string{"Invalid topic specified: " + body.Webhook.Topic})))
		return
	}
	sub, field, why := p.subscribe(s, body.Webhook.Topic, body.Webhook.Address, "")
	if field != "" {
		answer(w, http.StatusUnprocessableEntity, shop.O("errors", shop.O(field, []string{why})))
		return
	}
	answer(w, http.StatusCreated, shop.O("webhook", webhook(sub)))
}

func (p *Platform) deleteWebhook(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	if !s.Unsubscribe(number(r)) {
		answer(w, http.StatusNotFound, shop.O("errors", "Not Found"))
		return
	}
	answer(w, http.StatusOK, shop.Object{})
}
