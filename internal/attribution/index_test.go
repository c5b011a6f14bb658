package attribution

import (
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// docs/attribution.md, "Touches", "Whose it is".
func TestTouchesAreTheirInfluencers(t *testing.T) {
	const click = "/?trb_click=xyz.0195b2c0-0000-7000-8000-000000000000"
	f := func(name, want, page string, change func(r *facts.Rules)) {
		t.Helper()
		touch := shop(change).appendTouches(nil, &facts.Settings{}, allOf([]facts.Event{at(0, page)}))[0]
		shop(change).match(&touch, orderAt(start))
		if got := touch.InfluencerID + " " + touch.CampaignID + " " + touch.Channel; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	f("of its link", "ana ver Ana", click, nil)
	f("of its link, whatever the campaign says", "ana ver Ana", click+"&utm_campaign=beto", nil)
	f("of its campaign where nobody has the link", "beto  Beto", click+"&utm_campaign=beto", func(r *facts.Rules) { r.Links = nil })
	f("of a link that was archived later", "ana ver Ana", click, func(r *facts.Rules) { r.Links[0].ArchivedAt = start.Add(1) })
	// Nothing says where the visitor came from, but it was by a link: that is not Direct.
	f("of no archived link", "  Other", click, func(r *facts.Rules) { r.Links[0].ArchivedAt = start })
	f("of no archived influencer's link", "  Other", click, func(r *facts.Rules) { r.Influencers[0].ArchivedAt = start })
	f("of no link without its influencer", "  Other", click, func(r *facts.Rules) { r.Influencers = r.Influencers[1:] })
	f("of its name", "ana  Ana", "/?utm_campaign=%20%C3%81NA", nil)
	f("of its name and campaign", "ana ver Ana", "/?utm_campaign=ana&utm_content=VERAO", nil)
	f("of no campaign that nobody knows", "ana  Ana", "/?utm_campaign=ana&utm_content=outono", nil)
	f("of no other influencer's campaign", "beto  Beto", "/?utm_campaign=beto&utm_content=verao", nil)
	f("of no archived campaign", "ana  Ana", "/?utm_campaign=ana&utm_content=verao", func(r *facts.Rules) {
		r.Campaigns[1].ArchivedAt = start
	})
	f("nobody's", "  Organic Social", "/?utm_source=ig&utm_campaign=carla", nil)
	f("an archived link's, from another site", "  Organic Social", click+" < https://l.instagram.com/", func(r *facts.Rules) {
		r.Links[0].ArchivedAt = start
	})
	f("an archived link's, with the UTM values of its redirect", "  Referral", click+"&utm_source=influencer&utm_medium=link",
		func(r *facts.Rules) { r.Links[0].ArchivedAt = start })
	f("nobody's with a content alone", "  Other", "/?utm_content=banner", nil)
	f("nobody's without a campaign", "  Direct", "/", nil)
	f("an empty name is nobody's", "  Organic Social", "/?utm_source=ig&utm_campaign=%E2%80%8B", func(r *facts.Rules) {
		r.Influencers[0].Folded = "ana"
	})
}

// Of several influencers of a name, the only one that existed at the touch.
func TestANameOfSeveralIsTheOnlyOneThatExisted(t *testing.T) {
	f := func(name, want string, first, second facts.Influencer) {
		t.Helper()
		first.ID, second.ID, first.Folded, second.Folded = "first", "second", "ana", "ana"
		for _, list := range [][]facts.Influencer{{first, second}, {second, first}} {
			got := ""
			if f := testIndex(func(r *facts.Rules) { r.Influencers = list }).influencerNamed("ana", start); f != nil {
				got = f.ID
			}
			if got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
	}
	before, after := start.Add(-day), start.Add(day)
	f("two that were there", "", facts.Influencer{CreatedAt: before}, facts.Influencer{CreatedAt: before})
	f("one came later", "first", facts.Influencer{CreatedAt: before}, facts.Influencer{CreatedAt: after})
	f("one came at that instant", "first", facts.Influencer{CreatedAt: start}, facts.Influencer{CreatedAt: after})
	f("one was gone", "second", facts.Influencer{CreatedAt: before, ArchivedAt: start}, facts.Influencer{CreatedAt: before})
	f("one was gone, and the other registered later", "second", facts.Influencer{ArchivedAt: before}, facts.Influencer{CreatedAt: after})
	f("both came later", "", facts.Influencer{CreatedAt: after}, facts.Influencer{CreatedAt: after})
	f("both were gone", "", facts.Influencer{ArchivedAt: before}, facts.Influencer{ArchivedAt: before})
	// Archived and registered again, and the touch is older than both: the first one's.
	later, latest := after.Add(day), after.Add(2*day)
	f("archived, then registered again", "first", facts.Influencer{CreatedAt: after, ArchivedAt: later}, facts.Influencer{CreatedAt: latest})
	f("… at the same instant", "first", facts.Influencer{CreatedAt: after, ArchivedAt: later}, facts.Influencer{CreatedAt: later})
	f("… and archived again", "first", facts.Influencer{CreatedAt: after, ArchivedAt: later},
		facts.Influencer{CreatedAt: later, ArchivedAt: latest})
	f("two that were there together later", "", facts.Influencer{CreatedAt: after, ArchivedAt: latest}, facts.Influencer{CreatedAt: later})
}

// docs/attribution.md, "Touches", "Whose it is".
func TestACampaignNameOfSeveralIsTheNewestWithACost(t *testing.T) {
	campaign := func(id string, created int, archived time.Time) facts.Campaign {
		return facts.Campaign{ID: id, InfluencerID: "ana", Folded: "verao", CreatedAt: start.Add(time.Duration(created) * time.Hour),
			ArchivedAt: archived}
	}
	cost := func(campaign string) facts.Cost {
		return facts.Cost{ID: "of " + campaign, InfluencerID: "ana", CampaignID: campaign, FixedFeeMinor: 1}
	}
	f := func(name, want string, costs []facts.Cost, campaigns ...facts.Campaign) {
		t.Helper()
		for range campaigns {
			campaigns = append(campaigns[1:], campaigns[0]) // how they are sorted says nothing
			x := testIndex(func(r *facts.Rules) { r.Campaigns, r.Costs = campaigns, costs })
			if got := x.campaignNamed("ana", "verao", start, orderAt(start)); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
	}
	never := time.Time{}
	f("one", "a", nil, campaign("a", 0, never))
	f("the newest", "a", nil, campaign("a", -1, never), campaign("b", -2, never))
	f("of one time, the greatest id", "c", nil, campaign("b", 0, never), campaign("a", 0, never), campaign("c", 0, never))
	f("the newest open", "a", nil, campaign("a", -2, never), campaign("b", -1, start))
	f("none open", "", nil, campaign("a", -1, start))
	f("the one with a cost", "a", []facts.Cost{cost("a")}, campaign("a", -2, never), campaign("b", -1, never))
	f("the newest with a cost", "b", []facts.Cost{cost("a"), cost("b")}, campaign("a", -3, never), campaign("b", -2, never),
		campaign("c", -1, never))
	ended, ofCoupons, gone := cost("b"), cost("b"), cost("b")
	ended.To, ofCoupons.CouponOnly, gone.DeletedAt = "2026-02-28", true, start
	for name, c := range map[string]facts.Cost{"ended": ended, "of coupons alone": ofCoupons, "deleted": gone} {
		f("a cost that is "+name, "a", []facts.Cost{cost("a"), c}, campaign("a", -2, never), campaign("b", -1, never))
	}
	x := testIndex(func(r *facts.Rules) { r.Campaigns = []facts.Campaign{{ID: "a", InfluencerID: "ana"}} })
	if got := x.campaignNamed("ana", "", start, orderAt(start)); got != "" {
		t.Errorf("no name is %q", got)
	}
}

// docs/attribution.md, "Payout", 1.
func TestTheCouponThatHoldsOnTheOrdersDay(t *testing.T) {
	coupon := func(id, from, to string, deleted time.Time) facts.Coupon {
		return facts.Coupon{ID: id, InfluencerID: "ana", Code: "ANA", From: from, To: to, DeletedAt: deleted}
	}
	f := func(name, want string, codes []string, coupons ...facts.Coupon) {
		t.Helper()
		for range coupons {
			coupons = append(coupons[1:], coupons[0])
			x := testIndex(func(r *facts.Rules) { r.Influencers, r.Coupons = []facts.Influencer{{ID: "ana"}}, coupons })
			got := ""
			if c := x.coupon(codes, "2026-03-01", start); c != nil {
				got = c.ID
			}
			if got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
	}
	never, later := time.Time{}, start.Add(time.Hour)
	ana := []string{"ANA"}
	f("always", "k", ana, coupon("k", "", "", never))
	f("its only day", "k", ana, coupon("k", "2026-03-01", "2026-03-01", never))
	f("from tomorrow on", "", ana, coupon("k", "2026-03-02", "", never))
	f("until yesterday", "", ana, coupon("k", "", "2026-02-28", never))
	f("deleted when the order was made", "", ana, coupon("k", "", "", start))
	f("the one whose successor did not exist then", "b", ana, coupon("a", "", "", never), coupon("b", "", "", later))
	f("of two that were deleted, the first", "b", ana, coupon("a", "", "", later.Add(1)), coupon("b", "", "", later))
	f("of two alike, the least id", "a", ana, coupon("b", "", "", later), coupon("a", "", "", later), coupon("c", "", "", later))
	f("of two that never ended, the least id", "a", ana, coupon("b", "", "", never), coupon("a", "", "", never))
	f("another code", "", []string{"ANA10"}, coupon("k", "", "", never))
	f("a later part of the field", "k", []string{"X;ANA", "X", "ANA"}, coupon("k", "", "", never))
	other := coupon("o", "", "", never)
	other.Code = "BIA"
	f("the first part first", "o", []string{"BIA", "ANA"}, coupon("k", "", "", never), other)
	nobodys := coupon("k", "", "", never)
	nobodys.InfluencerID = "gone"
	f("nobody's", "", ana, nobodys)
}

// docs/attribution.md, "Payout", 4.
func TestCostsInForce(t *testing.T) {
	cost := func(id string, change func(c *facts.Cost)) facts.Cost {
		c := facts.Cost{ID: id, InfluencerID: "ana", FixedFeeMinor: 1}
		if change != nil {
			change(&c)
		}
		return c
	}
	f := func(name, want string, costs ...facts.Cost) {
		t.Helper()
		level, list := testIndex(func(r *facts.Rules) { r.Costs = costs }).costsFor("ana", "inv", facts.EvidenceLink, "2026-03-01", start)
		got := string(level)
		for _, c := range list {
			got += " " + c.ID
		}
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	f("none", "influencer")
	share := func(c *facts.Cost) { c.FixedFeeMinor, c.VarFee = 0, decimal.New(10, 0) }
	f("all that apply, by id", "influencer a b", cost("b", nil), cost("a", share))
	f("the other influencer's", "influencer", cost("a", func(c *facts.Cost) { c.InfluencerID = "beto" }))
	f("a share alone", "influencer a", cost("a", func(c *facts.Cost) { c.FixedFeeMinor, c.VarFee = 0, decimal.New(1, -6) }))
	f("a marketing cost by day earns no order anything", "influencer", cost("a", func(c *facts.Cost) { c.FixedFeeMinor = 0 }))
	f("its only day", "influencer a", cost("a", func(c *facts.Cost) { c.From, c.To = "2026-03-01", "2026-03-01" }))
	f("from tomorrow on", "influencer", cost("a", func(c *facts.Cost) { c.From = "2026-03-02" }))
	f("until yesterday", "influencer", cost("a", func(c *facts.Cost) { c.To = "2026-02-28" }))
	f("deleted when the order was made", "influencer", cost("a", func(c *facts.Cost) { c.DeletedAt = start }))
	f("deleted later", "influencer a", cost("a", func(c *facts.Cost) { c.DeletedAt = start.Add(1) }))
	f("a coupon's without a coupon", "influencer", cost("a", func(c *facts.Cost) { c.CouponOnly = true }))
	inv, ver := func(c *facts.Cost) { c.CampaignID = "inv" }, func(c *facts.Cost) { c.CampaignID = "ver" }
	f("the campaign's before the influencer's", "campaign b", cost("a", nil), cost("b", inv))
	f("another campaign's", "influencer a", cost("a", nil), cost("b", ver))
	f("the influencer's where the campaign's does not apply", "influencer a", cost("a", nil),
		cost("b", func(c *facts.Cost) { inv(c); c.To = "2026-02-28" }))
}

// docs/attribution.md, "Payout", 4: of two costs that differ only in amount the later
// one alone counts, and so does one that was made anew for one that was deleted.
func TestACostReplacesAnEarlierOneOfItsKind(t *testing.T) {
	at := func(hours int) time.Time { return start.Add(time.Duration(hours) * time.Hour) }
	cost := func(id string, made int, fixed int64, change func(c *facts.Cost)) facts.Cost {
		c := facts.Cost{ID: id, InfluencerID: "ana", FixedFeeMinor: fixed, From: "2026-01-01", CreatedAt: at(made)}
		if change != nil {
			change(&c)
		}
		return c
	}
	f := func(name, want string, costs ...facts.Cost) {
		t.Helper()
		for range costs {
			costs = append(costs[1:], costs[0])
			_, list := testIndex(func(r *facts.Rules) { r.Costs = costs }).costsFor("ana", "inv", facts.EvidenceCoupon, "2026-03-01", start)
			got := ""
			for _, c := range list {
				got += c.ID
			}
			if got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
	}
	deleted := func(hour int) func(c *facts.Cost) { return func(c *facts.Cost) { c.DeletedAt = at(hour) } }
	share := func(c *facts.Cost) { c.FixedFeeMinor, c.VarFee = 0, decimal.New(10, 0) }
	f("another amount", "b", cost("a", 1, 5, nil), cost("b", 2, 7, nil))
	f("the same amount", "b", cost("a", 1, 5, nil), cost("b", 2, 5, nil))
	f("made at once: the greater id", "b", cost("a", 1, 5, nil), cost("b", 1, 7, nil))
	f("a third", "c", cost("a", 1, 5, nil), cost("b", 2, 7, nil), cost("c", 3, 6, nil))
	f("deleted and made anew: on orders of before", "b", cost("a", 1, 5, deleted(2)), cost("b", 3, 7, nil))
	f("… as a share", "b", cost("a", 1, 5, deleted(2)), cost("b", 3, 0, share))
	f("… with an end", "b", cost("a", 1, 5, deleted(2)), cost("b", 3, 7, func(c *facts.Cost) { c.To = "2026-12-31" }))
	f("… for coupons", "ab", cost("a", 1, 5, deleted(2)), cost("b", 3, 7, func(c *facts.Cost) { c.CouponOnly = true }))
	f("… from another day on", "ab", cost("a", 1, 5, deleted(2)), cost("b", 3, 7, func(c *facts.Cost) { c.From = "2026-01-02" }))
	f("made before the other was deleted, with an end", "ab", cost("a", 1, 5, deleted(4)),
		cost("b", 3, 7, func(c *facts.Cost) { c.To = "2026-12-31" }))
	f("a share beside a fee", "ab", cost("a", 1, 5, nil), cost("b", 2, 0, share))
	f("two shares", "b", cost("a", 1, 0, share), cost("b", 2, 0, share))
	f("another first day", "ab", cost("a", 1, 5, nil), cost("b", 2, 7, func(c *facts.Cost) { c.From = "2026-02-01" }))
	f("another last day", "ab", cost("a", 1, 5, nil), cost("b", 2, 7, func(c *facts.Cost) { c.To = "2026-12-31" }))
	f("for coupons only", "ab", cost("a", 1, 5, nil), cost("b", 2, 7, func(c *facts.Cost) { c.CouponOnly = true }))
	f("one that does not count replaces nothing", "a", cost("a", 1, 5, nil), cost("b", 2, 7, deleted(0)))
	f("a campaign's replaces none of the influencer", "b", cost("a", 1, 5, nil), cost("b", 2, 7, func(c *facts.Cost) { c.CampaignID = "inv" }))
}

func TestACostOfCouponsNeedsACoupon(t *testing.T) {
	x := testIndex(func(r *facts.Rules) {
		r.Costs = []facts.Cost{{ID: "a", InfluencerID: "ana", FixedFeeMinor: 1, CouponOnly: true},
			{ID: "b", InfluencerID: "ana", FixedFeeMinor: 1}}
	})
	if _, list := x.costsFor("ana", "", facts.EvidenceCoupon, "2026-03-01", start); len(list) != 2 {
		t.Errorf("%d costs with a coupon, want 2", len(list))
	}
	if _, list := x.costsFor("ana", "", facts.EvidenceLink, "2026-03-01", start); len(list) != 1 || list[0].ID != "b" {
		t.Errorf("%d costs with a link, want one", len(list))
	}
}

func TestAnIndexKnowsItsCompanyAndRevision(t *testing.T) {
	x := testIndex(nil)
	if x.CompanyID() != "c_1" || x.Rev() != 1 || x.DayOf(time.Date(2026, 3, 1, 2, 59, 59, 0, time.UTC)) != "2026-02-28" {
		t.Errorf("%s at revision %d", x.CompanyID(), x.Rev())
	}
}

// docs/attribution.md, "Two hops": the order's own UTM values.
func TestTheOrdersOwnUTMsAreATouchWhereOneIsSaid(t *testing.T) {
	f := func(want bool, change func(o *wire.Order)) {
		t.Helper()
		c := sale(change)
		touch, got := testIndex(nil).orderTouch(&Order{Order: &c.Order})
		if got != want || touch.At != c.Order.CreatedAt || touch.Kind != facts.ByOrderUTM || touch.MatchedBy != "order_utm" {
			t.Errorf("%+v is a touch: %t, want %t", touch, got, want)
		}
	}
	f(false, func(*wire.Order) {})
	f(true, func(o *wire.Order) { o.UTMSource = wire.Some("ig") })
	f(true, func(o *wire.Order) { o.UTMMedium = wire.Some("email") })
	f(true, func(o *wire.Order) { o.UTMCampaign = wire.Some("ana") })
	f(true, func(o *wire.Order) { o.UTMContent = wire.Some("inverno") })
	f(true, func(o *wire.Order) { o.UTMTerm = wire.Some("tenis") })
	f(false, func(o *wire.Order) {
		o.UTMSource, o.UTMMedium, o.UTMCampaign = wire.Some(""), wire.Null[string](), wire.Some("")
	})
}

func orderAt(at time.Time) *wire.Order { return &wire.Order{CreatedAt: at} }
