package attribution

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// shop has Ana (campaign inv, coupon ANA10, 10 % on any evidence) and Beto
// (coupon BETO, R$ 5 an order by coupon only).
func shop(change func(*facts.Rules)) *Index {
	return testIndex(func(r *facts.Rules) {
		r.Influencers = []facts.Influencer{{ID: "ana", Name: "Ana", Folded: "ana"}, {ID: "beto", Name: "Beto", Folded: "beto"}}
		r.Campaigns = []facts.Campaign{{ID: "inv", InfluencerID: "ana", Name: "Inverno", Folded: "inverno"}, {ID: "ver", InfluencerID: "ana", Name: "Verão", Folded: "verao"}}
		r.Links = []facts.Link{{ID: "l1", InfluencerID: "ana", CampaignID: "ver", Code: "xyz"}}
		r.Coupons = []facts.Coupon{{ID: "k1", InfluencerID: "ana", CampaignID: "inv", Code: "ANA10"}, {ID: "k2", InfluencerID: "beto", Code: "BETO"}}
		r.Costs = []facts.Cost{
			{ID: "c1", InfluencerID: "ana", VarFee: decimal.NewFromInt(10), From: "2020-01-01"},
			{ID: "c2", InfluencerID: "beto", FixedFeeMinor: 500, CouponOnly: true, From: "2020-01-01"},
		}
		if change != nil {
			change(r)
		}
	})
}

// sale is an approved order of R$ 100.05 an hour in, whose cart leads to the events' visitor.
func sale(change func(*wire.Order), events ...facts.Event) facts.Case {
	c := facts.Case{
		Order:    wire.Order{OrderID: "o1", CreatedAt: start.Add(time.Hour), Currency: "BRL", TotalMinor: 10005},
		Keys:     []facts.KeyReach{{Key: facts.Key{Kind: facts.KeyCart, Value: "k1:a"}, Visitors: []string{"v"}, Orders: 1}},
		Visitors: []facts.Visitor{{ID: "v", Events: events}},
	}
	if change != nil {
		change(&c.Order)
	}
	return c
}

