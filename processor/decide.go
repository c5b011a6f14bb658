package processor

// This file computes the orders concerned, and writes what differs.

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/caseload"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/ledger"
)

// decide computes the outcome of every order concerned, and stores those that
// differ from what is stored. The batch's own orders come first and are always
// computed. Of the others, what is too much for one transaction is queued.
func (a *application) decide(ctx context.Context) error {
	own := a.ownOrders()
	rest := slices.DeleteFunc(slices.Sorted(maps.Keys(a.concerned)), func(id string) bool {
		_, isOwn := slices.BinarySearch(own, id)
		return isOwn
	})
	own = slices.DeleteFunc(own, func(id string) bool { _, concerned := a.concerned[id]; return !concerned })
	if a.factsOnly {
		own, rest = nil, append(own, rest...)
	}
	events := 0
	for chunk := range slices.Chunk(own, ordersPerStep) {
		read, err := a.decideOrders(ctx, chunk)
		if err != nil {
			return err
		}
		events += read
	}
	for !a.factsOnly && len(rest) > 0 && len(own) < maxOrders && events < maxEvents {
		chunk := rest[:min(len(rest), ordersPerStep, maxOrders-len(own))]
		read, err := a.decideOrders(ctx, chunk)
		if err != nil {
			return err
		}
		own, rest, events = append(own, chunk...), rest[len(chunk):], events+read
	}
	put := make([]facts.Concerned, len(rest))
	for i, id := range rest {
		put[i] = facts.Concerned{OrderID: id, Cause: a.concerned[id]}
	}
	return a.addQueued(a.tx.Queue(ctx, a.company, put))
}

// unqueue removes orders that are computed now from the queue, and does what else is done
// for a queued order: before its outcome is written, which then says whether it is its
// customer's first.
func (a *application) unqueue(ctx context.Context, orderIDs []string) error {
	if !a.queued || len(orderIDs) == 0 {
		return nil
	}
	removed, err := a.tx.Unqueue(ctx, a.company, orderIDs)
	if err != nil || len(removed) == 0 {
		return err
	}
	return a.inferFirstOrders(ctx, removed)
}

// unqueueNew does what unqueue does for orders that get their first outcome now and of which
// nobody has looked whether they are first: those that were set aside before they had one. Such
// ones wait in the queue where nothing else does.
func (a *application) unqueueNew(ctx context.Context, orderIDs []string) error {
	ids := slices.DeleteFunc(orderIDs, func(id string) bool { _, known := a.firsts[id]; return known })
	if len(ids) == 0 {
		return nil
	}
	if _, err := a.tx.Unqueue(ctx, a.company, ids); err != nil {
		return err
	}
	return a.inferFirstOrders(ctx, ids)
}

// decideOrders computes and stores the outcomes of orders. It returns how many
// events of visitors it has read.
func (a *application) decideOrders(ctx context.Context, orderIDs []string) (events int, err error) {
	if err := a.unqueue(ctx, orderIDs); err != nil {
		return 0, err
	}
	var accepted []facts.Decision // whose touches are to be kept
	var again []string            // their orders: an outcome follows from what is kept
	outcomes := make([]facts.Outcome, 0, len(orderIDs))
	events, err = a.outcomesOf(ctx, orderIDs, func(c *facts.Case, o *facts.Outcome) {
		if keep := attribution.AcceptedNow(c, o); len(keep) > 0 {
			accepted, again = append(accepted, keep...), append(again, o.OrderID)
			return
		}
		outcomes = append(outcomes, *o)
	})
	if err != nil {
		return 0, err
	}
	if len(again) > 0 {
		if err := a.tx.KeepTouches(ctx, a.company, accepted); err != nil {
			return 0, err
		}
		read, err := a.outcomesOf(ctx, again, func(_ *facts.Case, o *facts.Outcome) { outcomes = append(outcomes, *o) })
		if err != nil {
			return 0, err
		}
		events += read
	}
	for _, o := range outcomes {
		a.done.computed = append(a.done.computed, orderRef{a.company, o.OrderID})
	}
	return events, a.storeOutcomes(ctx, outcomes)
}

// outcomesOf computes the outcomes of orders and calls f with each, which must not keep
// the case. It returns how many events of visitors it has read.
func (a *application) outcomesOf(ctx context.Context, orderIDs []string, f func(c *facts.Case, o *facts.Outcome)) (events int, err error) {
	return caseload.Each(ctx, a.tx, a.company, a.index.Limits(), orderIDs, func(c *facts.Case) {
		o := a.index.Decide(*c)
		f(c, &o)
	})
}

// storeOutcomes stores the outcomes that differ from what is stored, and appends
// to each order's ledger the entries that make it equal the new lines.
func (a *application) storeOutcomes(ctx context.Context, outcomes []facts.Outcome) error {
	ids := make([]string, len(outcomes))
	for i, o := range outcomes {
		ids[i] = o.OrderID
	}
	stored, err := a.tx.OutcomeHashes(ctx, a.company, ids)
	if err != nil {
		return err
	}
	var changed []facts.StoredOutcome
	var changedIDs, before, first, same []string // before: those of them that had an outcome; first: that had none; same: changed orders whose outcome stays
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
		if err := a.tx.MarkProcessed(ctx, a.company, a.now, same); err != nil {
			return err
		}
	}
	if len(changed) == 0 {
		return nil
	}
	if err := a.unqueueNew(ctx, first); err != nil {
		return err
	}
	was, err := a.tx.Outcomes(ctx, a.company, before)
	if err != nil {
		return err
	}
	for i := range changed {
		changed[i].Was, changed[i].First = was[changed[i].OrderID], a.firsts[changed[i].OrderID]
	}
	if err := a.tx.WriteOutcomes(ctx, a.company, a.now, changed); err != nil {
		return err
	}
	a.summed.outcomes(changed)
	posted := before // an order without an outcome has no entries, but for those of closed statements that a replay copies
	if a.replayed {
		posted = changedIDs
	}
	ledgers, err := a.tx.Ledgers(ctx, a.company, posted)
	if err != nil {
		return err
	}
	var postings []ledger.Posting
	for _, o := range changed {
		for _, e := range ledger.Post(ledgers[o.OrderID], o.Lines) {
			postings = append(postings, ledger.Posting{Entry: e, OrderID: o.OrderID, Cause: a.concerned[o.OrderID]})
		}
	}
	return a.tx.AppendLedger(ctx, a.company, a.now, a.index.Rev(), postings)
}
