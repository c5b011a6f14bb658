package processor

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/upkeep/statements"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/devtest"
)

// watched is a store whose transactions a test watches, and may fail.
type watched struct {
	Store
	insert func(ctx context.Context, events []facts.Event) error
	write  func(outcomes []facts.StoredOutcome) error
	take   func(companyID string)
	next   func() error // before the next statement is read

	compute func(ctx context.Context, outcomes []facts.StoredOutcome) error // as write
}

func (w watched) Transact(ctx context.Context, f func(tx Tx) error) error {
	return w.Store.Transact(ctx, func(tx Tx) error {
		tx.Events, tx.Queue, tx.Outcomes = watchedEvents{tx.Events, w}, watchedQueue{tx.Queue, w}, watchedOutcomes{tx.Outcomes, w}
		tx.Statements = watchedStatements{tx.Statements, w.next}
		return f(tx)
	})
}

type watchedEvents struct {
	Events
	watched
}

func (w watchedEvents) InsertEvents(ctx context.Context, companyID string, events []facts.Event) (map[uuid.UUID]bool, error) {
	if w.insert != nil {
		if err := w.insert(ctx, events); err != nil {
			return nil, err
		}
	}
	return w.Events.InsertEvents(ctx, companyID, events)
}

type watchedQueue struct {
	Queue
	watched
}

func (w watchedQueue) TakeQueued(ctx context.Context, companyID string, from facts.QueuePlace, limit int) ([]facts.Concerned, bool, error) {
	if w.take != nil {
		w.take(companyID)
	}
	return w.Queue.TakeQueued(ctx, companyID, from, limit)
}

type watchedStatements struct {
	statements.Store
	next func() error
}

func (w watchedStatements) Next(ctx context.Context, companyID string) (*statements.Statement, error) {
	if w.next != nil {
		if err := w.next(); err != nil {
			return nil, err
		}
	}
	return w.Store.Next(ctx, companyID)
}

type watchedOutcomes struct {
	Outcomes
	watched
}

func (w watchedOutcomes) WriteOutcomes(ctx context.Context, companyID string, now time.Time, outcomes []facts.StoredOutcome) error {
	if w.write != nil {
		if err := w.write(outcomes); err != nil {
			return err
		}
	}
	if w.compute != nil {
		if err := w.compute(ctx, outcomes); err != nil {
			return err
		}
	}
	return w.Outcomes.WriteOutcomes(ctx, companyID, now, outcomes)
}

