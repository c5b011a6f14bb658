package connect

import (
	"context"
	"hash/maphash"
	"time"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
)

// Bounds of reading a shop's changes.
const (
	// pollOverlap is how far before the cursor a poll begins: platforms list an order minutes after it was changed, their clocks
	// differ from ours, and what moved past a page that was being read is found by one of the next polls at the latest.
	pollOverlap = 2 * time.Hour
	maxPages    = 5_000   // of one reading
	maxPasses   = 5       // over pages that shift while they are read
	maxVersions = 200_000 // of one reading, that are told apart
)

// poll reads all orders that were changed since the cursor, where it is time to.
func (v *visit) poll(ctx context.Context) (bool, error) {
	c := &v.c
	if !v.runs() || !c.PollNow && c.State != commerce.ConnectionFailing && v.Now().Before(c.PolledAt.Add(c.PollEvery)) {
		return false, nil
	}
	if c.State == commerce.ConnectionFailing && !v.asked {
		return false, nil
	}
	if err := v.open(); err != nil {
		return false, err
	}
	gap := v.Now().Sub(c.PolledAt)
	r := reading{visit: v, began: v.Now(), from: c.Cursor.Add(-pollOverlap), seed: maphash.MakeSeed(), seen: map[uint64]struct{}{}}
	cursor, err := r.all(ctx)
	if err != nil {
		return false, err
	}
	if err := v.store(ctx, commerce.ConnectPage{Cursor: cursor, PolledAt: r.began}); err != nil {
		return false, err
	}
	v.metrics.polled(v.c.Platform, v.Now().Sub(r.began))
	if gap > noticesKept && !c.Reconciled.IsZero() {
		v.compareAll(longCompared)
	}
	if c.State == commerce.ConnectionFailing {
		return true, v.change(ctx, commerce.ConnectStateChange{State: v.well()})
	}
	return true, nil
}

// reading is one reading of all changes from a moment on.
type reading struct {
	*visit
	began  time.Time
	from   time.Time // pages are read from here on
	newest time.Time // change that was seen
	seed   maphash.Seed
	seen   map[uint64]struct{} // versions of orders
}

// all reads pages to the end, and again until no version is found that was passed by. It returns up to where the connection is
// read: never later than the reading began, since what is changed after that may have moved to a page that was read already.
func (r *reading) all(ctx context.Context) (cursor time.Time, err error) {
	begin := r.from
	for pass := 1; ; pass++ {
		shifts, found, err := r.pass(ctx, begin)
		if err != nil {
			return time.Time{}, err
		}
		cursor = commerce.Earlier(r.newest, r.began)
		switch {
		case shifts.IsZero(), pass > 1 && found == 0:
			return cursor, nil
		case pass == maxPasses || len(r.seen) >= maxVersions:
			r.Logger.Info("a shop's pages shift all the time: a poll begins farther back", r.names()...)
			return cursor.Add(-pollOverlap), nil
		}
		begin = shifts
	}
}

// pass reads the pages from a moment on. shifts is the moment from which on pages followed each other by the platform's own
// count, so that a change in between may have moved an order past them; zero: there is none. found is how many versions it found
// that were not seen before.
func (r *reading) pass(ctx context.Context, from time.Time) (shifts time.Time, found int, err error) {
	token := ""
	for n := 0; n < maxPages; n++ {
		page, err := r.shop.Changed(ctx, from, token)
		if err != nil {
			return shifts, found, err
		}
		last, fresh := r.look(page)
		found += fresh
		if err := r.take(ctx, page, last, page.OldestFirst && shifts.IsZero()); err != nil {
			return shifts, found, err
		}
		switch {
		case page.Next == "":
			return shifts, found, nil
		case page.OldestFirst && last.After(from):
			from, token = last, "" // what has the same moment comes again
		case page.Next == token:
			return shifts, found, &platform.Error{Reason: commerce.ShopUnknownShape, Detail: "a page of orders names itself as the next"}
		default:
			if shifts.IsZero() && page.Stored == nil {
				shifts = from
			}
			token = page.Next
		}
		if _, err := r.notices(ctx); err != nil { // who waits for one order does not wait for all
			return shifts, found, err
		}
	}
	return shifts, found, &platform.Error{Reason: commerce.ShopUnknownShape, Detail: "the list of changed orders has no end"}
}

// look notes the versions of a page. last is the newest of them.
func (r *reading) look(page platform.Page) (last time.Time, fresh int) {
	for _, item := range page.Items {
		last = commerce.Later(last, item.UpdatedAt)
		version := maphash.Comparable(r.seed, struct {
			id string
			at int64
		}{item.ID, item.UpdatedAt.UnixNano()})
		if _, known := r.seen[version]; !known && len(r.seen) < maxVersions {
			r.seen[version] = struct{}{}
			fresh++
		}
	}
	r.newest = commerce.Later(r.newest, last)
	return last, fresh
}

// take sends a page, stores that it was sent, and only then tells the platform so. The cursor moves with the pages where all before
// last is read, and else at the end.
func (r *reading) take(ctx context.Context, page platform.Page, last time.Time, sorted bool) error {
	var stored commerce.ConnectPage
	if sorted {
		stored.Cursor = commerce.Earlier(last, r.began)
	}
	if err := r.deliver(ctx, page.Items, liveLane, false, stored); err != nil {
		return err
	}
	if page.Stored == nil {
		return nil
	}
	return page.Stored(ctx)
}
