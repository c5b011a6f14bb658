package erasure

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

var asked = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

// fake knows one erased person, who has the key k1:ana.
type fake struct {
	Store
	Known
	next   *Erasure
	orders map[string]*facts.Surrogates
	late   []LateOrder
}

func (f *fake) ErasedUntil(context.Context, string, [][]byte) (map[string]time.Time, error) {
	key := facts.Key{Kind: facts.KeyEmail, Value: "k1:ana"}
	return map[string]time.Time{string(facts.ErasedDigest("c", key)): asked}, nil
}

func (f *fake) ErasedOrders(context.Context, string, []string) (map[string]*facts.Surrogates, error) {
	return f.orders, nil
}

func (f *fake) EraseLate(_ context.Context, _ string, orders []LateOrder) error {
	f.late = append(f.late, orders...)
	return nil
}

func (f *fake) NextErasure(context.Context, string) (*Erasure, error) { return f.next, nil }

// Of a person's events those go that are from before the erasure, whoever's come with them.
func TestEventsOfAnErasedPersonFromBeforeTheErasure(t *testing.T) {
	t.Parallel()
	event := func(id, email string, at time.Time) facts.Event {
		e := facts.Event{At: at}
		e.EventID, e.Identity.EmailKey = id, email
		return e
	}
	gone, err := EventsOf(t.Context(), &fake{}, "c", []facts.Event{
		event("other", "k1:bia", asked.Add(-time.Hour)), event("nobody", "", asked.Add(-time.Hour)),
		event("after", "k1:ana", asked.Add(time.Millisecond)), event("then", "k1:ana", asked), event("before", "k1:ana", asked.Add(-time.Hour)),
	})
	if err != nil || len(gone) != 2 || gone[0].EventID != "then" || gone[1].EventID != "before" {
		t.Errorf("%+v: %v", gone, err)
	}
}

// An erased order keeps its surrogates, one that an erasure is to come to stays as it is, and one
// that is new has nothing in place of its keys.
func TestOrdersOfAnErasedPersonThatComeAgainOrLate(t *testing.T) {
	t.Parallel()
	version := func(id string, accepted time.Time) facts.OrderVersion {
		return facts.OrderVersion{OrderID: id, AcceptedAt: accepted, Order: wire.Order{OrderID: id, EmailKey: wire.Some("k1:ana")}}
	}
	f := &fake{orders: map[string]*facts.Surrogates{"erased": {Email: "k1:x"}, "found": nil}}
	came := []facts.OrderVersion{
		version("erased", asked.Add(time.Hour)), version("found", asked.Add(-time.Hour)),
		version("late", asked.Add(-time.Hour)), version("new", asked.Add(time.Hour)),
	}
	orders, err := WithoutPerson(t.Context(), f, "c", came)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for i := range orders {
		keys = append(keys, orders[i].Order.EmailKey.Or(""))
	}
	if want := []string{"k1:x", "k1:ana", "", "k1:ana"}; !slices.Equal(keys, want) {
		t.Errorf("%q", keys)
	}
	if want := []LateOrder{{"found", asked}, {"late", asked}}; !slices.Equal(f.late, want) {
		t.Errorf("%+v", f.late)
	}
	if came[0].Order.EmailKey.Or("") != "k1:ana" {
		t.Error("the batch's own versions are changed: a retry would read them")
	}
}

// Nothing is done in a phase that only a newer version of the program knows.
func TestAPhaseThatIsNotKnown(t *testing.T) {
	t.Parallel()
	f := &fake{next: &Erasure{ErasureID: "e", Phase: 99}}
	turn := Turn{Store: f, Known: f}
	if _, err := turn.Next(t.Context()); err == nil || !strings.Contains(err.Error(), "phase 99") {
		t.Error(err)
	}
}
