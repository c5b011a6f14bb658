package attribution

import (
	"slices"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
)

// claim is one influencer's evidence for an order.
type claim struct {
	influencerID, campaignID string
	evidence                 facts.Evidence
	couponID                 string
	proof                    facts.Proof
	reason                   facts.Reason // why it is no proof; empty: it is
	self                     bool         // the influencer is the order's customer, and that waits for a decision
}

// waitsFor returns why a claim waits for the merchant's decision, and "" for one that does not.
func (cl *claim) waitsFor() facts.Reason {
	if cl.self {
		return facts.ReasonSelfPurchase
	}
	return cl.reason
}

// evidence is what the payout decides by. Each claim may be nil.
type evidence struct {
	touches []Touch // those of the payout, oldest first
	coupon  *claim  // of the order's code; for the channels, too
	paid    *claim  // the same, unless the influencer is the order's customer
	link    *claim  // proven
	review  *claim  // what a decision of the merchant's could make a link; nil where there is a link
	cut     bool    // some accepted touches are left out
	denied  []claim // of influencers who get nothing, being the order's customer
	hidden  bool    // there may have been a claim to review: a limit that strangers can reach left claims out
}

// evidenceOf returns the evidence for an order. found are the touches of its visitors, of which
// cut says that they are not all, and all those that the channel models count.
func (x *Index) evidenceOf(o *Order, c *facts.Case, j joined, found []Touch, cut bool, all []Touch) evidence {
	e := evidence{coupon: x.couponClaim(o, c.Decisions), touches: x.provenTouches(o, j, found, cut)}
	e.touches, e.cut = x.withAccepted(o, c, j, e.touches)
	e.touches = x.withPaidUnproven(o, e.touches, all)
	e.touches = x.withOrderTouchOfPayout(o, e.touches)
	for i := range e.touches {
		if t := &e.touches[i]; c.Decisions.Refuses(t.InfluencerID) {
			t.Proof = facts.ProofRefused
		}
	}
	e.paid = e.next(o, c.Decisions, func(skip []string) *claim { return e.coupon.unlessOf(skip) })
	if o.Source.Or(commerce.SourceWeb) == commerce.SourceMarketplace {
		return e // takes no link evidence
	}
	e.link = e.next(o, c.Decisions, func(skip []string) *claim { return linkClaim(e.touches, skip) })
	if e.link == nil && o.Status != commerce.OrderCancelled {
		e.review = e.next(o, c.Decisions, func(skip []string) *claim { return x.reviewClaim(o, c, e.touches, all, skip) })
		e.hidden = e.coupon == nil && e.review == nil && o.settings.Unproven != commerce.UnprovenIgnore && j.hidden
	}
	return e
}

// couponClaim returns the claim of the order's coupon, and nil where it has none in
// force, or the merchant denied it.
func (x *Index) couponClaim(o *Order, decisions facts.Decisions) *claim {
	c := x.coupon(o.Codes, o.Day, o.CreatedAt)
	if o.DiscountCodes.Present {
		c, _ = x.decidingCode(o)
	}
	if c == nil || decisions.Denies(c.InfluencerID) {
		return nil
	}
	return &claim{influencerID: c.InfluencerID, campaignID: c.CampaignID, evidence: facts.EvidenceCoupon, couponID: c.ID,
		proof: facts.ProofOrder}
}

// withAccepted adds the touches of influencers whose evidence the merchant accepted:
// those made by events that were received no later than the decision. Of each decision
// the claimedTouches newest count: anybody may have made more. It tells whether it has
// left any out.
func (x *Index) withAccepted(o *Order, c *facts.Case, j joined, touches []Touch) (with []Touch, cut bool) {
	for _, d := range c.Decisions {
		if d.Decision != commerce.EvidenceAccept {
			continue
		}
		accepted := x.acceptedTouches(o, j, d)
		accepted = slices.DeleteFunc(accepted, func(t Touch) bool { return t.InfluencerID != d.InfluencerID })
		slices.SortStableFunc(accepted, compareTouches)
		if more := len(accepted) - claimedTouches; more > 0 {
			accepted, cut = accepted[more:], true
		}
		places := placesOf(touches)
		for _, t := range accepted {
			i, proven := places[t.ID]
			switch {
			case !proven:
				t.Proof = facts.ProofAccepted
				places[t.ID] = len(touches)
				touches = append(touches, t)
			case touches[i].AfterCheckout:
				touches[i].Proof = facts.ProofAccepted
			}
		}
	}
	slices.SortStableFunc(touches, compareTouches)
	return touches, cut
}

// acceptedTouches returns the touches that a decision accepted: first those to which the
// order's keys lead, then those that it named.
func (x *Index) acceptedTouches(o *Order, j joined, d facts.Decision) []Touch {
	if j.snapshot != nil {
		return x.acceptedOfSnapshot(o, j.snapshot, d)
	}
	return append(x.touchesOfOrder(o, j, eventsAcceptedBy(d)), x.touchesOfOrder(o, acceptedAlone(d), namedEvents)...)
}

// eventsAcceptedBy are the events that were received no later than a decision.
func eventsAcceptedBy(d facts.Decision) counting {
	return func(v reached) ([]facts.Event, facts.KeyKind) {
		return slices.DeleteFunc(slices.Clone(v.Events), func(e facts.Event) bool { return e.ReceivedAt.After(d.AcceptedAt) }), v.by
	}
}

