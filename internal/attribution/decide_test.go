package attribution

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/models"
	"github.com/tributary-io/tributary/internal/wire"
)

// shop has Ana (campaign inv, coupon ANA10, 10 % on any evidence) and Beto
// (coupon BETO, R$ 5 an order by coupon only).
func shop(change func(*facts.Rules)) *Index {
	return testIndex(func(r *facts.Rules) {
		r.Influencers = []facts.Influencer{{ID: "ana", Name: "Ana", Folded: "ana"}, {ID: "beto", Name: "Beto", Folded: "beto"}}
		r.Campaigns = []facts.Campaign{{ID: "inv", InfluencerID: "ana", Name: "Inverno", Folded: "inverno"},
			{ID: "ver", InfluencerID: "ana", Name: "Verão", Folded: "verao"}}
		r.Links = []facts.Link{{ID: "l1", InfluencerID: "ana", CampaignID: "ver", Code: "xyz"}}
		r.Coupons = []facts.Coupon{{ID: "k1", InfluencerID: "ana", CampaignID: "inv", Code: "ANA10"},
			{ID: "k2", InfluencerID: "beto", Code: "BETO"}}
		r.Costs = []facts.Cost{
			{ID: "c1", InfluencerID: "ana", VarFee: decimal.NewFromInt(10), From: "2020-01-01"},
			{ID: "c2", InfluencerID: "beto", FixedFeeMinor: 500, CouponOnly: true, From: "2020-01-01"},
		}
		if change != nil {
			change(r)
		}
	})
}

// Ids of visitors: a stranger knows neither.
const (
	shopper = "0195b2c0-51ce-4a37-9d42-7e8f01b3c60a"
	cookie  = "0195b2c0-51ce-7a37-9d42-7e8f01b3c60b"
)

// sale is an approved order of R$ 100.05 an hour in, whose cart leads to the events' visitor.
func sale(change func(*wire.Order), events ...facts.Event) facts.Case {
	c := facts.Case{
		Order:    wire.Order{OrderID: "o1", CreatedAt: start.Add(time.Hour), Currency: "BRL", TotalMinor: 10005},
		Keys:     []facts.KeyReach{{Key: facts.Key{Kind: facts.KeyCart, Value: "k1:a"}, Visitors: []string{shopper}, Orders: 1}},
		Visitors: []facts.Visitor{{ID: shopper, Events: events}},
	}
	if change != nil {
		change(&c.Order)
	}
	return c
}

// claimed is a case whose keys strangers may know.
func claimed(c facts.Case) facts.Case {
	c.Keys[0].Key = facts.Key{Kind: facts.KeyEmail, Value: "k1:e"}
	return c
}

func status(n int) func(*wire.Order) { return func(o *wire.Order) { o.Status = n } }

func code(text string) func(*wire.Order) {
	return func(o *wire.Order) { o.DiscountCode = wire.Some(text) }
}

