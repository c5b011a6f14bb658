package nuvemshop

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-io/tributary/test/fakes/shop"
)

// Bounds of listings ("Pagination", and the limit of GET /orders).
const (
	standardPage = 30
	mostPage     = 200
	mostResults  = 10_000
)

// Handler serves both versions of the API.
func (p *Platform) Handler(s *shop.Shop) http.Handler {
	mux := http.NewServeMux()
	route := func(pattern, scope string, handle func(*shop.Shop, http.ResponseWriter, *http.Request)) {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" /{version}/{store}"+path, func(w http.ResponseWriter, r *http.Request) {
			if p.allowed(s, w, r, scope) {
				w.Header().Set("X-Main-Language", "pt")
				handle(s, w, r)
			}
		})
	}
	route("GET /store", "", p.store)
	route("GET /orders", "read_orders", p.orders)
	route("GET /orders/{id}", "read_orders", p.one)
	route("GET /orders/{id}/history/values", "read_orders", p.history(values))
	route("GET /orders/{id}/history/editions", "read_orders", p.history(editions))
	route("GET /orders/{id}/fulfillment-orders", "read_orders", p.history(func(o shop.Order) []shop.Object {
		return []shop.Object{fulfillment(o, o.Customer.First+" "+o.Customer.Last)}
	}))
	route("POST /orders/{id}/cancel", "write_orders", p.cancel)
	route("GET /customers", "read_customers", p.customers)
	route("GET /coupons", "read_coupons", p.coupons)
	route("POST /coupons", "write_coupons", p.newCoupon)
	route("GET /coupons/{id}", "read_coupons", p.coupon)
	route("PUT /coupons/{id}", "write_coupons", p.putCoupon)
	route("DELETE /coupons/{id}", "write_coupons", p.deleteCoupon)
	route("GET /webhooks", "", p.webhooks)
	route("POST /webhooks", "", p.newWebhook)
	route("GET /webhooks/{id}", "", p.webhook)
	route("PUT /webhooks/{id}", "", p.putWebhook)
	route("DELETE /webhooks/{id}", "", p.deleteWebhook)
	route("GET /scripts", "write_scripts", p.listScripts)
	route("POST /scripts", "write_scripts", p.newScript)
	route("DELETE /scripts/{id}", "write_scripts", p.deleteScript)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if p.allowed(s, w, r, "") {
			refuse(w, http.StatusNotFound, "Not Found")
		}
	})
	return mux
}

func (p *Platform) store(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	name := s.Options().Shop
	host := strings.TrimPrefix(strings.TrimPrefix(s.URL(), "http://"), "https://")
	show(w, r, http.StatusOK, shop.O("address", nil, "admin_language", "pt", "blog", nil, "business_id", nil, "business_name", nil,
		"business_address", nil, "contact_email", "contato@example.com", "country", "BR",
		"created_at", "2024-03-01T12:00:00+0000", "customer_accounts", "optional", "description", shop.O("pt", ""),
		"domains", []string{host}, "email", "dono@example.com", "facebook", nil, "google_plus", nil, "id", p.storeID, "instagram", nil,
		"languages", shop.O("pt", shop.O("currency", s.Options().Currency, "active", true)), "logo", nil,
		"main_currency", s.Options().Currency, "current_theme", "lima", "main_language", "pt", "name", shop.O("pt", name),
		"original_domain", fmt.Sprintf("loja%d.lojavirtualnuvem.com.br", p.storeID), "phone", nil, "pinterest", nil,
		"plan_name", "Essencial", "type", nil, "twitter", nil))
}

// show answers an object with the members that the query's "fields" names.
func show(w http.ResponseWriter, r *http.Request, status int, object shop.Object) {
	body := shop.PHPJSON(object)
	if fields := r.URL.Query().Get("fields"); fields != "" {
		body = shop.Pick(body, strings.Split(fields, ","))
	}
	shop.Answer(w, status, "application/json; charset=UTF-8", body)
}

// page answers one page of a listing with its headers.
func page(s *shop.Shop, w http.ResponseWriter, r *http.Request, total int, object func(i int) shop.Object) {
	query := r.URL.Query()
	number, size := whole(query.Get("page"), 1), min(mostPage, whole(query.Get("per_page"), standardPage))
	last := (total + size - 1) / size
	if number > last {
		refuse(w, http.StatusNotFound, fmt.Sprintf("Last page is %d", last))
		return
	}
	link := func(number int, rel string) string {
		query.Set("page", strconv.Itoa(number))
		query.Set("per_page", strconv.Itoa(size))
		return fmt.Sprintf(`<%s%s?%s>; rel="%s"`, s.URL(), r.URL.Path, query.Encode(), rel)
	}
	var links []string
	if number < last {
		links = append(links, link(number+1, "next"), link(last, "last"))
	}
	if number > 1 {
		links = append(links, link(1, "first"), link(number-1, "prev"))
	}
	if len(links) > 0 {
		w.Header().Set("Link", strings.Join(links, ", "))
	}
	w.Header().Set("X-Total-Count", strconv.Itoa(total))
	bodies := []string{}
	for i := (number - 1) * size; i < min(total, number*size); i++ {
		body := shop.PHPJSON(object(i))
		if fields := query.Get("fields"); fields != "" {
			body = shop.Pick(body, strings.Split(fields, ","))
		}
		bodies = append(bodies, string(body))
	}
	shop.Answer(w, http.StatusOK, "application/json; charset=UTF-8", []byte("["+strings.Join(bodies, ",")+"]"))
	if number < last {
		s.PageRead()
	}
}

