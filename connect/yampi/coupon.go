package yampi

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
)

// Coupon finds a promocode: its value is a percentage (p) or reais (v).
// Source: docs.yampi.com.br, "Promoções", /pricing/promocodes.
func (s *shop) Coupon(ctx context.Context, code string) (commerce.ShopCoupon, bool, error) {
	var got struct {
		Data []struct {
			Code     string      `json:"code"`
			Value    json.Number `json:"value"`
			Type     string      `json:"discount_type"`
			Quantity int         `json:"quantity"`
			Once     bool        `json:"once_per_customer"`
			Active   bool        `json:"active"`
			Expired  bool        `json:"expired"`
			EndAt    instant     `json:"end_at"`
		} `json:"data"`
	}
	if err := s.get(ctx, "/pricing/promocodes", url.Values{"q": {code}, "limit": {"20"}}, &got); err != nil {
		return commerce.ShopCoupon{}, false, err
	}
	for _, one := range got.Data {
		if !strings.EqualFold(one.Code, code) {
			continue
		}
		coupon := commerce.ShopCoupon{
			Code: code, MaxUses: max(one.Quantity, 0), OnePerPerson: one.Once, Enabled: one.Active && !one.Expired, EndsAt: one.EndAt.Time,
		}
		if one.Type == "p" {
			coupon.Percent = string(one.Value)
		} else {
			coupon.Amount = string(one.Value)
		}
		return coupon, true, nil
	}
	return commerce.ShopCoupon{}, false, nil
}

// CreateCoupon makes a promocode for every product and buyer.
func (s *shop) CreateCoupon(ctx context.Context, c commerce.ShopCoupon) error {
	kind, value := "v", c.Amount
	if c.Percent != "" {
		kind, value = "p", c.Percent
	}
	if d, err := commerce.ParseDecimal(value); err != nil || !d.IsPositive() {
		return platform.Unread("percent or amount")
	}
	at := func(t time.Time) string { return t.In(brasilia).Format(time.DateTime) }
	coupon := map[string]any{
		"code": c.Code, "discount_type": kind, "value": json.Number(value), "min_value": 0, "once_per_customer": c.OnePerPerson,
		"active": true, "accumulate": false, "start_at": at(time.Now()),
	}
	if c.MaxUses > 0 {
		coupon["quantity"] = c.MaxUses
	}
	if !c.EndsAt.IsZero() {
		coupon["end_at"] = at(c.EndsAt)
	}
	body, err := json.Marshal(coupon)
	if err != nil {
		return err
	}
	_, err = s.client.Do(ctx, platform.Request{
		Method: http.MethodPost, URL: address + s.alias + "/pricing/promocodes", Header: s.header, Body: body, Once: true,
	})
	return err
}
