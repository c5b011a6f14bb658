package connect

import (
	"context"
	"time"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
)

// backfillWindow is how much of a shop's past one list covers: short lists are complete at platforms that bound them, and a
// process that goes on at a stored page asks for the same list.
const backfillWindow = 24 * time.Hour

// clocksDiffer is how far a shop's clock may be ahead of ours: what was ordered a moment before the shop was connected is then later
// than the end of the backfill, and no notice of it comes.
const clocksDiffer = 10 * time.Minute

// backfills tells that earlier orders are still to be read.
func (v *visit) backfills() bool {
	b := v.c.Backfill
	return b.Days > 0 && b.Ended.IsZero() && b.From.Before(b.To)
}

// backfill reads one page of the shop's earlier orders, in what polling leaves of the shop's budget.
func (v *visit) backfill(ctx context.Context) (bool, error) {
	if !v.runs() || v.c.State != commerce.ConnectionBackfilling && v.c.State != commerce.ConnectionLive {
		return false, nil
	}
	if !v.backfills() {
		if v.c.State == commerce.ConnectionBackfilling {
			return true, v.change(ctx, commerce.ConnectStateChange{State: commerce.ConnectionLive})
		}
		return false, nil
	}
	if err := v.open(); err != nil {
		return false, err
	}
	place := v.c.Backfill
	if place.At.Before(place.From) {
		place.At = place.From
	}
	ctx = platform.Patient(ctx)
	if place.At.Equal(place.From) && place.Page == "" && place.Total == 0 {
		whole, err := v.shop.Created(ctx, place.From, place.To, "")
		if err != nil {
			return false, err
		}
		place.Total = whole.Total
	}
	end := commerce.Earlier(place.At.Add(backfillWindow), place.To)
	until := end
	if !end.Before(place.To) {
		until = end.Add(clocksDiffer)
	}
	page, err := v.shop.Created(ctx, place.At, until, place.Page)
	if _, lost := platform.Failed(err, commerce.ShopUnknownShape, commerce.ShopNotFound); lost && place.Page != "" {
		place.Page = "" // the platform has forgotten the page: its list is read from its beginning
		page, err = v.shop.Created(ctx, place.At, until, "")
	}
	if err != nil {
		return false, err
	}
	if page.Next != "" && page.Next == place.Page {
		return false, &platform.Error{Reason: commerce.ShopUnknownShape, Detail: "a page of orders names itself as the next"}
	}
	place.Done += int64(len(page.Items))
	if place.Total > 0 {
		place.Total = max(place.Total, place.Done) // it was counted at the start
	}
	if place.Page = page.Next; page.Next == "" {
		place.At = end
	}
	if !place.At.Before(place.To) {
		place.Ended = v.Now()
	}
	if err := v.deliver(ctx, page.Items, bulkLane, true, commerce.ConnectPage{Backfill: &place}); err != nil {
		return false, err
	}
	if page.Stored != nil {
		return true, page.Stored(ctx)
	}
	return true, nil
}
