package attribution

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// docs/attribution.md, "Several codes": which of them decides, and why the others do not.
func TestOneOfSeveralCodesDecides(t *testing.T) {
	viaAna := at(0, "/?utm_campaign=ana")
	f := func(name string, x *Index, codes, wantPaid, wantReasons string) {
		t.Helper()
		c := sale(func(o *wire.Order) {
			o.DiscountCode, o.DiscountCodes = wire.Some("BETO"), wire.Some([]wire.DiscountCode{})
			for _, text := range strings.Fields(codes) {
				code, amount, known := strings.Cut(text, "=")
				sent := wire.DiscountCode{Code: code}
				if known {
					var minor int64
					if _, err := fmt.Sscan(amount, &minor); err != nil {
						t.Fatal(err)
					}
					sent.AmountMinor = wire.Some(minor)
				}
				o.DiscountCodes.Value = append(o.DiscountCodes.Value, sent)
			}
		}, viaAna)
		out := x.Decide(c)
		if got := out.Payout.InfluencerID + " " + string(out.Payout.Evidence); got != wantPaid {
			t.Errorf("%s: %s is paid, want %s", name, got, wantPaid)
		}
		var reasons []string
		for _, code := range out.Explanation.Order.Codes {
			word := "decides"
			if !code.Decides {
				word = map[string]string{facts.ReasonCodeNothing.Words(): "nothing", facts.ReasonCodeNobodys.Words(): "nobody",
					facts.ReasonCodeLess.Words(): "less", facts.ReasonCodeLater.Words(): "later"}[code.Reason]
			}
			reasons = append(reasons, word)
		}
		if got := strings.Join(reasons, " "); got != wantReasons {
			t.Errorf("%s: %s, want %s", name, got, wantReasons)
		}
	}
	f("none clears: the link is left", shop(nil), "", "ana link", "")
	f("the greatest discount", shop(nil), "ana10=100 beto=200", "beto coupon", "less decides")
	f("in whatever order", shop(nil), "beto=200 ana10=100", "beto coupon", "decides less")
	f("of equal ones the first", shop(nil), "ana10=100 beto=100", "ana coupon", "decides later")
	f("one that took nothing off never decides", shop(nil), "beto=0", "ana link", "nothing")
	f("… beside one that did", shop(nil), "beto=0 ana10=1", "ana coupon", "nothing decides")
	f("nobody's never hides a link", shop(nil), "other=900", "ana link", "nobody")
	f("nobody's never hides a coupon", shop(nil), "other=900 beto=1", "beto coupon", "nobody decides")
	f("an unknown amount comes after known ones", shop(nil), "ana10 beto=1", "beto coupon", "less decides")
	f("an unknown amount alone", shop(nil), "beto", "beto coupon", "decides")
	f("two unknown amounts", shop(nil), "beto ana10", "beto coupon", "decides later")
	f("a whole code is not cut into parts", shop(nil), "x,beto=5", "ana link", "nobody")
	f("one that is not in force", shop(func(r *facts.Rules) { r.Coupons[1].DeletedAt = start.Add(-time.Hour) }), "beto=200 ana10=100",
		"ana coupon", "nobody decides")
}

// docs/attribution.md, "Payout": the base with and without the tax that the total contains.
func TestTheBaseIsWithTaxOrWithout(t *testing.T) {
	viaAna := at(0, "/?utm_campaign=ana")
	f := func(withoutTax bool, total, shipping, tax, want int64) {
		t.Helper()
		x := shop(func(r *facts.Rules) { r.WithoutTax = withoutTax })
		out := x.Decide(sale(func(o *wire.Order) {
			o.TotalMinor, o.ShippingMinor, o.TaxMinor = total, wire.Some(shipping), wire.Some(tax)
		}, viaAna))
		if out.Payout.BaseMinor != want || out.Payout.CommissionMinor != max(want, 0)/10 {
			t.Errorf("%d with %d shipping and %d tax: a base of %d earns %d, want %d", total, shipping, tax, out.Payout.BaseMinor,
				out.Payout.CommissionMinor, want)
		}
	}
	f(false, 13900, 2000, 1900, 11900)
	f(true, 13900, 2000, 1900, 10000)
	f(true, 13900, 2000, 0, 11900)
	f(true, 13900, 2000, 99000, 0) // never more than the goods
	f(true, 1000, 2000, 500, -1000)
}