func TestABatchThatTakesTooLongIsHalvedUntilItDoesNot(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	var sizes []int
	o := s.owner()
	o.config.ApplyTimeout = 200 * time.Millisecond
	o.Store = watched{Store: o.Store, insert: func(ctx context.Context, events []facts.Event) error {
		if sizes = append(sizes, len(events)); len(events) > 3 {
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}}
	var records []record
	for i := range 10 {
		records = append(records, s.record(s.event("v", noon, i, nil)))
	}
	if err := o.applyRecords(s.ctx, numbered(records)); err != nil {
		t.Fatal(err)
	}
	if stored := s.int(`select count(*) from event_fact`); stored != 10 {
		t.Errorf("%d events stored, want all 10 (batches of %v)", stored, sizes)
	}
	if slices.Max(sizes[3:]) > 5 || o.batchLimit > 20 {
		t.Errorf("batches of %v; the next may have %d records", sizes, o.batchLimit)
	}
}

// A single order that takes too long each time stops its company's queue for a few tries
// only; a statement that waits for the queue is closed then.
func TestAnOrderThatAlwaysTakesTooLongDoesNotStopTheQueue(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	var records []record
	for i := range 5 {
		records = append(records, s.record(s.order(fmt.Sprint("o", i), noon, 1000, nil)))
	}
	s.apply(records, func() int { return 5 })
	s.exec(`update payout set outcome_hash = ''`)
	s.exec(`insert into recompute (company_id, order_id, cause) select company_id, order_id, 'rule 1 settings' from orders`)
	s.exec(`insert into recompute_company (company_id) values ($1)`, s.company)
	o, tries := s.owner(), 0
	o.config.ApplyTimeout, o.queued = 2*time.Second, true
	o.Log = onePartition{}
	o.Store = watched{Store: o.Store, compute: func(ctx context.Context, outcomes []facts.StoredOutcome) error {
		if !slices.ContainsFunc(outcomes, func(outcome facts.StoredOutcome) bool { return outcome.OrderID == "o1" }) {
			return nil
		}
		if len(outcomes) == 1 {
			tries++
		}
		<-ctx.Done()
		return ctx.Err()
	}}
	for o.queued {
		if err := o.recomputeQueued(s.ctx); err != nil {
			t.Fatal(err)
		}
	}
	wantTexts(t, "left in the queue", s.texts(`select order_id || ' ' || failure from recompute`), "o1 it takes too long to compute")
	if n := s.int(`select count(*) from payout where outcome_hash = ''`); n != 1 {
		t.Errorf("%d orders are not computed, want one", n)
	}
	if tries != mostTooLong {
		t.Errorf("%d tries of the order alone, want %d", tries, mostTooLong)
	}
}

// What fails while no order is queued is a step of an erasure or of a statement: it is told as such, is no
// order that is quarantined, and is tried again until it succeeds.
func TestAStepThatFailsIsNoOrderThatIsQuarantined(t *testing.T) {
	t.Parallel()
	s := newLedgerShop(t)
	s.sale("o1", 10_000, coupon("BETO"))
	s.ask(s.beto, "BRL", "2026-04-30", 0)
	o, after := s.owner(), 0 // after: tries after the failure was told
	o.queued, o.Log = true, onePartition{}
	var log bytes.Buffer
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	o.Store = watched{Store: o.Store, next: func() error {
		if log.Len() == 0 {
			return fmt.Errorf("a statement: %w", facts.ErrData)
		}
		after++
		return nil
	}}
	for o.queued {
		if err := o.recomputeQueued(s.ctx); err != nil {
			t.Fatal(err)
		}
	}
	if said := log.String(); !strings.Contains(said, "a step of an erasure or of a statement failed") ||
		strings.Contains(said, "quarantined") ||
		strings.Count(said, "level=ERROR") != 1 {
		t.Errorf("the log says\n%s", said)
	}
	if after == 0 {
		t.Error("the step was not tried again")
	}
	wantLines(t, s.statements(), "2026-04-09 2026-04-30 0 1 1 300 due")
}

func TestAnOrderThatCannotBeStoredDoesNotStopTheQueue(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	var records []any
	for i := range 10 {
		records = append(records, s.order(fmt.Sprint("o", i), noon, 1000, func(o *wire.Order) { o.EmailKey = wire.Some(fmt.Sprint("k1:", i)) }))
	}
	s.produce(records...)
	stop := s.run()
	s.applied()
	stop()
	s.exec(`update payout set outcome_hash = ''`) // every outcome is to be written anew
	s.exec(`insert into recompute (company_id, order_id, cause) select company_id, order_id, 'rule 1 settings' from orders`)
	s.exec(`insert into recompute_company values ($1)`, s.company)

	var broken atomic.Bool
	broken.Store(true)
	p := s.processor(s.group(), s.producer)
	p.Store = watched{Store: p.Store, write: func(outcomes []facts.StoredOutcome) error {
		for _, o := range outcomes {
			if o.OrderID == "o3" && broken.Load() {
				return fmt.Errorf("o3: %w", facts.ErrData)
			}
		}
		return nil
	}}
	s.runs(p)
	s.await("nine are computed and one is quarantined", func() bool {
		return s.int(`select count(*) from recompute where failure is null`) == 0 && s.int(`select count(*) from recompute_company`) == 0
	})
	wantTexts(t, "quarantined", s.texts(`select order_id from recompute`), "o3")
	if n := s.int(`select count(*) from payout where outcome_hash <> ''`); n != 9 {
		t.Errorf("%d orders were computed, want 9", n)
	}
	if n := s.metric(p, "tributary_processor_orders_quarantined_total"); n != 1 {
		t.Errorf("%d orders quarantined by the metric, want 1", n)
	}

	// An event that concerns the order is not rejected: it is stored.
	s.produce(s.event("v1", noon, 1, func(e *wire.Event) { e.Identity.EmailKey = "k1:3" }))
	s.await("the event is stored", func() bool { return s.int(`select count(*) from event_fact`) == 1 })
	wantTexts(t, "rejected", s.texts(`select outcome from delivery where outcome like 'rejected%'`))
	s.await("the order is quarantined again", func() bool { return s.metric(p, "tributary_processor_orders_quarantined_total") == 2 })

	// Once it can be stored, what queues it again computes it.
	broken.Store(false)
	s.produce(s.event("v1", noon, 2, func(e *wire.Event) { e.Identity.EmailKey = "k1:3" }))
	s.await("the order is computed", func() bool { return s.int(`select count(*) from payout where outcome_hash <> ''`) == 10 })
}

// metered is a log that tells how many bytes were taken from it.
type metered struct {
	Log
	mu             sync.Mutex
	taken          int
	inside, passes int
}

func (m *metered) Read(ctx context.Context, topic string, partition int, from int64, handle func(r wire.Fetched) error) error {
	return m.Log.Read(ctx, topic, partition, from, func(r wire.Fetched) error {
		m.add(1, 0, 0)
		err := handle(r)
		if err == nil {
			m.add(-1, len(r.Value), 1)
		}
		return err
	})
}

func (m *metered) add(inside, taken, passes int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.inside, m.taken, m.passes = m.inside+inside, m.taken+taken, m.passes+passes
}

func (m *metered) state() (inside, taken, passes int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.inside, m.taken, m.passes
}

func TestReadAheadIsBoundedInBytesOverAllPartitions(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	var records []any
	const size = 10_000
	for i := range 800 { // companies that nobody knows; each partition has more than the bound
		records = append(records, s.event("v", noon, i, func(e *wire.Event) {
			e.CompanyID = fmt.Sprint("c_", i)
			e.Context.Page.Title = strings.Repeat("t", size)
		}))
	}
	s.produce(records...)
	const bound = 50 * size
	log := &metered{Log: s.group()}
	released := make(chan struct{})
	p := New(Config{ReadAheadBytes: bound}, Deps{Store: &held{StoreOf(s.store), released}, Log: log, Results: s.producer})
	stop := s.runs(p)
	before := -1
	s.await("every reader waits for memory", func() bool {
		inside, _, passes := log.state()
		still := inside == devtest.Partitions && passes == before
		before = passes
		return still
	})
	// a parsed event counts for three times its record
	if _, taken, _ := log.state(); taken > bound+devtest.Partitions*2*size || taken < bound/4 {
		t.Errorf("%d bytes wait in memory, the bound is %d and a record of each partition", taken, bound)
	}
	close(released)
	s.applied()
	stop()
}

// One partition whose transactions do not end, such as one with a company whose
// rows are locked, must not take all memory of the read-ahead: others go on.
func TestAPartitionThatIsStuckLeavesMemoryToTheOthers(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	stuck := s.company
	group := s.group()
	mine, err := group.PartitionOf(s.ctx, []byte(stuck))
	if err != nil {
		t.Fatal(err)
	}
	other := ""
	for _, id := range s.companies(8) {
		if n, err := group.PartitionOf(s.ctx, []byte(id)); err != nil {
			t.Fatal(err)
		} else if n != mine {
			other = id
		}
	}
	const size = 10_000
	event := func(n int, company string) wire.Event {
		return s.event("v", noon, n, func(e *wire.Event) {
			e.CompanyID, e.Context.Page.Title = company, strings.Repeat("t", size)
		})
	}
	var records []any
	for i := range 100 {
		records = append(records, event(i, stuck))
	}
	s.produce(records...)
	log := &metered{Log: group}
	released := make(chan struct{})
	store := watched{Store: StoreOf(s.store), insert: func(ctx context.Context, events []facts.Event) error {
		if len(events) == 0 || events[0].CompanyID != stuck {
			return nil
		}
		select {
		case <-released:
		case <-ctx.Done():
		}
		return ctx.Err()
	}}
	stop := s.runs(New(Config{ReadAheadBytes: 50 * size}, Deps{Store: store, Log: log, Results: s.producer}))
	s.await("the stuck partition has read as far as it may", func() bool {
		inside, taken, _ := log.state()
		return inside == 1 && taken > 5*size
	})
	s.produce(event(1, other), event(2, other), event(3, other))
	s.await("the other partition's events are stored", func() bool {
		return s.int(`select count(*) from event_fact where company_id = $1`, other) == 3
	})
	close(released)
	s.applied()
	stop()
}

// held is a store whose transactions wait until they are released.
type held struct {
	Store
	released chan struct{}
}

func (h *held) Transact(ctx context.Context, f func(tx Tx) error) error {
	select {
	case <-h.released:
		return h.Store.Transact(ctx, f)
	case <-ctx.Done():
		return ctx.Err()
	}
}
