package processor

// This file erases persons (docs/security.md, "Erasure of a person").

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/upkeep/delivery"
)

// Bounds of one transaction of an erasure; the numbers were chosen, not measured.
const (
	erasedOrders   = 50    // orders that are found or erased
	erasedVersions = 2000  // orders whose earlier versions are looked at
	erasedVisitors = 100   // visitors that are found
	erasedEvents   = 1000  // events of a visitor that are looked at
	unreadEvents   = 20000 // events that are looked at whether they have a visitor
)

// eraseNext goes on with the company's first erasure that is not done, and reports whether
// there is one. It is called when the orders that waited since it was asked for are computed,
// so that outcomes are what the facts said then. Where something is left to do, the company stays queued.
func (a *application) eraseNext(ctx context.Context) (found bool, err error) {
	e, err := a.tx.NextErasure(ctx, a.company)
	if err != nil || e == nil {
		return false, err
	}
	var orders, events int
	switch e.Phase {
	case facts.EraseFindOrders:
		err = a.findErasedOrders(ctx, e)
	case facts.EraseFindVersions:
		err = a.findErasedVersions(ctx, e)
	case facts.EraseFindVisitors:
		err = a.findErasedVisitors(ctx, e)
	case facts.EraseSealOrders:
		err = a.sealAround(ctx, e)
	case facts.EraseVisitors:
		events, err = a.eraseVisitor(ctx, e)
	case facts.EraseUnread:
		events, err = a.eraseUnread(ctx, e)
	case facts.EraseOrders:
		orders, err = a.eraseOrders(ctx, e)
	default:
		err = fmt.Errorf("phase %d is not known: a newer version of the program wrote it", e.Phase)
	}
	if err == nil {
		err = a.tx.MoveErasure(ctx, a.company, e, orders, events)
	}
	if err != nil {
		return true, fmt.Errorf("erasure %s: %w", e.ErasureID, err)
	}
	a.done.erased.Orders, a.done.erased.Events = a.done.erased.Orders+orders, a.done.erased.Events+events
	return true, a.tx.QueueCompany(ctx, a.company)
}

// erased counts what erasures have done.
type erased struct{ Orders, Events int }

// next moves an erasure to a phase.
func next(e *facts.Erasure, phase facts.ErasurePhase) { e.Phase, e.After = phase, facts.EventCursor{} }

// findErasedOrders finds the person's orders by their keys.
func (a *application) findErasedOrders(ctx context.Context, e *facts.Erasure) error {
	n, err := a.tx.FindErasedOrders(ctx, a.company, e, erasedOrders)
	if err == nil && n < erasedOrders {
		next(e, facts.EraseFindVersions)
	}
	return err
}

// findErasedVersions finds orders that had the person's keys in an earlier version, and then by what
// else its orders name the person. From then on events with these keys are not stored any
// more.
func (a *application) findErasedVersions(ctx context.Context, e *facts.Erasure) error {
	keys, err := a.tx.ErasureKeys(ctx, a.company, e)
	if err != nil {
		return err
	}
	last, looked, err := a.tx.FindErasedVersions(ctx, a.company, e, keys, erasedVersions)
	if err != nil {
		return err
	}
	if e.OrderID = last; looked == erasedVersions {
		return nil
	}
	// Orders that have come since they were looked for. Those that come later are known by
	// the digests that are stored below.
	if n, err := a.tx.FindErasedOrders(ctx, a.company, e, erasedOrders); err != nil || n == erasedOrders {
		return err
	}
	e.OrderID = ""
	if err := a.tx.AddKeysOfOrders(ctx, a.company, e); err != nil {
		return err
	}
	next(e, facts.EraseFindVisitors)
	return a.refuseErased(ctx, e, nil)
}

// refuseErased lets no event with the person's keys, or of a visitor who is the person, be
// stored any more.
func (a *application) refuseErased(ctx context.Context, e *facts.Erasure, visitors []facts.ErasedVisitor) error {
	keys, err := a.tx.ErasureKeys(ctx, a.company, e)
	if err != nil {
		return err
	}
	for _, v := range visitors {
		if v.Wholly {
			keys = append(keys, facts.VisitorKey(v.ID), facts.Key{Kind: facts.KeyCookie, Value: v.ID})
		}
	}
	// A browser's id that is an order's key may be a device's that many people use.
	return a.tx.AddErasedKeys(ctx, a.company, e.AskedAt, slices.DeleteFunc(keys, func(k facts.Key) bool {
		return k.Kind == facts.KeyNetwork || k.Kind == facts.KeyUser || isPartly(k, visitors)
	}))
}