// namedEvents are those of acceptedAlone.
func namedEvents(v reached) ([]facts.Event, facts.KeyKind) {
	return v.Events, facts.KeyKind(facts.ProofAccepted)
}

// acceptedAlone returns each event that a decision accepted as a visitor of its own:
// no key leads to it, so nothing that strangers send hides it.
func acceptedAlone(d facts.Decision) (alone joined) {
	for _, e := range d.Events {
		if !e.ReceivedAt.After(d.AcceptedAt) {
			alone.visitors = append(alone.visitors, reached{Visitor: facts.Visitor{ID: e.Visitor, Events: []facts.Event{e}}})
		}
	}
	return alone
}

// withPaidUnproven adds the touches that nothing proves of the influencers whose
// setting says that such touches pay.
func (x *Index) withPaidUnproven(o *Order, touches, all []Touch) []Touch {
	places := placesOf(touches)
	for _, t := range all {
		if _, known := places[t.ID]; known || t.InfluencerID == "" || x.unproven(o, t.InfluencerID) != commerce.UnprovenPay {
			continue
		}
		t.Proof = facts.ProofClaimed
		touches = append(touches, t)
	}
	slices.SortStableFunc(touches, compareTouches)
	return touches
}

// unproven returns what an order's settings do with evidence of an influencer that
// nothing proves: one of commerce.UnprovenRules.
func (x *Index) unproven(o *Order, influencerID string) string {
	if f := x.byID[influencerID]; f != nil {
		if own := f.UnprovenAt(o.CreatedAt); own != "" {
			return own
		}
	}
	return o.settings.Unproven
}

// withOrderTouchOfPayout adds the order's own UTM values to the touches that the payout
// sees where all of these are direct, or came after the checkout: such a touch displaces
// no influencer whom the order itself names. Where it is of the very influencer, it may
// have made the order's UTM values, and they are not added.
func (x *Index) withOrderTouchOfPayout(o *Order, touches []Touch) []Touch {
	own, ok := x.orderTouch(o)
	if !ok {
		return touches
	}
	late := slices.ContainsFunc(touches, func(t Touch) bool { return t.AfterCheckout })
	if !late {
		return x.withOrderTouch(o, touches)
	}
	displaces := func(t Touch) bool {
		return t.Kind != facts.Direct && !t.AfterCheckout || t.AfterCheckout && t.InfluencerID == own.InfluencerID
	}
	if own.InfluencerID == "" || slices.ContainsFunc(touches, displaces) {
		return touches
	}
	touches = append(touches, own)
	slices.SortFunc(touches, compareTouches)
	return touches
}

// linkClaim returns the claim of the last touch that belongs to an influencer, and
// nil where there is none. One after the checkout counts only where the merchant
// accepted it and no other touch is an influencer's. Those of the influencers to skip count not.
func linkClaim(touches []Touch, skip []string) *claim {
	counts := func(t *Touch) bool { return !slices.Contains(skip, t.InfluencerID) }
	if t := lastTouch(touches, func(t *Touch) bool { return counts(t) && t.Proof != facts.ProofRefused && !t.AfterCheckout }); t != nil {
		return claimOf(t)
	}
	if t := lastTouch(touches, func(t *Touch) bool { return counts(t) && t.Proof == facts.ProofAccepted }); t != nil {
		return claimOf(t)
	}
	return nil
}

// reviewClaim returns the claim of the last influencer's touch that waits for the
// merchant's decision, since nothing proves it or it came after the checkout. It
// returns nil where there is none. Those of the influencers to skip count not.
func (x *Index) reviewClaim(o *Order, c *facts.Case, proven, all []Touch, skip []string) *claim {
	waits, places := slices.Clone(proven), placesOf(proven)
	for _, t := range all {
		if _, known := places[t.ID]; !known && x.unproven(o, t.InfluencerID) == commerce.UnprovenReview {
			t.Proof = facts.ProofClaimed
			waits = append(waits, t)
		}
	}
	slices.SortStableFunc(waits, compareTouches)
	t := lastTouch(waits, func(t *Touch) bool {
		return !c.Decisions.Refuses(t.InfluencerID) && !slices.Contains(skip, t.InfluencerID)
	})
	if t == nil {
		return nil
	}
	waiting := claimOf(t)
	waiting.reason = facts.ReasonAfterCheckout
	if _, known := places[t.ID]; !known {
		waiting.reason = facts.ReasonUnproven
	}
	return waiting
}

// lastTouch returns the last touch of an influencer that a condition holds for, and
// nil where there is none.
func lastTouch(touches []Touch, condition func(t *Touch) bool) *Touch {
	for i := len(touches) - 1; i >= 0; i-- {
		if t := &touches[i]; t.InfluencerID != "" && condition(t) {
			return t
		}
	}
	return nil
}

func claimOf(t *Touch) *claim {
	return &claim{influencerID: t.InfluencerID, campaignID: t.CampaignID, evidence: facts.EvidenceLink, proof: t.Proof}
}

// placesOf returns the index of each touch by its id.
func placesOf(touches []Touch) map[string]int {
	places := make(map[string]int, len(touches))
	for i, t := range touches {
		places[t.ID] = i
	}
	return places
}
