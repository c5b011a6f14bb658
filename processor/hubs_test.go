package processor

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// TestAKeyBecomesAHubForAllItsOrders: the 201st order of a cart changes the
// 200 before it, however they were batched, and a batch of more than 200 works.
func TestAKeyBecomesAHubForAllItsOrders(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.influencer("Ana Prado", "Inverno")
	var records []record
	records = append(records, s.record(s.event("v1", noon, 1, func(e *wire.Event) {
		landing("Ana+Prado", "Inverno")(e)
		e.Identity.CartKey = "k1:a"
	})))
	const n = 260
	for i := range n {
		records = append(records,
			s.record(s.order(fmt.Sprint("o", i), noon.Add(time.Duration(i)*time.Minute), 1000, func(o *wire.Order) {
				o.CartKey = wire.Some("k1:a")
			})))
	}
	credited := func() int64 { return s.int(`select count(*) from payout where influencer_id is not null`) }
	f := func(name string, batches func() int, want int64) string {
		t.Helper()
		s.clear()
		s.apply(slices.Clone(records), batches)
		if got := credited(); got != want {
			t.Errorf("%s: %d orders credited, want %d", name, got, want)
		}
		if got := s.int(`select count(*) from orders`); got != int64(len(records)-1) {
			t.Errorf("%s: %d orders, want %d", name, got, len(records)-1)
		}
		return s.outcomes()
	}
	// An order's interval ends a day after it and all lie within a day: all are hubs.
	whole := f("in one batch", func() int { return n + 1 }, 0)
	parts := f("batch by batch", func() int { return 33 }, 0)
	if parts != whole {
		t.Error(firstDifference(parts, whole))
	}
	records = records[:201]
	f("200 orders are no hub", func() int { return 50 }, 200)
}

// TestAnOrderThatMovesLeavesItsHub: a version with another createdAt takes the
// order out of an interval, and the 200 that stay there are no hub any more.
func TestAnOrderThatMovesLeavesItsHub(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.influencer("Ana Prado", "Inverno")
	records := []record{s.record(s.event("v1", noon, 1, func(e *wire.Event) {
		landing("Ana+Prado", "Inverno")(e)
		e.Identity.CartKey = "k1:a"
	}))}
	order := func(i int, at time.Time, version time.Time) record {
		return s.record(s.order(fmt.Sprint("o", i), at, 1000, func(o *wire.Order) {
			o.CartKey, o.UpdatedAt = wire.Some("k1:a"), wire.Some(version)
		}))
	}
	for i := range 201 {
		at := noon.Add(time.Duration(i) * time.Minute)
		records = append(records, order(i, at, at))
	}
	s.apply(records, func() int { return 50 })
	credited := func() int64 { return s.int(`select count(*) from payout where influencer_id is not null`) }
	if n := credited(); n != 0 {
		t.Fatalf("%d orders of a hub are credited", n)
	}
	moved := append(slices.Clone(records), order(7, noon.AddDate(0, -6, 0), noon.AddDate(0, 0, 1)))
	s.clear()
	s.apply(moved, func() int { return len(records) }) // the move in a batch of its own
	if n := credited(); n != 200 {
		t.Errorf("%d orders are credited once one has moved away, want 200", n)
	}
}

// TestEventsOfAHubComputeNoOrder: events of visitors whose key is a hub reach no
// order by it, so none is computed again or queued.
func TestEventsOfAHubComputeNoOrder(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.influencer("Ana Prado", "Inverno")
	const n = 500 // more than twice as many as make a hub, within a day
	records := []record{}
	for i := range n {
		records = append(records,
			s.record(s.order(fmt.Sprint("o", i), noon.Add(time.Duration(i)*time.Minute), 1000, func(o *wire.Order) {
				o.EmailKey = wire.Some("k1:till")
			})))
	}
	s.apply(records, func() int { return 700 })
	touch := s.record(s.event("v1", noon.Add(4*time.Hour), 1, func(e *wire.Event) {
		landing("Ana+Prado", "Inverno")(e)
		e.Identity.EmailKey = "k1:till"
	}))
	done, err := s.owner().applyOnce(s.ctx, []record{touch}, noCompany)
	if err != nil || done.stored != 1 || done.queued != 0 || len(done.computed) != 0 {
		t.Errorf("%d stored, %d orders computed, %d queued, %v; want the event alone", done.stored, len(done.computed), done.queued, err)
	}
	// The other way round gives the same outcome, explanations included.
	want := s.outcomes()
	s.clear()
	s.apply(append([]record{touch}, records...), func() int { return 700 })
	if got := s.outcomes(); got != want {
		t.Error(firstDifference(got, want))
	}
}

