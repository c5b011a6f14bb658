package processor

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/tributary-io/tributary/internal/agent"
	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/upkeep/books"
	"github.com/tributary-io/tributary/internal/upkeep/delivery"
	"github.com/tributary-io/tributary/internal/upkeep/nonconverting"
	"github.com/tributary-io/tributary/internal/upkeep/statements"
)

// Bounds of one transaction. They keep its time and memory small beside
// Config.ApplyTimeout; the numbers were chosen, not measured.
const (
	// maxOrders is how many orders of other batches a transaction computes, and how
	// many are looked for by one fact. The others are queued.
	maxOrders = 1000
	// maxEvents is how many events of visitors a turn (decide.go) reads until the orders
	// that are left are queued.
	maxEvents = 50_000
	// ordersPerStep is how many orders are read, computed and written together.
	ordersPerStep = 100
	// ownTime is for how long one company's new orders are computed in a transaction, and
	// restTime for how long other orders that its facts concern. All records of the partition
	// wait so long.
	ownTime  = 500 * time.Millisecond
	restTime = 50 * time.Millisecond
	// maxEventsOfDay is how many events of one visitor and day are read to make its
	// sightings anew. A visitor with more is a machine: what was stored of that day stays.
	maxEventsOfDay = 5000
)

// batch is what one transaction applies.
type batch struct {
	clusterID string
	moves     []facts.Move
	companies []companyBatch
	now       time.Time
	queued    bool // orders of the companies may be queued
	replayed  bool // of a replay: see Processor.Replay

	meanwhile func()        // is called once the events are stored; nil: nothing
	takes     time.Duration // orders that are not the batch's own are computed for so long; 0: restTime
	queue     queueTurn     // of the queue of the only company
}

// companyBatch is one company's part of a batch.
type companyBatch struct {
	index    *attribution.Index
	events   []facts.Event
	orders   []facts.OrderVersion
	products []facts.Product
	changes  []facts.Change

	decisions  []facts.Decision
	statements []statements.Statement
	erasures   []string // ids of those that are asked for
	payments   []statements.Payment
	notices    []facts.Notice
	rejected   []delivery.Once // records that were rejected
	factsOnly  bool            // store the facts and queue the orders; compute no outcome
	ready      *prepared       // nil: nothing is
}

// applied is what a transaction did.
type applied struct {
	stored, duplicate int         // events
	late              int         // … of the stored ones
	computed          []orderRef  // orders whose outcome was computed
	queued            int         // orders that were queued
	left              []string    // … of those that were looked at: their turn was over
	read              facts.Read  // for the outcomes
	next              queueTurn   // of the queue
	statements        int         // statements that are to be closed, and erasures that are asked for
	erased            erased      // of persons
	erasures          int         // that are done
	closed            int         // statements
	days              []books.Day // of orders that may have changed
	found             delivery.Found
}

// orderRef names an order.
type orderRef struct{ companyID, orderID string }

// apply applies one batch and moves its offsets, in one transaction.
func (p *Processor) apply(ctx context.Context, b batch) (applied, error) {
	done, err := p.transact(ctx, b, func(a *application) error { return a.run(ctx) })
	if err != nil {
		return applied{}, fmt.Errorf("apply a batch: %w", err)
	}
	return done, nil
}

// recompute computes at most limit queued orders of each company of the batch, in
// one transaction; where none is queued, or the queue has gone round, it goes on with what the
// merchant has asked for. It moves no offset, but fails with facts.ErrFenced where another
// owner has moved one.
func (p *Processor) recompute(ctx context.Context, b batch, limit int) (applied, error) {
	done, err := p.transact(ctx, b, func(a *application) error {
		if b.queue.step { // the orders that wait now came meanwhile
			a.queued = true
			return a.stepNext(ctx, p.config.StatementChunk)
		}
		queued, round, err := a.tx.Queue.TakeQueued(ctx, a.company, b.queue.QueuePlace, limit)
		if err != nil {
			return err
		}
		if len(queued) == 0 {
			return a.stepNext(ctx, p.config.StatementChunk)
		}
		ids := make([]string, len(queued))
		for i, q := range queued {
			ids[i] = q.OrderID
			a.addConcerned(ids[i:i+1], q.Cause)
			a.changed[ids[i]] = q.Cause.Kind == facts.CauseOrder
		}
		if err := a.inferFirstOrders(ctx, ids); err != nil {
			return err
		}
		if err := a.decide(ctx); err != nil {
			return err
		}
		asked := ""
		if round || b.queue.begins() {
			asked, err = a.askedNext(ctx)
		}
		a.done.next = b.queue.next(ids, a.done.left, round, asked)
		return err
	})
	if err != nil {
		return applied{}, fmt.Errorf("compute queued orders: %w", err)
	}
	return done, nil
}

