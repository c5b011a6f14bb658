package fakes

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tributary-io/tributary/test/fakes/nuvemshop"
	"github.com/tributary-io/tributary/test/fakes/shop"
	"github.com/tributary-io/tributary/test/fakes/shopify"
	"github.com/tributary-io/tributary/test/fakes/storefront"
	"github.com/tributary-io/tributary/test/fakes/vtex"
	"github.com/tributary-io/tributary/test/fakes/woocommerce"
	"github.com/tributary-io/tributary/test/fakes/yampi"
)

// What tests need of package shop, under the names that they read best by.
type (
	Options      = shop.Options
	Shop         = shop.Shop
	Faults       = shop.Faults
	Cart         = shop.Cart
	CartLine     = shop.CartLine
	Coupon       = shop.Coupon
	Customer     = shop.Customer
	Attribute    = shop.Attribute
	Money        = shop.Money
	Order        = shop.Order
	Truth        = shop.Truth
	Stats        = shop.Stats
	Subscription = shop.Subscription
)

// Kinds of coupons, statuses of a Truth, and forgeries.
const (
	CouponPercent  = shop.CouponPercent
	CouponAmount   = shop.CouponAmount
	CouponShipping = shop.CouponShipping

	StatusApproved  = shop.StatusApproved
	StatusPending   = shop.StatusPending
	StatusCancelled = shop.StatusCancelled

	ForgedKey  = shop.ForgedKey
	ForgedNone = shop.ForgedNone
	ForgedBody = shop.ForgedBody
)

var platforms = map[string]func(shop.Options) shop.Platform{
	"nuvemshop":   nuvemshop.New,
	"shopify":     shopify.New,
	"vtex":        vtex.New,
	"woocommerce": woocommerce.New,
	"yampi":       yampi.New,
}

// Platforms lists the names that Options.Platform takes.
func Platforms() []string { return slices.Sorted(maps.Keys(platforms)) }

// Start starts a shop of a platform on loopback. It ends with ctx or by Shop.Close.
func Start(ctx context.Context, options Options) (*Shop, error) {
	platform, ok := platforms[options.Platform]
	if !ok {
		return nil, fmt.Errorf("platform %q: want one of %s", options.Platform, strings.Join(Platforms(), ", "))
	}
	s, err := shop.Open(ctx, options, platform)
	if err != nil {
		return nil, err
	}
	if options.Storefront {
		storefront.Add(s)
	}
	return s, nil
}

// Storm is a bad week: a tenth of the notices is lost, and everything else happens too.
func Storm(seed uint64) Faults { return shop.Storm(seed) }
