package attribution

import (
	"fmt"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
)

// Decide computes an order's outcome. It is pure: the same Case under the same
// rules always gives the same bytes.
func (x *Index) Decide(c facts.Case) (facts.Outcome, error) {
	order := Order{Order: &c.Order, Day: c.Order.CreatedAt.In(x.rules.Location).Format(time.DateOnly), Codes: facts.OrderCodes(&c.Order)}
	keys, touches := x.join(&c)
	onlyDirect := true
	for _, t := range touches {
		onlyDirect = onlyDirect && t.Kind == Direct
	}
	if t, ok := orderTouch(&c); ok && onlyDirect {
		touches = append(touches, t)
	}
	for i := range touches {
		x.match(&touches[i])
	}
	coupon, link := x.couponClaim(&order), linkClaim(&order, touches)
	paid := x.pay(&order, coupon, link)
	models := x.models(&order, touches)

	out := facts.Outcome{
		OrderID: order.OrderID, Day: order.Day, Cause: c.Cause,
		Lines:    paid.lines(&order),
		Evidence: evidence(touches, coupon),
		Payout:   facts.Payout{BaseMinor: order.base(), CommissionMinor: paid.commission, FixedBRLMinor: paid.fixedBRL},
	}
	if paid.winner != nil {
		out.Payout.InfluencerID, out.Payout.CampaignID, out.Payout.Evidence = paid.winner.influencerID, paid.winner.campaignID, paid.winner.evidence
	}
	if order.Status == commerce.OrderCancelled {
		out.Payout.CommissionMinor, out.Payout.FixedBRLMinor = 0, 0
	}
	if order.Status == commerce.OrderApproved {
		for _, m := range models {
			out.Credits = append(out.Credits, m.credits...)
		}
	}
	var err error
	if out.Explanation, err = x.explain(&order, keys, touches, coupon, link, paid, models); err != nil {
		return out, fmt.Errorf("attribution: explain order %s: %w", order.OrderID, err)
	}
	return out, nil
}

// modelled is one model's division of an order; portions goes with credits.
type modelled struct {
	model    string
	credits  []facts.Credit
	portions []string
}

// models divides the order under every model. A marketplace order and one
// without touches have one share, under a name that is no touch's.
func (x *Index) models(o *Order, touches []Touch) []modelled {
	var list []modelled
	for _, model := range Models {
		m := modelled{model: model}
		shares := x.shares(model, touches)
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
				m.portions = append(m.portions, portion(shares[i], shares))
			}
		}
		list = append(list, m)
	}
	return list
}

// evidence lists by what a change of rules could concern the order: names and
// codes its touches carry, whether or not they match anyone today.
func evidence(touches []Touch, coupon *claim) []facts.Key {
	var keys []facts.Key
	seen := map[facts.Key]bool{}
	add := func(kind, value string) {
		if k := (facts.Key{Kind: kind, Value: value}); value != "" && !seen[k] {
			seen[k] = true
			keys = append(keys, k)
		}
	}
	for _, t := range touches {
		add(facts.KeyUTM, commerce.FoldName(t.Campaign))
		add(facts.KeyLink, t.Code)
		add(facts.KeyInfluencer, t.InfluencerID)
	}
	if coupon != nil {
		add(facts.KeyInfluencer, coupon.influencerID)
	}
	return keys
}
