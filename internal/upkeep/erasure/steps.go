package erasure

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/facts"
)

// Bounds of one transaction of an erasure; the numbers were chosen, not measured.
const (
	erasedOrders   = 50    // orders that are found or erased
	erasedVersions = 2000  // orders whose earlier versions are looked at
	erasedVisitors = 100   // visitors that are found
	erasedEvents   = 1000  // events of a visitor that are looked at
	ordersToFind   = 100   // orders that are looked for to be snapshotted
	aroundOrders   = 1000  // orders around those that are erased, of each window
	unreadEvents   = 20000 // events that are looked at whether they have a visitor
)

// Done is what one step of an erasure did.
type Done struct {
	Found          bool // there was an erasure that is not done
	Orders, Events int  // of the person: what they had of the person is removed
	Queued         int  // orders to be computed again
	Ended          bool // the erasure is done
}

// Next does the next step of the company's first erasure that is not done. It is called when the
// orders that waited since the erasure was asked for are computed, so that outcomes are what the
// facts said then.
func (t *Turn) Next(ctx context.Context) (done Done, err error) {
	e, err := t.NextErasure(ctx, t.Company)
	if err != nil || e == nil {
		return done, err
	}
	if done, err = t.step(ctx, e); err == nil {
		err = t.MoveErasure(ctx, t.Company, e, done.Orders, done.Events)
	}
	if done.Found = true; err != nil {
		return done, fmt.Errorf("erasure %s: %w", e.ErasureID, err)
	}
	return done, nil
}

// step does the next step of an erasure, and moves it to what comes then.
func (t *Turn) step(ctx context.Context, e *Erasure) (Done, error) {
	switch e.Phase {
	case facts.EraseFindOrders:
		return Done{}, t.findOrders(ctx, e)
	case facts.EraseFindVersions:
		return Done{}, t.findVersions(ctx, e)
	case facts.EraseFindVisitors:
		return Done{}, t.findVisitors(ctx, e)
	case facts.EraseSnapshotOrders:
		return Done{}, t.snapshotAround(ctx, e)
	case facts.EraseVisitors:
		return t.eraseVisitor(ctx, e)
	case facts.EraseUnread:
		return t.eraseUnread(ctx, e)
	case facts.EraseOrders:
		return t.eraseOrders(ctx, e)
	}
	return Done{}, fmt.Errorf("phase %d is not known: a newer version of the program wrote it", e.Phase)
}

// findOrders finds the person's orders by their keys.
func (t *Turn) findOrders(ctx context.Context, e *Erasure) error {
	n, err := t.FindErasedOrders(ctx, t.Company, e, erasedOrders)
	if err == nil && n < erasedOrders {
		e.next(facts.EraseFindVersions)
	}
	return err
}

// findVersions finds orders that had the person's keys in an earlier version, and then by what
// else its orders name the person. From then on events with these keys are not stored any
// more.
func (t *Turn) findVersions(ctx context.Context, e *Erasure) error {
	keys, err := t.ErasureKeys(ctx, t.Company, e)
	if err != nil {
		return err
	}
	last, looked := "", 0
	if len(keys) > 0 { // none: its orders are known by the shop that they came from
		if last, looked, err = t.FindErasedVersions(ctx, t.Company, e, keys, erasedVersions); err != nil {
			return err
		}
	}
	if e.OrderID = last; looked == erasedVersions {
		return nil
	}
	// Orders that have come since they were looked for. Those that come later are known by
	// the digests that are stored below.
	if n, err := t.FindErasedOrders(ctx, t.Company, e, erasedOrders); err != nil || n == erasedOrders {
		return err
	}
	e.OrderID = ""
	if err := t.AddKeysOfOrders(ctx, t.Company, e); err != nil {
		return err
	}
	e.next(facts.EraseFindVisitors)
	return t.refuseErased(ctx, e, nil)
}

// refuseErased lets no event with the person's keys, or of a visitor who is the person, be
// stored any more.
func (t *Turn) refuseErased(ctx context.Context, e *Erasure, visitors []Visitor) error {
	keys, err := t.ErasureKeys(ctx, t.Company, e)
	if err != nil {
		return err
	}
	for _, v := range visitors {
		if v.Wholly {
			keys = append(keys, facts.VisitorKey(v.ID), facts.Key{Kind: facts.KeyCookie, Value: v.ID})
		}
	}
	// A browser's id that is an order's key may be a device's that many people use.
	return t.AddErasedKeys(ctx, t.Company, e.AskedAt, slices.DeleteFunc(keys, func(k facts.Key) bool {
		return k.Kind == facts.KeyNetwork || k.Kind == facts.KeyUser || isPartly(k, visitors)
	}))
}

