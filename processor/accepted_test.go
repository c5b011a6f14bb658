package processor

import (
	"fmt"
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

// An accept may come before the order is explained: then its record names no touches. What
// the order's keys led to when it was computed stays accepted, whatever strangers send
// later: here so many visitors with the order's e-mail that this joins nothing any more.
func TestAnAcceptBeforeTheExplanationKeepsItsTouches(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ana, inverno := s.influencer("Ana Prado", "Inverno")
	s.cost(ana, inverno, 0, "10")
	email := func(visitor string) func(e *wire.Event) {
		return func(e *wire.Event) { e.VisitorID, e.Identity.EmailKey = visitor, "k1:maria" }
	}
	touch := s.event("v1", noon, 1, func(e *wire.Event) { landing("Ana+Prado", "Inverno")(e); email("guessed")(e) })
	later := s.event("v1", noon.Add(time.Minute), 2, func(e *wire.Event) {
		landing("Ana+Prado", "Inverno")(e)
		email("guessed")(e)
		e.ReceivedAt = noon.Add(3 * time.Hour) // after the decision
	})
	order := s.order("o1", noon.Add(time.Hour), 10_000, func(o *wire.Order) { o.EmailKey = wire.Some("k1:maria") })
	decision := s.commerce(wire.KindEvidence, "o1/"+ana, noon.Add(2*time.Hour),
		wire.Evidence{OrderID: "o1", InfluencerID: ana, Decision: commerce.EvidenceAccept})
	var flood []record
	for i := range 30 {
		flood = append(flood, s.record(s.event("v", noon.Add(30*time.Minute), 100+i, email(fmt.Sprint("stranger ", i)))))
	}
	for name, batches := range map[string][][]record{
		"with the order":   {{s.record(touch), s.record(order), s.record(decision)}},
		"before the order": {{s.record(decision)}, {s.record(touch)}, {s.record(order)}},
		"before the touch": {{s.record(order), s.record(decision)}, {s.record(touch)}},
	} {
		s.clear()
		for _, b := range append(batches, []record{s.record(later)}, flood) {
			s.apply(slices.Clone(b), func() int { return len(b) })
		}
		wantTexts(t, name, s.payouts(), "o1 Ana Prado link 1000")
		wantTexts(t, name+": kept", s.texts(`select touches from evidence_decision`), touch.EventID)
		s.apply([]record{s.record(touch), s.record(decision)}, func() int { return 2 }) // read again
		wantTexts(t, name+": read again", s.texts(`select touches from evidence_decision`), touch.EventID)
		// Another copy of the accepted event counts: the order follows it.
		better := touch
		better.Trust, better.Bot = wire.TrustKey, wire.BotKnown
		s.apply([]record{s.record(better)}, func() int { return 1 })
		wantTexts(t, name+": a copy of a program", s.payouts(), "o1 nobody - 0")
	}
}
