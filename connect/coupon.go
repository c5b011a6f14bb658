package connect

import (
	"context"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
)

// couponsAtOnce are compared in one step: each is a request.
const couponsAtOnce = 10

// What a coupon of a shop may differ in.
const (
	couponMissing  = "missing"
	couponEnded    = "ended"
	couponDiscount = "discount"
)

// compareCoupons compares our next coupons with the shop's.
func (v *visit) compareCoupons(ctx context.Context) error {
	ours, err := v.Database.CouponsToCompare(ctx, v.c.CompanyID, v.compared.coupons, couponsAtOnce)
	if err != nil {
		return err
	}
	compared := make([]commerce.ShopCoupon, 0, len(ours))
	for _, our := range ours {
		shop, found, err := v.shop.Coupon(ctx, our.Code)
		if _, lacks := platform.Failed(err, commerce.ShopLacksScope); lacks {
			v.compared.ended = true // it may not be read: About says so
			return nil
		}
		if err != nil {
			return err
		}
		compared = append(compared, compareCoupon(our, shop, found, v.Now()))
		v.compared.coupons = our.Code
	}
	if len(ours) < couponsAtOnce {
		v.compared.ended = true
	}
	if len(compared) == 0 {
		return nil
	}
	return v.Database.StoreCoupons(ctx, v.lease, v.c.CompanyID, v.c.ID, compared)
}

// compareCoupon is our coupon as the shop has it, with what differs.
func compareCoupon(our, shop commerce.ShopCoupon, found bool, now time.Time) commerce.ShopCoupon {
	shop.Code, shop.InfluencerOur, shop.OurDiscount = our.Code, our.InfluencerOur, our.OurDiscount
	shop.OnOurSide, shop.OnTheirSide, shop.CheckedAt = true, found, now
	switch {
	case !found:
		shop.Difference = couponMissing
	case !shop.Enabled, !shop.EndsAt.IsZero() && !shop.EndsAt.After(now):
		shop.Difference = couponEnded
	case !sameDiscount(our, shop):
		shop.Difference = couponDiscount
	}
	return shop
}

// sameDiscount tells whether two coupons take off the same, as far as ours and the platform say what they take off.
func sameDiscount(our, shop commerce.ShopCoupon) bool {
	if our.Percent == "" && our.Amount == "" || shop.Percent == "" && shop.Amount == "" {
		return true
	}
	return sameAmount(our.Percent, shop.Percent) && sameAmount(our.Amount, shop.Amount)
}

func sameAmount(a, b string) bool {
	x, errX := decimal.NewFromString(a)
	y, errY := decimal.NewFromString(b)
	if errX != nil || errY != nil {
		return a == b
	}
	return x.Equal(y)
}

// createCoupon makes a coupon in the shop and returns it as the shop then has it. Where there is no answer, and where the task was
// begun before, the shop is asked: no coupon is made twice.
func (v *visit) createCoupon(ctx context.Context, asked commerce.ShopCoupon) (commerce.ShopCoupon, error) {
	shop, found, err := v.shop.Coupon(ctx, asked.Code)
	if err != nil || found {
		return compareCoupon(asked, shop, found, v.Now()), err
	}
	unknown := v.shop.CreateCoupon(ctx, asked)
	if _, unanswered := platform.Failed(unknown, commerce.ShopUnknownWrite); unknown != nil && !unanswered {
		return asked, unknown
	}
	shop, found, err = v.shop.Coupon(ctx, asked.Code)
	switch {
	case err != nil:
		return asked, &platform.Error{Reason: commerce.ShopUnknownWrite, Detail: cut(err.Error())}
	case !found:
		return asked, &platform.Error{Reason: commerce.ShopUnknownWrite}
	}
	return compareCoupon(asked, shop, found, v.Now()), nil
}