func TestPayout(t *testing.T) {
	viaAna, viaBeto := at(0, "/?utm_source=ig&utm_campaign=ana&utm_content=inverno"), at(5, "/?utm_campaign=BETO")
	f := func(name string, x *Index, c facts.Case, want string) {
		t.Helper()
		o := x.Decide(c)
		got := []string{strings.Join([]string{o.Payout.InfluencerID, o.Payout.CampaignID, string(o.Payout.Evidence),
			fmt.Sprint(o.Payout.CommissionMinor)}, " ")}
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
	f("a later touch of nobody's does not hide it", shop(nil), sale(nil, viaAna, at(10, "/ < https://www.google.com/")),
		"ana inv link 1000; c1 1000 BRL")
	f("coupon", shop(nil), sale(code("beto")), "beto  coupon 500; c2 500 BRL")
	f("coupon and link, coupon first", shop(nil), sale(code("BETO"), viaAna), "beto  coupon 500; c2 500 BRL")
	f("coupon and link, last touch", shop(func(r *facts.Rules) { r.PayoutRule = facts.LastTouch }), sale(code("BETO"), viaAna),
		"ana inv link 1000; c1 1000 BRL")
	f("both the same influencer's: the coupon's campaign", shop(nil),
		sale(code("ana10"), at(0, "/?trb_click=xyz.0195b2c0-0000-7000-8000-000000000000")), "ana inv coupon 1000; c1 1000 BRL")
	f("trb_click's link", shop(nil), sale(nil, at(0, "/?trb_click=xyz.0195b2c0-0000-7000-8000-000000000000")),
		"ana ver link 1000; c1 1000 BRL")
	f("an unknown code never blocks a link", shop(nil), sale(code("OTHER"), viaAna), "ana inv link 1000; c1 1000 BRL")
	f("parts of a code", shop(nil), sale(code("FRETE; beto")), "beto  coupon 500; c2 500 BRL")
	f("a touch after the order is none", shop(nil), sale(nil, at(61, "/?utm_campaign=ana")), "   0")
	f("pending is expected", shop(nil), sale(both), "beto  coupon 500")
	f("cancelled reverses", shop(nil), sale(func(o *wire.Order) { o.Status, o.DiscountCode = 2, wire.Some("BETO") }), "beto  coupon 0")
	f("shipping is not in the base", shop(nil),
		sale(func(o *wire.Order) { o.ShippingMinor = wire.Some(int64(10005)) }, viaAna), "ana inv link 0")
	f("recurring is not paid", shop(nil), sale(func(o *wire.Order) { o.IsRecurring = wire.Some(true) }, viaAna), "ana inv link 0")
	f("recurring is paid where set so", shop(func(r *facts.Rules) { r.PayRecurring = true }),
		sale(func(o *wire.Order) { o.IsRecurring = wire.Some(true) }, viaAna), "ana inv link 1000; c1 1000 BRL")
	f("a marketplace takes no link", shop(nil), sale(func(o *wire.Order) { o.Source = wire.Some(1) }, viaAna), "   0")
	f("a campaign's costs come before the influencer's", shop(func(r *facts.Rules) {
		r.Costs = append(r.Costs, facts.Cost{ID: "c3", InfluencerID: "ana", CampaignID: "inv", VarFee: decimal.NewFromInt(1), From: "2020-01-01"},
			facts.Cost{ID: "c4", InfluencerID: "ana", CampaignID: "inv", FixedFeeMinor: 7, From: "2020-01-01"})
	}), sale(nil, viaAna), "ana inv link 107; c3 100 BRL; c4 7 BRL")
	f("a fixed fee stands apart from another currency", shop(nil),
		sale(func(o *wire.Order) { o.Currency, o.DiscountCode = "USD", wire.Some("BETO") }), "beto  coupon 0 + 500 BRL; c2 500 BRL")
	f("… expected while pending", shop(nil), sale(func(o *wire.Order) { both(o); o.Currency = "USD" }), "beto  coupon 0 + 500 BRL")
	f("… and nothing when cancelled", shop(nil), sale(func(o *wire.Order) { both(o); o.Currency, o.Status = "USD", 2 }), "beto  coupon 0")
	f("a cost that ended", shop(func(r *facts.Rules) { r.Costs[0].To = "2026-02-28" }), sale(nil, viaAna), "ana inv link 0")
	f("a coupon deleted before", shop(func(r *facts.Rules) { r.Coupons[1].DeletedAt = start }), sale(code("BETO")), "   0")
	f("a coupon deleted after", shop(func(r *facts.Rules) { r.Coupons[1].DeletedAt = start.Add(2 * time.Hour) }), sale(code("BETO")),
		"beto  coupon 500; c2 500 BRL")
	f("an influencer archived before the touch", shop(func(r *facts.Rules) { r.Influencers[0].ArchivedAt = start }), sale(nil, viaAna), "   0")
	// a cost closes by itself
	f("an influencer archived after the touch", shop(func(r *facts.Rules) { r.Influencers[0].ArchivedAt = start.Add(time.Minute) }),
		sale(nil, viaAna), "ana inv link 1000; c1 1000 BRL")
	f("registration does not gate", shop(func(r *facts.Rules) { r.Influencers[0].CreatedAt = start.Add(9 * day) }), sale(nil, viaAna),
		"ana inv link 1000; c1 1000 BRL")
	f("an ambiguous name is nobody", shop(func(r *facts.Rules) { r.Influencers[1].Folded = "ana" }), sale(nil, viaAna), "   0")
	f("the order's own utms, when nothing else matched", shop(nil), sale(func(o *wire.Order) { o.UTMCampaign = wire.Some("Ána") }, at(0, "/")),
		"ana  link 1000; c1 1000 BRL")
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

// docs/attribution.md, "Touches": a click and its landing within 30 minutes are
// one touch, also when two cookies know them.
func TestClickAndLandingOfTwoCookiesAreOneTouch(t *testing.T) {
	const click = "xyz.0195b2c0-0000-7000-8000-000000000000"
	f := func(name string, minute int, page string, want ...string) {
		t.Helper()
		c := sale(nil, at(minute, page))
		c.Keys[0].Visitors = []string{shopper, cookie}
		c.Visitors = append(c.Visitors, facts.Visitor{ID: cookie, Events: []facts.Event{at(0, "click "+click)}})
		o := shop(nil).Decide(c)
		var got []string
		for _, credit := range o.Credits {
			if credit.Of(models.Linear).Given {
				got = append(got, fmt.Sprintf("%d %s %s", credit.Position, credit.TouchID, credit.Channel))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	f("a minute later", 1, "/?trb_click="+click, "1 e000 Ana")
	f("30 minutes later", 30, "/?trb_click="+click, "1 e000 Ana")
	f("later", 31, "/?trb_click="+click, "1 e000 Ana", "2 e031 Ana")
	f("another click", 1, "/?trb_click=xyz.other", "1 e000 Ana", "2 e001 Ana")
	f("no click", 1, "/?utm_source=ig&utm_campaign=beto", "1 e000 Ana", "2 e001 Beto")
}

// all is an amount under every model.
func all(minor int64) (parts [facts.ModelCount]facts.Part) {
	for i := range parts {
		parts[i] = facts.Part{Given: true, Minor: minor}
	}
	return parts
}

func TestOrdersWithoutTouches(t *testing.T) {
	f := func(c facts.Case, want facts.Credit) {
		t.Helper()
		o := shop(nil).Decide(c)
		want.Parts = all(c.Order.TotalMinor)
		if len(o.Credits) != 1 || o.Credits[0] != want {
			t.Errorf("credits %+v, want all of %s by every model", o.Credits, want.Channel)
		}
		for model, parts := range o.Explanation.Models {
			if len(parts) != 1 || parts[0].Channel != want.Channel {
				t.Errorf("%s is explained as %+v", model, parts)
			}
		}
	}
	coupon := func(o *wire.Order) { o.DiscountCode = wire.Some("ANA10") }
	f(sale(nil), facts.Credit{Channel: Unattributed})
	f(sale(func(o *wire.Order) { o.DiscountCode = wire.Some("NOBODYS") }), facts.Credit{Channel: Unattributed})
	f(sale(coupon), facts.Credit{Channel: CouponChannel + "Ana", InfluencerID: "ana", CampaignID: "inv"})
	f(sale(func(o *wire.Order) { o.Source = wire.Some(1); coupon(o) }, at(0, "/?utm_campaign=ana")), facts.Credit{Channel: ChannelMarketplace})
	if o := shop(nil).Decide(sale(coupon, at(0, "/"))); len(o.Credits) != 1 || o.Credits[0].Channel != ChannelDirect {
		t.Errorf("a visit is known, and the credits are %+v", o.Credits)
	}
}

// docs/attribution.md, "Two hops": by these an order is found
// when a rule changes or a visitor comes again, whether or not anyone matched.
func TestOutcomesNameWhatTheyAreFoundBy(t *testing.T) {
	f := func(name string, c facts.Case, want ...facts.Key) {
		t.Helper()
		var got []facts.Key
		for _, k := range shop(nil).Decide(c).FoundBy {
			if k.OrderID != "o1" || k.CreatedAt != c.Order.CreatedAt {
				t.Errorf("%s: %+v", name, k)
			}
			got = append(got, k.Key)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	influencer := func(id string) facts.Key { return facts.Key{Kind: facts.KeyInfluencer, Value: id} }
	visitor := facts.Key{Kind: facts.KeyReached, Value: shopper}
	f("a direct visit", sale(nil, at(0, "/")), visitor)
	f("a name that nobody has", sale(nil, at(0, "/?utm_campaign=Cár%20la")), facts.RuleKey(facts.KeyUTM, "car la"), visitor)
	f("an influencer's", sale(nil, at(0, "/?utm_campaign=ana"), at(50, "/?utm_campaign=ana&utm_source=x")), facts.RuleKey(facts.KeyUTM, "ana"),
		influencer("ana"), visitor)
	f("a link that nobody has", sale(nil, at(0, "/?trb_click=abc.1")), facts.RuleKey(facts.KeyLink, "abc"), visitor)
	f("a link", sale(nil, at(0, "/?trb_click=xyz.1")), facts.RuleKey(facts.KeyLink, "xyz"), influencer("ana"), visitor)
	f("a coupon", sale(code("BETO")), influencer("beto"), visitor)
	alone := sale(nil)
	alone.Keys = nil
	f("nothing", alone)
	own := sale(nil, at(0, "/"))
	own.Keys = []facts.KeyReach{{Key: facts.VisitorKey(shopper), Visitors: []string{shopper}, Orders: 1}}
	f("a visitor whose id the order has", own)
	own.Keys[0].Orders = hubOrders + 1
	own.Keys = append(own.Keys, facts.KeyReach{Key: facts.Key{Kind: facts.KeyCart, Value: "k1:a"}, Visitors: []string{shopper}, Orders: 1})
	f("one whose id is a hub of orders", own, visitor)
}

// A visitor that is a hub joins nothing, and is named all the same: it may
// cease to be one.
func TestOutcomesNameVisitorsThatAreHubs(t *testing.T) {
	c := sale(nil, at(0, "/?utm_campaign=ana"))
	c.Visitors[0].Carts = hubCarts + 1
	found := shop(nil).Decide(c).FoundBy
	if len(found) != 1 || found[0].Kind != facts.KeyReached || found[0].Hub != facts.HubOfKeys {
		t.Errorf("%+v", found)
	}
}

func TestCreditsNameTheirTouchByItsPlace(t *testing.T) {
	c := sale(nil, at(0, "/?utm_campaign=ana"), at(10, "/?utm_campaign=beto"), at(20, "/?utm_source=google&utm_medium=cpc"))
	var got []string
	for _, credit := range shop(nil).Decide(c).Credits {
		got = append(got, fmt.Sprintf("%d %s %s %v %v %v", credit.Position, credit.TouchID, credit.Channel, credit.Of(models.First),
			credit.Of(models.Last), credit.Of(models.Linear)))
	}
	want := []string{"1 e000 Ana {true 10005} {false 0} {true 3335}", "2 e010 Beto {false 0} {false 0} {true 3335}",
		"3 e020 Paid Search {false 0} {true 10005} {true 3335}"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
