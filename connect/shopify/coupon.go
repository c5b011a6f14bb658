package shopify

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
)

const (
	limits      = `status endsAt usageLimit appliesOncePerCustomer`
	couponQuery = `query($code: String!) { codeDiscountNodeByCode(code: $code) { codeDiscount { __typename
		... on DiscountCodeBasic { ` + limits + ` customerGets { value { __typename
			... on DiscountPercentage { percentage } ... on DiscountAmount { amount { amount currencyCode } } } } }
		... on DiscountCodeBxgy { ` + limits + ` } ... on DiscountCodeFreeShipping { ` + limits + ` }
		... on DiscountCodeApp { ` + limits + ` } } } }`
	createQuery = `mutation($coupon: DiscountCodeBasicInput!) { discountCodeBasicCreate(basicCodeDiscount: $coupon) {
		codeDiscountNode { id } userErrors { field code } } }`
)

// Coupon reads a discount code, whatever its case. Only a percentage or an amount is told of what it gives.
// Source: shopify.dev/docs/api/admin-graphql/2026-10/queries/codeDiscountNodeByCode.
func (s *shop) Coupon(ctx context.Context, code string) (commerce.ShopCoupon, bool, error) {
	var got struct {
		Node *struct {
			Discount struct {
				Status   string     `json:"status"`
				EndsAt   *time.Time `json:"endsAt"`
				Limit    *int       `json:"usageLimit"`
				Once     bool       `json:"appliesOncePerCustomer"`
				Customer struct {
					Value struct {
						Percentage json.Number `json:"percentage"` // 0.1 is 10 %
						Amount     *struct {
							Amount json.Number `json:"amount"`
						} `json:"amount"`
					} `json:"value"`
				} `json:"customerGets"`
			} `json:"codeDiscount"`
		} `json:"codeDiscountNodeByCode"`
	}
	err := s.ask(ctx, "coupon", couponQuery, "codeDiscountNodeByCode", map[string]any{"code": code}, false, &got)
	if err != nil || got.Node == nil {
		return commerce.ShopCoupon{}, false, err
	}
	from := got.Node.Discount
	coupon := commerce.ShopCoupon{Code: code, OnePerPerson: from.Once, Enabled: from.Status == "ACTIVE"}
	if from.EndsAt != nil {
		coupon.EndsAt = *from.EndsAt
	}
	if from.Limit != nil {
		coupon.MaxUses = *from.Limit
	}
	if share, err := commerce.ParseDecimal(string(from.Customer.Value.Percentage)); err == nil {
		coupon.Percent = share.Shift(2).String()
	} else if amount := from.Customer.Value.Amount; amount != nil {
		coupon.Amount = string(amount.Amount)
	}
	return coupon, true, nil
}

// CreateCoupon makes a code that takes a percentage or an amount off the whole order, for every buyer.
// Source: shopify.dev/docs/api/admin-graphql/2026-10/mutations/discountCodeBasicCreate.
func (s *shop) CreateCoupon(ctx context.Context, c commerce.ShopCoupon) error {
	value := map[string]any{"discountAmount": map[string]any{"amount": c.Amount, "appliesOnEachItem": false}}
	if c.Percent != "" {
		share, err := hundredth(c.Percent)
		if err != nil {
			return err
		}
		value = map[string]any{"percentage": share}
	} else if amount, err := commerce.ParseDecimal(c.Amount); err != nil || !amount.IsPositive() {
		return platform.Unread("amount")
	}
	coupon := map[string]any{
		"title": c.Code, "code": c.Code, "startsAt": time.Now().UTC().Format(time.RFC3339), "appliesOncePerCustomer": c.OnePerPerson,
		"context": map[string]any{"all": "ALL"}, "customerGets": map[string]any{"items": map[string]any{"all": true}, "value": value},
	}
	if c.MaxUses > 0 {
		coupon["usageLimit"] = c.MaxUses
	}
	if !c.EndsAt.IsZero() {
		coupon["endsAt"] = c.EndsAt.UTC().Format(time.RFC3339)
	}
	var got struct {
		Created struct {
			Node *struct {
				ID string `json:"id"`
			} `json:"codeDiscountNode"`
			Errors []struct {
				Field []string `json:"field"`
				Code  string   `json:"code"`
			} `json:"userErrors"`
		} `json:"discountCodeBasicCreate"`
	}
	variables := map[string]any{"coupon": coupon}
	if err := s.ask(ctx, "create", createQuery, "discountCodeBasicCreate", variables, true, &got); err != nil {
		return err
	}
	if len(got.Created.Errors) > 0 {
		refused := got.Created.Errors[0]
		return platform.Unread(platform.Text(strings.Join(refused.Field, ".")+" "+refused.Code, 200))
	}
	if got.Created.Node == nil {
		return &platform.Error{Reason: commerce.ShopUnknownWrite}
	}
	return nil
}
