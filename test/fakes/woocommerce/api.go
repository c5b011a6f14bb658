package woocommerce

import (
	"cmp"
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

// Handler serves the API.
func (p *Platform) Handler(s *shop.Shop) http.Handler {
	mux := http.NewServeMux()
	route := func(pattern string, handle func(*shop.Shop, http.ResponseWriter, *http.Request)) {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" /wp-json/wc/v3"+path, func(w http.ResponseWriter, r *http.Request) {
			if p.allowed(w, r) {
				handle(s, w, r)
			}
		})
	}
	route("GET /orders", p.orders)
	route("GET /orders/{id}", p.one)
	route("GET /orders/{id}/refunds", p.refunds)
	route("GET /orders/{id}/refunds/{refund}", p.oneRefund)
	route("GET /coupons", p.coupons)
	route("POST /coupons", p.newCoupon)
	route("GET /coupons/{id}", p.coupon)
	route("PUT /coupons/{id}", p.putCoupon)
	route("DELETE /coupons/{id}", p.deleteCoupon)
	route("GET /webhooks", p.webhooks)
	route("POST /webhooks", p.newWebhook)
	route("GET /webhooks/{id}", p.webhook)
	route("PUT /webhooks/{id}", p.putWebhook)
	route("DELETE /webhooks/{id}", p.deleteWebhook)
	route("GET /system_status", p.status)
	route("GET /data/currencies/current", func(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
		show(w, r, http.StatusOK, shop.O("code", s.Options().Currency, "name", "Brazilian real", "symbol", "&#82;&#36;"))
	})
	route("GET /settings/general", p.settings)
	route("GET /settings/general/{id}", p.setting)
	mux.HandleFunc("GET /wp-json/{$}", func(w http.ResponseWriter, _ *http.Request) { p.index(s, w) })
	mux.HandleFunc("GET /wp-json", func(w http.ResponseWriter, _ *http.Request) { p.index(s, w) })
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusNotFound, "rest_no_route", "No route was found matching the URL and request method.")
	})
	return mux
}

// index is what WordPress tells anybody about a site.
func (p *Platform) index(s *shop.Shop, w http.ResponseWriter) {
	answer(w, http.StatusOK, shop.O("name", s.Options().Shop, "description", "", "url", s.URL(), "home", s.URL(), "gmt_offset", -3,
		"timezone_string", "America/Sao_Paulo", "namespaces", []string{"oembed/1.0", "wp/v2", "wc/v3", "wc/store/v1"}))
}

func (p *Platform) status(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	show(w, r, http.StatusOK, shop.O(
		"environment", shop.O("home_url", s.URL(), "site_url", s.URL(), "version", "10.3.5", "wp_version", "6.8.3", "language", "pt_BR"),
		"settings", shop.O("api_enabled", true, "force_ssl", false, "currency", s.Options().Currency, "currency_symbol", "&#82;&#36;",
			"currency_position", "left_space", "thousand_separator", ".", "decimal_separator", ",", "number_of_decimals", 2),
		"security", shop.O("secure_connection", r.TLS != nil, "hide_errors", true)))
}

func (p *Platform) currency(s *shop.Shop) shop.Object {
	out := shop.O("id", "woocommerce_currency", "label", "Currency", "description", "", "type", "select", "default", "USD",
		"options", shop.O("BRL", "Brazilian real (&#82;&#36;)", "USD", "United States (US) dollar (&#36;)"), "tip", "", "value",
		s.Options().Currency)
	return append(out, links(s, "settings/general/woocommerce_currency", "settings/general")...)
}

func (p *Platform) settings(s *shop.Shop, w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, []shop.Object{p.currency(s)})
}

func (p *Platform) setting(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	if r.PathValue("id") != "woocommerce_currency" {
		refuse(w, http.StatusNotFound, "rest_setting_setting_invalid", "Invalid setting.")
		return
	}
	answer(w, http.StatusOK, p.currency(s))
}

// show answers an object with the members that the query's "_fields" names.
func show(w http.ResponseWriter, r *http.Request, status int, object shop.Object) {
	shop.Answer(w, status, "application/json; charset=UTF-8", picked(r, object))
}

func picked(r *http.Request, object shop.Object) []byte {
	body := shop.PHPJSON(object)
	if fields := r.URL.Query().Get("_fields"); fields != "" {
		body = shop.Pick(body, strings.Split(fields, ","))
	}
	return body
}

// invalid answers a parameter outside of its bounds, as WordPress does.
func invalid(w http.ResponseWriter, name, why string) {
	answer(w, http.StatusBadRequest, shop.O("code", "rest_invalid_param", "message", "Invalid parameter(s): "+name,
		"data", shop.O("status", 400, "params", shop.O(name, why))))
}

// window reads page, per_page and offset.
func window(w http.ResponseWriter, query url.Values) (page, size, offset int, ok bool) {
	page, size = 1, standardPage
	for _, part := range []struct {
		name      string
		to        *int
		low, high int
	}{{"page", &page, 1, 1 << 30}, {"per_page", &size, 1, mostPage}, {"offset", &offset, 0, 1 << 30}} {
		if text := query.Get(part.name); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil || n < part.low || n > part.high {
				invalid(w, part.name, fmt.Sprintf("%s must be between %d (inclusive) and %d (inclusive)", part.name, part.low, part.high))
				return 0, 0, 0, false
			}
			*part.to = n
		}
	}
	if query.Get("offset") == "" {
		offset = (page - 1) * size
	}
	return page, size, offset, true
}

