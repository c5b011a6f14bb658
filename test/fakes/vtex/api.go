package vtex

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-io/tributary/test/fakes/shop"
)

// Bounds of the list of orders.
const (
	standardPage = 15
	mostPage     = 100
	mostPages    = 30
)

// Handler serves the APIs.
func (p *Platform) Handler(s *shop.Shop) http.Handler {
	mux := http.NewServeMux()
	route := func(pattern string, handle func(*shop.Shop, http.ResponseWriter, *http.Request)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if p.allowed(w, r) {
				handle(s, w, r)
			}
		})
	}
	route("GET /api/oms/pvt/orders", p.orders)
	route("GET /api/oms/pvt/orders/{id}", p.one)
	route("GET /api/oms/pvt/orders/order-group/{group}", p.group)
	route("GET /api/orders/feed/config", p.feedConfig)
	route("POST /api/orders/feed/config", p.setFeed)
	route("DELETE /api/orders/feed/config", p.deleteFeed)
	route("GET /api/orders/feed", p.read)
	route("POST /api/orders/feed", p.commit)
	route("GET /api/orders/hook/config", p.hookConfig)
	route("POST /api/orders/hook/config", p.setHook)
	route("DELETE /api/orders/hook/config", p.deleteHook)
	route("GET /api/rnb/pvt/coupon", p.coupons)
	route("GET /api/rnb/pvt/coupon/{code}", p.coupon)
	route("GET /api/rnb/pvt/benefits/calculatorconfiguration", p.promotions)
	route("GET /api/rnb/pvt/calculatorconfiguration/{id}", p.promotion)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusNotFound, "404", "Not found") })
	return mux
}

// span reads "creationDate:[2026-11-01T02:00:00.000Z TO 2026-11-02T01:59:59.999Z]".
func span(value, name string) (from, to time.Time, err error) {
	inner, ok := strings.CutPrefix(value, name+":[")
	inner, closed := strings.CutSuffix(inner, "]")
	first, second, parted := strings.Cut(inner, " TO ")
	if !ok || !closed || !parted {
		return from, to, fmt.Errorf("%q: want %s:[from TO to]", value, name)
	}
	if from, err = time.Parse(time.RFC3339, first); err != nil {
		return from, to, fmt.Errorf("%s: %w", name, err)
	}
	if to, err = time.Parse(time.RFC3339, second); err != nil {
		return from, to, fmt.Errorf("%s: %w", name, err)
	}
	return from, to, nil
}

func (p *Platform) orders(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	page, size := 1, standardPage
	for name, to := range map[string]*int{"page": &page, "per_page": &size} {
		if query.Get(name) == "" {
			continue
		}
		n, err := strconv.Atoi(query.Get(name))
		if err != nil || n < 1 {
			refuse(w, http.StatusBadRequest, "OMS003", name+" is not valid")
			return
		}
		*to = n
	}
	size = min(size, mostPage)
	if page > mostPages {
		refuse(w, http.StatusBadRequest, "OMS004", "The maximum page is 30")
		return
	}
	known := s.Now().Add(-time.Duration(float64(lag) * s.Options().RetryScale))
	var from, to time.Time
	filtered := query.Get("f_creationDate") != ""
	if filtered {
		var err error
		if from, to, err = span(query.Get("f_creationDate"), "creationDate"); err != nil {
			refuse(w, http.StatusBadRequest, "OMS005", err.Error())
			return
		}
	}
	statuses := strings.FieldsFunc(query.Get("f_status"), func(c rune) bool { return c == ',' })
	found := s.Find(func(o shop.Order) bool {
		return !o.Deleted && !o.CreatedAt.After(known) && (len(statuses) == 0 || slices.Contains(statuses, p.Status(o))) &&
			(!filtered || !o.CreatedAt.Before(from) && !o.CreatedAt.After(to))
	})
	if _, direction, _ := strings.Cut(cmp.Or(query.Get("orderBy"), "creationDate,desc"), ","); direction != "asc" {
		slices.Reverse(found)
	}
	pages := (len(found) + size - 1) / size
	list := []shop.Object{}
	for i := (page - 1) * size; i < min(len(found), page*size); i++ {
		list = append(list, p.entry(found[i]))
	}
	answer(w, http.StatusOK, shop.O("list", list, "facets", []any{}, "paging", shop.O("total", len(found), "pages", pages, "currentPage",
		page, "perPage", size),
		"stats", shop.O("stats", shop.O("totalValue", shop.O("Count", len(found)), "totalItems", shop.O("Count", len(found))))))
	if page < pages {
		s.PageRead()
	}
}

