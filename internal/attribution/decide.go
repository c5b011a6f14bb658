package attribution

import (
	"cmp"
	"slices"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/fold"
	"github.com/tributary-io/tributary/internal/models"
)

// Decide computes an order's outcome. The same case under the same rules always has
// the same outcome.
func (x *Index) Decide(c facts.Case) facts.Outcome {
	order := x.orderOf(&c)
	found := x.join(&c)
	ofVisitors, cut := x.modelTouches(order, found)
	if cut {
		found.cuts = append(found.cuts, facts.Cut{What: facts.CutEvents, Limit: facts.HubOfEvents})
	}
	touches := x.withOrderTouch(order, slices.Clip(ofVisitors))
	e := x.evidenceOf(order, &c, found, ofVisitors, cut, touches)
	if e.cut && !cut {
		found.cuts = append(found.cuts, facts.Cut{What: facts.CutEvents, Limit: facts.HubOfEvents})
	}
	paid := withDenied(x.decidePayout(order, &c, e.paid, e.link, e.review), e.denied)
	if e.hidden && paid.reason == facts.ReasonNoWinner {
		paid.reason = facts.ReasonHidden
	}
	shares := x.divide(order, touches, e.coupon)

	out := facts.Outcome{
		OrderID: order.OrderID, Currency: order.Currency, Day: order.Day, Status: order.Status, TotalMinor: order.TotalMinor,
		Lines:   paid.lines(order),
		FoundBy: foundBy(order, append(slices.Clone(touches), e.touches...), e.coupon, c.Decisions, &found),
		Hubs:    hubs(order, &found),
		Payout:  paid.stored(order),
	}
	if order.Status == commerce.OrderApproved && !order.isTest() {
		out.Credits = creditsOf(shares, touches)
	}
	out.Explanation = x.explain(order, &c, found, touches, e, paid, shares)
	return out
}

// stored returns the payout as it is stored, for the order's status.
func (p *payout) stored(o *Order) facts.Payout {
	out := facts.Payout{State: p.state(o), Reason: p.reason, BaseMinor: o.base(), CommissionMinor: p.commission, FixedBRLMinor: p.fixedBRL}
	if w := p.winner; w != nil {
		out.InfluencerID, out.CampaignID, out.Evidence, out.CouponID, out.Proof = w.influencerID, w.campaignID, w.evidence, w.couponID, w.proof
		out.Reason = cmp.Or(p.reason, w.waitsFor())
	}
	if o.Status == commerce.OrderCancelled {
		out.CommissionMinor, out.FixedBRLMinor = 0, 0
	}
	if out.State == facts.PayoutEarned {
		out.PayableOn = p.payableOn
	}
	return out
}

// division is how one model divides an order: one part for each touch that the model
// counts.
type division struct {
	model    string
	touches  []int    // indexes in the order's touches; -1: no touch
	amounts  []int64  // in minor units
	portions []string // of the order's total, 0 to 1
}

// shares are how all models divide an order.
type shares struct {
	divisions [facts.ModelCount]division
	untouched facts.Credit // of the parts that are no touch's, without its parts
}

// noTouch is the place of a part that is no touch's.
const noTouch = -1

// divide divides the order's total by every model. A marketplace order, and one
// without touches, has a single part without a touch.
func (x *Index) divide(o *Order, touches []Touch, coupon *claim) shares {
	path := make([]models.Touch, len(touches))
	for i, t := range touches {
		path[i] = models.Touch{At: t.At, Direct: t.Kind == facts.Direct}
	}
	rules := models.Rules{HalfLife: o.settings.HalfLife, IgnoreDirect: o.settings.IgnoreDirect}
	all := shares{untouched: x.untouched(o, coupon)}
	for i, model := range facts.Models {
		credited, weights := x.calculator.Shares(model, path, rules)
		if isMarketplace(o) || len(credited) == 0 {
			all.divisions[i] = division{model, []int{noTouch}, []int64{o.TotalMinor}, []string{"1"}}
			continue
		}
		all.divisions[i] = division{model, credited, models.Split(o.TotalMinor, weights), models.Portions(weights)}
	}
	return all
}

func isMarketplace(o *Order) bool {
	return o.Source.Or(commerce.SourceWeb) == commerce.SourceMarketplace
}

