package attribution

import (
	"slices"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
)

// assignedClaim returns the claim of the influencer to whom the merchant gave the order, and
// nil where that is nobody. The campaign is that of the influencer's own evidence (in p), else
// none, else the first that has an agreement. It counts as a coupon of the influencer would.
func (x *Index) assignedClaim(o *Order, d facts.Decision, p payout) *claim {
	if d.InfluencerID == "" || x.byID[d.InfluencerID] == nil {
		return nil
	}
	given := &claim{influencerID: d.InfluencerID, evidence: facts.EvidenceCoupon, proof: facts.ProofAssigned}
	if w := p.winner; w != nil && w.influencerID == d.InfluencerID {
		given.campaignID, given.couponID = w.campaignID, w.couponID
		return given
	}
	campaigns := []string{""}
	for _, c := range x.costs[d.InfluencerID] {
		if c.CampaignID != "" {
			campaigns = append(campaigns, c.CampaignID)
		}
	}
	slices.Sort(campaigns)
	for _, id := range campaigns {
		if _, costs := x.costsFor(d.InfluencerID, id, given.evidence, o.Day, o.CreatedAt); len(costs) > 0 {
			given.campaignID = id
			break
		}
	}
	return given
}

// givenTo is a payout to whom the merchant gave the order. Claims of others are not paid.
func givenTo(given *claim, others ...*claim) (p payout) {
	p.winner = given
	for _, other := range others {
		if other != nil && other.influencerID != given.influencerID {
			p.losers = append(p.losers, loser{*other, facts.ReasonAssigned})
		}
	}
	return p
}

// explainDecisions says what the merchant decided in disputes about an order, and about influencers who are its customer.
func (x *Index) explainDecisions(o *Order, decisions facts.Decisions) (list []facts.ExplainedDecision) {
	for i := range decisions {
		if d := &decisions[i]; d.IsDispute() || slices.Contains(o.own, d.InfluencerID) && d.Decision != commerce.EvidenceWithdraw {
			list = append(list, facts.ExplainedDecision{
				Influencer: x.InfluencerName(d.InfluencerID), InfluencerID: d.InfluencerID, Decision: d.Decision, By: d.Actor,
				At: d.AcceptedAt.UTC().Format(instantFormat), Reason: d.Reason,
				ConfirmedBy: d.ConfirmedBy,
			})
		}
	}
	return list
}