// list answers one page with its headers. A page after the last is empty.
func list(s *shop.Shop, w http.ResponseWriter, r *http.Request, total int, object func(i int) shop.Object) {
	query := r.URL.Query()
	page, size, offset, ok := window(w, query)
	if !ok {
		return
	}
	pages := (total + size - 1) / size
	link := func(page int, rel string) {
		query.Set("page", strconv.Itoa(page))
		w.Header().Add("Link", fmt.Sprintf(`<%s%s?%s>; rel="%s"`, s.URL(), r.URL.Path, query.Encode(), rel))
	}
	if page > 1 {
		link(min(page-1, pages), "prev")
	}
	if pages > page {
		link(page+1, "next")
	}
	w.Header().Set("X-WP-Total", strconv.Itoa(total))
	w.Header().Set("X-WP-TotalPages", strconv.Itoa(pages))
	bodies := []string{}
	for i := offset; i < min(total, offset+size); i++ {
		bodies = append(bodies, string(picked(r, object(i))))
	}
	shop.Answer(w, http.StatusOK, "application/json; charset=UTF-8", []byte("["+strings.Join(bodies, ",")+"]"))
	if pages > page {
		s.PageRead()
	}
}

// bound is one of after, before, modified_after, modified_before.
type bound struct {
	at                time.Time
	modified, atLeast bool
}

func bounds(w http.ResponseWriter, query url.Values) (found []bound, ok bool) {
	in := zone
	if gmt, err := strconv.ParseBool(query.Get("dates_are_gmt")); err == nil && gmt {
		in = time.UTC
	}
	for _, name := range []string{"after", "before", "modified_after", "modified_before"} {
		text := query.Get(name)
		if text == "" {
			continue
		}
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			at, err = time.ParseInLocation(layout, text, in)
		}
		if err != nil {
			invalid(w, name, "Invalid date.")
			return nil, false
		}
		found = append(found, bound{at, strings.HasPrefix(name, "modified"), strings.HasSuffix(name, "after")})
	}
	return found, true
}

func (p *Platform) orders(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	within, ok := bounds(w, query)
	if !ok {
		return
	}
	by, direction := cmp.Or(query.Get("orderby"), "date"), cmp.Or(query.Get("order"), "desc")
	if !slices.Contains([]string{"date", "id", "include", "title", "slug", "modified"}, by) {
		invalid(w, "orderby", "orderby is not one of date, id, include, title, slug, and modified.")
		return
	}
	if direction != "asc" && direction != "desc" {
		invalid(w, "order", "order is not one of asc and desc.")
		return
	}
	statuses := strings.FieldsFunc(query.Get("status")+","+strings.Join(query["status[]"], ","), func(c rune) bool { return c == ',' })
	include := strings.FieldsFunc(query.Get("include")+","+strings.Join(query["include[]"], ","), func(c rune) bool { return c == ',' })
	found := s.Find(func(o shop.Order) bool {
		status := p.Status(o)
		named := slices.Contains(statuses, status)
		if o.Deleted && !named || len(statuses) > 0 && !named && !slices.Contains(statuses, "any") ||
			len(include) > 0 && !slices.Contains(include, p.OrderID(o)) {
			return false
		}
		for _, bound := range within {
			t := o.CreatedAt
			if bound.modified {
				t = o.UpdatedAt
			}
			t = t.Truncate(time.Second)
			if bound.atLeast && !t.After(bound.at) || !bound.atLeast && !t.Before(bound.at) {
				return false
			}
		}
		return true
	})
	slices.SortStableFunc(found, func(a, b shop.Order) int {
		order := cmp.Compare(a.ID, b.ID)
		switch by {
		case "date":
			order = cmp.Or(a.CreatedAt.Truncate(time.Second).Compare(b.CreatedAt.Truncate(time.Second)), order)
		case "modified":
			order = a.UpdatedAt.Truncate(time.Second).Compare(b.UpdatedAt.Truncate(time.Second)) // no second key: ties lie as they come
		}
		if direction == "desc" {
			return -order
		}
		return order
	})
	list(s, w, r, len(found), func(i int) shop.Object { return p.order(s, found[i]) })
}

// find looks for the order of the path, or answers 404.
func find(s *shop.Shop, w http.ResponseWriter, r *http.Request) (shop.Order, bool) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	o, ok := s.Order(id)
	if err != nil || !ok {
		refuse(w, http.StatusNotFound, "woocommerce_rest_shop_order_invalid_id", "Invalid ID.")
		return o, false
	}
	return o, true
}

func (p *Platform) one(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	if o, ok := find(s, w, r); ok {
		show(w, r, http.StatusOK, p.order(s, o))
	}
}

func (p *Platform) refunds(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	if o, ok := find(s, w, r); ok {
		newest := slices.Clone(o.Refunds)
		slices.Reverse(newest)
		list(s, w, r, len(newest), func(i int) shop.Object { return refund(s, o, newest[i]) })
	}
}

func (p *Platform) oneRefund(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	o, ok := find(s, w, r)
	if !ok {
		return
	}
	for _, back := range o.Refunds {
		if strconv.FormatInt(back.ID, 10) == r.PathValue("refund") {
			show(w, r, http.StatusOK, refund(s, o, back))
			return
		}
	}
	refuse(w, http.StatusNotFound, "woocommerce_rest_invalid_order_refund_id", "Invalid order refund ID.")
}
