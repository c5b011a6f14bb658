package shopify

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-io/tributary/test/fakes/shop"
	"github.com/tributary-io/tributary/test/fakes/shopify/graphql"
)

// discountNode renders a coupon as a code discount with one code.
func discountNode(s *shop.Shop, c shop.Coupon) object {
	now, status, limit := s.Now(), "ACTIVE", any(nil)
	switch {
	case c.Start.After(now):
		status = "SCHEDULED"
	case !c.End.IsZero() && c.End.Before(now):
		status = "EXPIRED"
	}
	if c.Limit > 0 {
		limit = c.Limit
	}
	start := c.Start
	if start.IsZero() {
		start = c.CreatedAt
	}
	code := object{"id": gid("DiscountRedeemCode", c.ID), "code": c.Code, "asyncUsageCount": c.Used}
	discount := object{graphql.Typename: "DiscountCodeBasic", "title": cmp.Or(c.Title, c.Code), "status": status, "startsAt": when(start),
		"endsAt":     when(c.End),
		"usageLimit": limit, "appliesOncePerCustomer": c.OnceEach, "asyncUsageCount": c.Used, "createdAt": when(c.CreatedAt),
		"updatedAt": when(c.UpdatedAt),
		"summary":   c.Code, "codes": connection([]object{code}), "codesCount": object{"count": 1, "precision": "EXACT"}}
	switch c.Kind {
	case shop.CouponPercent:
		discount["customerGets"] = object{"value": object{graphql.Typename: "DiscountPercentage", "percentage": float64(c.Value) / 10000}}
	case shop.CouponAmount:
		discount["customerGets"] = object{"value": object{graphql.Typename: "DiscountAmount", "amount": moneyV2(shop.Money(c.Value),
			s.Options().Currency),
			"appliesOnEachItem": false}}
	default:
		discount[graphql.Typename] = "DiscountCodeFreeShipping"
	}
	return object{graphql.Typename: "DiscountCodeNode", "id": gid("DiscountCodeNode", c.ID), "codeDiscount": discount}
}

func discountErrors(code, message string, field ...string) []object {
	return []object{{"code": code, "field": field, "message": message, "extraInfo": nil}}
}

// createDiscount makes a coupon. A percentage is a part of one: 0.1 takes 10 % off.
func (p *Platform) createDiscount(s *shop.Shop, args map[string]any) (any, error) {
	if !p.may("write_discounts") {
		return nil, denied("discountCodeBasicCreate", "write_discounts")
	}
	input, _ := args["basicCodeDiscount"].(map[string]any)
	refuse := func(code, message, field string) (any, error) {
		return object{"codeDiscountNode": nil, "userErrors": discountErrors(code, message, "basicCodeDiscount", field)}, nil
	}
	gets, _ := input["customerGets"].(map[string]any)
	value, _ := gets["value"].(map[string]any)
	c := shop.Coupon{Code: str(input, "code"), Title: str(input, "title"), ByAPI: true, Kind: shop.CouponPercent,
		Limit: count(input["usageLimit"])}
	c.OnceEach, _ = input["appliesOncePerCustomer"].(bool)
	switch sum, isSum := value["discountAmount"].(map[string]any); {
	case c.Title == "":
		return refuse("BLANK", "Title can't be blank", "title")
	case c.Code == "":
		return refuse("BLANK", "Code can't be blank", "code")
	case str(input, "startsAt") == "":
		return refuse("BLANK", "Starts at can't be blank", "startsAt")
	case input["context"] == nil && input["customerSelection"] == nil:
		return refuse("BLANK", "Customer selection can't be blank", "customerSelection")
	case isSum:
		money, err := shop.ParseMoney(fmt.Sprint(sum["amount"]))
		if err != nil || money <= 0 {
			return refuse("GREATER_THAN", "Value must be greater than 0", "customerGets")
		}
		c.Kind, c.Value = shop.CouponAmount, int64(money)
	default:
		part := decimal(value["percentage"])
		if part <= 0 || part > 1 {
			return refuse("VALUE_OUTSIDE_RANGE", "Value must be between 0.0 and 1.0", "customerGets")
		}
		c.Value = int64(math.Round(part * 10000))
	}
	for name, to := range map[string]*time.Time{"startsAt": &c.Start, "endsAt": &c.End} {
		if given := str(input, name); given != "" {
			at, err := moment(given)
			if err != nil {
				return refuse("INVALID", name+" is invalid", name)
			}
			*to = at
		}
	}
	c, err := s.AddCoupon(c)
	if err != nil {
		return refuse("TAKEN", "Code must be unique. Please try a different code.", "code")
	}
	return object{"codeDiscountNode": discountNode(s, c), "userErrors": []object{}}, nil
}

