package facts

import (
	"slices"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/wire"
)

func folded(orders ...wire.Order) wire.Order {
	var versions []StoredVersion
	for _, o := range orders {
		if o.Currency == "" {
			o.Currency = "BRL"
		}
		versions = append(versions, StoredVersion{Order: o})
	}
	return Fold(versions)
}

// A version that has one of the two fields for codes has both.
func TestCodesOfTwoVersionsAreNotMixed(t *testing.T) {
	array := wire.Order{DiscountCodes: wire.Some([]wire.DiscountCode{{Code: "a"}, {Code: "B", AmountMinor: wire.Some(int64(2000))}})}
	text := wire.Order{DiscountCode: wire.Some("C")}
	f := func(what string, want []string, orders ...wire.Order) {
		t.Helper()
		o := folded(orders...)
		if got := OrderCodes(&o); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	f("a later version without codes", []string{"A", "B"}, array, wire.Order{})
	f("a later discountCode", []string{"C"}, array, text)
	f("… that clears", nil, array, wire.Order{DiscountCode: wire.Null[string]()})
	f("later discountCodes", []string{"A", "B"}, text, array)
	f("… that clear", nil, text, wire.Order{DiscountCodes: wire.Some([]wire.DiscountCode{})})
	f("… by null", nil, text, wire.Order{DiscountCodes: wire.Null[[]wire.DiscountCode]()})
	f("both in one version: the array", []string{"A", "B"}, wire.Order{DiscountCode: text.DiscountCode, DiscountCodes: array.DiscountCodes})
	o := folded(array, wire.Order{Currency: "JPY"})
	if c := o.DiscountCodes.Value[1]; c.AmountMinor != wire.Some(int64(20)) || array.DiscountCodes.Value[1].AmountMinor.Value != 2000 {
		t.Errorf("20.00 BRL is %d JPY", c.AmountMinor.Value)
	}
	if s := SearchedOf(&o); s.DiscountCode == nil || *s.DiscountCode != "a,B" {
		t.Errorf("searched %+v", s)
	}
}

// docs/attribution.md, "Payout": a version without taxPrice has it in proportion.
func TestATaxIsLoweredWithTheTotal(t *testing.T) {
	order := func(total, shipping int64, tax ...int64) wire.Order {
		o := wire.Order{TotalMinor: total, ShippingMinor: wire.Some(shipping)}
		if len(tax) > 0 {
			o.TaxMinor = wire.Some(tax[0])
		}
		return o
	}
	f := func(want int64, orders ...wire.Order) {
		t.Helper()
		o := folded(orders...)
		if got := TaxOf(&o); got != want {
			t.Errorf("%+v: a tax of %d, want %d", orders, got, want)
		}
	}
	first := order(13900, 2000, 1900)
	f(1900, first)
	f(1900, first, order(13900, 2000))
	f(950, first, order(7950, 2000))
	f(950, first, wire.Order{TotalMinor: 7950})                          // shipping is kept
	f(1900, first, order(7950, 2000), order(13900, 2000))                // of the version that has it
	f(100, first, order(7950, 2000, 100))                                // said anew
	f(0, first, order(2000, 2000))                                       // all is taken back
	f(0, first, order(0, 2000))                                          // and more
	f(0, first, wire.Order{TotalMinor: 9, TaxMinor: wire.Null[int64]()}) // cleared
	f(0, first, wire.Order{TaxMinor: wire.Null[int64]()}, order(13900, 2000))
	f(950, wire.Order{TotalMinor: 1, ShippingMinor: wire.Some(int64(2000))}, wire.Order{TotalMinor: 13900, TaxMinor: wire.Some(int64(1900))},
		wire.Order{TotalMinor: 7950})
	f(19, wire.Order{TotalMinor: 11900, TaxMinor: wire.Some(int64(1900))}, wire.Order{TotalMinor: 119, Currency: "JPY"})
	f(2, wire.Order{TotalMinor: 10, TaxMinor: wire.Some(int64(5))}, wire.Order{TotalMinor: 5}) // 2.5, half to even
	// A tax above its version's bound is as absent, by the shipping that was known then.
	f(0, wire.Order{TotalMinor: 500, TaxMinor: wire.Some(int64(900))})
	// a refund that says more
	f(950, first, wire.Order{TotalMinor: 7950, ShippingMinor: wire.Some(int64(2000)), TaxMinor: wire.Some(int64(12600))})
	f(95, first, wire.Order{TotalMinor: 2595, TaxMinor: wire.Some(int64(600))})
	f(0, first, order(2000, 2000, 1900))                          // all is taken back
	f(0, first, order(0, 2000, 1900))                             // and more
	f(1900, first, order(0, 2000, 1900), order(13900, 2000))      // and given again
	f(950, first, order(2500, 2000, 1900), order(7950, 2000))     // of the newest version that has a right one
	f(500, first, order(2500, 2000, 500), order(2500, 2000, 501)) // up to the bound
	f(0, first, wire.Order{TotalMinor: 500, TaxMinor: wire.Null[int64]()}, order(500, 0, 501))
	f(9, wire.Order{TotalMinor: 10000, TaxMinor: wire.Some(int64(900))},
		wire.Order{TotalMinor: 100, TaxMinor: wire.Some(int64(900)), Currency: "JPY"})
	f(0, wire.Order{TotalMinor: 5, ShippingMinor: wire.Some(int64(9)), TaxMinor: wire.Some(int64(3))})
}

// An order that was a test counts from the version on that says that it is none.
func TestAnOrderIsApprovedSinceItIsNoTest(t *testing.T) {
	f := func(want int, tests ...wire.Optional[bool]) {
		t.Helper()
		var versions []StoredVersion
		for i, test := range tests {
			versions = append(versions,
				StoredVersion{At: noon.Add(time.Duration(i) * time.Hour), Order: wire.Order{Status: commerce.OrderApproved, Test: test}})
		}
		got := -1
		if since := ApprovedSince(versions); !since.IsZero() {
			got = int(since.Sub(noon) / time.Hour)
		}
		if got != want {
			t.Errorf("%v: since %d, want %d", tests, got, want)
		}
	}
	none, yes, no := wire.Optional[bool]{}, wire.Some(true), wire.Some(false)
	f(0, none)
	f(0, no, none)
	f(-1, yes)
	f(-1, none, yes, none)
	f(2, yes, none, no, none)
	f(2, none, yes, wire.Null[bool]())
}

func TestRefundsAreShownInTheOrdersCurrency(t *testing.T) {
	refunds := []wire.Refund{{ID: "r", AmountMinor: 2000, Items: []wire.RefundItem{{ItemID: "a", Quantity: 2}}}}
	o := folded(wire.Order{Refunds: wire.Some(refunds)}, wire.Order{Currency: "JPY"})
	if shown := ShowRefunds(&o); len(shown) != 1 || shown[0].Amount != "20" || shown[0].Items[0] != (ShownRefundItem{"a", 2}) ||
		refunds[0].AmountMinor != 2000 {
		t.Errorf("%+v of %+v", shown, refunds)
	}
}