// isPartly reports whether a key is the id of a visitor who is not the person alone.
func isPartly(k facts.Key, visitors []Visitor) bool {
	return (k.Kind == facts.KeyVisitor || k.Kind == facts.KeyCookie) &&
		slices.ContainsFunc(visitors, func(v Visitor) bool { return v.ID == k.Value && !v.Wholly })
}

// findVisitors finds visitors that were seen with the person's keys. One whose id is
// a secret and who is not a hub is the person wholly.
func (t *Turn) findVisitors(ctx context.Context, e *Erasure) error {
	list, err := t.FindErasedVisitors(ctx, t.Company, e, erasedVisitors)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		e.next(facts.EraseSnapshotOrders)
		return nil
	}
	for i := range list {
		list[i].Wholly = attribution.IsOnePerson(list[i].ID, list[i].Identities)
	}
	if err := t.AddErasedVisitors(ctx, t.Company, e, list); err != nil {
		return err
	}
	return t.refuseErased(ctx, e, list)
}

// snapshotAround snapshots the orders whose evidence is about to be removed.
func (t *Turn) snapshotAround(ctx context.Context, e *Erasure) error {
	list, err := t.OrdersToSnapshot(ctx, t.Company, e, ordersToFind)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		e.next(facts.EraseVisitors)
		return nil
	}
	_, err = t.Snapshot(ctx, list) // the others come next
	return err
}

// eraseVisitor removes the next events of one of the person's visitors, and at their end its
// observations.
func (t *Turn) eraseVisitor(ctx context.Context, e *Erasure) (done Done, err error) {
	v, found, err := t.NextErasedVisitor(ctx, t.Company, e)
	if err != nil {
		return done, err
	}
	if !found {
		e.next(facts.EraseUnread)
		return done, nil
	}
	list, err := t.EventsUntil(ctx, t.Company, v.ID, e.After, e.AskedAt, erasedEvents)
	if err != nil {
		return done, err
	}
	full := len(list) == erasedEvents
	if full {
		e.After = Cursor{At: list[len(list)-1].At, ID: list[len(list)-1].ID}
	}
	gone := list
	if !v.Wholly {
		if gone, err = EventsOf(ctx, t.Known, t.Company, list); err != nil {
			return done, err
		}
	}
	done.Events = len(gone)
	// Orders that came after the erasure was asked for are not snapshotted.
	if done.Queued, err = t.QueueHubs(ctx, t.Company, v.ID, facts.Cause{Kind: facts.CauseSnapshot}); err != nil {
		return done, err
	}
	if err := t.DeleteEvents(ctx, t.Company, gone); err != nil {
		return done, err
	}
	if !v.Wholly {
		if err := t.rebuildDays(ctx, gone); err != nil {
			return done, err
		}
	}
	if full {
		return done, nil
	}
	e.After = Cursor{}
	return done, t.endVisitor(ctx, e, v)
}

