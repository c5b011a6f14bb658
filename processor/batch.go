package processor

// This file has what a transaction applies, what it did, and its state meanwhile.

import (
	"cmp"
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
	// observations anew. A visitor with more is a machine: what was stored of that day stays.
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

	takes time.Duration // orders that are not the batch's own are computed for so long; 0: restTime
	queue queueTurn     // of the queue of the only company

	observed *observed // nil: no trace is recorded of it
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
	withheld   []statements.Withholding
	entries    []statements.Entry
	closedDay  string // of a replay: the last day that was closed, YYYY-MM-DD; empty: none is told
	notices    []facts.Notice
	rejected   []delivery.Once // records that were rejected
	factsOnly  bool            // store the facts and queue the orders; compute no outcome
	prepared   *prepared       // what was computed of the events before; nil: nothing
}

// applied is what a transaction did.
type applied struct {
	stored, duplicate int         // events
	late              int         // … of the stored ones
	computed          []orderRef  // orders whose outcome was computed
	queued            int         // orders that were queued
	putBack           []string    // … of those that were looked at: their turn was over
	asked             int         // statements and erasures that were asked for
	read              facts.Read  // for the outcomes
	next              queueTurn   // of the queue
	erasures          int         // that were done
	closed            int         // statements that were
	days              []books.Day // of orders that may have changed
	found             delivery.Found
	observed          *observed // nil: no trace is recorded of it
}

// orderRef names an order.
type orderRef struct{ companyID, orderID string }

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
	marked     nonconverting.Marks
	agents     *agent.Known
	steps      *steps // nil: nothing is watched
}

func newApplication(tx Tx, b batch, c companyBatch, p *Processor, done *applied) *application {
	a := &application{
		companyBatch: c, tx: tx, agents: &p.agents, company: c.index.CompanyID(), now: b.now, clock: p.Now, takes: cmp.Or(b.takes, restTime),
		replayed: b.replayed, queued: b.queued, done: done,
		concerned: map[string]facts.Cause{}, firsts: map[string]*bool{}, changed: map[string]bool{}, deliveries: delivery.NewLedger(),
		summed: newSumming(tx.Sums, c.index.CompanyID()), steps: done.observed.of(c.index.CompanyID(), p.Now),
	}
	a.deliveries.AddOnce(c.rejected...)
	return a
}

// sourceOf is where an event comes from.
func (a *application) sourceOf(e *facts.Event) delivery.Source {
	return sourceOf(a.index, a.agents, e)
}
