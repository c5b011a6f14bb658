package processor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/facts"
)

// mostTooLong is how often a single order may take too long, one time after the other,
// before it is quarantined: until then it stops the queue of its company, and the company's
// statements. The number was chosen, not measured.
const mostTooLong = 3

// queueTurn is a turn of a company's queue. A stranger may keep the queue full. So what the
// merchant has asked for, an erasure or a statement, goes on where no order waits, and else
// where the queue has gone round since it was there: all orders that waited then are computed.
type queueTurn struct {
	facts.QueuePlace
	asked string // what was the next that the merchant had asked for when the queue began; empty: nothing
	step  bool   // it goes on now, and the queue begins anew
}

// begins reports whether the queue begins with this turn.
func (t queueTurn) begins() bool { return t.After == "" && len(t.First) == 0 }

// next returns the turn after this one, which took orders and put some of them back. round:
// the queue began anew, and asked is what is asked for next.
func (t queueTurn) next(taken, put []string, round bool, asked string) queueTurn {
	n := queueTurn{asked: t.asked}
	if len(taken) > 0 && slices.Contains(t.First, taken[0]) {
		n.After = t.After
		n.First = slices.Concat(slices.DeleteFunc(slices.Clone(t.First), func(id string) bool { return slices.Contains(taken, id) }), put)
	} else {
		n.After, n.First = slices.Max(taken), put
	}
	if round || t.begins() {
		n.step = round && asked != "" && asked == t.asked
		n.asked = asked
	}
	return n
}

// recomputeQueued computes one chunk of queued orders, of one company: new records
// wait no longer than that. The partition's companies take turns. A chunk that
// takes too long, or that cannot be stored, is tried again with half as many
// orders; a single order that cannot be stored is quarantined, and so is one that takes too
// long mostTooLong times.
func (o *owner) recomputeQueued(ctx context.Context) error {
	if len(o.queueTurns) == 0 {
		companies, err := o.queuedCompanies(ctx)
		if err != nil {
			return err
		}
		if o.queued = len(companies) > 0; !o.queued {
			o.catchUp = catchUp{}
			return nil
		}
		o.queueTurns = companies
	}
	company := o.queueTurns[0]
	done, err := o.recomputeChunk(ctx, company)
	switch {
	case err == nil:
		delete(o.tooLong, company)
		if o.queues[company] = done.next; done.next.begins() {
			delete(o.queues, company)
		}
		if o.chunkLimit = min(2*o.chunkLimit, o.config.RecomputeChunk); len(done.putBack) > 0 { // it took too long for all of them
			o.chunkLimit = min(o.chunkLimit, max(leastChunk, 2*len(done.computed)))
		}
		o.disturbed = false
		o.metrics.orders.Add(float64(len(done.computed)))
		o.metrics.asked.addDone(done)
		o.traceQueued(done, o.Now())
		o.sendHint(done.computed)
	case o.queues[company].step && (errors.Is(err, facts.ErrData) || errors.Is(err, errTooLong)):
		o.stepFailed(ctx, company, err)
		delete(o.queues, company)
	case o.chunkLimit > 1 && (errors.Is(err, facts.ErrData) || errors.Is(err, errTooLong)):
		o.chunkLimit /= 2
		return nil // the same company's turn again
	case errors.Is(err, facts.ErrData):
		if err := o.quarantine(ctx, company, cannotBeStored, err); err != nil {
			return err
		}
	case errors.Is(err, errTooLong): // a single order: it is tried again at the company's next turn
		if o.tooLong[company]++; o.tooLong[company] >= mostTooLong {
			if err := o.quarantine(ctx, company, takesTooLong, err); err != nil {
				return err
			}
			delete(o.tooLong, company)
		}
	default:
		return err
	}
	o.queueTurns = o.queueTurns[1:]
	return nil
}

// recomputeChunk computes at most o.chunkLimit queued orders of a company.
func (o *owner) recomputeChunk(ctx context.Context, company string) (done applied, err error) {
	err = o.retry(ctx, "compute queued orders", tookTooLong, func(ctx context.Context) error {
		rules, err := o.rulesOf(ctx, []string{company})
		if err != nil {
			return err
		}
		b := batch{clusterID: o.clusterID, moves: o.moves(nil), now: o.Now().UTC(), takes: idleTime, queue: o.queues[company],
			observed: o.observeQueued()}
		if o.disturbed {
			b.takes = chunkTime
		}
		if index := rules[company]; index != nil {
			b.companies = []companyBatch{{index: index}}
		}
		return o.limitTransactions(ctx, func() (err error) {
			done, err = o.recompute(ctx, b, o.chunkLimit)
			return err
		})
	})
	return done, err
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
		a.done.next = b.queue.next(ids, a.done.putBack, round, asked)
		return err
	})
	if err != nil {
		return applied{}, fmt.Errorf("compute queued orders: %w", err)
	}
	return done, nil
}

// queuedCompanies returns the partition's companies that have orders queued.
func (o *owner) queuedCompanies(ctx context.Context) (mine []string, err error) {
	err = o.retry(ctx, "read the recompute queue", never, func(ctx context.Context) error {
		mine = nil
		companies, err := o.Store.QueuedCompanies(ctx)
		if err != nil {
			return err
		}
		return o.eachOf(ctx, companies, func(id string, partition int) error {
			if partition == o.partition {
				mine = append(mine, id)
			}
			return nil
		})
	})
	return mine, err
}

// Why an order is quarantined, as the table recompute has it.
const (
	cannotBeStored = "its outcome cannot be stored"
	takesTooLong   = "it takes too long to compute"
)

// stepPause is the wait after a step of an erasure or of a statement that failed. For so long
// the partition's new records wait too, between two batches.
const stepPause = time.Second

// quarantine marks a company's next queued order as failed. failure says why, and cause is
// its error. The orders behind it go on. It is computed again when another fact or rule
// queues it. Where no order is queued, it was a step of an erasure or of a statement.
func (o *owner) quarantine(ctx context.Context, company, failure string, cause error) error {
	var order string
	err := o.retry(ctx, "quarantine a queued order", never, func(ctx context.Context) (err error) {
		order, err = o.quarantineNext(ctx, batch{clusterID: o.clusterID, moves: o.moves(nil), queue: o.queues[company]}, company, failure)
		return err
	})
	switch {
	case err != nil:
	case order == "":
		o.stepFailed(ctx, company, cause)
	default:
		o.metrics.quarantined.Inc()
		o.Logger.Error("queued order quarantined: "+failure, "company", company, "order", order, "partition", o.partition, "error", cause)
	}
	return err
}

// quarantineNext marks the next order of a company's queue as failed, and returns
// its id; "" where none is queued. The company stays queued: it may have an erasure or a
// statement to go on with.
func (p *Processor) quarantineNext(ctx context.Context, b batch, company, failure string) (orderID string, err error) {
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
		return tx.Queue.Quarantine(ctx, company, next[0], failure)
	})
	return orderID, err
}

// stepFailed says that a step of an erasure or of a statement failed, which no order's end
// lets pass: it is tried again after a pause, and new records are applied meanwhile.
func (o *owner) stepFailed(ctx context.Context, company string, cause error) {
	o.metrics.retries.Inc()
	o.Logger.Error("a step of an erasure or of a statement failed; it is tried again", "company", company, "partition", o.partition, "wait",
		stepPause, "error", cause)
	background.Sleep(ctx, stepPause)
}