// TestTooManyOrdersForABatchAreQueued: events that concern more orders than a
// batch computes by itself.
func TestTooManyOrdersForABatchAreQueued(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	const n = 1100
	orders, events := []record{}, []record{}
	for i := range n {
		key := fmt.Sprint("k1:", i)
		orders = append(orders, s.record(s.order(fmt.Sprint("o", i), noon.Add(time.Minute), 1000, cart(key))))
		events = append(events, s.record(s.event(fmt.Sprint("v", i), noon, i, func(e *wire.Event) { e.Identity.CartKey = key })))
	}
	s.apply(orders, func() int { return 600 })
	o := s.owner()
	done, err := o.applyOnce(s.ctx, numbered(events), noCompany)
	if err != nil || done.queued != n || len(done.computed) != 0 {
		t.Fatalf("%d queued, %d computed, %v; want all %d queued", done.queued, len(done.computed), err, n)
	}
	if queued, err := s.store.QueuedCompanies(s.ctx); err != nil || !slices.Equal(queued, []string{s.company}) {
		t.Errorf("companies queued: %v, %v", queued, err)
	}
	s.workOff()
	if queued, err := s.store.QueuedCompanies(s.ctx); err != nil || len(queued) != 0 {
		t.Errorf("companies queued after all was computed: %v, %v", queued, err)
	}
	if reached := s.int(`select count(*) from order_key where kind = $1`, facts.KeyReached.Code()); reached != n {
		t.Errorf("%d orders lead to their visitor, want %d", reached, n)
	}
}

// TestAHubIsExplainedTheSameInEachOrderOfArrival: visitors who were seen with a key after
// it was a hub change nothing, so the explanation does not count them.
func TestAHubIsExplainedTheSameInEachOrderOfArrival(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	order := s.record(s.order("o1", noon, 1000, func(o *wire.Order) { o.EmailKey = wire.Some("k1:e") }))
	var visits []record
	for i := range 34 {
		visits = append(visits,
			s.record(s.event(fmt.Sprint("v", i), noon.Add(-time.Hour), i, func(e *wire.Event) { e.Identity.EmailKey = "k1:e" })))
	}
	arrive := func(records ...record) string {
		s.clear()
		s.apply(records, func() int { return 11 })
		return s.outcomes()
	}
	first := arrive(append(slices.Clone(visits), order)...)
	between := arrive(slices.Concat(visits[:21], []record{order}, visits[21:])...)
	if first != between {
		t.Error(firstDifference(first, between))
	}
	if keys := s.onlyExplanation().Keys; len(keys) == 0 || keys[0].HubOf != facts.HubOfVisitors || keys[0].Visitors != 0 {
		t.Errorf("keys %+v, want first one that is a hub of visitors and leads to none", keys)
	}
}

// An order is found by a verified key of it also where too many visitors were seen with
// the key that this one holds: few of them need be logged in.
func TestAVerifiedVisitorOfACrowdedKeyIsFound(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	mail := func(e *wire.Event) { e.Identity.EmailKey = "k1:till" }
	records := []record{s.record(s.order("o1", noon.Add(time.Hour), 1000, func(o *wire.Order) { o.EmailKey = wire.Some("k1:till") }))}
	for i := range 30 {
		records = append(records, s.record(s.event(fmt.Sprint("v", i), noon, i, mail)))
	}
	s.apply(records, func() int { return 5 })
	if hub := s.int(`select hub from order_key where kind = $1`, facts.KeyEmail.Code()); hub != int64(facts.HubOfVisitors.Code()) {
		t.Fatalf("the key's hub is %d", hub)
	}
	s.apply([]record{s.record(s.event("w", noon, 50, func(e *wire.Event) {
		mail(e)
		e.Trust, e.Identity.Verified = wire.TrustKey, true
	}))}, func() int { return 1 })
	touches := s.onlyExplanation().Touches
	if len(touches) != 1 {
		t.Errorf("%d touches, want that of the visitor who is logged in: %+v", len(touches), touches)
	}
}
