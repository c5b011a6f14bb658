package processor

// This file computes the orders concerned, and writes what differs.

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/caseload"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/ledger"
)

// turn is how much one company's orders may cost in one transaction. A stranger can make an
// order that reads much, and an event that concerns many orders: what is too much is queued.
type turn struct {
	began   time.Time
	takes   time.Duration // after which no more orders are computed
	now     func() time.Time
	first   time.Duration // until after the first order
	orders  int           // that may be computed
	events  int           // of visitors that may be read
	claimed int           // of those: as whom anybody can send events
}

// longTurn is how much longer a turn takes than what comes before its second order: what was
// read for the first one serves the next ones too. The number was chosen, not measured.
const longTurn = 4

// newTurn begins a turn that ends after a time.
func (a *application) newTurn(takes time.Duration) *turn {
	return &turn{began: a.clock(), takes: takes, now: a.clock, orders: maxOrders, events: maxEvents, claimed: attribution.ClaimedEvents}
}

// over reports whether no more orders are to be computed: of claimed events so many must be
// left as one order may read.
func (t *turn) over() bool {
	return t.orders <= 0 || t.events <= 0 || t.claimed < attribution.ClaimedEvents/2 || t.late()
}

// late reports whether the turn has taken its time. It is looked at after each order.
func (t *turn) late() bool {
	took := t.now().Sub(t.began)
	if t.first == 0 {
		t.first = took
		t.takes = max(t.takes, min(longTurn*took, ownTime))
	}
	return took >= t.takes
}

// decide computes the outcome of every order concerned, and stores those that
// differ from what is stored. The batch's own orders come first. What is too much for one
// transaction is queued.
func (a *application) decide(ctx context.Context) error {
	if a.steps != nil {
		a.steps.stored = a.clock()
	}
	own := a.ownOrders()
	rest := slices.DeleteFunc(slices.Sorted(maps.Keys(a.concerned)), func(id string) bool {
		_, isOwn := slices.BinarySearch(own, id)
		return isOwn
	})
	own = slices.DeleteFunc(own, func(id string) bool { _, concerned := a.concerned[id]; return !concerned })
	if !a.factsOnly {
		var err error
		if own, err = a.decideInTurn(ctx, own, a.newTurn(ownTime)); err != nil {
			return err
		}
		if len(own) == 0 {
			if rest, err = a.decideInTurn(ctx, rest, a.newTurn(a.takes)); err != nil {
				return err
			}
		}
	}
	put := make([]facts.Concerned, 0, len(own)+len(rest))
	for _, id := range append(own, rest...) {
		put = append(put, facts.Concerned{OrderID: id, Cause: a.concerned[id]})
		a.done.putBack = append(a.done.putBack, id)
		if a.done.observed != nil {
			a.done.observed.queued[orderRef{a.company, id}] = true
		}
	}
	return a.addQueued(a.tx.Queue.QueueOrders(ctx, a.company, put))
}

// decideInTurn computes and stores the outcomes of orders until the turn is over. It returns
// those that are left.
func (a *application) decideInTurn(ctx context.Context, ids []string, t *turn) (left []string, err error) {
	for first := true; len(ids) > 0 && (first || !t.over()); first = false {
		step := ids[:min(len(ids), ordersPerStep, t.orders)]
		skipped, err := a.decideOrders(ctx, step, t)
		if err != nil {
			return nil, err
		}
		t.orders -= len(step) - len(skipped)
		ids = append(skipped, ids[len(step):]...)
		if len(skipped) == len(step) {
			break
		}
	}
	return ids, nil
}

// unqueue removes orders that are computed now from the queue, and does what else is done
// for a queued order: before its outcome is written, which then says whether it is its
// customer's first.
func (a *application) unqueue(ctx context.Context, orderIDs []string) error {
	if !a.queued || len(orderIDs) == 0 {
		return nil
	}
	removed, err := a.tx.Queue.Unqueue(ctx, a.company, orderIDs)
	if err != nil || len(removed) == 0 {
		return err
	}
	return a.inferFirstOrders(ctx, removed)
}