func explained(t *testing.T, o facts.Outcome) []byte {
	t.Helper()
	text, err := json.Marshal(o.Explanation)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func code(text string) func(*wire.Order) {
	return func(o *wire.Order) { o.DiscountCode = wire.Some(text) }
}

func TestPayout(t *testing.T) {
	viaAna, viaBeto := at(0, "/?utm_source=ig&utm_campaign=ana&utm_content=inverno"), at(5, "/?utm_campaign=BETO")
	f := func(name string, x *Index, c facts.Case, want string) {
		t.Helper()
		o := x.Decide(c)
		got := []string{strings.Join([]string{o.Payout.InfluencerID, o.Payout.CampaignID, string(o.Payout.Evidence), fmt.Sprint(o.Payout.CommissionMinor)}, " ")}
		if o.Payout.FixedBRLMinor != 0 {
			got[0] += fmt.Sprintf(" + %d BRL", o.Payout.FixedBRLMinor)
		}
		for _, l := range o.Lines {
			got = append(got, fmt.Sprintf("%s %d %s", l.CostID, l.AmountMinor, l.Currency))
		}
		if text := strings.Join(got, "; "); text != want {
			t.Errorf("%s: %s, want %s", name, text, want)
		}
	}
	both := func(o *wire.Order) { o.Status, o.DiscountCode = 1, wire.Some("BETO") }
	f("nobody", shop(nil), sale(nil), "   0")
	f("link", shop(nil), sale(nil, viaAna), "ana inv link 1000; c1 1000 BRL")
	f("the last influencer's touch", shop(nil), sale(nil, viaAna, viaBeto), "beto  link 0") // its cost needs a coupon
	f("a later touch of nobody's does not hide it", shop(nil), sale(nil, viaAna, at(10, "/ < https://www.google.com/")), "ana inv link 1000; c1 1000 BRL")
	f("coupon", shop(nil), sale(code("beto")), "beto  coupon 500; c2 500 BRL")
	f("coupon and link, coupon first", shop(nil), sale(code("BETO"), viaAna), "beto  coupon 500; c2 500 BRL")
	f("coupon and link, last touch", shop(func(r *facts.Rules) { r.PayoutRule = facts.LastTouch }), sale(code("BETO"), viaAna), "ana inv link 1000; c1 1000 BRL")
	f("both the same influencer's: the coupon's campaign", shop(nil), sale(code("ana10"), at(0, "/?trb_click=xyz.0195b2c0-0000-7000-8000-000000000000")), "ana inv coupon 1000; c1 1000 BRL")
	f("trb_click's link", shop(nil), sale(nil, at(0, "/?trb_click=xyz.0195b2c0-0000-7000-8000-000000000000")), "ana ver link 1000; c1 1000 BRL")
	f("an unknown code never blocks a link", shop(nil), sale(code("OTHER"), viaAna), "ana inv link 1000; c1 1000 BRL")
	f("parts of a code", shop(nil), sale(code("FRETE; beto")), "beto  coupon 500; c2 500 BRL")
	f("a touch after the order is none", shop(nil), sale(nil, at(61, "/?utm_campaign=ana")), "   0")
	f("pending is expected", shop(nil), sale(both), "beto  coupon 500")
	f("cancelled reverses", shop(nil), sale(func(o *wire.Order) { o.Status, o.DiscountCode = 2, wire.Some("BETO") }), "beto  coupon 0")
	f("shipping is not in the base", shop(nil), sale(func(o *wire.Order) { o.ShippingMinor = wire.Some(int64(10005)) }, viaAna), "ana inv link 0")
	f("recurring is not paid", shop(nil), sale(func(o *wire.Order) { o.IsRecurring = wire.Some(true) }, viaAna), "ana inv link 0")
	f("recurring is paid where set so", shop(func(r *facts.Rules) { r.PayRecurring = true }), sale(func(o *wire.Order) { o.IsRecurring = wire.Some(true) }, viaAna), "ana inv link 1000; c1 1000 BRL")
	f("a marketplace takes no link", shop(nil), sale(func(o *wire.Order) { o.Source = wire.Some(1) }, viaAna), "   0")
	f("a campaign's costs come before the influencer's", shop(func(r *facts.Rules) {
		r.Costs = append(r.Costs, facts.Cost{ID: "c3", InfluencerID: "ana", CampaignID: "inv", VarFee: decimal.NewFromInt(1), From: "2020-01-01"}, facts.Cost{ID: "c4", InfluencerID: "ana", CampaignID: "inv", FixedFeeMinor: 7, From: "2020-01-01"})
	}), sale(nil, viaAna), "ana inv link 107; c3 100 BRL; c4 7 BRL")
	f("a fixed fee stands apart from another currency", shop(nil), sale(func(o *wire.Order) { o.Currency, o.DiscountCode = "USD", wire.Some("BETO") }), "beto  coupon 0 + 500 BRL; c2 500 BRL")
	f("… expected while pending", shop(nil), sale(func(o *wire.Order) { both(o); o.Currency = "USD" }), "beto  coupon 0 + 500 BRL")
	f("… and nothing when cancelled", shop(nil), sale(func(o *wire.Order) { both(o); o.Currency, o.Status = "USD", 2 }), "beto  coupon 0")
	f("a cost that ended", shop(func(r *facts.Rules) { r.Costs[0].To = "2026-02-28" }), sale(nil, viaAna), "ana inv link 0")
	f("a coupon deleted before", shop(func(r *facts.Rules) { r.Coupons[1].DeletedAt = start }), sale(code("BETO")), "   0")
	f("a coupon deleted after", shop(func(r *facts.Rules) { r.Coupons[1].DeletedAt = start.Add(2 * time.Hour) }), sale(code("BETO")), "beto  coupon 500; c2 500 BRL")
	f("an influencer archived before the touch", shop(func(r *facts.Rules) { r.Influencers[0].ArchivedAt = start }), sale(nil, viaAna), "   0")
	f("an influencer archived after the touch", shop(func(r *facts.Rules) { r.Influencers[0].ArchivedAt = start.Add(time.Minute) }), sale(nil, viaAna), "ana inv link 1000; c1 1000 BRL") // a cost closes by itself
	f("registration does not gate", shop(func(r *facts.Rules) { r.Influencers[0].CreatedAt = start.Add(9 * day) }), sale(nil, viaAna), "ana inv link 1000; c1 1000 BRL")
	f("an ambiguous name is nobody", shop(func(r *facts.Rules) { r.Influencers[1].Folded = "ana" }), sale(nil, viaAna), "   0")
	f("the order's own utms, when nothing else matched", shop(nil), sale(func(o *wire.Order) { o.UTMCampaign = wire.Some("Ána") }, at(0, "/")), "ana  link 1000; c1 1000 BRL")
	f("… and only then", shop(nil), sale(func(o *wire.Order) { o.UTMCampaign = wire.Some("Ana") }, viaBeto), "beto  link 0")
}

func TestCouponDaysAreTheStores(t *testing.T) {
	f := func(createdAt string, want string) {
		t.Helper()
		x := shop(func(r *facts.Rules) { r.Coupons[1].From, r.Coupons[1].To = "2026-03-10", "2026-03-10" })
		c := sale(code("BETO"))
		c.Order.CreatedAt, _ = time.Parse(time.RFC3339, createdAt)
		if o := x.Decide(c); o.Payout.InfluencerID != want {
			t.Errorf("%s: %q, want %q", createdAt, o.Payout.InfluencerID, want)
		}
	}
	f("2026-03-10T02:59:59Z", "") // 23:59:59 the day before in São Paulo
	f("2026-03-10T03:00:00Z", "beto")
	f("2026-03-11T02:59:59Z", "beto")
	f("2026-03-11T03:00:00Z", "")
}

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
}

