package attribution

import (
	"fmt"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// Strangers may send as many touches in a customer's name as are read for an order. The
// newest of them count for the models, and the explanation says so; what is proven stays.
// The time grows with their number, not with its square: with 80,000 that was minutes.
func TestTheNewestOfTooManyClaimedTouchesCount(t *testing.T) {
	limits := shop(nil).Limits()
	c := sale(nil, at(0, "/?utm_campaign=ana"))
	c.Order.EmailKey = wire.Some("k1:e")
	key := facts.KeyReach{Key: facts.Key{Kind: facts.KeyEmail, Value: "k1:e"}, Orders: 1}
	for v := range limits.Visitors {
		visitor := facts.Visitor{ID: fmt.Sprintf("0195b2c0-51ce-4a37-9d42-7e8f01b3%04d", v)}
		for n := range 2 * limits.Events {
			e := at(1, fmt.Sprint("/?utm_campaign=beto&utm_term=", n))
			e.EventID = fmt.Sprintf("0195b2c0-0000-7000-8000-%06d%06d", v, n)
			e.At = start.Add(time.Duration(n) * time.Millisecond)
			visitor.Events = append(visitor.Events, e)
		}
		key.Visitors, c.Visitors = append(key.Visitors, visitor.ID), append(c.Visitors, visitor)
	}
	c.Keys = append(c.Keys, key)
	out := shop(nil).Decide(c)
	if touches, credits := len(out.Explanation.Touches), len(out.Credits); touches != 1+claimedTouches || credits != touches {
		t.Errorf("%d touches, %d credits", touches, credits)
	}
	if cuts := out.Explanation.Cuts; len(cuts) != 1 || cuts[0] != (facts.Cut{What: facts.CutEvents, Limit: facts.HubOfEvents}) {
		t.Errorf("cuts %+v", cuts)
	}
	if first := out.Explanation.Touches[0]; first.InfluencerID != "ana" || first.Proof != facts.Proof(facts.KeyCart) {
		t.Errorf("first touch %+v", first)
	}
	if out.Payout.InfluencerID != "ana" || out.Payout.State != facts.PayoutEarned {
		t.Errorf("%+v", out.Payout)
	}
	// Also of those that the merchant accepts, though no model leaves out any of them.
	c.Decisions = facts.Decisions{{InfluencerID: "beto", Decision: commerce.EvidenceAccept, AcceptedAt: start.Add(day)}}
	out = shop(nil).Decide(c)
	if touches, cuts := len(out.Explanation.Touches), out.Explanation.Cuts; touches != 1+claimedTouches || len(cuts) != 1 {
		t.Errorf("%d touches where all are accepted, cuts %+v", touches, cuts)
	}
	if out.Payout.InfluencerID != "beto" || out.Payout.Proof != facts.ProofAccepted {
		t.Errorf("%+v", out.Payout)
	}
}

// Of what a stranger has sent, no more is matched to influencers than counts: to fold a name is
// the dearest of what a touch costs.
func TestTouchesThatDoNotCountAreMatchedToNobody(t *testing.T) {
	of := func(arrivals int) float64 {
		c := sale(nil)
		c.Order.EmailKey = wire.Some("k1:e")
		visitor := facts.Visitor{ID: "0195b2c0-51ce-4a37-9d42-7e8f01b30001"}
		for n := range arrivals {
			e := at(1, fmt.Sprint("/?utm_campaign=beto&utm_term=", n))
			e.EventID, e.At = fmt.Sprintf("0195b2c0-0000-7000-8000-%012d", n), start.Add(time.Duration(n)*time.Millisecond)
			visitor.Events = append(visitor.Events, e)
		}
		c.Keys = []facts.KeyReach{{Key: facts.Key{Kind: facts.KeyEmail, Value: "k1:e"}, Orders: 1, Visitors: []string{visitor.ID}}}
		c.Visitors = []facts.Visitor{visitor}
		x := shop(nil)
		return testing.AllocsPerRun(5, func() { x.Decide(c) })
	}
	if each := (of(10*claimedTouches) - of(2*claimedTouches)) / (8 * claimedTouches); each > 5 {
		t.Errorf("%.1f allocations for each touch that does not count, want those of reading its address", each)
	}
}