// isPartly reports whether a key is the id of a visitor who is not the person alone.
func isPartly(k facts.Key, visitors []facts.ErasedVisitor) bool {
	return (k.Kind == facts.KeyVisitor || k.Kind == facts.KeyCookie) &&
		slices.ContainsFunc(visitors, func(v facts.ErasedVisitor) bool { return v.ID == k.Value && !v.Wholly })
}

// findErasedVisitors finds visitors that were seen with the person's keys. One whose id is
// a secret and who is not a hub is the person wholly.
func (a *application) findErasedVisitors(ctx context.Context, e *facts.Erasure) error {
	list, err := a.tx.FindErasedVisitors(ctx, a.company, e, erasedVisitors)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		next(e, facts.EraseSealOrders)
		return nil
	}
	for i := range list {
		list[i].Wholly = attribution.IsOnePerson(list[i])
	}
	if err := a.tx.AddErasedVisitors(ctx, a.company, e, list); err != nil {
		return err
	}
	return a.refuseErased(ctx, e, list)
}

// sealAround seals the orders whose evidence is about to be removed.
func (a *application) sealAround(ctx context.Context, e *facts.Erasure) error {
	list, err := a.tx.OrdersToSeal(ctx, a.company, e, ordersPerStep)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		next(e, facts.EraseVisitors)
		return nil
	}
	_, err = a.seal(ctx, list) // the others come next
	return err
}

// eraseVisitor removes the next events of one of the person's visitors, and at their end its
// sightings. It returns how many events.
func (a *application) eraseVisitor(ctx context.Context, e *facts.Erasure) (events int, err error) {
	v, found, err := a.tx.NextErasedVisitor(ctx, a.company, e)
	if err != nil {
		return 0, err
	}
	if !found {
		next(e, facts.EraseUnread)
		return 0, nil
	}
	list, err := a.tx.EventsUntil(ctx, a.company, v.ID, e.After, e.AskedAt, erasedEvents)
	if err != nil {
		return 0, err
	}
	if full := len(list) == erasedEvents; full {
		e.After = facts.EventCursor{At: list[len(list)-1].At, ID: list[len(list)-1].ID}
	}
	gone := list
	if !v.Wholly {
		if gone, err = a.erasedOf(ctx, list); err != nil {
			return 0, err
		}
	}
	// Orders that came after the erasure was asked for are not sealed.
	if err := a.addQueued(a.tx.QueueHubs(ctx, a.company, v.ID, facts.Cause{Kind: facts.CauseSeal})); err != nil {
		return 0, err
	}
	if err := a.tx.DeleteEvents(ctx, a.company, gone); err != nil {
		return 0, err
	}
	if !v.Wholly {
		if err := a.rebuildDays(ctx, gone); err != nil {
			return 0, err
		}
	}
	if len(list) == erasedEvents {
		return len(gone), nil
	}
	e.After = facts.EventCursor{}
	return len(gone), a.endVisitor(ctx, e, v)
}

