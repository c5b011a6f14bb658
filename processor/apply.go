package processor

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/internal/agent"
	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/ledger"
	"github.com/tributary-io/tributary/internal/rollup"
	"github.com/tributary-io/tributary/internal/upkeep/delivery"
	"github.com/tributary-io/tributary/internal/upkeep/erasure"
	"github.com/tributary-io/tributary/internal/upkeep/nonconverting"
	"github.com/tributary-io/tributary/internal/upkeep/retention"
	"github.com/tributary-io/tributary/internal/upkeep/statements"
)

// Tx is one transaction of the store: everything that a batch writes is written,
// or nothing. Each method but the first works on the rows of one company. None of
// them knows a rule of attribution. internal/postgres/factstore.Tx is one, and
// describes each method.
type Tx interface {
	// MoveOffsets returns facts.ErrFenced where another owner has taken the partition
	// over, or has moved an offset.
	MoveOffsets(ctx context.Context, clusterID string, moves []facts.Move) error

	// Store facts, each once however often it comes.
	InsertEvents(ctx context.Context, companyID string, events []facts.Event) (inserted map[uuid.UUID]bool, err error)
	StoredCopies(ctx context.Context, companyID string, events []facts.Event) (map[string]facts.Copy, error)
	ReplaceEvents(ctx context.Context, companyID string, events []facts.Event) error
	EventsOfDay(ctx context.Context, companyID string, d facts.VisitorDay, limit int) ([]facts.Event, error)
	WidenSightings(ctx context.Context, companyID string, sightings []facts.Sighting) error
	DeleteSightings(ctx context.Context, companyID string, d facts.VisitorDay) ([]facts.Key, error)
	InsertShoppers(ctx context.Context, companyID string, shoppers []facts.Shopper) (others []facts.Shopper, err error)
	Shoppers(ctx context.Context, companyID string, shoppers []facts.Shopper) (map[facts.ShopperKey]facts.Stage, error)
	PutShoppers(ctx context.Context, companyID string, shoppers []facts.Shopper) error
	ItemsBeyond(ctx context.Context, companyID string, items []facts.ShopperKey, most int) (beyond []facts.ShopperKey, err error)
	AddTraffic(ctx context.Context, companyID string, traffic []facts.Traffic) error
	AddClicks(ctx context.Context, companyID string, clicks []facts.Clicks) error
	UpsertProducts(ctx context.Context, companyID string, products []facts.Product) (changed []string, err error)
	ReplaceVariants(ctx context.Context, companyID string, productIDs []string, variants []facts.Variant) error
	PutVersions(ctx context.Context, companyID string, versions map[string][]facts.StoredVersion) error
	UpsertPersonal(ctx context.Context, companyID string, versions []facts.OrderVersion) error
	Versions(ctx context.Context, companyID string, orderIDs []string) (map[string][]facts.StoredVersion, error)
	UpsertOrders(ctx context.Context, companyID string, now time.Time, orders []facts.FoldedOrder) (changed []string, err error)
	ReplaceKeys(ctx context.Context, companyID string, orderIDs []string, kinds []facts.KeyKind, keys []facts.OrderKey) (was []facts.OrderKey, err error)
	OrdersFollowing(ctx context.Context, companyID string, keys []facts.OrderKey, limit int) ([]string, error)
	QueueFollowing(ctx context.Context, companyID string, keys []facts.OrderKey, cause facts.Cause) (int, error)
	InsertDecisions(ctx context.Context, companyID string, decisions []facts.Decision) (orderIDs []string, err error)
	KeepTouches(ctx context.Context, companyID string, decisions []facts.Decision) error
	FirstOrderCandidates(ctx context.Context, companyID string, orderIDs []string, kinds []facts.KeyKind, limits facts.Limits) ([]facts.FirstOrderCandidate, error)
	SetFirstOrders(ctx context.Context, companyID string, now time.Time, orders []facts.FirstOrder) error
	AuditTests(ctx context.Context, companyID string, now time.Time, orders []facts.TestOrder) error

	// Find the orders that a fact concerns. Queue them where they are too many.
	OrdersByKeys(ctx context.Context, companyID string, spans []facts.KeySpan, hubs bool, limit int) ([]string, error)
	OrdersOfChangedKeys(ctx context.Context, companyID string, changed []string, keys []facts.ChangedKey, before, after time.Duration, limit int) ([]string, error)
	Queue(ctx context.Context, companyID string, orders []facts.Concerned) (int, error)
	QueueByKeys(ctx context.Context, companyID string, spans []facts.KeySpan, hubs bool, cause facts.Cause) (int, error)
	QueueOfChangedKeys(ctx context.Context, companyID string, changed []string, keys []facts.ChangedKey, before, after time.Duration, cause facts.Cause) (int, error)
	QueueCreated(ctx context.Context, companyID string, from, to time.Time, cause facts.Cause, limit int) (int, error)
	TakeQueued(ctx context.Context, companyID string, from facts.QueuePlace, limit int) (list []facts.Concerned, round bool, err error)
	Unqueue(ctx context.Context, companyID string, orderIDs []string) (removed []string, err error)
	SetAside(ctx context.Context, companyID, orderID, failure string) error

	// Read what a decision needs.
	Cases(ctx context.Context, companyID string, limits facts.Limits, orderIDs []string) ([]*facts.Case, error)
	Visitors(ctx context.Context, companyID string, limits facts.Limits, list []*facts.Case, budget int) (cases int, read facts.Read, err error)
	Proven(ctx context.Context, companyID string, limits facts.Limits, c *facts.Case) (read int, err error)

	// Count what became of events.
	Delivery() delivery.Store

	// Count null journeys.
	NullJourneys() nonconverting.Store

	// Remove old events, and seal the orders that read them first.
	LockPartition(ctx context.Context, partition int) error
	InsertSeals(ctx context.Context, companyID string, seals []facts.Seal) error
	Retention() retention.Store

	// Erase persons.
	Erasure() erasure.Store
	Erased() erasure.Known

	// Write outcomes.
	OutcomeHashes(ctx context.Context, companyID string, orderIDs []string) (map[string][]byte, error)
	Outcomes(ctx context.Context, companyID string, orderIDs []string) (map[string]*facts.Outcome, error)
	WriteOutcomes(ctx context.Context, companyID string, now time.Time, outcomes []facts.StoredOutcome) error
	MarkProcessed(ctx context.Context, companyID string, now time.Time, orderIDs []string) error
	Ledgers(ctx context.Context, companyID string, orderIDs []string) (map[string][]ledger.Entry, error)
	CountedOrders(ctx context.Context, companyID string, orderIDs []string) (map[string]rollup.Counted, error)
	AddSums(ctx context.Context, companyID string, sums *rollup.Sums) error
	AppendLedger(ctx context.Context, companyID string, now time.Time, ruleRev int64, postings []ledger.Posting) error

	Statements() statements.Store

	// Have a company's queue looked at, though none of its orders is queued.
	QueueCompany(ctx context.Context, companyID string) error
}

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
	stored, duplicate int                 // events
	late              int                 // … of the stored ones
	computed          []orderRef          // orders whose outcome was computed
	queued            int                 // orders that were queued
	left              []string            // … of those that were looked at: their turn was over
	read              facts.Read          // for the outcomes
	next              queueTurn           // of the queue
	statements        int                 // statements that are to be closed, and erasures that are asked for
	erased            erased              // of persons
	erasures          int                 // that are done
	closed            int                 // statements
	days              map[companyDay]bool // of orders that may have changed
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
		queued, round, err := a.tx.TakeQueued(ctx, a.company, b.queue.QueuePlace, limit)
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
		if err := tx.MoveOffsets(ctx, b.clusterID, b.moves); err != nil {
			return err
		}
		for _, c := range b.companies {
			a := newApplication(tx, b, c, p, &done)
			if err := f(a); err != nil {
				return fmt.Errorf("company %s: %w", a.company, err)
			}
			if err := a.sum(ctx); err != nil {
				return fmt.Errorf("company %s: %w", a.company, err)
			}
		}
		return nil
	})
	if err == nil && p.Books != nil {
		p.books.note(done.days)
	}
	return done, err
}

