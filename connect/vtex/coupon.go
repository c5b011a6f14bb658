package vtex

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
)

// Coupon reads a coupon. What it takes off is not told: that is of the promotions that name it, of which there may be several.
// Source: vtex/openapi-schemas, "VTEX - Promotions & Taxes API.json", /api/rnb/pvt/coupon/{couponCode}.
func (s *shop) Coupon(ctx context.Context, code string) (commerce.ShopCoupon, bool, error) {
	answer, err := s.get(ctx, "/api/rnb/pvt/coupon/"+url.PathEscape(code), nil)
	if platform.NotFound(err) {
		return commerce.ShopCoupon{}, false, nil
	}
	if err != nil {
		return commerce.ShopCoupon{}, false, lacking(err, "Manage benefits and rates")
	}
	var got *struct {
		Code     string `json:"couponCode"`
		Archived bool   `json:"isArchived"`
		MaxUsage int    `json:"maxUsage"`
	}
	if json.Unmarshal(answer.Body, &got) != nil {
		return commerce.ShopCoupon{}, false, platform.Unread("the coupon")
	}
	if answer.Status == http.StatusNoContent || got == nil || got.Code == "" {
		return commerce.ShopCoupon{}, false, nil
	}
	return commerce.ShopCoupon{Code: code, MaxUses: max(got.MaxUsage, 0), Enabled: !got.Archived}, true, nil
}

// CreateCoupon is not supported: a coupon of VTEX does nothing without a promotion, which says far more than a discount.
func (*shop) CreateCoupon(context.Context, commerce.ShopCoupon) error {
	return &platform.Error{Reason: commerce.ShopLacksScope, Detail: "not supported: make the coupon and its promotion in VTEX's admin"}
}
