package erasure

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
)

// dated are the keys that a fact has of its person, and when it was.
type dated struct {
	keys []facts.Key
	at   time.Time
}

// erasedSince tells of facts by their places when their persons were erased, of those that
// are from before it.
func erasedSince(ctx context.Context, known Known, companyID string, list []dated) (map[int]time.Time, error) {
	digests := make([][][]byte, len(list))
	var all [][]byte
	for i, d := range list {
		for _, k := range d.keys {
			digests[i] = append(digests[i], facts.ErasedDigest(companyID, k))
		}
		all = append(all, digests[i]...)
	}
	if len(all) == 0 {
		return nil, nil
	}
	until, err := known.ErasedUntil(ctx, companyID, all)
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

// EventsOf returns those of the events that are an erased person's from before the erasure.
func EventsOf(ctx context.Context, known Known, companyID string, events []facts.Event) (list []facts.Event, err error) {
	all := make([]dated, len(events))
	for i := range events {
		all[i] = dated{events[i].ErasureKeys(), events[i].At}
	}
	since, err := erasedSince(ctx, known, companyID, all)
	for _, i := range slices.Sorted(maps.Keys(since)) {
		list = append(list, events[i])
	}
	return list, err
}

// WithoutPerson returns versions of orders with the keys replaced of those of erased orders, which
// come again or have changed since, and of those that were accepted before their person was erased
// and come after it. An order that an erasure is to come to stays as it is until then: its evidence
// is kept first.
func WithoutPerson(ctx context.Context, known Known, companyID string, orders []facts.OrderVersion) ([]facts.OrderVersion, error) {
	late, err := lateOrders(ctx, known, companyID, orders)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(orders))
	for i := range orders {
		ids[i] = orders[i].OrderID
	}
	slices.Sort(ids)
	erased, err := known.ErasedOrders(ctx, companyID, slices.Compact(ids))
	if err != nil || len(erased)+len(late) == 0 {
		return orders, err
	}
	orders = slices.Clone(orders)
	for i, v := range orders {
		s, found := erased[v.OrderID]
		_, isLate := late[i]
		switch {
		case s != nil:
			orders[i] = v.Erased(s)
		case !found && isLate:
			orders[i] = v.Erased(&facts.Surrogates{})
		}
	}
	return orders, nil
}

// lateOrders returns the places of versions of orders that name a person and were accepted
// before the person was erased, and when that was: they were on their way to Kafka meanwhile. An
// order that is new is erased from now on, with nothing in place of its keys.
func lateOrders(ctx context.Context, known Known, companyID string, orders []facts.OrderVersion) (late map[int]time.Time, err error) {
	all := make([]dated, len(orders))
	for i := range orders {
		all[i] = dated{facts.PersonKeys(&orders[i].Order), orders[i].AcceptedAt}
	}
	late, err = erasedSince(ctx, known, companyID, all)
	if err != nil || len(late) == 0 {
		return nil, err
	}
	var list []LateOrder
	for _, i := range slices.Sorted(maps.Keys(late)) {
		list = append(list, LateOrder{OrderID: orders[i].OrderID, ErasedAt: late[i]})
	}
	return late, known.EraseLate(ctx, companyID, list)
}
