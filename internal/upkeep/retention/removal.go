package retention

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/facts"
)

// sinceMargin is how much longer ago than the last removal's begin a change of an order may
// be and is looked at again: clocks of machines differ.
const sinceMargin = time.Hour

// Removal is the removal of a company's events from before an instant.
type Removal struct {
	company string
	began   time.Time
	from    time.Time    // events before it are removed: a UTC day's beginning
	spans   []facts.Span // of orders that read events from before it
	since   time.Time    // of the other orders, those that have changed since then may need a snapshot
	cursor  cursor
	chunk   int // events that one transaction removes
}

// New returns the removal that a company needs at an instant, by its rules and how far the one
// before has come, and nil where it keeps its events. One transaction removes chunk events at
// most, and snapshots a twentieth as many orders.
func New(index *attribution.Index, was Progress, now time.Time, chunk int) *Removal {
	from := index.RetainFrom(now)
	if from.IsZero() {
		return nil
	}
	r := &Removal{company: was.CompanyID, began: now, from: from, spans: index.Reading(from), since: now, chunk: chunk}
	if !was.DoneAt.IsZero() && !from.Before(was.Until) { // all orders up to then are snapshotted but those that came later
		first := index.AllReading(was.Until).AddDate(0, 0, -2) // a store's day may end after UTC's
		r.since = was.DoneAt
		r.cursor.order = facts.SnapshotCandidate{Day: first.Format(time.DateOnly), CreatedAt: first}
	}
	r.since = r.since.Add(-sinceMargin)
	return r
}

// From returns the instant before which events are removed.
func (r *Removal) From() time.Time { return r.from }

// orders is how many orders one transaction snapshots.
func (r *Removal) orders() int { return max(1, r.chunk/20) }

// shopperDay returns the day before which visitors' days are removed, in the store's time
// zone: one that is over.
func (r *Removal) shopperDay() string { return r.from.AddDate(0, 0, -1).Format(time.DateOnly) }

// cursor is how far a removal has come.
type cursor struct {
	order facts.SnapshotCandidate // the last one that was looked at
	event uuid.UUID               // the last one that was looked at
	ahead bool                    // of the events with ids after now
}

// step is what one transaction did, and what the next one does; nil: all is done.
type step struct {
	removed Removed
	cursor  cursor
	next    func(ctx context.Context, t *Turn) (step, error)
}

// Run removes all that is old, one step in each transaction; report, which may be nil, is called
// after each with what it removed. Where it is stopped, the next removal goes on; where there is
// nothing to remove, it changes nothing.
func (r *Removal) Run(
	ctx context.Context, transact func(f func(ctx context.Context, t *Turn) error) error, report func(Removed),
) (sum Removed, err error) {
	for next := r.snapshot; next != nil; {
		var done step
		if err := transact(func(ctx context.Context, t *Turn) (err error) {
			done, err = next(ctx, t)
			return err
		}); err != nil {
			return sum, err
		}
		r.cursor, next = done.cursor, done.next
		sum.Add(done.removed)
		if report != nil {
			report(done.removed)
		}
	}
	return sum, nil
}

// Count counts what Run would remove, and changes nothing. Observations are not counted.
func (r *Removal) Count(ctx context.Context, store Store) (counted Removed, err error) {
	if counted, err = store.CountOld(ctx, r.company, r.from, r.shopperDay()); err != nil {
		return counted, err
	}
	counted.Snapshots, err = store.CountWithoutSnapshot(ctx, r.company, r.spans)
	return counted, err
}

// snapshot snapshots the next orders, by day.
func (r *Removal) snapshot(ctx context.Context, t *Turn) (step, error) {
	list, err := t.WithoutSnapshot(ctx, r.company, r.spans, r.cursor.order, r.orders())
	if err != nil {
		return step{}, err
	}
	done := step{cursor: r.cursor, next: r.snapshot, removed: Removed{Snapshots: len(list)}}
	if len(list) == 0 {
		done.next = r.events
		return done, t.BeginRemoval(ctx, r.company, r.from, t.Index.PathsFrom(r.from))
	}
	if done.removed.Snapshots, err = t.Snapshot(ctx, list); err != nil {
		return step{}, err
	}
	done.cursor.order = list[done.removed.Snapshots-1]
	return done, nil
}

// events removes the next events, after snapshotting the orders that have come meanwhile.
func (r *Removal) events(ctx context.Context, t *Turn) (step, error) {
	late, err := t.WithoutSnapshotSince(ctx, r.company, r.spans, r.since, r.orders())
	if err != nil {
		return step{}, err
	}
	done := step{cursor: r.cursor, next: r.events}
	if len(late) > 0 {
		done.removed.Snapshots, err = t.Snapshot(ctx, late)
		return done, err
	}
	end := r.from
	if r.cursor.ahead { // ids that a wrong clock made
		end = facts.NoLaterID
	}
	last, visitors, looked, removed, err := t.RemoveEvents(ctx, r.company, r.cursor.event, end, r.from, r.chunk)
	if err != nil {
		return step{}, err
	}
	done.removed.Events, done.cursor.event = removed, last
	if done.removed.Observations, err = t.RemoveObservations(ctx, r.company, visitors, r.from); err != nil {
		return step{}, err
	}
	switch {
	case looked == r.chunk:
	case r.cursor.ahead:
		done.next = r.shoppers
	default:
		done.cursor.ahead, done.cursor.event = true, facts.FirstID(r.began.AddDate(0, 0, 1))
	}
	return done, nil
}

// shoppers removes the next visitors' days; at the end it stores that all is done.
func (r *Removal) shoppers(ctx context.Context, t *Turn) (step, error) {
	n, err := t.RemoveShoppers(ctx, r.company, r.shopperDay(), r.chunk)
	if err != nil {
		return step{}, err
	}
	done := step{cursor: r.cursor, next: r.shoppers, removed: Removed{Shoppers: n}}
	if n < r.chunk {
		done.next, err = nil, t.EndRemoval(ctx, r.company, r.from, r.began)
	}
	return done, err
}