// computeWaiting computes those of the orders that wait: they came, or were queued again, since
// the step of the erasure was due.
func (a *application) computeWaiting(ctx context.Context, orderIDs []string) error {
	if !a.queued {
		return nil
	}
	left, err := a.tx.Queue.Unqueue(ctx, a.company, orderIDs)
	if err == nil {
		err = a.inferFirstOrders(ctx, left)
	}
	a.addConcerned(left, facts.Cause{Kind: facts.CauseSnapshot})
	for err == nil && len(left) > 0 {
		left, err = a.decideOrders(ctx, left, nil)
	}
	return err
}

// unqueueNew does what unqueue does for orders that get their first outcome now and of which
// nobody has looked whether they are first: those that were quarantined before they had one. Such
// ones wait in the queue where nothing else does.
func (a *application) unqueueNew(ctx context.Context, orderIDs []string) error {
	ids := slices.DeleteFunc(orderIDs, func(id string) bool { _, known := a.firsts[id]; return known })
	if len(ids) == 0 {
		return nil
	}
	if _, err := a.tx.Queue.Unqueue(ctx, a.company, ids); err != nil {
		return err
	}
	return a.inferFirstOrders(ctx, ids)
}

// touchesPerStep is after how many touches of orders that are computed together their outcomes
// are stored: an explanation has some 500 bytes for each.
const touchesPerStep = 2000

// decideOrders computes and stores the outcomes of orders until the turn is over; nil: of
// all. It returns the orders that are left.
func (a *application) decideOrders(ctx context.Context, orderIDs []string, t *turn) (left []string, err error) {
	var accepted []facts.Decision // whose touches are to be kept
	var again []string            // their orders: an outcome follows from what is kept
	outcomes, touches := make([]facts.Outcome, 0, len(orderIDs)), 0
	goOn := func(o *facts.Outcome) bool {
		touches += len(o.Explanation.Touches)
		return touches < touchesPerStep && (t == nil || !t.late())
	}
	left, err = a.outcomesOf(ctx, orderIDs, t, func(c *facts.Case, o *facts.Outcome) bool {
		if keep := attribution.AcceptedNow(c, o); len(keep) > 0 {
			accepted, again = append(accepted, keep...), append(again, o.OrderID)
		} else {
			outcomes = append(outcomes, *o)
		}
		return goOn(o)
	})
	if err != nil {
		return nil, err
	}
	for first := true; len(again) > 0; first = false {
		if first {
			if err := a.tx.Orders.KeepTouches(ctx, a.company, accepted); err != nil {
				return nil, err
			}
		}
		// These are few: the merchant has decided about each.
		if again, err = a.outcomesOf(ctx, again, nil, func(_ *facts.Case, o *facts.Outcome) bool {
			outcomes = append(outcomes, *o)
			return true
		}); err != nil {
			return nil, err
		}
	}
	done := make([]string, len(outcomes))
	for i, o := range outcomes {
		done[i] = o.OrderID
		a.done.computed = append(a.done.computed, orderRef{a.company, o.OrderID})
	}
	if err := a.unqueue(ctx, done); err != nil {
		return nil, err
	}
	return left, a.storeOutcomes(ctx, outcomes)
}

// outcomesOf computes the outcomes of orders and calls f with each, which must not keep
// the case, until it returns false or the turn's events are read. It returns the orders that
// are left. t may be nil: then an order's own bounds are the only ones.
func (a *application) outcomesOf(ctx context.Context, orderIDs []string, t *turn,
	f func(c *facts.Case, o *facts.Outcome) bool) (left []string, err error) {
	claimed := attribution.ClaimedEvents
	if t != nil {
		claimed = t.claimed
	}
	left, read, err := caseload.Each(ctx, a.tx.Cases, a.company, a.index.Limits(), orderIDs, claimed, func(c *facts.Case) bool {
		o := a.index.Decide(*c)
		return f(c, &o)
	})
	if t != nil {
		t.events, t.claimed = t.events-read.Events, t.claimed-read.Claimed
	}
	a.done.read.Add(read)
	return left, err
}