// rebuildDays makes the sightings of removed events' days anew.
func (a *application) rebuildDays(ctx context.Context, gone []facts.Event) error {
	days := map[facts.VisitorDay]bool{}
	for i := range gone {
		for _, d := range gone[i].Copy().Days() {
			days[d] = true
		}
	}
	for _, d := range sortedDays(days) {
		if _, err := a.rebuildSightings(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// endVisitor removes the sightings of a visitor whose events are removed. Those of the day
// and the hour in which the erasure was asked for are made anew: events may have come since.
func (a *application) endVisitor(ctx context.Context, e *facts.Erasure, v facts.ErasedVisitor) error {
	if err := a.tx.EraseSightings(ctx, a.company, e, v); err != nil {
		return err
	}
	for _, d := range []facts.VisitorDay{{Visitor: v.ID, Day: facts.DayOf(e.AskedAt)}, {Visitor: v.ID, Day: facts.HourOf(e.AskedAt), Hour: true}} {
		if _, err := a.rebuildSightings(ctx, d); err != nil {
			return err
		}
	}
	if v.Wholly {
		if err := a.tx.EraseShopper(ctx, a.company, v.ID, e.Visitor(v.ID)); err != nil {
			return err
		}
	}
	return a.tx.VisitorErased(ctx, a.company, e, v.ID)
}

// eraseUnread removes the person's events that no visitor has, and bots' that name the
// person: no sighting leads to them, so all events are looked at. Then orders that came
// after the erasure was asked for are computed without what was removed.
func (a *application) eraseUnread(ctx context.Context, e *facts.Erasure) (events int, err error) {
	list, last, looked, err := a.tx.UnreadEvents(ctx, a.company, e.After.ID, unreadEvents)
	if err != nil {
		return 0, err
	}
	gone, err := a.erasedOf(ctx, list)
	if err != nil {
		return 0, err
	}
	if err := a.tx.DeleteEvents(ctx, a.company, gone); err != nil {
		return 0, err
	}
	if e.After.ID = last; looked == unreadEvents {
		return len(gone), nil
	}
	next(e, facts.EraseOrders)
	return len(gone), a.addQueued(a.tx.QueueAround(ctx, a.company, e, facts.Cause{Kind: facts.CauseSeal}))
}

// dated are the keys that a fact has of its person, and when it was.
type dated struct {
	keys []facts.Key
	at   time.Time
}

// erasedSince tells of facts by their places when their persons were erased, of those that
// are from before it.
func (a *application) erasedSince(ctx context.Context, list []dated) (map[int]time.Time, error) {
	digests := make([][][]byte, len(list))
	var all [][]byte
	for i, d := range list {
		for _, k := range d.keys {
			digests[i] = append(digests[i], facts.ErasedDigest(a.company, k))
		}
		all = append(all, digests[i]...)
	}
	if len(all) == 0 {
		return nil, nil
	}
	until, err := a.tx.ErasedUntil(ctx, a.company, all)
	if err != nil || len(until) == 0 {
		return nil, err
	}
	since := map[int]time.Time{}
	for i, d := range list {
		for _, digest := range digests[i] {
			if at, erased := until[string(digest)]; erased && !d.at.After(at) {
				since[i] = at
				break
			}
		}
	}
	return since, nil
}

// erasedOf returns those of the events that are an erased person's from before the erasure.
func (a *application) erasedOf(ctx context.Context, events []facts.Event) (list []facts.Event, err error) {
	all := make([]dated, len(events))
	for i := range events {
		all[i] = dated{events[i].ErasureKeys(), events[i].At}
	}
	since, err := a.erasedSince(ctx, all)
	for _, i := range slices.Sorted(maps.Keys(since)) {
		list = append(list, events[i])
	}
	return list, err
}

// leaveErased leaves out events that an erasure has removed or would have: they come again
// from Kafka, from an edge's spool or from an import.
func (a *application) leaveErased(ctx context.Context) error {
	if !a.index.HasErasures() {
		return nil
	}
	gone, err := a.erasedOf(ctx, a.events)
	if err != nil || len(gone) == 0 {
		return err
	}
	a.ready = nil // it has events that are left out
	left := map[string]bool{}
	for i := range gone {
		left[gone[i].EventID] = true
		a.deliveries.AddOnce(delivery.RejectedEvent("erased", &gone[i], codeErased))
	}
	a.events = slices.DeleteFunc(slices.Clone(a.events), func(e facts.Event) bool { return left[e.EventID] })
	return nil
}

// withoutPerson replaces the keys of versions of erased orders, which come again or have
// changed since, and of versions that were accepted before their person was erased and come
// after it. An order that an erasure is to come to stays as it is until then: its evidence is
// kept first.
func (a *application) withoutPerson(ctx context.Context) error {
	if !a.index.HasErasures() {
		return nil
	}
	late, err := a.lateOrders(ctx)
	if err != nil {
		return err
	}
	erased, err := a.tx.ErasedOrders(ctx, a.company, a.ownOrders())
	if err != nil || len(erased)+len(late) == 0 {
		return err
	}
	a.orders = slices.Clone(a.orders)
	for i, v := range a.orders {
		s, found := erased[v.OrderID]
		_, isLate := late[i]
		switch {
		case s != nil:
			a.orders[i] = v.Erased(s)
		case !found && isLate:
			a.orders[i] = v.Erased(&facts.Surrogates{})
		}
	}
	return nil
}

// lateOrders returns the places of versions of orders that name a person and were accepted
// before the person was erased, and when that was: they were on their way to Kafka meanwhile. An order that is new
// is erased from now on, with nothing in place of its keys.
func (a *application) lateOrders(ctx context.Context) (late map[int]time.Time, err error) {
	all := make([]dated, len(a.orders))
	for i := range a.orders {
		all[i] = dated{facts.PersonKeys(&a.orders[i].Order), a.orders[i].AcceptedAt}
	}
	late, err = a.erasedSince(ctx, all)
	if err != nil || len(late) == 0 {
		return nil, err
	}
	var orders []facts.LateOrder
	for _, i := range slices.Sorted(maps.Keys(late)) {
		orders = append(orders, facts.LateOrder{OrderID: a.orders[i].OrderID, ErasedAt: late[i]})
	}
	return late, a.tx.EraseLate(ctx, a.company, orders)
}

// eraseOrders removes what the next of the person's orders have of the person. It returns
// how many.
func (a *application) eraseOrders(ctx context.Context, e *facts.Erasure) (orders int, err error) {
	ids, err := a.tx.OrdersToErase(ctx, a.company, e, erasedOrders)
	if err != nil {
		return 0, err
	}
	if len(ids) == 0 {
		a.done.erasures++
		return 0, a.tx.EndErasure(ctx, a.company, e, a.now)
	}
	versions, err := a.tx.Versions(ctx, a.company, ids)
	if err != nil {
		return 0, err
	}
	was := make(map[string]facts.FoldedOrder, len(versions))
	for id, list := range versions {
		was[id] = facts.FoldedOrder{Order: facts.Fold(list), VersionAt: list[len(list)-1].At, ApprovedSince: facts.ApprovedSince(list), Only: facts.OnlyVersion(list)}
		for i := range list {
			e.Erase(&list[i].Order)
		}
	}
	if err := a.keepAround(ctx, e, ids, was); err != nil {
		return 0, err
	}
	if err := a.remember(ctx, ids); err != nil {
		return 0, err
	}
	if err := a.tx.EraseVersions(ctx, a.company, versions); err != nil {
		return 0, err
	}
	var folded []facts.FoldedOrder
	var keys []facts.OrderKey
	for _, id := range ids {
		order := was[id].Order
		surrogates := e.Erase(&order)
		o := was[id]
		o.Order, o.Day = order, a.index.DayOf(order.CreatedAt)
		folded, keys = append(folded, o), append(keys, attribution.KeysOfOrder(&order)...)
		if err := a.tx.OrderErased(ctx, a.company, id, surrogates); err != nil {
			return 0, err
		}
	}
	if _, err := a.tx.UpsertOrders(ctx, a.company, a.now, folded); err != nil {
		return 0, err
	}
	_, err = a.tx.ReplaceKeys(ctx, a.company, ids, attribution.OrderKinds, keys)
	return len(ids), err
}

// keepAround keeps what follows from the keys that orders are about to lose: whether they
// and the orders after them are first, and the evidence of orders around which a key with
// many orders would be no hub any more.
func (a *application) keepAround(ctx context.Context, e *facts.Erasure, ids []string, orders map[string]facts.FoldedOrder) error {
	var was, now []facts.OrderKey
	for _, id := range ids {
		order := orders[id].Order
		was = append(was, attribution.KeysOfOrder(&order)...)
		e.Erase(&order)
		now = append(now, attribution.KeysOfOrder(&order)...)
	}
	firstKeys := slices.DeleteFunc(slices.Clone(was), func(k facts.OrderKey) bool { return !slices.Contains(attribution.FirstOrderKinds, k.Kind) })
	following, err := a.tx.OrdersFollowing(ctx, a.company, firstKeys, mostFollowing)
	if err != nil {
		return err
	}
	if err := a.computeWaiting(ctx, slices.Concat(ids, following)); err != nil {
		return err
	}
	if err := a.tx.SealFirsts(ctx, a.company, slices.Concat(ids, following)); err != nil {
		return err
	}
	after, around := a.index.Limits().SightingsAfter, map[string]bool{}
	lost := a.index.HubCandidates(was, now)
	for _, window := range a.index.Windows() {
		found, err := a.tx.OrdersOfChangedKeys(ctx, a.company, ids, lost, window, after, maxOrders)
		if err != nil {
			return err
		}
		for _, id := range found {
			around[id] = true
		}
	}
	for chunk := range slices.Chunk(slices.Sorted(maps.Keys(around)), sealsPerStep) {
		if err := a.sealOrders(ctx, chunk); err != nil {
			return err
		}
	}
	return nil
}

// mostFollowing bounds the orders between a person's order and the next approved one with
// the same key.
const mostFollowing = 10_000

// sortedDays returns days in a fixed order.
func sortedDays(days map[facts.VisitorDay]bool) []facts.VisitorDay {
	return slices.SortedFunc(maps.Keys(days), func(x, y facts.VisitorDay) int {
		return cmp.Or(cmp.Compare(x.Visitor, y.Visitor), x.Day.Compare(y.Day), cmp.Compare(fmt.Sprint(x.Hour), fmt.Sprint(y.Hour)))
	})
}
