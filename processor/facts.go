package processor

// This file stores the facts of a batch.

import (
	"context"
	"maps"
	"slices"

	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/rollup"
)

// storedEvents are a batch's events, by what became of them.
type storedEvents struct {
	fresh   []facts.Event // stored now
	again   []facts.Event // their ids were stored before
	follows following     // from fresh
}

// storeEvents stores each event once by its id, and counts what became of all. What follows
// from the events is computed while the store works.
func (a *application) storeEvents(ctx context.Context) (stored storedEvents, err error) {
	if err := a.leaveErased(ctx); err != nil {
		return stored, err
	}
	prep := a.prepared
	if prep == nil || prep.index != a.index {
		prep = &prepared{index: a.index}
		prep.chosen, prep.others = facts.ChooseCopies(a.events)
	}
	for i := range prep.chosen {
		prep.chosen[i].Pack() // of a replay: two read it below at the same time
	}
	computed := make(chan following, 1)
	go func() {
		if prep.follows == nil {
			prep.follows = followingFrom(a.index, a.agents, prep.chosen)
		}
		computed <- *prep.follows
	}()
	inserted, err := a.tx.Events.InsertEvents(ctx, a.company, prep.chosen)
	stored.fresh, stored.follows = prep.chosen, <-computed
	if err != nil {
		return stored, err
	}
	if len(inserted) < len(prep.chosen) {
		stored.fresh = nil
		for _, e := range prep.chosen {
			if inserted[e.ID] {
				stored.fresh = append(stored.fresh, e)
			} else {
				stored.again = append(stored.again, e)
			}
		}
		stored.follows = *followingFrom(a.index, a.agents, stored.fresh)
	}
	a.deliveries.AddArrivals(stored.follows.arrivals)
	a.deliveries.RepeatedInBatch(prep.chosen, prep.others, a.sourceOf)
	a.done.late += stored.follows.arrivals.Late
	a.done.stored += len(stored.fresh)
	a.done.duplicate += len(a.events) - len(stored.fresh)
	return stored, nil
}

// concernByEvents stores with which keys the events' visitors were seen, counts visitors and
// clicks, and finds the orders that the events concern.
func (a *application) concernByEvents(ctx context.Context, stored storedEvents) error {
	follows := stored.follows
	if err := a.tx.Events.WidenObservations(ctx, a.company, follows.observations); err != nil {
		return err
	}
	replacing, err := a.storeCopies(ctx, stored.again)
	if err != nil {
		return err
	}
	all := stored.fresh
	if len(replacing) > 0 {
		all = slices.Concat(stored.fresh, replacing)
		follows.shoppers, _ = a.index.Traffic(all) // a click that came again is counted already
		follows.concerned = a.index.ConcernedByEvents(all)
	}
	if err := countTraffic(ctx, a.tx.Traffic, a.company, follows.shoppers, follows.clicks); err != nil {
		return err
	}
	for i := range all {
		a.marked.Event(a.index, all[i].At, a.now)
	}
	if len(follows.concerned) == 0 {
		return nil
	}
	return a.concernByKeys(ctx, follows.concerned, false, facts.Cause{Kind: facts.CauseEvent, EventID: all[0].EventID})
}

// storeCopies compares events with the stored copies of their ids. Where the new
// copy is the one that counts, it replaces the stored one, and the observations of
// both copies' visitors and days are made anew. It returns the events that replaced
// a stored copy.
func (a *application) storeCopies(ctx context.Context, events []facts.Event) (replacing []facts.Event, err error) {
	stored, err := a.tx.Events.StoredCopies(ctx, a.company, events)
	if err != nil {
		return nil, err
	}
	days := map[facts.VisitorDay]bool{}
	for _, e := range events {
		old := stored[e.EventID]
		if !e.Copy().Before(old) {
			a.deliveries.Repeated(e.Digest(), old, e.ReceivedAt, a.sourceOf(&e))
			continue
		}
		a.deliveries.Replaced(old, &e, a.sourceOf(&e))
		a.marked.Event(a.index, old.At, a.now)
		replacing = append(replacing, e)
		for _, d := range append(old.Days(), e.Copy().Days()...) {
			days[d] = true
		}
	}
	if len(replacing) == 0 {
		return nil, nil
	}
	if err := a.tx.Events.ReplaceEvents(ctx, a.company, replacing); err != nil {
		return nil, err
	}
	list := facts.SortedDays(days)
	var lost []facts.Key
	for _, d := range list {
		keys, err := a.rebuildObservations(ctx, d)
		if err != nil {
			return nil, err
		}
		lost = append(lost, keys...)
	}
	// A day with more than maxEventsOfDay events is not made anew: it gets what the
	// new copies add.
	if err := a.tx.Events.WidenObservations(ctx, a.company, facts.Observations(replacing)); err != nil {
		return nil, err
	}
	return replacing, a.concernByKeys(ctx, a.index.ConcernedByReplacedCopies(list, lost, replacing), true,
		facts.Cause{Kind: facts.CauseCopy, EventID: replacing[0].EventID})
}