// storeOutcomes stores the outcomes that differ from what is stored, and appends
// to each order's ledger the entries that make it equal the new lines.
func (a *application) storeOutcomes(ctx context.Context, outcomes []facts.Outcome) error {
	ids := make([]string, len(outcomes))
	for i, o := range outcomes {
		ids[i] = o.OrderID
	}
	stored, err := a.tx.Outcomes.OutcomeHashes(ctx, a.company, ids)
	if err != nil {
		return err
	}
	var changed []facts.StoredOutcome
	// before: those of them that had an outcome; first: that had none; same: changed orders whose outcome stays
	var changedIDs, before, first, same []string
	for i := range outcomes {
		o, err := outcomes[i].ToStore()
		if err != nil {
			return err
		}
		if !bytes.Equal(o.Hash, stored[o.OrderID]) {
			changed, changedIDs = append(changed, o), append(changedIDs, o.OrderID)
			if _, had := stored[o.OrderID]; had {
				before = append(before, o.OrderID)
			} else {
				first = append(first, o.OrderID)
			}
		} else if a.changed[o.OrderID] {
			same = append(same, o.OrderID)
		}
	}
	if len(same) > 0 {
		if err := a.tx.Outcomes.MarkProcessed(ctx, a.company, a.now, same); err != nil {
			return err
		}
	}
	if len(changed) == 0 {
		return nil
	}
	if err := a.unqueueNew(ctx, first); err != nil {
		return err
	}
	was, err := a.tx.Outcomes.StoredOutcomes(ctx, a.company, before)
	if err != nil {
		return err
	}
	for i := range changed {
		changed[i].Before, changed[i].First = was[changed[i].OrderID], a.firsts[changed[i].OrderID]
	}
	if err := a.tx.Outcomes.WriteOutcomes(ctx, a.company, a.now, changed); err != nil {
		return err
	}
	if err := a.auditUnpaid(ctx, changed); err != nil {
		return err
	}
	a.summed.outcomes(changed)
	posted := before // an order without an outcome has no entries, but for those of closed statements that a replay copies
	if a.replayed {
		posted = changedIDs
	}
	ledgers, err := a.tx.Outcomes.Ledgers(ctx, a.company, posted)
	if err != nil {
		return err
	}
	var postings []ledger.Posting
	for _, o := range changed {
		for _, e := range ledger.Post(ledgers[o.OrderID], o.Lines) {
			postings = append(postings, ledger.Posting{Entry: e, OrderID: o.OrderID, Cause: a.concerned[o.OrderID]})
			if a.done.observed != nil {
				a.done.observed.entries[orderRef{a.company, o.OrderID}]++
			}
		}
	}
	if err := a.tx.Outcomes.AppendLedger(ctx, a.company, a.now, a.index.Rev(), postings); err != nil {
		return err
	}
	return a.tell(ctx, changed)
}

// auditUnpaid writes to the audit log which of changed orders had earned and, as the merchant says, earn nothing any more.
func (a *application) auditUnpaid(ctx context.Context, changed []facts.StoredOutcome) error {
	var list []facts.UnpaidOrder
	for i := range changed {
		o := &changed[i]
		said := o.Payout.Reason == facts.ReasonTest || o.Payout.Reason == facts.ReasonPaidByHand
		if !said || o.Before == nil || o.Before.Payout.State != facts.PayoutEarned || a.replayed {
			continue
		}
		t := facts.UnpaidOrder{OrderID: o.OrderID, InfluencerID: o.Before.Payout.InfluencerID, Actor: "processor", Reason: o.Payout.Reason}
		t.Taken = commerce.Sale{CommissionMinor: o.Before.Payout.CommissionMinor, FixedBRLMinor: o.Before.Payout.FixedBRLMinor,
			Currency: o.Before.Currency}.Commissions()
		for k := range a.orders {
			if v := &a.orders[k]; v.OrderID == o.OrderID && (v.Order.Test.Or(false) || v.Order.NoCommission.Or(false)) {
				t.Actor = v.Actor
			}
		}
		list = append(list, t)
	}
	if len(list) == 0 {
		return nil
	}
	return a.tx.Outcomes.AuditUnpaid(ctx, a.company, a.now, list)
}
