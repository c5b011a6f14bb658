package attribution

import (
	"slices"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
)

// customersOf returns the influencers who are the customer of a case's order, sorted by id: by the keys that its
// merchant sent, for which nothing counts that anybody does afterwards, and by those that are erased.
func (x *Index) customersOf(c *facts.Case) []string {
	own := slices.Clone(c.SelfPurchases)
	if len(x.identities) > 0 {
		for _, k := range facts.PersonKeys(&c.Order) {
			for _, i := range x.identities[k] {
				if !c.Order.CreatedAt.Before(i.Since) && inForce(i.Until, c.Order.CreatedAt) {
					own = append(own, i.InfluencerID)
				}
			}
		}
	}
	slices.Sort(own)
	return slices.Compact(own)
}

// deniedOf returns those of the order's customers who get nothing for it: by the store's setting, or since the merchant
// refused them.
func (o *Order) deniedOf(decisions facts.Decisions) (denied []string) {
	for _, id := range o.own {
		refused := decisions.Of(id).Decision == commerce.EvidenceRefuse
		if rule := o.settings.SelfPurchase; rule == commerce.SelfPurchaseDeny || rule == commerce.SelfPurchaseReview && refused {
			denied = append(denied, id)
		}
	}
	return denied
}

// next returns the claim that counts next to those of influencers who get nothing, being the order's customer. find finds a
// claim of nobody to skip. The first claim of all is noted where it is of one of them.
func (e *evidence) next(o *Order, decisions facts.Decisions, find func(skip []string) *claim) *claim {
	if len(o.denied) > 0 {
		first := find(nil)
		same := func(cl claim) bool { return cl.influencerID == first.influencerID && cl.evidence == first.evidence }
		if first != nil && slices.Contains(o.denied, first.influencerID) && !slices.ContainsFunc(e.denied, same) {
			e.denied = append(e.denied, *first)
		}
	}
	return o.asSelf(find(o.denied), decisions)
}

// asSelf returns what a claim is where its influencer is the order's customer: one that waits for the merchant's decision,
// or that was accepted. Other claims stay as they are. A cancelled order waits for nothing.
func (o *Order) asSelf(cl *claim, decisions facts.Decisions) *claim {
	if cl == nil || !slices.Contains(o.own, cl.influencerID) || o.settings.SelfPurchase == commerce.SelfPurchasePay {
		return cl
	}
	self := *cl
	if decisions.Of(cl.influencerID).Decision == commerce.EvidenceAccept {
		self.proof = facts.ProofAccepted
	} else {
		self.self = o.Status != commerce.OrderCancelled
	}
	return &self
}

// unlessOf returns a claim, and nil for one of the influencers to skip.
func (cl *claim) unlessOf(skip []string) *claim {
	if cl != nil && slices.Contains(skip, cl.influencerID) {
		return nil
	}
	return cl
}

// withDenied adds to a payout the claims of influencers who get nothing, being the order's customer.
func withDenied(p payout, denied []claim) payout {
	for _, cl := range denied {
		if p.winner == nil || p.winner.influencerID != cl.influencerID {
			p.losers = append(p.losers, loser{cl, facts.ReasonSelfPurchase})
		}
	}
	if len(denied) > 0 && p.reason == facts.ReasonNoWinner {
		p.reason = facts.ReasonSelfPurchase
	}
	return p
}

// deniedBy returns the denied claims of one kind of evidence.
func deniedBy(evidence facts.Evidence, denied []claim) []claim {
	return slices.DeleteFunc(slices.Clone(denied), func(cl claim) bool { return cl.evidence != evidence })
}

// explainCustomer tells which of the influencers that an order's evidence names are its customer.
func (x *Index) explainCustomer(o *Order, ev evidence, touches []Touch, decisions facts.Decisions) (list []facts.ExplainedCustomer) {
	for _, id := range o.own {
		named := ev.coupon != nil && ev.coupon.influencerID == id || decisions.Assigned().InfluencerID == id
		ofInfluencer := func(t Touch) bool { return t.InfluencerID == id }
		if named || slices.ContainsFunc(touches, ofInfluencer) || slices.ContainsFunc(ev.touches, ofInfluencer) {
			list = append(list, facts.ExplainedCustomer{Influencer: x.InfluencerName(id), InfluencerID: id})
		}
	}
	return list
}