// rebuildObservations makes a visitor's observations of a day anew from its stored
// events, and returns the keys that it was seen with before. Where there are more
// than maxEventsOfDay events, nothing is removed and no key is returned.
func (a *application) rebuildObservations(ctx context.Context, d facts.VisitorDay) (was []facts.Key, err error) {
	events, err := a.tx.Events.EventsOfDay(ctx, a.company, d, maxEventsOfDay+1)
	if err != nil || len(events) > maxEventsOfDay {
		return nil, err
	}
	if was, err = a.tx.Events.DeleteObservations(ctx, a.company, d); err != nil {
		return nil, err
	}
	of := slices.DeleteFunc(facts.Observations(events), func(s facts.Observation) bool { return !d.Has(s) })
	return was, a.tx.Events.WidenObservations(ctx, a.company, of)
}

// storeProducts stores each product's newest version, and its variants.
func (a *application) storeProducts(ctx context.Context) error {
	newest := facts.NewestProducts(a.products)
	if len(newest) == 0 {
		return nil
	}
	return a.tx.Products.PutProducts(ctx, a.company, newest)
}

// storeOrders stores versions of orders, and the fold of each order's versions: the
// current order. It finds the orders that this concerns: those that changed, and
// those around which one of their keys became a hub, or ceased to be one.
func (a *application) storeOrders(ctx context.Context) error {
	if len(a.orders) == 0 {
		return nil
	}
	if err := a.withoutPerson(ctx); err != nil {
		return err
	}
	if err := a.tx.Orders.UpsertPersonal(ctx, a.company, facts.NewestPersonal(a.orders)); err != nil {
		return err
	}
	versions, known, err := a.storeVersions(ctx)
	if err != nil {
		return err
	}
	folded := make(map[string]facts.FoldedOrder, len(versions))
	for id, list := range versions {
		order := facts.Fold(list)
		folded[id] = facts.FoldedOrder{Order: order, Day: a.index.DayOf(order.CreatedAt), VersionAt: list[len(list)-1].At,
			ApprovedSince: facts.ApprovedSince(list), Only: facts.OnlyVersion(list)}
	}
	for id := range versions {
		if !known[id] {
			a.summed.counted[id] = rollup.Counted{} // nothing
		}
	}
	if err := a.summed.remember(ctx, a.ownOrders()); err != nil {
		return err
	}
	changed, err := a.tx.Orders.UpsertOrders(ctx, a.company, a.now, slices.Collect(maps.Values(folded)))
	if err != nil || len(changed) == 0 {
		return err
	}
	var keys []facts.OrderKey
	for _, id := range changed {
		order := folded[id]
		a.addConcerned([]string{id}, facts.Cause{Kind: facts.CauseOrder, At: order.VersionAt})
		a.changed[id] = true
		keys = append(keys, attribution.KeysOfOrder(&order.Order)...)
	}
	keyed := slices.DeleteFunc(slices.Clone(changed), func(id string) bool { return !known[id] }) // a new order has no keys yet
	was, err := a.tx.Orders.ReplaceKeys(ctx, a.company, keyed, facts.OrderKinds, keys)
	if err != nil {
		return err
	}
	around, err := a.concernByHubs(ctx, changed, a.index.HubCandidates(was, keys))
	if err != nil {
		return err
	}
	following, err := a.followingOrders(ctx, slices.Concat(was, keys))
	if err != nil {
		return err
	}
	ids := slices.Concat(changed, around, following)
	if a.factsOnly { // those that are queued below have it done when they are computed
		ids = slices.DeleteFunc(ids, func(id string) bool { _, queued := a.concerned[id]; return queued })
	}
	return a.inferFirstOrders(ctx, ids)
}

// storeVersions stores the batch's versions of orders, and returns all versions of these
// orders by order id. known are the orders that were stored before.
func (a *application) storeVersions(ctx context.Context) (versions map[string][]facts.StoredVersion, known map[string]bool, err error) {
	versions, err = a.tx.Orders.Versions(ctx, a.company, a.ownOrders())
	if err != nil {
		return nil, nil, err
	}
	known = make(map[string]bool, len(versions))
	for id := range versions {
		known[id] = true
	}
	came := map[string][]facts.OrderVersion{}
	for _, v := range a.orders {
		came[v.OrderID] = append(came[v.OrderID], v)
	}
	for id, list := range came {
		before := versions[id]
		versions[id] = facts.AddVersions(before, list)
		a.marked.Order(a.index, before, versions[id], a.now)
	}
	return versions, known, a.tx.Orders.PutVersions(ctx, a.company, versions)
}

// ownOrders returns the ids of the orders in the batch, each once, sorted.
func (a *application) ownOrders() []string {
	ids := make([]string, len(a.orders))
	for i, v := range a.orders {
		ids[i] = v.OrderID
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// storeDecisions stores what the merchant decided about the evidence for orders. The
// orders that this concerns are those of the decisions.
func (a *application) storeDecisions(ctx context.Context) error {
	if len(a.decisions) == 0 {
		return nil
	}
	ids, err := a.tx.Orders.InsertDecisions(ctx, a.company, a.decisions)
	if err != nil {
		return err
	}
	for _, d := range a.decisions {
		if slices.Contains(ids, d.OrderID) {
			a.addConcerned([]string{d.OrderID}, facts.Cause{Kind: facts.CauseEvidence, Rev: d.Rev})
		}
	}
	return nil
}