func (p *Platform) one(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	for _, o := range s.Find(func(o shop.Order) bool { return p.OrderID(o) == id || "seq"+p.OrderNumber(o) == id }) {
		answer(w, http.StatusOK, p.order(s, o))
		return
	}
	refuse(w, http.StatusNotFound, "OMS007", "Order Not Found")
}

func (p *Platform) group(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	list := []shop.Object{}
	for _, o := range s.Find(func(o shop.Order) bool { return o.Group == r.PathValue("group") }) {
		list = append(list, p.order(s, o))
	}
	answer(w, http.StatusOK, list)
}

// coupon renders a code. A coupon's discount is a promotion with the same utmSource.
func coupon(c shop.Coupon) shop.Object {
	out := shop.O("lastModifiedUtc", c.UpdatedAt.UTC().Format("2006-01-02T15:04:05.0000000Z"), "utmSource", strings.ToLower(c.Code),
		"utmCampaign", nil, "couponCode", c.Code,
		"isArchived", c.Deleted, "maxItemsPerClient", 10, "expirationIntervalPerUse", "00:00:00")
	if c.Limit > 0 {
		out = append(out, shop.O("maxUsage", c.Limit)...)
	}
	return out
}

func (p *Platform) coupons(s *shop.Shop, w http.ResponseWriter, _ *http.Request) {
	list := []shop.Object{}
	for _, c := range s.Coupons() {
		list = append(list, coupon(c))
	}
	answer(w, http.StatusOK, list)
}

func (p *Platform) coupon(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	c, ok := s.Coupon(r.PathValue("code"))
	if !ok {
		refuse(w, http.StatusNotFound, "404", "Coupon not found")
		return
	}
	answer(w, http.StatusOK, coupon(c))
}

func (p *Platform) promotionID(c shop.Coupon) string {
	return dashed(p.options.Secret("promotion "+c.Code, 32))
}

func (p *Platform) promotions(s *shop.Shop, w http.ResponseWriter, _ *http.Request) {
	list := []shop.Object{}
	for _, c := range s.Coupons() {
		active := c.Active(s.Now())
		status := map[bool]string{true: "active", false: "inactive"}[active]
		list = append(list, shop.O("idCalculatorConfiguration", p.promotionID(c), "lastModifiedUtc", stamp(c.UpdatedAt), "name", c.Code,
			"beginDate", stamp(c.Start),
			"endDate", stamp(c.End), "isActive", active, "description", "", "type", "regular", "utmSource", strings.ToLower(c.Code), "utmCampain",
			"", "utmiCampaign", "",
			"status", status, "isArchived", false, "maxUsage", c.Limit))
	}
	answer(w, http.StatusOK, shop.O("limitConfigurationMaxPrice", shop.O("activesCount", 0, "limit", 10), "limitConfiguration",
		shop.O("activesCount", len(list), "limit", 100), "items", list))
}

func (p *Platform) promotion(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	for _, c := range s.Coupons() {
		if p.promotionID(c) != r.PathValue("id") {
			continue
		}
		kind, percent, nominal := "percentual", float64(c.Value)/100, 0.0
		switch c.Kind {
		case shop.CouponAmount:
			kind, percent, nominal = "nominal", 0, float64(c.Value)/100
		case shop.CouponShipping:
			kind, percent = "percentualShipping", 0
		}
		answer(w, http.StatusOK, shop.O("idCalculatorConfiguration", p.promotionID(c), "name", c.Code, "beginDateUtc", stamp(c.Start),
			"endDateUtc", stamp(c.End),
			"lastModified", stamp(c.UpdatedAt), "isActive", c.Active(s.Now()), "isArchived", false, "cumulative", false, "discountType", kind,
			"nominalDiscountValue", nominal, "percentualDiscountValue", percent, "utmSource", strings.ToLower(c.Code), "type", "regular",
			"maxUsage", c.Limit))
		return
	}
	refuse(w, http.StatusNotFound, "404", "Promotion not found")
}