// untouched returns the credit of an order, or a part of one, that is no touch's, without its parts.
func (x *Index) untouched(o *Order, coupon *claim) facts.Credit {
	switch {
	case isMarketplace(o):
		return facts.Credit{Channel: ChannelMarketplace}
	case coupon != nil:
		return facts.Credit{Channel: CouponChannel + x.InfluencerName(coupon.influencerID), InfluencerID: coupon.influencerID,
			CampaignID: coupon.campaignID}
	}
	return facts.Credit{Channel: Unattributed}
}

// creditOf returns a touch's credit without its parts; touch is its index, or noTouch.
func (s *shares) creditOf(touches []Touch, touch int) facts.Credit {
	if touch == noTouch {
		return s.untouched
	}
	t := &touches[touch]
	return facts.Credit{Position: touch + 1, TouchID: t.ID, Channel: t.Channel, InfluencerID: t.InfluencerID, CampaignID: t.CampaignID}
}

// creditsOf returns the credit of each touch that a model counts, by position.
func creditsOf(s shares, touches []Touch) []facts.Credit {
	credits := make([]facts.Credit, len(touches)+1) // by position
	counted := make([]bool, len(credits))
	for i, d := range s.divisions {
		for n, touch := range d.touches {
			position := touch + 1
			if !counted[position] {
				credits[position], counted[position] = s.creditOf(touches, touch), true
			}
			credits[position].Parts[i] = facts.Part{Given: true, Minor: d.amounts[n]}
		}
	}
	var list []facts.Credit
	for position, c := range credits {
		if counted[position] {
			list = append(list, c)
		}
	}
	return list
}

// foundBy returns the keys by which a later fact finds the order. A changed rule
// finds it by the names and codes of its touches, even if they belong to nobody now,
// and by its influencers. An event finds it by the visitors to whom its keys lead.
// One whose id is a key of the order finds it by that key, as long as that is no hub.
func foundBy(o *Order, touches []Touch, coupon *claim, decisions facts.Decisions, j *joined) []facts.OrderKey {
	var keys []facts.OrderKey
	seen := map[facts.Key]bool{}
	add := func(k facts.Key, hub facts.Hub) {
		if !seen[k] {
			seen[k] = true
			keys = append(keys, facts.OrderKey{Key: k, OrderID: o.OrderID, CreatedAt: o.CreatedAt, Hub: hub})
		}
	}
	for _, t := range touches {
		if name := fold.Name(t.Campaign); name != "" {
			add(facts.RuleKey(facts.KeyUTM, name), facts.NoHub)
		}
		if t.Code != "" {
			add(facts.RuleKey(facts.KeyLink, t.Code), facts.NoHub)
		}
		if t.InfluencerID != "" {
			add(facts.Key{Kind: facts.KeyInfluencer, Value: t.InfluencerID}, facts.NoHub)
		}
	}
	if coupon != nil {
		add(facts.Key{Kind: facts.KeyInfluencer, Value: coupon.influencerID}, facts.NoHub)
	}
	if given := decisions.Assigned().InfluencerID; given != "" {
		add(facts.Key{Kind: facts.KeyInfluencer, Value: given}, facts.NoHub)
	}
	if j.snapshot != nil {
		return keys // no event changes it any more
	}
	for _, d := range decisions {
		ids, _ := d.TouchIDs()
		for _, id := range ids {
			add(facts.Key{Kind: facts.KeyTouch, Value: id}, facts.NoHub)
		}
	}
	for _, v := range j.visitors {
		ids := v.ids
		if ids == nil {
			ids = []string{v.ID}
		}
		for _, id := range ids {
			own := facts.VisitorKey(id)
			if !slices.ContainsFunc(j.keys, func(k orderKey) bool { return k.Key == own && k.hub == facts.NoHub }) {
				add(facts.Key{Kind: facts.KeyReached, Value: id}, v.hub)
			}
		}
	}
	return keys
}

// hubs returns the order's keys that are hubs; none of a snapshotted order, since no event
// changes it any more.
func hubs(o *Order, j *joined) []facts.OrderKey {
	var list []facts.OrderKey
	for _, k := range j.keys {
		if j.snapshot == nil && k.hub != facts.NoHub {
			list = append(list, facts.OrderKey{Key: k.Key, OrderID: o.OrderID, CreatedAt: o.CreatedAt, Hub: k.hub})
		}
	}
	return list
}
