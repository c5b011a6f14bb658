package woocommerce

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-io/tributary/test/fakes/shop"
)

func coupon(s *shop.Shop, c shop.Coupon) shop.Object {
	kind, value := "percent", shop.Money(c.Value).String()
	switch c.Kind {
	case shop.CouponAmount:
		kind = "fixed_cart"
	case shop.CouponShipping:
		kind, value = "fixed_cart", "0.00"
	}
	var most, each any
	if c.Limit > 0 {
		most = c.Limit
	}
	if c.OnceEach {
		each = 1
	}
	used := c.UsedBy
	if used == nil {
		used = []string{}
	}
	out := shop.O("id", c.ID, "code", strings.ToLower(c.Code), "amount", value, "date_created", local(c.CreatedAt), "date_created_gmt",
		gmt(c.CreatedAt),
		"date_modified", local(c.UpdatedAt), "date_modified_gmt", gmt(c.UpdatedAt), "discount_type", kind, "description", c.Title,
		"date_expires", local(c.End), "date_expires_gmt", gmt(c.End), "usage_count", c.Used, "individual_use", c.Individual,
		"product_ids", []any{}, "excluded_product_ids", []any{}, "usage_limit", most, "usage_limit_per_user", each,
		"limit_usage_to_x_items", nil, "free_shipping", c.Kind == shop.CouponShipping, "product_categories", []any{},
		"excluded_product_categories", []any{}, "exclude_sale_items", false, "minimum_amount", c.Minimum.String(), "maximum_amount", "0.00",
		"email_restrictions", []any{}, "used_by", used, "meta_data", []any{})
	return append(out, links(s, fmt.Sprintf("coupons/%d", c.ID), "coupons")...)
}

// couponBody is what a client sends. Amounts are text, "even if setting a percentage".
type couponBody struct {
	Code              *string `json:"code"`
	Amount            *string `json:"amount"`
	DiscountType      *string `json:"discount_type"`
	Description       *string `json:"description"`
	DateExpires       *string `json:"date_expires"`
	DateExpiresGMT    *string `json:"date_expires_gmt"`
	IndividualUse     *bool   `json:"individual_use"`
	UsageLimit        *int    `json:"usage_limit"`
	UsageLimitPerUser *int    `json:"usage_limit_per_user"`
	FreeShipping      *bool   `json:"free_shipping"`
	MinimumAmount     *string `json:"minimum_amount"`
}

// onto changes a coupon as the body says; the name of the parameter that is wrong, or "".
func (b couponBody) onto(c *shop.Coupon) (wrong string) {
	if b.Code != nil {
		c.Code = *b.Code
	}
	if b.DiscountType != nil {
		kind, ok := map[string]shop.CouponKind{"percent": shop.CouponPercent, "fixed_cart": shop.CouponAmount,
			"fixed_product": shop.CouponAmount}[*b.DiscountType]
		if !ok {
			return "discount_type"
		}
		c.Kind = kind
	}
	for name, part := range map[string]struct {
		text *string
		to   func(shop.Money)
	}{"amount": {b.Amount, func(m shop.Money) { c.Value = int64(m) }}, "minimum_amount": {b.MinimumAmount,
		func(m shop.Money) { c.Minimum = m }}} {
		if part.text == nil {
			continue
		}
		sum, err := shop.ParseMoney(*part.text)
		if err != nil || sum < 0 || name == "amount" && c.Kind == shop.CouponPercent && sum > 10000 {
			return name
		}
		part.to(sum)
	}
	for name, part := range map[string]struct {
		text *string
		in   *time.Location
	}{"date_expires": {b.DateExpires, zone}, "date_expires_gmt": {b.DateExpiresGMT, time.UTC}} {
		if part.text == nil || *part.text == "" {
			continue
		}
		end, err := time.ParseInLocation(layout, *part.text, part.in)
		if err != nil {
			if end, err = time.ParseInLocation(time.DateOnly, *part.text, part.in); err != nil {
				return name
			}
		}
		c.End = end
	}
	if b.UsageLimit != nil {
		c.Limit = *b.UsageLimit
	}
	if b.UsageLimitPerUser != nil {
		c.OnceEach = *b.UsageLimitPerUser > 0
	}
	if b.IndividualUse != nil {
		c.Individual = *b.IndividualUse
	}
	if b.Description != nil {
		c.Title = *b.Description
	}
	if b.FreeShipping != nil && *b.FreeShipping && c.Value == 0 {
		c.Kind = shop.CouponShipping
	}
	return ""
}

func (p *Platform) coupons(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	code, search := r.URL.Query().Get("code"), strings.ToLower(r.URL.Query().Get("search"))
	var found []shop.Coupon
	for _, c := range s.Coupons() {
		if (code == "" || strings.EqualFold(c.Code, code)) && strings.Contains(strings.ToLower(c.Code), search) {
			found = append([]shop.Coupon{c}, found...)
		}
	}
	list(s, w, r, len(found), func(i int) shop.Object { return coupon(s, found[i]) })
}

func (p *Platform) coupon(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	for _, c := range s.Coupons() {
		if strconv.FormatInt(c.ID, 10) == r.PathValue("id") {
			show(w, r, http.StatusOK, coupon(s, c))
			return
		}
	}
	noCoupon(w)
}

func noCoupon(w http.ResponseWriter) {
	refuse(w, http.StatusNotFound, "woocommerce_rest_shop_coupon_invalid_id", "Invalid ID.")
}

func (p *Platform) newCoupon(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	var body couponBody
	if err := shop.ReadJSON(r, &body); err != nil {
		refuse(w, http.StatusBadRequest, "rest_invalid_json", "Invalid JSON body passed.")
		return
	}
	c := shop.Coupon{ByAPI: true, Kind: shop.CouponAmount}
	if wrong := body.onto(&c); wrong != "" {
		invalid(w, wrong, wrong+" is not valid.")
		return
	}
	if c.Code == "" {
		answer(w, http.StatusBadRequest, shop.O("code", "rest_missing_callback_param", "message", "Missing parameter(s): code",
			"data", shop.O("status", 400, "params", []string{"code"})))
		return
	}
	c, err := s.AddCoupon(c)
	if err != nil {
		refuse(w, http.StatusBadRequest, "woocommerce_rest_coupon_code_already_exists", "The coupon code already exists")
		return
	}
	show(w, r, http.StatusCreated, coupon(s, c))
}

func (p *Platform) putCoupon(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	var body couponBody
	if err := shop.ReadJSON(r, &body); err != nil {
		refuse(w, http.StatusBadRequest, "rest_invalid_json", "Invalid JSON body passed.")
		return
	}
	id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64)
	wrong := ""
	c, err := s.ChangeCoupon(id, func(c *shop.Coupon) {
		changed := *c
		if wrong = body.onto(&changed); wrong == "" {
			*c = changed
		}
	})
	switch {
	case err != nil:
		noCoupon(w)
	case wrong != "":
		invalid(w, wrong, wrong+" is not valid.")
	default:
		show(w, r, http.StatusOK, coupon(s, c))
	}
}

func (p *Platform) deleteCoupon(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64)
	var before shop.Coupon
	if _, err := s.ChangeCoupon(id, func(c *shop.Coupon) { before, c.Deleted = *c, true }); err != nil {
		noCoupon(w)
		return
	}
	show(w, r, http.StatusOK, coupon(s, before))
}
