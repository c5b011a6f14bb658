package attribution

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
)

// instantFormat is RFC 3339 in UTC with milliseconds.
const instantFormat = "2006-01-02T15:04:05.000Z"

// explain returns the explanation of an order's outcome, without its ledger.
func (x *Index) explain(o *Order, c *facts.Case, found joined, touches []Touch, ev evidence, paid payout,
	s shares) facts.Explanation {
	e := facts.Explanation{
		Order: facts.ExplainedOrder{
			OrderID: o.OrderID, Total: facts.Number(o.TotalMinor, o.Currency), Currency: o.Currency,
			CreatedAt: o.CreatedAt.UTC().Format(time.RFC3339), Status: o.Status, Day: o.Day,
		},
		Keys: []facts.ExplainedKey{}, Touches: x.explainTouches(o, c, touches, ev.touches), Models: map[string][]facts.ExplainedPart{},
		Cuts: append([]facts.Cut{}, found.cuts...), Payout: x.explainPayout(o, paid),
	}
	if o.TaxMinor.Valid {
		e.Order.Tax = facts.Number(facts.TaxOf(o.Order), o.Currency)
	}
	e.Order.Test, e.Order.Refunds = o.isTest(), facts.ShowRefunds(o.Order)
	_, e.Order.Codes = x.decidingCode(o)
	e.Decisions = x.explainDecisions(o, c.Decisions)
	e.Order.CustomerIs = x.explainCustomer(o, ev, touches, c.Decisions)
	strength := map[facts.KeyKind]int{}
	for i, kind := range facts.JoinKinds {
		strength[kind] = len(facts.JoinKinds) - i
	}
	for _, k := range found.keys {
		if k.again {
			continue
		}
		e.Keys = append(e.Keys,
			facts.ExplainedKey{Kind: k.Kind, Strength: strength[k.Kind], Hub: k.hub != facts.NoHub, HubOf: k.hub, Visitors: k.visitors})
	}
	for _, d := range s.divisions {
		parts := []facts.ExplainedPart{}
		for i, touch := range d.touches {
			c := s.creditOf(touches, touch)
			part := facts.ExplainedPart{Touch: c.TouchID, Channel: c.Channel, Influencer: x.InfluencerName(c.InfluencerID),
				Share: json.Number(d.portions[i]), Amount: facts.Number(d.amounts[i], o.Currency)}
			if o.Status == commerce.OrderCancelled || o.isTest() {
				part.Amount = facts.Number(0, o.Currency)
			}
			parts = append(parts, part)
		}
		e.Models[d.model] = parts
	}
	e.Counterfactual.WithoutCoupon = x.explainPayout(o,
		withDenied(x.decidePayout(o, c, nil, ev.link, ev.review), deniedBy(facts.EvidenceLink, ev.denied)))
	e.Counterfactual.WithoutLink = x.explainPayout(o,
		withDenied(x.decidePayout(o, c, ev.paid, nil, nil), deniedBy(facts.EvidenceCoupon, ev.denied)))
	return e
}

// explainTouches returns the touches of the models and those of the payout, oldest
// first, with the proof of each.
func (x *Index) explainTouches(o *Order, c *facts.Case, touches, ofPayout []Touch) []facts.ExplainedTouch {
	direct, places, proven := allDirect(touches), placesOf(touches), placesOf(ofPayout)
	all := slices.Clone(touches)
	for _, t := range ofPayout {
		if _, known := places[t.ID]; !known {
			all = append(all, t)
		}
	}
	slices.SortStableFunc(all, compareTouches)
	list := []facts.ExplainedTouch{}
	for _, t := range all {
		touch := facts.ExplainedTouch{
			ID: t.ID, At: t.At.UTC().Format(instantFormat), Source: t.Source, Medium: t.Medium, Campaign: t.Campaign, Channel: t.Channel,
			Influencer: t.InfluencerName, InfluencerID: t.InfluencerID, Click: t.Click, Arrival: t.Kind, MatchedBy: t.MatchedBy,
			Proof: facts.ProofClaimed, Used: true,
		}
		if i, known := proven[t.ID]; known {
			touch.Proof, t.AfterCheckout = ofPayout[i].Proof, ofPayout[i].AfterCheckout
		} else if c.Decisions.Refuses(t.InfluencerID) {
			touch.Proof = facts.ProofRefused
		}
		_, ofModels := places[t.ID]
		switch {
		case isMarketplace(o):
			touch.Used, touch.Reason = false, facts.ReasonMarketplace.Words()
		case !ofModels:
			touch.Used, touch.Reason = false, facts.ReasonPayoutAlone.Words()
		case t.Kind == facts.Direct && o.settings.IgnoreDirect && !direct:
			touch.Used, touch.Reason = false, facts.ReasonDirect.Words()
		case touch.Proof == facts.ProofRefused:
			touch.Reason = facts.ReasonRefused.Words()
		case t.AfterCheckout && touch.Proof != facts.ProofAccepted:
			touch.Reason = facts.ReasonAfterCheckout.Words()
		}
		list = append(list, touch)
	}
	return list
}

