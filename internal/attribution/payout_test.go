package attribution

import (
	"math"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// docs/attribution.md, "Payout", 5.
func TestPercentRoundsHalfToEven(t *testing.T) {
	f := func(minor int64, fee string, want int64) {
		t.Helper()
		if got, ok := percent(minor, decimal.RequireFromString(fee)); got != want || !ok {
			t.Errorf("%s %% of %d is %d, want %d", fee, minor, got, want)
		}
	}
	f(10005, "10", 1000) // 1000.5
	f(10015, "10", 1002) // 1001.5
	f(10016, "10", 1002)
	f(1, "50", 0)
	f(3, "50", 2)
	f(12345, "7.125", 880) // 879.58…
	f(-10005, "10", -1000)
	f(maxMinor, "100", maxMinor)
}

func TestAmountsThatCannotBePostedAreRefused(t *testing.T) {
	f := func(a, b, want int64, ok bool) {
		t.Helper()
		if got, fits := addMinor(a, b); fits != ok || ok && got != want {
			t.Errorf("%d and %d is %d, %t; want %d, %t", a, b, got, fits, want, ok)
		}
	}
	f(1, 2, 3, true)
	f(maxMinor-1, 1, maxMinor, true)
	f(maxMinor, 1, 0, false)
	f(maxMinor, maxMinor, 0, false)
	f(-maxMinor+1, -1, -maxMinor, true)
	f(-maxMinor, -1, 0, false)
	f(maxMinor, -maxMinor, 0, true)
	if _, ok := percent(math.MaxInt64, decimal.NewFromInt(100)); ok {
		t.Error("100 % of the largest integer is taken")
	}
	if _, ok := percent(maxMinor, decimal.New(100_000_001, -6)); ok {
		t.Error("a little more than the largest amount is taken")
	}
}

// An amount that cannot be recorded is that order's alone: nothing is earned,
// and the payout says why.
func TestACommissionOutOfRangeEarnsNothing(t *testing.T) {
	f := func(name string, total int64, currency string, want facts.Reason, costs ...facts.Cost) {
		t.Helper()
		for i := range costs {
			costs[i].ID, costs[i].InfluencerID = string(rune('a'+i)), "ana"
		}
		c := sale(func(o *wire.Order) { o.TotalMinor, o.Currency = total, currency }, at(0, "/?utm_campaign=ana"))
		o := shop(func(r *facts.Rules) { r.Costs = costs }).Decide(c)
		if o.Explanation.Payout.Reason != want {
			t.Errorf("%s: %q, want %q", name, o.Explanation.Payout.Reason, want)
		}
		none := want != ""
		if (len(o.Lines) == 0) != none ||
			none && (o.Payout.CommissionMinor != 0 || o.Payout.FixedBRLMinor != 0 || len(o.Explanation.Payout.Costs) != 0) {
			t.Errorf("%s: %+v, %+v", name, o.Payout, o.Lines)
		}
		if o.Payout.InfluencerID != "ana" {
			t.Errorf("%s: the winner is %q", name, o.Payout.InfluencerID)
		}
	}
	all := facts.Cost{VarFee: decimal.NewFromInt(100)}
	fixed := facts.Cost{FixedFeeMinor: maxMinor}
	cent := facts.Cost{FixedFeeMinor: 1, From: "2020-01-01"} // another first day: it replaces none of the others
	f("the largest commission", maxMinor, "BRL", "", all)
	f("a larger one", maxMinor+1, "BRL", facts.ReasonOutOfRange, all)
	f("with a fixed fee", maxMinor, "BRL", facts.ReasonOutOfRange, facts.Cost{VarFee: decimal.NewFromInt(100), FixedFeeMinor: 1})
	f("of two costs", maxMinor, "BRL", facts.ReasonOutOfRange, all, cent)
	f("the largest fixed fee apart", 100, "USD", "", fixed)
	f("two fixed fees apart", 100, "USD", facts.ReasonOutOfRange, fixed, cent)
	f("fixed fees and commission do not add up", maxMinor, "USD", "", all, fixed)
}

func TestABaseBelowZeroEarnsNothing(t *testing.T) {
	f := func(total, shipping int64, want facts.Reason) {
		t.Helper()
		o := shop(nil).Decide(sale(func(o *wire.Order) {
			o.TotalMinor, o.ShippingMinor, o.DiscountCode = total, wire.Some(shipping), wire.Some("BETO") // R$ 5 an order
		}))
		if o.Explanation.Payout.Reason != want || (len(o.Lines) == 0) != (want != "") || o.Payout.BaseMinor != total-shipping {
			t.Errorf("%d of which %d shipping: %q %+v, want %q", total, shipping, o.Explanation.Payout.Reason, o.Lines, want)
		}
	}
	f(101, 100, "")
	f(100, 100, facts.ReasonBase) // the fixed fee included
	f(100, 101, facts.ReasonBase)
	f(0, 0, facts.ReasonBase)
}