func TestHubsJoinNothing(t *testing.T) {
	touch := at(0, "/?utm_campaign=ana")
	many := make([]string, hubVisitors+1)
	for i := range many {
		many[i] = fmt.Sprint("v", i)
	}
	f := func(name string, want string, change func(*facts.Case)) {
		t.Helper()
		c := sale(nil, touch)
		change(&c)
		if o := shop(nil).Decide(c); o.Payout.InfluencerID != want {
			t.Errorf("%s: %q, want %q", name, o.Payout.InfluencerID, want)
		}
	}
	f("no hub", "ana", func(*facts.Case) {})
	f("a key of 21 visitors", "", func(c *facts.Case) { c.Keys[0].Visitors = append(many, "v") })
	f("a key of 201 orders", "", func(c *facts.Case) { c.Keys[0].Orders = hubOrders + 1 })
	f("a visitor of 21 customers", "", func(c *facts.Case) { c.Visitors[0].Customers = hubIdentities + 1 })
	f("a key of 21 visitors on its days", "", func(c *facts.Case) { c.Keys[0].DayVisitors = hubVisitors + 1 })
	f("a visitor of 21 phones", "", func(c *facts.Case) { c.Visitors[0].Phones = hubIdentities + 1 })
	f("a visitor of 201 carts", "", func(c *facts.Case) { c.Visitors[0].Carts = hubCarts + 1 })
	f("a visitor of 200 carts", "ana", func(c *facts.Case) { c.Visitors[0].Carts = hubCarts })
	f("a visitor of 20 e-mails", "ana", func(c *facts.Case) { c.Visitors[0].Emails = hubIdentities })
	f("another key beside the hub", "ana", func(c *facts.Case) {
		c.Keys[0].Visitors = many
		c.Keys = append(c.Keys, facts.KeyReach{Key: facts.Key{Kind: facts.KeyEmail, Value: "k1:e"}, Visitors: []string{"v"}, Orders: 1})
	})
}

func TestClickAndLandingOfTwoCookiesAreOneTouch(t *testing.T) {
	const click = "xyz.0195b2c0-0000-7000-8000-000000000000"
	c := sale(nil, at(1, "/?trb_click="+click))
	c.Keys[0].Visitors = []string{"v", "cookie"}
	c.Visitors = append(c.Visitors, facts.Visitor{ID: "cookie", Events: []facts.Event{at(0, "click "+click)}})
	o := shop(nil).Decide(c)
	for _, credit := range o.Credits {
		if credit.TouchID != "e000" || credit.AmountMinor != 10005 {
			t.Errorf("%s credits %s with %d", credit.Model, credit.TouchID, credit.AmountMinor)
		}
	}
}

func TestOrdersWithoutTouchesAreUnattributed(t *testing.T) {
	f := func(c facts.Case, want string) {
		t.Helper()
		o := shop(nil).Decide(c)
		if len(o.Credits) != len(Models) || o.Credits[0].Channel != want || o.Credits[0].Position != 0 {
			t.Errorf("credits %+v, want one of %s a model", o.Credits, want)
		}
	}
	f(sale(nil), Unattributed)
	f(sale(func(o *wire.Order) { o.Source = wire.Some(1) }, at(0, "/?utm_campaign=ana")), ChannelMarketplace)
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
	f("a fixed fee beside another currency", shop(nil), sale(order("BETO", func(o *wire.Order) { o.Currency = "USD" })), `earned  0 [`+brl5+`] [{[`+brl5+`]}]`)
	f("both fees in two currencies", mixed, sale(order("BETO", func(o *wire.Order) { o.Currency = "USD" })), `earned  10 [`+usd+`,`+brl5+`] [{[`+usd+`,`+brl5+`]}]`)
	f("nobody", shop(nil), sale(plain), `none no_winner 0 [] []`)
	f("nobody, cancelled", shop(nil), sale(func(o *wire.Order) { o.Status = 2 }), `none no_winner 0 [] []`)
	f("all is shipping", shop(nil), sale(func(o *wire.Order) { o.ShippingMinor = wire.Some(o.TotalMinor) }, viaAna), `none base_not_positive 0 [] []`)
	f("a subscription's next order", shop(nil), sale(func(o *wire.Order) { o.IsRecurring = wire.Some(true) }, viaAna), `none recurring_excluded 0 [] []`)
	f("… pending", shop(nil), sale(func(o *wire.Order) { o.IsRecurring, o.Status = wire.Some(true), 1 }, viaAna), `none recurring_excluded 0 [] []`)
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