func decimal(v any) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case int64:
		return float64(v)
	case string:
		f, _ := strconv.ParseFloat(v, 64)
		return f
	}
	return 0
}

// A price rule and its one code are the same coupon here: the rule is made without a code, which comes after it.
const ruleOnly = "rule without a code "

func rule(c shop.Coupon, currency string) shop.Object {
	kind, value := "percentage", "-"+percent(c.Value)
	if c.Kind == shop.CouponAmount {
		kind, value = "fixed_amount", (-shop.Money(c.Value)).String()
	}
	var limit any
	if c.Limit > 0 {
		limit = c.Limit
	}
	return shop.O("id", c.ID, "value_type", kind, "value", value, "customer_selection", "all", "target_type", "line_item",
		"target_selection", "all",
		"allocation_method", "across", "once_per_customer", c.OnceEach, "usage_limit", limit, "starts_at", stamp(c.Start), "ends_at",
		stamp(c.End),
		"created_at", stamp(c.CreatedAt), "updated_at", stamp(c.UpdatedAt), "title", c.Title, "admin_graphql_api_id", gid("PriceRule", c.ID))
}

func (p *Platform) newRule(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	var body struct {
		Rule struct {
			Title           string      `json:"title"`
			ValueType       string      `json:"value_type"`
			Value           json.Number `json:"value"`
			OncePerCustomer bool        `json:"once_per_customer"`
			UsageLimit      int         `json:"usage_limit"`
			StartsAt        string      `json:"starts_at"`
			EndsAt          string      `json:"ends_at"`
		} `json:"price_rule"`
	}
	if err := shop.ReadJSON(r, &body); err != nil {
		answer(w, http.StatusBadRequest, shop.O("errors", shop.O("price_rule", "Required parameter missing or invalid")))
		return
	}
	value, err := shop.ParseMoney(strings.TrimPrefix(string(body.Rule.Value), "-"))
	kind, ok := map[string]shop.CouponKind{"percentage": shop.CouponPercent, "fixed_amount": shop.CouponAmount}[body.Rule.ValueType]
	start, problem := moment(body.Rule.StartsAt)
	if err != nil || !ok || problem != nil || body.Rule.Title == "" {
		answer(w, http.StatusUnprocessableEntity, shop.O("errors", shop.O("base",
			[]string{"title, value_type, value and starts_at must be valid"})))
		return
	}
	c := shop.Coupon{Code: ruleOnly + strconv.FormatInt(s.Now().UnixNano(), 10), Title: body.Rule.Title, Kind: kind, Value: int64(value),
		ByAPI:    true,
		OnceEach: body.Rule.OncePerCustomer, Limit: body.Rule.UsageLimit, Start: start}
	if end, err := moment(body.Rule.EndsAt); err == nil {
		c.End = end
	}
	if c, err = s.AddCoupon(c); err != nil {
		answer(w, http.StatusUnprocessableEntity, shop.O("errors", shop.O("base", []string{err.Error()})))
		return
	}
	answer(w, http.StatusCreated, shop.O("price_rule", rule(c, s.Options().Currency)))
}

func codeObject(c shop.Coupon) shop.Object {
	return shop.O("id", c.ID+1, "price_rule_id", c.ID, "code", c.Code, "usage_count", c.Used, "created_at", stamp(c.CreatedAt), "updated_at",
		stamp(c.UpdatedAt))
}

func (p *Platform) newCode(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	var body struct {
		Code struct{ Code string } `json:"discount_code"`
	}
	if err := shop.ReadJSON(r, &body); err != nil || body.Code.Code == "" {
		answer(w, http.StatusBadRequest, shop.O("errors", shop.O("discount_code", "Required parameter missing or invalid")))
		return
	}
	if _, taken := s.Coupon(body.Code.Code); taken {
		answer(w, http.StatusUnprocessableEntity, shop.O("errors", shop.O("code", []string{"must be unique. Please try a different code."})))
		return
	}
	c, err := s.ChangeCoupon(number(r), func(c *shop.Coupon) { c.Code = body.Code.Code })
	if err != nil {
		answer(w, http.StatusNotFound, shop.O("errors", "Not Found"))
		return
	}
	answer(w, http.StatusCreated, shop.O("discount_code", codeObject(c)))
}

// lookup leads to the rule of a code: 303, or 404.
func (p *Platform) lookup(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	c, ok := s.Coupon(r.URL.Query().Get("code"))
	if !ok {
		answer(w, http.StatusNotFound, shop.O("errors", "Not Found"))
		return
	}
	w.Header().Set("Location", fmt.Sprintf("%s/admin/api/%s/price_rules/%d/discount_codes/%d", s.URL(), r.PathValue("version"), c.ID, c.ID+1))
	answer(w, http.StatusSeeOther, shop.O("discount_code", codeObject(c)))
}
