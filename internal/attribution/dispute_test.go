package attribution

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// disputed is a case about which the store decided: "influencer decision", in that order.
func disputed(c facts.Case, decisions ...string) facts.Case {
	var all []facts.Decision
	for i, text := range decisions {
		influencer, decision, _ := strings.Cut(text, " ")
		all = append(all, facts.Decision{OrderID: "o1", InfluencerID: influencer, Decision: decision, Rev: int64(i + 1), Actor: "user/u",
			AcceptedAt: start.Add(time.Duration(i) * 24 * time.Hour), Reason: "she forgot the coupon", ConfirmedBy: "user/second"})
	}
	c.Decisions = facts.FoldDecisions(all)
	return c
}

// docs/attribution.md, "Disputes".
func TestADisputeIsDecidedWhateverTheEvidenceSays(t *testing.T) {
	viaAna := at(0, "/?utm_source=ig&utm_campaign=ana&utm_content=inverno")
	f := func(name string, x *Index, c facts.Case, want string) {
		t.Helper()
		o := x.Decide(c)
		p := o.Payout
		if got := fmt.Sprint(p.InfluencerID, " ", p.CampaignID, " ", p.Proof, " ", p.CommissionMinor, " ", len(o.Lines)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	f("given to one without evidence, by the agreement of a coupon", shop(nil), disputed(sale(nil), "beto assign"), "beto  assigned 500 1")
	f("given to another than the coupon's", shop(nil), disputed(sale(code("ANA10")), "beto assign"), "beto  assigned 500 1")
	f("given to who has it", shop(nil), disputed(sale(code("ANA10")), "ana assign"), "ana inv assigned 1000 1")
	f("a coupon sale is denied", shop(nil), disputed(sale(code("ANA10")), "ana deny"), "   0 0")
	f("denied, the next one's link counts", shop(nil), disputed(sale(code("BETO"), viaAna), "beto deny"), "ana inv cart 1000 1")
	f("a denied link", shop(nil), disputed(sale(nil, viaAna), "ana deny"), "   0 0")
	f("released", shop(nil), disputed(sale(code("ANA10")), "ana deny", "ana release"), "ana inv order 1000 1")
	f("given to two, one after the other", shop(nil), disputed(sale(nil), "ana assign", "beto assign"), "beto  assigned 500 1")
	f("and back", shop(nil), disputed(sale(nil), "ana assign", "beto assign", "ana assign"), "ana  assigned 1000 1")
	f("released, the one before has it no more", shop(nil), disputed(sale(nil), "ana assign", "beto assign", "beto release"), "   0 0")
	f("given, then denied", shop(nil), disputed(sale(nil), "ana assign", "ana deny"), "   0 0")
	f("a withdrawal of evidence releases nothing", shop(nil), disputed(sale(nil), "beto assign", "beto withdraw"), "beto  assigned 500 1")
	f("an accepted link releases nothing", shop(nil), disputed(sale(code("ANA10")), "ana deny", "ana accept"), "   0 0")
	f("a pending order waits", shop(nil), disputed(sale(status(commerce.OrderPending)), "beto assign"), "beto  assigned 500 0")
	f("a cancelled order owes nothing", shop(nil), disputed(sale(status(commerce.OrderCancelled)), "beto assign"), "beto  assigned 0 0")
	f("somebody who is not there", shop(nil), disputed(sale(code("ANA10")), "nobody assign"), "ana inv order 1000 1")
	f("a test counts nowhere", shop(nil), disputed(sale(func(o *wire.Order) { o.Test = wire.Some(true) }), "beto assign"),
		"beto  assigned 0 0")
	f("a marketplace order", shop(nil), disputed(sale(func(o *wire.Order) { o.Source = wire.Some(1) }), "beto assign"), "beto  assigned 500 1")
	f("the costs of the order's own day", shop(func(r *facts.Rules) {
		r.Costs[1].To = "2020-01-01"
		r.Costs = append(r.Costs, facts.Cost{ID: "c3", InfluencerID: "beto", VarFee: decimal.NewFromInt(50), From: "2099-01-01"})
	}), disputed(sale(nil), "beto assign"), "beto  assigned 0 0")
	f("an agreement of a campaign alone", shop(func(r *facts.Rules) { r.Costs[0].CampaignID = "ver" }),
		disputed(sale(nil), "ana assign"), "ana ver assigned 1000 1")

	o := shop(nil).Decide(disputed(sale(code("ANA10")), "beto assign"))
	if l := o.Explanation.Payout.Losers; len(l) != 1 || l[0].Influencer != "Ana" || l[0].Reason != facts.ReasonAssigned.Words() {
		t.Errorf("losers %+v", l)
	}
	if d := o.Explanation.Decisions; len(d) != 1 || d[0].Influencer != "Beto" || d[0].By != "user/u" ||
		d[0].Reason != "she forgot the coupon" || d[0].ConfirmedBy != "user/second" {
		t.Errorf("decisions %+v", d)
	}
	late := disputed(sale(nil), "ana deny", "ana deny", "ana deny", "ana deny", "beto assign")
	late.ApprovedSince = start.AddDate(0, 0, -60)
	if got, want := shop(nil).Decide(late).Payout.PayableOn, shop(nil).DayOf(start.AddDate(0, 0, 4)); got != want {
		t.Errorf("payable on %s, want the decision's day %s", got, want)
	}
}

// The current decisions follow from the set of decisions, and give an order to one at most.
func TestAnOrderIsGivenToOneAtMostInWhateverOrderDecisionsCome(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 7))
	kinds := append(append([]string{}, commerce.EvidenceDecisions...), commerce.DisputeDecisions...)
	for range 2000 {
		all := make([]facts.Decision, 1+r.IntN(12))
		for i := range all {
			all[i] = facts.Decision{InfluencerID: string(rune('a' + r.IntN(3))), Decision: kinds[r.IntN(len(kinds))], Rev: int64(i + 1)}
		}
		last := facts.Decision{}
		for _, d := range all {
			switch {
			case d.Decision == commerce.DisputeAssign:
				last = d
			case d.IsDispute() && d.InfluencerID == last.InfluencerID:
				last = facts.Decision{}
			}
		}
		want := fmt.Sprint(facts.FoldDecisions(all))
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		folded, given := facts.FoldDecisions(all), 0
		for _, d := range folded {
			if d.Decision == commerce.DisputeAssign {
				given++
			}
		}
		if got := fmt.Sprint(folded); got != want || given > 1 || folded.Assigned().InfluencerID != last.InfluencerID {
			t.Fatalf("%+v become %s, want %s and %q", all, got, want, last.InfluencerID)
		}
	}
}
