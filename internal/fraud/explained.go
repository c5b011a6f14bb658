package fraud

import "github.com/tributary-io/tributary/internal/facts"

// Explain fills in what an order's explanation tells of its touches: those of
// influencers, and where the last visit that was not direct came from.
func (s *Sale) Explain(touches []facts.ExplainedTouch) {
	for _, t := range touches { // oldest first
		switch {
		case t.Arrival != facts.Direct:
			s.Source = sourceOf(t)
		case s.Source == "":
			s.Source = t.Channel
		}
		if t.InfluencerID == "" {
			continue
		}
		if t.InfluencerID == s.Influencer {
			by := facts.KeyKind(t.MatchedBy)
			s.Last = Last{EventID: t.ID, ByIdentity: by == facts.KeyCustomer || by == facts.KeyEmail || by == facts.KeyPhone}
		}
		s.Touches = append(s.Touches, Touch{
			Influencer:    t.InfluencerID,
			AfterCheckout: t.Reason == facts.ReasonAfterCheckout.Words(),
			Proven:        t.Proof != facts.ProofClaimed && t.Proof != facts.ProofRefused,
		})
	}
}

// sourceOf writes where a touch came from: an influencer, or a channel and its source.
func sourceOf(t facts.ExplainedTouch) string {
	if t.InfluencerID != "" || t.Source == "" {
		return t.Channel
	}
	return t.Channel + ": " + t.Source
}