// rebuildDays makes the observations of removed events' days anew.
func (t *Turn) rebuildDays(ctx context.Context, gone []facts.Event) error {
	days := map[facts.VisitorDay]bool{}
	for i := range gone {
		for _, d := range gone[i].Copy().Days() {
			days[d] = true
		}
	}
	for _, d := range facts.SortedDays(days) {
		if _, err := t.RebuildObservations(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// endVisitor removes the observations of a visitor whose events are removed. Those of the day
// and the hour in which the erasure was asked for are made anew: events may have come since.
func (t *Turn) endVisitor(ctx context.Context, e *Erasure, v Visitor) error {
	if err := t.EraseObservations(ctx, t.Company, e, v); err != nil {
		return err
	}
	for _, d := range []facts.VisitorDay{
		{Visitor: v.ID, Day: facts.DayOf(e.AskedAt)}, {Visitor: v.ID, Day: facts.HourOf(e.AskedAt), Hour: true},
	} {
		if _, err := t.RebuildObservations(ctx, d); err != nil {
			return err
		}
	}
	if v.Wholly {
		if err := t.EraseShopper(ctx, t.Company, v.ID, e.Salt.Visitor(v.ID)); err != nil {
			return err
		}
	}
	return t.VisitorErased(ctx, t.Company, e, v.ID)
}

// eraseUnread removes the person's events that no visitor has, and bots' that name the
// person: no observation leads to them, so all events are looked at. Then orders that came
// after the erasure was asked for are computed without what was removed. Of a shop's erasures the last
// looks at the events for all of them.
func (t *Turn) eraseUnread(ctx context.Context, e *Erasure) (done Done, err error) {
	if !e.LaterLooks {
		list, last, looked, err := t.UnreadEvents(ctx, t.Company, e.After.ID, unreadEvents)
		if err != nil {
			return done, err
		}
		gone, err := EventsOf(ctx, t.Known, t.Company, list)
		if err != nil {
			return done, err
		}
		done.Events = len(gone)
		if err := t.DeleteEvents(ctx, t.Company, gone); err != nil {
			return done, err
		}
		if e.After.ID = last; looked == unreadEvents {
			return done, nil
		}
	}
	e.next(facts.EraseOrders)
	done.Queued, err = t.QueueAround(ctx, t.Company, e, facts.Cause{Kind: facts.CauseSnapshot})
	return done, err
}

// eraseOrders removes what the next of the person's orders have of the person.
func (t *Turn) eraseOrders(ctx context.Context, e *Erasure) (done Done, err error) {
	ids, err := t.OrdersToErase(ctx, t.Company, e, erasedOrders)
	if err != nil {
		return done, err
	}
	if len(ids) == 0 {
		done.Ended = true
		return done, t.EndErasure(ctx, t.Company, e, t.Now)
	}
	versions, err := t.Orders.Versions(ctx, t.Company, ids)
	if err != nil {
		return done, err
	}
	was := make(map[string]facts.FoldedOrder, len(versions))
	for id, list := range versions {
		was[id] = facts.FoldedOrder{
			Order: facts.Fold(list), VersionAt: list[len(list)-1].At, ApprovedSince: facts.ApprovedSince(list), Only: facts.OnlyVersion(list),
		}
		for i := range list {
			e.Salt.Erase(&list[i].Order)
		}
	}
	if err := t.keepAround(ctx, e, ids, was); err != nil {
		return done, err
	}
	if err := t.KeepSelfPurchases(ctx, t.Company, ids); err != nil {
		return done, err
	}
	if err := t.Remember(ctx, ids); err != nil {
		return done, err
	}
	if err := t.EraseVersions(ctx, t.Company, versions); err != nil {
		return done, err
	}
	var folded []facts.FoldedOrder
	var keys []facts.OrderKey
	for _, id := range ids {
		order := was[id].Order
		surrogates := e.Salt.Erase(&order)
		o := was[id]
		o.Order, o.Day = order, t.Index.DayOf(order.CreatedAt)
		folded, keys = append(folded, o), append(keys, attribution.KeysOfOrder(&order)...)
		if err := t.OrderErased(ctx, t.Company, id, surrogates); err != nil {
			return done, err
		}
	}
	if _, err := t.Orders.UpsertOrders(ctx, t.Company, t.Now, folded); err != nil {
		return done, err
	}
	_, err = t.Orders.ReplaceKeys(ctx, t.Company, ids, facts.OrderKinds, keys)
	done.Orders = len(ids)
	return done, err
}

// keepAround keeps what follows from the keys that orders are about to lose: whether they
// and the orders after them are first, and the evidence of orders around which a key with
// many orders would be no hub any more.
func (t *Turn) keepAround(ctx context.Context, e *Erasure, ids []string, orders map[string]facts.FoldedOrder) error {
	var was, now []facts.OrderKey
	for _, id := range ids {
		order := orders[id].Order
		was = append(was, attribution.KeysOfOrder(&order)...)
		e.Salt.Erase(&order)
		now = append(now, attribution.KeysOfOrder(&order)...)
	}
	firstKeys := slices.DeleteFunc(slices.Clone(was), func(k facts.OrderKey) bool {
		return !slices.Contains(facts.BuyerKinds, k.Kind)
	})
	following, err := t.Orders.OrdersFollowing(ctx, t.Company, firstKeys, mostFollowing)
	if err != nil {
		return err
	}
	if err := t.ComputeWaiting(ctx, slices.Concat(ids, following)); err != nil {
		return err
	}
	if err := t.KeepFirsts(ctx, t.Company, slices.Concat(ids, following)); err != nil {
		return err
	}
	after, around := t.Index.Limits().ObservationsAfter, map[string]bool{}
	lost := t.Index.HubCandidates(was, now)
	for _, window := range t.Index.Windows() {
		found, err := t.Orders.OrdersOfChangedKeys(ctx, t.Company, ids, lost, window, after, aroundOrders)
		if err != nil {
			return err
		}
		for _, id := range found {
			around[id] = true
		}
	}
	return t.SnapshotAll(ctx, slices.Sorted(maps.Keys(around)))
}

// mostFollowing bounds the orders between a person's order and the next approved one with
// the same key.
const mostFollowing = 10_000