// whole reads a positive number, or gives the standard.
func whole(text string, standard int) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return standard
	}
	return n
}

// times are the documented bounds of GET /orders.
var times = []string{"created_at_min", "created_at_max", "updated_at_min", "updated_at_max"}

func (p *Platform) orders(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	bounds := map[string]time.Time{}
	for _, name := range times {
		if text := query.Get(name); text != "" {
			t, err := moment(text)
			if err != nil {
				answer(w, http.StatusUnprocessableEntity, shop.O(name, []string{"is not a valid date"}))
				return
			}
			bounds[name] = t
		}
	}
	v := p.version(r)
	v.aggregates = strings.Contains(query.Get("aggregates"), "fulfillment_orders") && !v.v1
	found := s.Find(func(o shop.Order) bool { return !o.Deleted && p.wanted(o, query, bounds, v) })
	if query.Get("since_id") == "" {
		slices.Reverse(found)
	}
	size := min(mostPage, whole(query.Get("per_page"), standardPage))
	if whole(query.Get("page"), 1)*size > mostResults {
		refuse(w, http.StatusUnprocessableEntity, fmt.Sprintf("The query is limited to %d items", mostResults))
		return
	}
	page(s, w, r, len(found), func(i int) shop.Object { return order(found[i], v) })
}

// customers lists who bought, each once.
func (p *Platform) customers(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	seen := map[any]bool{}
	found := s.Find(func(o shop.Order) bool {
		known := seen[o.Customer.ID]
		seen[o.Customer.ID] = true
		return !known && !o.Deleted
	})
	page(s, w, r, len(found), func(i int) shop.Object {
		return customer(found[i], found[i].Customer.First+" "+found[i].Customer.Last)
	})
}

// moment reads the forms of ISO 8601 that the documentation shows.
func moment(text string) (t time.Time, err error) {
	for _, form := range []string{time.RFC3339, layout, "2006-01-02T15:04:05", "2006-01-02 15:04:05", time.DateOnly} {
		if t, err = time.Parse(form, text); err == nil {
			return t, nil
		}
	}
	return t, fmt.Errorf("date %q: %w", text, err)
}

func (p *Platform) wanted(o shop.Order, query url.Values, bounds map[string]time.Time, v version) bool {
	is := func(name, value string) bool {
		want := query.Get(name)
		return want == "" || want == "any" || slices.Contains(strings.Split(want, ","), value)
	}
	for name, bound := range bounds {
		t := o.CreatedAt
		if strings.HasPrefix(name, "updated") {
			t = o.UpdatedAt
		}
		t = t.Truncate(time.Second)
		if strings.HasSuffix(name, "_min") && !t.After(bound) || strings.HasSuffix(name, "_max") && !t.Before(bound) {
			return false
		}
	}
	since, err := strconv.ParseInt(query.Get("since_id"), 10, 64)
	if err == nil && o.ID <= since {
		return false
	}
	q := strings.ToLower(query.Get("q"))
	name := strings.ToLower(o.Customer.First + " " + o.Customer.Last)
	return is("status", status(o)) && is("payment_status", paymentStatus(o, v)) && is("channels", storefront(o)) &&
		is("customer_ids", strconv.FormatInt(o.Customer.ID, 10)) &&
		(q == "" || q == strconv.Itoa(o.Number) || strings.Contains(name, q) || strings.Contains(o.Customer.Email, q))
}

// find looks for the order of the path, or answers 404.
func find(s *shop.Shop, w http.ResponseWriter, r *http.Request) (shop.Order, bool) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	o, ok := s.Order(id)
	if err != nil || !ok || o.Deleted {
		refuse(w, http.StatusNotFound, "Order not found")
		return o, false
	}
	return o, true
}

func (p *Platform) one(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	if o, ok := find(s, w, r); ok {
		v := p.version(r)
		v.single, v.aggregates = true, strings.Contains(r.URL.Query().Get("aggregates"), "fulfillment_orders") && !v.v1
		show(w, r, http.StatusOK, order(o, v))
	}
}

func (p *Platform) cancel(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	if o, ok := find(s, w, r); ok {
		if err := s.Cancel(o.ID); err != nil {
			refuse(w, http.StatusUnprocessableEntity, "Order cannot be cancelled")
			return
		}
		p.one(s, w, r)
	}
}

func (p *Platform) history(list func(shop.Order) []shop.Object) func(*shop.Shop, http.ResponseWriter, *http.Request) {
	return func(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
		if o, ok := find(s, w, r); ok {
			answer(w, http.StatusOK, list(o))
		}
	}
}
