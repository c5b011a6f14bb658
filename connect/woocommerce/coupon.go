package woocommerce

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
)

// shopCoupon is a coupon as WooCommerce has it.
type shopCoupon struct {
	Code         platform.Scalar `json:"code"`
	Type         platform.Scalar `json:"discount_type"` // percent, fixed_cart, fixed_product
	Amount       platform.Scalar `json:"amount"`
	Status       platform.Scalar `json:"status"` // not sent by older versions
	ExpiresAt    platform.Scalar `json:"date_expires_gmt"`
	Limit        platform.Scalar `json:"usage_limit"`
	LimitPerUser platform.Scalar `json:"usage_limit_per_user"`
}

// Coupon reads the coupon of a code. WooCommerce stores codes in lower case.
func (s *shop) Coupon(ctx context.Context, code string) (commerce.ShopCoupon, bool, error) {
	var list []shopCoupon
	if _, err := s.read(ctx, "coupons", url.Values{"code": {code}, "per_page": {"100"}}, &list); err != nil {
		return commerce.ShopCoupon{}, false, err
	}
	for _, c := range list {
		if strings.EqualFold(c.Code.Text, code) {
			found, err := c.read()
			return found, err == nil, err
		}
	}
	return commerce.ShopCoupon{}, false, nil
}

func (c *shopCoupon) read() (commerce.ShopCoupon, error) {
	out := commerce.ShopCoupon{Code: platform.Text(c.Code.Text, 255), Enabled: c.Status.Text == "" || c.Status.Text == "publish",
		MaxUses: platform.Whole(c.Limit, 1_000_000_000), OnePerPerson: c.LimitPerUser.Text == "1"}
	if kind := c.Type.Text; kind == "percent" || kind == "fixed_cart" {
		if err := platform.TakesOff(&out, "amount", c.Amount, kind == "percent"); err != nil {
			return out, err
		}
	}
	if c.ExpiresAt.Text != "" {
		at, err := platform.TimeGMT("date_expires_gmt", c.ExpiresAt)
		if err != nil {
			return out, err
		}
		out.EndsAt = at
	}
	return out, nil
}

// CreateCoupon makes a coupon that counts at once.
func (s *shop) CreateCoupon(ctx context.Context, c commerce.ShopCoupon) error {
	if c.Code == "" || (c.Percent == "") == (c.Amount == "") {
		return platform.Unread("a code, and percent or amount")
	}
	body := map[string]any{"code": c.Code, "discount_type": "percent", "amount": c.Percent}
	if c.Amount != "" {
		body["discount_type"], body["amount"] = "fixed_cart", c.Amount
	}
	if c.MaxUses > 0 {
		body["usage_limit"] = c.MaxUses
	}
	if c.OnePerPerson {
		body["usage_limit_per_user"] = 1
	}
	if !c.EndsAt.IsZero() {
		body["date_expires_gmt"] = c.EndsAt.UTC().Format(gmt)
	}
	answer, err := s.write(ctx, http.MethodPost, "coupons", nil, body)
	if answer.Status == http.StatusBadRequest {
		return platform.Unread("the shop refused it: " + errorCode(answer.Body))
	}
	if err != nil {
		return err
	}
	var made shopCoupon
	if json.Unmarshal(answer.Body, &made) != nil || !strings.EqualFold(made.Code.Text, c.Code) {
		return &platform.Error{Reason: commerce.ShopUnknownWrite, Detail: "the answer names no coupon"}
	}
	return nil
}

// gmt is how WooCommerce writes times in UTC.
const gmt = "2006-01-02T15:04:05"