// setAsideNext marks the next order of a company's queue as failed, and returns
// its id; "" where none is queued. The company stays queued: it may have an erasure or a
// statement to go on with.
func (p *Processor) setAsideNext(ctx context.Context, b batch, company, failure string) (orderID string, err error) {
	err = p.Store.Transact(ctx, func(tx Tx) error {
		if err := tx.MoveOffsets(ctx, b.clusterID, b.moves); err != nil {
			return err
		}
		next, _, err := tx.TakeQueued(ctx, company, b.queue.QueuePlace, 1)
		if err != nil {
			return err
		}
		if len(next) == 0 {
			return tx.QueueCompany(ctx, company)
		}
		orderID = next[0].OrderID
		if _, err := tx.Queue(ctx, company, next); err != nil {
			return err
		}
		return tx.SetAside(ctx, company, orderID, failure)
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
		companyBatch: c, tx: tx, agents: &p.agents, company: c.index.CompanyID(), now: b.now, clock: p.Now, takes: cmp.Or(b.takes, restTime), replayed: b.replayed, queued: b.queued, done: done, meanwhile: b.meanwhile,
		concerned: map[string]facts.Cause{}, firsts: map[string]*bool{}, changed: map[string]bool{}, deliveries: delivery.NewLedger(), summed: newSumming(),
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
	if err := a.marked.Store(ctx, a.tx.NullJourneys(), a.company); err != nil {
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
	found, err := a.deliveries.Write(ctx, a.tx.Delivery(), a.company)
	a.done.found.Add(found)
	return err
}

// sourceOf is where an event comes from.
func (a *application) sourceOf(e *facts.Event) delivery.Source {
	return sourceOf(a.index, a.agents, e)
}
