package attribution

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/models"
	"github.com/tributary-io/tributary/internal/wire"
)

func explained(t *testing.T, o facts.Outcome) []byte {
	t.Helper()
	text, err := json.Marshal(o.Explanation)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestExplanationHasTheContractsShape(t *testing.T) {
	o := shop(nil).Decide(sale(code("BETO"), at(0, "/?utm_source=ig&utm_campaign=ana&utm_content=inverno"), at(50, "/p")))
	var got map[string]any
	if err := json.Unmarshal(explained(t, o), &got); err != nil {
		t.Fatal(err)
	}
	value := func(path string) (v any) {
		v = got
		for _, step := range strings.Split(path, ".") {
			if list, ok := v.([]any); ok {
				v = list[0]
			}
			v = v.(map[string]any)[step]
		}
		return v
	}
	f := func(path string, want any) {
		t.Helper()
		if v := value(path); !reflect.DeepEqual(v, want) {
			t.Errorf("%s is %v, want %v", path, v, want)
		}
	}
	f("order.orderId", "o1")
	f("order.total", 100.05)
	f("order.createdAt", "2026-03-01T13:00:00Z")
	f("keys.kind", "cart")
	f("keys.hub", false)
	f("keys.visitors", 1.0)
	f("touches.influencer", "Ana")
	f("touches.matched_by", "cart")
	f("touches.used", true)
	f("payout.winner.influencer", "Beto")
	f("payout.winner.evidence", "coupon")
	f("payout.rule", "coupon_first")
	f("payout.losers.influencer", "Ana")
	f("payout.losers.evidence", "link")
	f("payout.costs.cost_id", "c2")
	f("payout.costs.fixed_fee", 5.0)
	f("payout.costs.var_fee", 0.0)
	f("payout.costs.amount", 5.0)
	f("payout.base", 100.05)
	f("payout.commission", 5.0)
	f("models.last.touch", "e050") // the direct session counts in last alone
	f("models.linear.channel", "Ana")
	f("models.linear.share", 1.0)
	f("models.linear.amount", 100.05)
	f("counterfactual.without_coupon.winner.influencer", "Ana")
	f("counterfactual.without_coupon.commission", 10.0)
	f("counterfactual.without_link.winner.influencer", "Beto")
}

func TestPayoutSaysWhatIsOwedAndWhyNothingIs(t *testing.T) {
	viaAna := at(0, "/?utm_campaign=ana")
	f := func(name string, x *Index, c facts.Case, want string) {
		t.Helper()
		o := x.Decide(c)
		var got struct {
			Payout struct {
				State, Reason string
				Commission    json.RawMessage
				Commissions   json.RawMessage
				Costs         []struct{ Amounts json.RawMessage }
			}
		}
		if err := json.Unmarshal(explained(t, o), &got); err != nil {
			t.Fatal(err)
		}
		p := got.Payout
		text := fmt.Sprintf("%s %s %s %s %s", p.State, p.Reason, p.Commission, p.Commissions, p.Costs)
		if text != want {
			t.Errorf("%s: %s, want %s", name, text, want)
		}
	}
	order := func(discount string, change func(o *wire.Order)) func(*wire.Order) {
		return func(o *wire.Order) { o.DiscountCode = wire.Some(discount); change(o) }
	}
	plain := func(*wire.Order) {}
	const brl5, usd = `{"amount":5,"currency":"BRL"}`, `{"amount":10,"currency":"USD"}`
	mixed := shop(func(r *facts.Rules) { r.Costs[1].VarFee = decimal.NewFromInt(10) })
	f("earned", shop(nil), sale(order("BETO", plain)), `earned  5 [`+brl5+`] [{[`+brl5+`]}]`)
	f("expected", shop(nil), sale(order("BETO", func(o *wire.Order) { o.Status = 1 })), `expected  5 [`+brl5+`] [{[`+brl5+`]}]`)
	f("reversed", shop(nil), sale(order("BETO", func(o *wire.Order) { o.Status = 2 })), `reversed  0 [] [{[`+brl5+`]}]`)
	f("a fixed fee beside another currency", shop(nil), sale(order("BETO", func(o *wire.Order) { o.Currency = "USD" })),
		`earned  0 [`+brl5+`] [{[`+brl5+`]}]`)
	f("both fees in two currencies", mixed, sale(order("BETO", func(o *wire.Order) { o.Currency = "USD" })),
		`earned  10 [`+usd+`,`+brl5+`] [{[`+usd+`,`+brl5+`]}]`)
	f("nobody", shop(nil), sale(plain), `none no_winner 0 [] []`)
	f("nobody, cancelled", shop(nil), sale(func(o *wire.Order) { o.Status = 2 }), `none no_winner 0 [] []`)
	f("all is shipping", shop(nil), sale(func(o *wire.Order) { o.ShippingMinor = wire.Some(o.TotalMinor) }, viaAna),
		`none base_not_positive 0 [] []`)
	f("a subscription's next order", shop(nil), sale(func(o *wire.Order) { o.IsRecurring = wire.Some(true) }, viaAna),
		`none recurring_excluded 0 [] []`)
	f("… pending", shop(nil), sale(func(o *wire.Order) { o.IsRecurring, o.Status = wire.Some(true), 1 }, viaAna),
		`none recurring_excluded 0 [] []`)
	f("no agreement", shop(func(r *facts.Rules) { r.Costs = nil }), sale(plain, viaAna), `none no_agreement 0 [] []`)
	f("less than a cent", shop(nil), sale(func(o *wire.Order) { o.TotalMinor = 1 }, viaAna), `none below_minor_unit 0 [] [{[]}]`)
}

func TestAShareOfNoTouchNamesNone(t *testing.T) {
	f := func(c facts.Case, want bool) {
		t.Helper()
		text := string(explained(t, shop(nil).Decide(c)))
		if strings.Contains(text, `"touch":`) != want {
			t.Errorf("%s; names a touch: want %t", text, want)
		}
	}
	f(sale(nil), false)
	f(sale(nil, at(0, "/?utm_campaign=ana")), true)
}

// docs/attribution.md, "Keys that join": each kind has its strength, and the
// strongest key that led to a visitor is what matched its touches.
func TestKeysAreExplainedStrongestFirst(t *testing.T) {
	c := sale(nil, at(0, "/?utm_campaign=ana"))
	c.Keys = nil
	for _, kind := range []facts.KeyKind{facts.KeyPhone, facts.KeyCustomer, facts.KeyEmail, facts.KeyVisitor, facts.KeyCart} {
		k := facts.KeyReach{Key: facts.Key{Kind: kind, Value: "k"}, Orders: 1}
		switch kind {
		case facts.KeyCart:
			k.Orders, k.Visitors = hubOrders+1, []string{shopper}
		case facts.KeyCustomer, facts.KeyPhone:
			k.Visitors = []string{shopper}
		}
		c.Keys = append(c.Keys, k)
	}
	o := shop(nil).Decide(c)
	var got []string
	for _, k := range o.Explanation.Keys {
		got = append(got, fmt.Sprintf("%s %d hub %t of %d", k.Kind, k.Strength, k.Hub, k.Visitors))
	}
	expect(t, "keys", strings.Join(got, "\n"),
		"cart 10 hub true of 0\nvisitor 8 hub false of 0\ncustomer 7 hub false of 1\nemail 6 hub false of 0\nphone 5 hub false of 1")
	if matched := o.Explanation.Touches[0].MatchedBy; matched != "customer" {
		t.Errorf("matched by %s", matched)
	}
}

func TestTouchesAreExplainedWithWhyTheyDoNotCount(t *testing.T) {
	f := func(name, want string, x *Index, c facts.Case) {
		t.Helper()
		var got []string
		for _, touch := range x.Decide(c).Explanation.Touches {
			got = append(got, fmt.Sprintf("%s %s %t %s", touch.Arrival, touch.Channel, touch.Used, touch.Reason))
		}
		expect(t, name, strings.Join(got, "\n"), want)
	}
	marketplace := func(o *wire.Order) { o.Source = wire.Some(1) }
	direct, ana := at(0, "/"), at(50, "/?utm_campaign=ana")
	counted := shop(func(r *facts.Rules) { r.IgnoreDirect = false })
	f("direct beside another", "direct Direct false "+facts.ReasonDirect.Words()+"\nutm Ana true ", shop(nil), sale(nil, direct, ana))
	f("direct alone", "direct Direct true ", shop(nil), sale(nil, direct))
	f("direct where it counts", "direct Direct true \nutm Ana true ", counted, sale(nil, direct, ana))
	f("of a marketplace", "direct Direct false "+facts.ReasonMarketplace.Words()+"\nutm Ana false "+facts.ReasonMarketplace.Words(), shop(nil),
		sale(marketplace, direct, ana))
	f("the order's own", "direct Direct false "+facts.ReasonDirect.Words()+"\norder_utm Organic Social true ", shop(nil),
		sale(func(o *wire.Order) { o.UTMSource = wire.Some("ig") }, direct))
}

func TestPartsOfACancelledOrderAreNothing(t *testing.T) {
	f := func(status int, want string, credits int) {
		t.Helper()
		o := shop(nil).Decide(sale(func(o *wire.Order) { o.Status = status }, at(0, "/?utm_campaign=ana")))
		part := o.Explanation.Models[models.Linear][0]
		if got := fmt.Sprintf("%s %s %s", part.Influencer, part.Share, part.Amount); got != want || len(o.Credits) != credits {
			t.Errorf("status %d: %s and %d credits, want %s and %d", status, got, len(o.Credits), want, credits)
		}
	}
	f(0, "Ana 1.000000 100.05", 1)
	f(1, "Ana 1.000000 100.05", 0) // shown, not stored
	f(2, "Ana 1.000000 0", 0)
}
