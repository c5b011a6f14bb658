package processor

import (
	"slices"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/wire"
)

// The event of a touch that a decision accepted may be replaced by another copy of its
// id, of a greater trust: a program's, a late one, or one of another visitor. The order is
// then what it would be had that copy come first, whether or not a key leads to it.
func TestAnAcceptedTouchFollowsTheCopyThatCounts(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ana, inverno := s.influencer("Ana Prado", "Inverno")
	s.cost(ana, inverno, 0, "10")
	touch := s.event("v1", noon, 1, landing("Ana+Prado", "Inverno"))
	order := s.order("o1", noon.Add(time.Hour), 10_000, nil) // no key leads to the touch
	decision := s.commerce(wire.KindEvidence, "o1/"+ana, noon.Add(2*time.Hour), wire.Evidence{
		OrderID: "o1", InfluencerID: ana, Decision: commerce.EvidenceAccept, Touches: []string{touch.EventID}})
	f := func(name, want string, change func(e *wire.Event)) {
		t.Helper()
		other := touch
		other.Trust = wire.TrustKey
		change(&other)
		records := []record{s.record(touch), s.record(order), s.record(decision), s.record(other)}
		s.clear()
		s.apply(slices.Clone(records[:3]), func() int { return 1 })
		wantTexts(t, name+": before the copy", s.payouts(), "o1 Ana Prado link 1000")
		s.clear()
		s.apply(slices.Clone(records), func() int { return 1 })
		last := s.outcomes()
		wantTexts(t, name, s.payouts(), want)
		s.clear()
		s.apply([]record{records[3], records[0], records[1], records[2]}, func() int { return 1 })
		if first := s.outcomes(); first != last {
			t.Errorf("%s: %s", name, firstDifference(last, first))
		}
	}
	f("of a program", "o1 nobody - 0", func(e *wire.Event) { e.Bot = wire.BotKnown })
	f("late", "o1 nobody - 0", func(e *wire.Event) { e.ReceivedAt = noon.AddDate(0, 0, 8) })
	f("of nobody's campaign", "o1 nobody - 0", func(e *wire.Event) { e.Context.Page.URL = "https://loja.example.com/" })
	f("of another visitor", "o1 Ana Prado link 1000", func(e *wire.Event) { e.VisitorID = visitorID("v2") })
}
