package nuvemshop

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-io/tributary/test/fakes/shop"
)

// couponCode: "can contain only alphanumeric characters".
var couponCode = regexp.MustCompile(`^[A-Za-z0-9]{1,50}$`)

func coupon(c shop.Coupon, now time.Time) shop.Object {
	kind, value := "percentage", shop.Money(c.Value).String()
	switch c.Kind {
	case shop.CouponAmount:
		kind = "absolute"
	case shop.CouponShipping:
		kind, value = "shipping", "0.00"
	}
	var most, minimum any
	if c.Limit > 0 {
		most = c.Limit
	}
	if c.Minimum > 0 {
		minimum = number(c.Minimum)
	}
	return shop.O("id", c.ID, "code", c.Code, "type", kind, "value", value, "valid", c.Active(now), "used", c.Used, "max_uses", most,
		"includes_shipping", false, "start_date", date(c.Start), "end_date", date(c.End), "min_price", minimum, "first_consumer_purchase", false,
		"categories", nil, "products", nil, "combines_with_other_discounts", true)
}

func date(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(time.DateOnly)
}

func (p *Platform) coupons(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	query, now := r.URL.Query(), s.Now()
	var list []shop.Coupon
	for _, c := range s.Coupons() {
		valid := query.Get("valid")
		if strings.Contains(strings.ToLower(c.Code), strings.ToLower(query.Get("q"))) &&
			(valid == "" || valid == strconv.FormatBool(c.Active(now))) {
			list = append(list, c)
		}
	}
	page(s, w, r, len(list), func(i int) shop.Object { return coupon(list[i], now) })
}

func (p *Platform) coupon(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	for _, c := range s.Coupons() {
		if strconv.FormatInt(c.ID, 10) == r.PathValue("id") {
			show(w, r, http.StatusOK, coupon(c, s.Now()))
			return
		}
	}
	refuse(w, http.StatusNotFound, "Coupon not found")
}

// couponBody is what a client sends; numbers may be text.
type couponBody struct {
	Code      *string         `json:"code"`
	Type      *string         `json:"type"`
	Value     json.RawMessage `json:"value"`
	MaxUses   *int            `json:"max_uses"`
	MinPrice  json.RawMessage `json:"min_price"`
	StartDate *string         `json:"start_date"`
	EndDate   *string         `json:"end_date"`
}

// onto changes a coupon as the body says; problems are by field, as the API tells them.
func (b couponBody) onto(c *shop.Coupon, fresh bool) map[string][]string {
	problems := map[string][]string{}
	if b.Code != nil {
		c.Code = *b.Code
	}
	if !couponCode.MatchString(c.Code) {
		problems["code"] = []string{"can't be blank and can contain only alphanumeric characters"}
	}
	if b.Type != nil {
		c.Kind = map[string]shop.CouponKind{
			"percentage": shop.CouponPercent, "absolute": shop.CouponAmount, "shipping": shop.CouponShipping,
		}[*b.Type]
	}
	if c.Kind == "" {
		problems["type"] = []string{"is not included in the list"}
	}
	if value, ok := amount(b.Value); ok {
		c.Value = int64(value)
	} else if len(b.Value) > 0 || fresh && c.Kind != shop.CouponShipping {
		problems["value"] = []string{"can't be blank"}
	}
	if c.Kind == shop.CouponPercent && c.Value > 10000 {
		problems["value"] = []string{"must be less than or equal to 100"}
	}
	if least, ok := amount(b.MinPrice); ok {
		c.Minimum = least
	}
	if b.MaxUses != nil {
		c.Limit = *b.MaxUses
	}
	for name, part := range map[string]struct {
		text *string
		to   *time.Time
		add  time.Duration
	}{"start_date": {b.StartDate, &c.Start, 0}, "end_date": {b.EndDate, &c.End, 24*time.Hour - time.Second}} {
		if part.text == nil || *part.text == "" {
			continue
		}
		day, err := time.Parse(time.DateOnly, *part.text)
		if err != nil {
			problems[name] = []string{"is not a valid date"}
			continue
		}
		*part.to = day.Add(part.add) // end_time is 23:59 by default
	}
	return problems
}

// amount reads a number or a number as text; false when there is none.
func amount(raw json.RawMessage) (shop.Money, bool) {
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return 0, false
	}
	money, err := shop.ParseMoney(strings.Trim(string(raw), `"`))
	return money, err == nil && money >= 0
}

func (p *Platform) newCoupon(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	var body couponBody
	if err := shop.ReadJSON(r, &body); err != nil {
		answer(w, http.StatusBadRequest, shop.O("error", "Problems parsing JSON"))
		return
	}
	c := shop.Coupon{ByAPI: true}
	if problems := body.onto(&c, true); len(problems) > 0 {
		answer(w, http.StatusUnprocessableEntity, problems)
		return
	}
	c, err := s.AddCoupon(c)
	if err != nil {
		answer(w, http.StatusUnprocessableEntity, shop.O("code", []string{"has already been taken"}))
		return
	}
	show(w, r, http.StatusCreated, coupon(c, s.Now()))
}

func (p *Platform) putCoupon(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	var body couponBody
	if err := shop.ReadJSON(r, &body); err != nil {
		answer(w, http.StatusBadRequest, shop.O("error", "Problems parsing JSON"))
		return
	}
	id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64)
	var problems map[string][]string
	c, err := s.ChangeCoupon(id, func(c *shop.Coupon) {
		changed := *c
		if problems = body.onto(&changed, false); len(problems) == 0 {
			*c = changed
		}
	})
	switch {
	case err != nil:
		refuse(w, http.StatusNotFound, "Coupon not found")
	case len(problems) > 0:
		answer(w, http.StatusUnprocessableEntity, problems)
	default:
		show(w, r, http.StatusOK, coupon(c, s.Now()))
	}
}

func (p *Platform) deleteCoupon(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if _, err := s.ChangeCoupon(id, func(c *shop.Coupon) { c.Deleted = true }); err != nil {
		refuse(w, http.StatusNotFound, "Coupon not found")
		return
	}
	answer(w, http.StatusOK, shop.Object{})
}
