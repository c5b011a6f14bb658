package processor

import (
	"crypto/rand"
	"fmt"
	random "math/rand/v2"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	"github.com/tributary-io/tributary/internal/wire"
)

// waits makes the shop's owner know of so many events in the log that it has not read.
func (o *owner) waits(events int64) {
	next := o.next[wire.TopicEvents]
	o.progress.setStart(wire.TopicEvents, next, next+events, o.Now())
}

// applyBehind gives records to an owner in batches, as apply does. Before each batch it
// says at random that the events are behind or not.
func (s *shop) applyBehind(records []record, batches func() int, r *random.Rand) {
	s.t.Helper()
	o := s.owner()
	o.Log = onePartition{}
	workOff := func() {
		s.t.Helper()
		for o.queued && !o.defersOrders(nil) {
			if err := o.recomputeQueued(s.ctx); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	numbered(records)
	for len(records) > 0 {
		o.waits(int64(r.IntN(2) * 1_000_000))
		n := min(batches(), len(records))
		if err := o.applyRecords(s.ctx, records[:n]); err != nil {
			s.t.Fatal(err)
		}
		records = records[n:]
		if r.IntN(3) == 0 {
			workOff()
		}
	}
	o.waits(0)
	workOff()
}

// The outcome of an order that waits, and is computed since an event of its visitor comes, says
// at once whether the order is its customer's first: its row, the largest of an order, is
// written once.
func TestTheOutcomeOfAWaitingOrderIsWrittenOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	o := s.owner()
	o.Log = onePartition{}
	email := func(o *wire.Order) { o.EmailKey, o.VisitorID = wire.Some("k1:ana"), wire.Some(visitorID("v1")) }
	all := numbered([]record{
		s.record(s.order("o1", noon, 1000, email)),
		s.record(s.event("v1", noon.Add(-time.Hour), 1, nil)),
	})
	for i, behind := range []int64{1_000_000, 0} {
		o.waits(behind)
		if err := o.applyRecords(s.ctx, all[i:i+1]); err != nil {
			t.Fatal(err)
		}
	}
	// Of a row that was written again, the second place holds what counts.
	wantTexts(t, "the outcome", s.texts(`select concat_ws(' ', order_id, is_first_order, ctid) from payout`), "o1 t (0,1)")
	if n := s.int(`select count(*) from recompute`); n != 0 {
		t.Errorf("%d orders wait", n)
	}
}

// While events are behind, an order is stored and waits; it is computed once they are not,
// whatever batches concerned it meanwhile.
func TestOrdersWaitForEventsThatAreBehind(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ana, inverno := s.influencer("Ana Prado", "Inverno")
	s.cost(ana, inverno, 0, "10")
	o := s.owner()
	o.Log = onePartition{}
	computed := func() int64 { return s.int(`select count(*) from payout`) }
	all := numbered([]record{
		s.record(s.order("o1", noon, 1000, func(o *wire.Order) { o.VisitorID = wire.Some(visitorID("v1")) })),
		s.record(s.event("v1", noon.Add(-time.Hour), 1, landing("Ana+Prado", "Inverno"))),
		s.record(s.event("v1", noon.Add(-time.Hour), 2, nil)),
		s.record(s.event("v1", noon.Add(-time.Hour), 3, nil)),
	})
	apply := func(r ...record) {
		t.Helper()
		if err := o.applyRecords(s.ctx, r); err != nil {
			t.Fatal(err)
		}
		if o.queued && !o.defersOrders(nil) {
			if err := o.recomputeQueued(s.ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	o.waits(3 + behindRecords)
	apply(all[0])
	if n := s.int(`select count(*) from orders`); n != 1 || computed() != 0 {
		t.Fatalf("%d orders are stored and %d computed, want one stored", n, computed())
	}
	apply(all[1])
	apply(all[2])
	if n := s.int(`select count(*) from recompute`); n != 1 || computed() != 0 {
		t.Fatalf("%d orders wait and %d are computed, want one to wait", n, computed())
	}
	apply(all[3])
	wantTexts(t, "payout", s.payouts(), "o1 Ana Prado link 100")
	if n := s.int(`select count(*) from recompute`); n != 0 {
		t.Errorf("%d orders wait that are computed", n)
	}
	if n := s.metric(o.Processor, "tributary_processor_orders_computed_total"); n != 1 {
		t.Errorf("%d orders were computed, want the one once", n)
	}
}

// Whether a deferred order is its customer's first is known once it is computed, in either
// way: from the queue, or with a batch that concerns it.
func TestOrdersThatWaitedAreKnownToBeFirst(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	o := s.owner()
	o.Log = onePartition{}
	all := numbered([]record{
		s.record(s.order("o1", noon, 1000, func(o *wire.Order) { o.VisitorID, o.EmailKey = wire.Some(visitorID("v1")), wire.Some("k1:e") })),
		s.record(s.order("o2", noon.Add(time.Hour), 1000, func(o *wire.Order) { o.EmailKey = wire.Some("k1:e") })),
		s.record(s.event("v1", noon.Add(-time.Hour), 1, nil)),
	})
	apply := func(r ...record) {
		t.Helper()
		if err := o.applyRecords(s.ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	first := func() []string {
		return s.texts(`select order_id || ' ' || coalesce(is_first_order::text, 'unknown') from orders left join payout using (company_id, ` +
			`order_id) order by 1`)
	}
	o.waits(1_000_000)
	apply(all[:2]...)
	wantTexts(t, "while they wait", first(), "o1 unknown", "o2 unknown")
	o.waits(1)
	apply(all[2])
	wantTexts(t, "once an event has concerned one", first(), "o1 true", "o2 unknown")
	if err := o.recomputeQueued(s.ctx); err != nil {
		t.Fatal(err)
	}
	wantTexts(t, "once the queue is empty", first(), "o1 true", "o2 false")
}

// Where events keep up, an order is computed with its batch.
func TestOrdersDoNotWaitWhereEventsKeepUp(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	o := s.owner()
	o.queued = false
	o.waits(behindRecords)
	if err := o.applyRecords(s.ctx, numbered([]record{s.record(s.order("o1", noon, 1000, nil))})); err != nil {
		t.Fatal(err)
	}
	wantTexts(t, "payout", s.payouts(), "o1 nobody - 0")
	if o.queued {
		t.Error("the order waits")
	}
}

// No order waits longer than Config.DeferOrders, however far behind the events are and
// whatever was queued before this owner. Later orders wait anew once the queue is empty.
func TestOrdersDoNotWaitLongerThanTheyMay(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	now := noon
	o := s.owner()
	o.Log, o.Processor.Now = onePartition{}, func() time.Time { return now }
	o.queued = true // as of every new owner
	o.waits(1_000_000)
	n := 0
	order := func() {
		t.Helper()
		n++
		all := numbered([]record{s.record(s.order(fmt.Sprint("o", n), noon, 1000, nil))})
		all[0].Offset = o.next[wire.TopicCommerce]
		if err := o.applyRecords(s.ctx, all); err != nil {
			t.Fatal(err)
		}
	}
	want := func(waiting, computed int64) {
		t.Helper()
		if w, c := s.int(`select count(*) from recompute`), s.int(`select count(*) from payout`); w != waiting || c != computed {
			t.Errorf("%d orders wait and %d are computed, want %d and %d", w, c, waiting, computed)
		}
	}
	order()
	want(1, 0)
	now = now.Add(o.config.DeferOrders - time.Second)
	order()
	want(2, 0)
	if !o.defersOrders(nil) {
		t.Error("the queue is worked off too early")
	}
	now = now.Add(time.Second)
	if o.defersOrders(nil) {
		t.Error("orders wait too long")
	}
	order() // computed with its batch, since the others are computed now too
	want(2, 1)
	for o.queued {
		if err := o.recomputeQueued(s.ctx); err != nil {
			t.Fatal(err)
		}
	}
	want(0, 3)
	order()
	want(1, 3)
}

// An owner whose orders wait sleeps until more records come, or until they may wait no
// longer.
func TestAnOwnerWhoseOrdersWaitSleeps(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	o := s.owner()
	o.Now = time.Now // it sleeps by the machine's clock
	o.config.DeferOrders = time.Millisecond
	o.queued, o.commerce, o.events = true, make(chan *record), make(chan *record)
	o.waits(1_000_000)
	if records, err := o.collect(s.ctx); err != nil || len(records) != 0 {
		t.Errorf("%d records, %v", len(records), err)
	}
	if o.defersOrders(nil) {
		t.Error("it woke before its orders may be computed")
	}
}

// A store that has few of the events that are behind waits for none of another's: a stranger
// sends more than the processor applies in time. Stores that have about as many wait alike.
func TestAStoreWithFewEventsWaitsForNoneOfAnothers(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	flooded := s.company
	store, err := merchant.New(s.db).CreateStore(s.ctx,
		commerce.NewStore{Name: "Loja", Actor: "test", Random: rand.Reader, KeyCheck: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	other := store.Live.CompanyID
	for _, c := range []struct {
		ofOther int // events
		want    []string
	}{{10, []string{other}}, {100, nil}} {
		o := s.owner()
		o.Log = onePartition{}
		var records []record
		add := func(company string, value any) { // the key of its record
			s.company = company
			r := s.record(value)
			r.Offset = o.next[r.topic]
			for i := range records {
				if records[i].topic == r.topic {
					r.Offset = records[i].Offset + 1
				}
			}
			records = append(records, r)
		}
		for _, company := range []string{flooded, other} {
			s.company = company
			add(company, s.order(fmt.Sprint("o", c.ofOther), noon, 1000, nil))
		}
		for i := range 200 + c.ofOther {
			s.company = flooded
			if i >= 200 {
				s.company = other
			}
			add(s.company, s.event(fmt.Sprint("v", i), noon, 1000*c.ofOther+i, nil))
		}
		o.waits(1_000_000)
		if err := o.applyRecords(s.ctx, records); err != nil {
			t.Fatal(err)
		}
		wantTexts(t, fmt.Sprint(c.ofOther, " events: the orders that were computed"),
			s.texts(`select company_id from payout where order_id = $1`, fmt.Sprint("o", c.ofOther)), c.want...)
		if n := s.int(`select count(*) from orders where order_id = $1`, fmt.Sprint("o", c.ofOther)); n != 2 {
			t.Errorf("%d orders are stored", n)
		}
	}
}

// Events that have only just come are not behind, however many they are: a stranger who sends
// many of one store's delays no order of another.
func TestOrdersDoNotWaitForEventsThatHaveJustCome(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	o := s.owner()
	o.waits(1_000_000)
	came := func(ago time.Duration) []record {
		r := s.record(s.event("v1", noon, 1, nil))
		r.Time = o.Now().Add(-ago)
		return []record{r}
	}
	if o.defersOrders(came(time.Second)) {
		t.Error("orders wait for events of a second ago")
	}
	o.eventAt = time.Time{}
	if !o.defersOrders(came(time.Minute)) {
		t.Error("orders do not wait for events of a minute ago")
	}
}
