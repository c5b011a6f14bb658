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