// allDirect reports whether no touch has evidence. It is true without touches.
func allDirect(touches []Touch) bool {
	for _, t := range touches {
		if t.Kind != facts.Direct {
			return false
		}
	}
	return true
}

// explainPayout returns a payout as the explanation shows it, for the order's status.
func (x *Index) explainPayout(o *Order, p payout) facts.ExplainedPayout {
	out := facts.ExplainedPayout{
		Rule: o.settings.PayoutRule, Losers: []facts.ExplainedLoser{}, Costs: []facts.ExplainedCost{},
		Base:        facts.Number(o.base(), o.Currency),
		Commission:  facts.Number(p.commission, o.Currency),
		Commissions: explainSums(amounts(p.commission, o.Currency, p.fixedBRL)),
		State:       p.state(o), Reason: p.stored(o).Reason, PayableOn: p.stored(o).PayableOn,
	}
	if o.TaxMinor.Valid {
		if out.BaseIs = facts.BaseWithTax; o.settings.WithoutTax {
			out.BaseIs = facts.BaseWithoutTax
		}
	}
	out.Note = out.Reason.Words()
	if o.Status == commerce.OrderCancelled {
		out.Commission, out.Commissions = facts.Number(0, o.Currency), []facts.ExplainedSum{}
	}
	if p.winner != nil {
		out.Winner = &facts.ExplainedWinner{
			Influencer: x.InfluencerName(p.winner.influencerID), InfluencerID: p.winner.influencerID,
			Campaign: x.CampaignName(p.winner.campaignID), CampaignID: p.winner.campaignID, Evidence: p.winner.evidence,
			Proof: p.winner.proof,
		}
	}
	for _, l := range p.losers {
		out.Losers = append(out.Losers,
			facts.ExplainedLoser{Influencer: x.InfluencerName(l.influencerID), Evidence: l.evidence, Reason: l.reason.Words()})
	}
	for _, c := range p.costs {
		out.Costs = append(out.Costs, facts.ExplainedCost{
			CostID: c.cost.ID, Level: p.level, FixedFee: facts.Number(c.cost.FixedFeeMinor, commerce.BRL),
			VarFee: json.Number(c.cost.VarFee.String()), Revision: c.cost.Rev, Amount: facts.Number(c.amount, o.Currency),
			Amounts: explainSums(amounts(c.amount, o.Currency, c.fixedBRL)),
		})
	}
	return out
}

// explainSums returns amounts as the explanation shows them.
func explainSums(list []commerce.Amount) []facts.ExplainedSum {
	sums := make([]facts.ExplainedSum, len(list))
	for i, a := range list {
		sums[i] = facts.ExplainedSum{Amount: facts.Number(a.Minor, a.Currency), Currency: a.Currency}
	}
	return sums
}

// InfluencerName returns an influencer's name, and "" for an unknown id.
func (x *Index) InfluencerName(id string) string {
	if f := x.byID[id]; f != nil {
		return f.Name
	}
	return ""
}

// CampaignName returns a campaign's name, and "" for an unknown id.
func (x *Index) CampaignName(id string) string {
	if c := x.campaignIDs[id]; c != nil {
		return c.Name
	}
	return ""
}