// transact moves the offsets of a batch and calls f for each of its companies, in
// one transaction. It returns what was done.
func (p *Processor) transact(ctx context.Context, b batch, f func(a *application) error) (done applied, err error) {
	err = p.Store.Transact(ctx, func(tx Tx) error {
		done = applied{}
		if err := tx.Offsets.MoveOffsets(ctx, b.clusterID, b.moves); err != nil {
			return err
		}
		for _, c := range b.companies {
			a := newApplication(tx, b, c, p, &done)
			if err := f(a); err != nil {
				return fmt.Errorf("company %s: %w", a.company, err)
			}
			days, err := a.summed.write(ctx)
			if err != nil {
				return fmt.Errorf("company %s: %w", a.company, err)
			}
			done.days = append(done.days, days...)
		}
		return nil
	})
	if err == nil && p.Books != nil {
		p.books.Note(done.days)
	}
	return done, err
}

// setAsideNext marks the next order of a company's queue as failed, and returns
// its id; "" where none is queued. The company stays queued: it may have an erasure or a
// statement to go on with.
func (p *Processor) setAsideNext(ctx context.Context, b batch, company, failure string) (orderID string, err error) {
	err = p.Store.Transact(ctx, func(tx Tx) error {
		if err := tx.Offsets.MoveOffsets(ctx, b.clusterID, b.moves); err != nil {
			return err
		}
		next, _, err := tx.Queue.TakeQueued(ctx, company, b.queue.QueuePlace, 1)
		if err != nil {
			return err
		}
		if len(next) == 0 {
			return tx.Queue.QueueCompany(ctx, company)
		}
		orderID = next[0].OrderID
		return tx.Queue.SetAside(ctx, company, next[0], failure)
	})
	return orderID, err
}

// application is the work of applying one company's part of a batch, within the
// batch's transaction.
type application struct {
	companyBatch
	tx       Tx
	company  string
	now      time.Time
	clock    func() time.Time
	takes    time.Duration // see batch
	replayed bool
	queued   bool
	done     *applied

	concerned  map[string]facts.Cause // by order id: the orders to compute, and why
	firsts     map[string]*bool       // by order id: whether they are their customers' first, where that was looked for
	changed    map[string]bool        // by id: orders that were stored now, or wait since they were
	summed     summing
	deliveries *delivery.Ledger
	meanwhile  func()
	marked     nonconverting.Marks
	agents     *agent.Known
}

func newApplication(tx Tx, b batch, c companyBatch, p *Processor, done *applied) *application {
	a := &application{
		companyBatch: c, tx: tx, agents: &p.agents, company: c.index.CompanyID(), now: b.now, clock: p.Now, takes: cmp.Or(b.takes, restTime),
		replayed: b.replayed, queued: b.queued, done: done, meanwhile: b.meanwhile,
		concerned: map[string]facts.Cause{}, firsts: map[string]*bool{}, changed: map[string]bool{}, deliveries: delivery.NewLedger(),
		summed: newSumming(tx.Sums, c.index.CompanyID()),
	}
	a.deliveries.AddOnce(c.rejected...)
	return a
}

// run stores the facts, finds the orders that they concern, and decides those.
func (a *application) run(ctx context.Context) error {
	if err := a.storeEvents(ctx); err != nil {
		return err
	}
	if err := a.storeProducts(ctx); err != nil {
		return err
	}
	if err := a.storeOrders(ctx); err != nil {
		return err
	}
	if err := a.storeDecisions(ctx); err != nil {
		return err
	}
	if err := a.storeStatements(ctx); err != nil {
		return err
	}
	for _, change := range a.changes {
		if err := a.concernByChange(ctx, change); err != nil {
			return err
		}
	}
	if err := a.marked.Store(ctx, a.tx.NullJourneys, a.company); err != nil {
		return err
	}
	if err := a.decide(ctx); err != nil {
		return err
	}
	return a.countDelivery(ctx)
}

// countDelivery counts what edges tell, and writes what the transaction adds to the delivery ledger.
func (a *application) countDelivery(ctx context.Context) error {
	for i := range a.notices {
		n := &a.notices[i]
		a.deliveries.AddNotice(n, delivery.Source{Origin: a.index.OriginOf(n.Origin), Agent: n.Agent})
	}
	found, err := a.deliveries.Write(ctx, a.tx.Delivery, a.company)
	a.done.found.Add(found)
	return err
}

// sourceOf is where an event comes from.
func (a *application) sourceOf(e *facts.Event) delivery.Source {
	return sourceOf(a.index, a.agents, e)
}
