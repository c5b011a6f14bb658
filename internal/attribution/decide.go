package attribution

import (
	"cmp"
	"slices"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
)

// Decide computes an order's outcome. The same case under the same rules always has
// the same outcome.
func (x *Index) Decide(c facts.Case) facts.Outcome {
	order := x.orderOf(&c.Order)
	found := x.join(&c)
	touches, cut := withoutTooMany(x.modelTouches(order, found), found.visitors)
	if cut {
		found.cuts = append(found.cuts, facts.Cut{What: facts.CutEvents, Limit: facts.HubOfEvents})
	}
	touches = x.withOrderTouch(order, touches)
	e := x.evidenceOf(order, &c, found, touches)
	paid := x.decidePayout(order, &c, e.coupon, e.link, e.review)
	models := x.models(order, touches)

	out := facts.Outcome{
		OrderID: order.OrderID, Currency: order.Currency, Day: order.Day,
		Lines:   paid.lines(order),
		FoundBy: foundBy(order, append(slices.Clone(touches), e.touches...), e.coupon, c.Decisions, found.visitors),
		Hubs:    hubs(order, found.keys),
		Payout:  paid.stored(order),
	}
	if order.Status == commerce.OrderApproved {
		for _, m := range models {
			out.Credits = append(out.Credits, m.credits...)
		}
	}
	out.Explanation = x.explain(order, &c, found, touches, e, paid, models)
	return out
}

// stored returns the payout as it is stored, for the order's status.
func (p *payout) stored(o *Order) facts.Payout {
	out := facts.Payout{State: p.state(o), Reason: p.reason, BaseMinor: o.base(), CommissionMinor: p.commission, FixedBRLMinor: p.fixedBRL}
	if w := p.winner; w != nil {
		out.InfluencerID, out.CampaignID, out.Evidence, out.Proof = w.influencerID, w.campaignID, w.evidence, w.proof
		out.Reason = cmp.Or(p.reason, w.reason)
	}
	if o.Status == commerce.OrderCancelled {
		out.CommissionMinor, out.FixedBRLMinor = 0, 0
	}
	if out.State == facts.PayoutEarned {
		out.PayableOn = p.payableOn
	}
	return out
}

// modelCredits is how one model divides an order.
type modelCredits struct {
	model    string
	credits  []facts.Credit
	portions []string // of the order's total, 0 to 1; one for each credit
}

// models divides the order's total by every model. A marketplace order, and one
// without touches, has a single credit without a touch.
func (x *Index) models(o *Order, touches []Touch) []modelCredits {
	var list []modelCredits
	for _, model := range Models {
		m := modelCredits{model: model}
		shares := x.shares(&o.settings, model, touches)
		switch {
		case o.Source.Or(commerce.SourceWeb) == commerce.SourceMarketplace:
			m.credits = []facts.Credit{{Model: model, Channel: ChannelMarketplace, AmountMinor: o.TotalMinor}}
			m.portions = []string{"1"}
		case len(shares) == 0:
			m.credits = []facts.Credit{{Model: model, Channel: Unattributed, AmountMinor: o.TotalMinor}}
			m.portions = []string{"1"}
		default:
			for i, amount := range split(o.TotalMinor, shares) {
				t := touches[shares[i].touch]
				m.credits = append(m.credits, facts.Credit{
					Model: model, Position: shares[i].touch + 1, TouchID: t.ID, Channel: t.Channel,
					InfluencerID: t.InfluencerID, CampaignID: t.CampaignID, AmountMinor: amount,
				})
			}
			m.portions = portions(shares)
		}
		list = append(list, m)
	}
	return list
}

// foundBy returns the keys by which a later fact finds the order. A changed rule
// finds it by the names and codes of its touches, even if they belong to nobody now,
// and by its influencers. An event finds it by the visitors to whom its keys lead.
func foundBy(o *Order, touches []Touch, coupon *claim, decisions facts.Decisions, visitors []reached) []facts.OrderKey {
	var keys []facts.OrderKey
	seen := map[facts.Key]bool{}
	add := func(k facts.Key, hub facts.Hub) {
		if !seen[k] {
			seen[k] = true
			keys = append(keys, facts.OrderKey{Key: k, OrderID: o.OrderID, CreatedAt: o.CreatedAt, Hub: hub})
		}
	}
	for _, t := range touches {
		if name := commerce.FoldName(t.Campaign); name != "" {
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
	for _, d := range decisions {
		ids, _ := d.TouchIDs()
		for _, id := range ids {
			add(facts.Key{Kind: facts.KeyTouch, Value: id}, facts.NoHub)
		}
	}
	for _, v := range visitors {
		add(facts.Key{Kind: facts.KeyReached, Value: v.ID}, v.hub)
	}
	return keys
}

// hubs returns the order's keys that are hubs.
func hubs(o *Order, keys []orderKey) []facts.OrderKey {
	var list []facts.OrderKey
	for _, k := range keys {
		if k.hub != facts.NoHub {
			list = append(list, facts.OrderKey{Key: k.Key, OrderID: o.OrderID, CreatedAt: o.CreatedAt, Hub: k.hub})
		}
	}
	return list
}
