package processor

// This file finds the orders that facts may concern.

import (
	"context"
	"slices"

	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/facts"
)

// concernByKeys adds the orders of keys to those concerned, or queues them where
// they are more than maxOrders. hubs: also the orders around which the key is a hub.
func (a *application) concernByKeys(ctx context.Context, spans []facts.KeySpan, hubs bool, cause facts.Cause) error {
	ids, err := a.tx.Orders.OrdersByKeys(ctx, a.company, spans, hubs, maxOrders+1)
	if err != nil {
		return err
	}
	if len(ids) > maxOrders {
		return a.addQueued(a.tx.Queue.QueueByKeys(ctx, a.company, spans, hubs, cause))
	}
	a.addConcerned(ids, cause)
	return nil
}

// concernByChange finds the orders that a changed rule or setting may concern.
func (a *application) concernByChange(ctx context.Context, change facts.Change) error {
	concern, err := a.index.ConcernedByChange(change)
	if err != nil {
		return err
	}
	cause := facts.Cause{Kind: facts.CauseRule, Rev: change.Rev, Rule: change.Type}
	if concern.All {
		return a.addQueued(a.tx.Queue.QueueCreated(ctx, a.company, concern.From, concern.To, cause, maxOrders))
	}
	return a.concernByKeys(ctx, concern.Keys, true, cause)
}

// addConcerned adds orders to those to compute. An order keeps its first cause.
func (a *application) addConcerned(orderIDs []string, cause facts.Cause) {
	for _, id := range orderIDs {
		if _, known := a.concerned[id]; !known {
			a.concerned[id] = cause
		}
	}
}

// addQueued counts orders that were queued. It takes what a queueing method
// returns, and returns its error.
func (a *application) addQueued(n int, err error) error {
	a.done.queued += n
	return err
}

// concernByHubs finds the orders around which a key may have become a hub, or ceased
// to be one, since orders with the key came or went. It returns those that it did not
// queue.
func (a *application) concernByHubs(ctx context.Context, changed []string, keys []facts.ChangedKey) (around []string, err error) {
	after := a.index.Limits().ObservationsAfter
	cause := facts.Cause{Kind: facts.CauseOrder, At: a.now}
	for _, window := range a.index.Windows() { // of whatever settings an order's interval was made
		ids, err := a.tx.Orders.OrdersOfChangedKeys(ctx, a.company, changed, keys, window, after, maxOrders+1)
		if err != nil {
			return nil, err
		}
		if len(ids) <= maxOrders {
			a.addConcerned(ids, cause)
			around = append(around, ids...)
			continue
		}
		if err := a.addQueued(a.tx.Queue.QueueOfChangedKeys(ctx, a.company, changed, keys, window, after, cause)); err != nil {
			return nil, err
		}
	}
	return around, nil
}

// followingOrders returns the orders that may become their customer's first, or cease to
// be it, since orders that have or had the keys changed. Where these are more than
// maxOrders it queues them.
func (a *application) followingOrders(ctx context.Context, keys []facts.OrderKey) ([]string, error) {
	keys = slices.DeleteFunc(keys, func(k facts.OrderKey) bool { return !slices.Contains(facts.BuyerKinds, k.Kind) })
	ids, err := a.tx.Orders.OrdersFollowing(ctx, a.company, keys, maxOrders+1)
	if err == nil && len(ids) > maxOrders {
		return nil, a.addQueued(a.tx.Queue.QueueFollowing(ctx, a.company, keys, facts.Cause{Kind: facts.CauseOrder, At: a.now}))
	}
	return ids, err
}

// inferFirstOrders stores which of the orders are their customer's first, where the
// merchant did not say so.
func (a *application) inferFirstOrders(ctx context.Context, ids []string) error {
	slices.Sort(ids)
	for chunk := range slices.Chunk(slices.Compact(ids), maxOrders) {
		candidates, err := a.tx.Orders.FirstOrderCandidates(ctx, a.company, chunk, facts.BuyerKinds, a.index.Limits())
		if err != nil {
			return err
		}
		inferred := make([]facts.FirstOrder, len(candidates))
		for i, c := range candidates {
			inferred[i] = facts.FirstOrder{OrderID: c.OrderID, First: attribution.IsFirstOrder(c)}
		}
		if err := a.keepSnapshotFirsts(ctx, inferred, candidates); err != nil {
			return err
		}
		if err := a.summed.remember(ctx, chunk); err != nil {
			return err
		}
		for _, f := range inferred {
			a.firsts[f.OrderID] = f.First
		}
		if err := a.tx.Orders.SetFirstOrders(ctx, a.company, a.now, inferred); err != nil {
			return err
		}
	}
	return nil
}

// keepSnapshotFirsts keeps whether orders are first where persons were erased, unless the
// merchant says it.
func (a *application) keepSnapshotFirsts(ctx context.Context, inferred []facts.FirstOrder, of []facts.FirstOrderCandidate) error {
	if !a.index.HasErasures() || len(of) == 0 {
		return nil
	}
	ids := make([]string, len(of))
	for i := range of {
		ids[i] = of[i].OrderID
	}
	kept, err := a.tx.Erased.SnapshotFirsts(ctx, a.company, ids)
	if err != nil {
		return err
	}
	for i := range inferred {
		if first, snapshotted := kept[inferred[i].OrderID]; snapshotted && of[i].Sent == nil {
			inferred[i].First = first
		}
	}
	return nil
}
