package attribution

import (
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
)

// payableOn returns the day, YYYY-MM-DD in the store's time zone, from which an
// order's commission may be paid: the store's days after delivery (which commerce takes up to
// a day ahead), or else after the order was approved. It is never before a decision that released it. It is empty
// where the order is not approved.
func (x *Index) payableOn(o *Order, c *facts.Case, winner *claim) string {
	if o.Status != commerce.OrderApproved {
		return ""
	}
	day := x.daysAfter(c.ApprovedSince, o.settings.HoldDays)
	if o.DeliveredAt.Valid {
		day = x.daysAfter(o.DeliveredAt.Value, o.settings.DeliveredHoldDays)
	}
	if winner != nil && winner.proof == facts.ProofAssigned {
		return max(day, x.DayOf(c.Decisions.Assigned().AcceptedAt))
	}
	if winner != nil && winner.proof == facts.ProofAccepted {
		day = max(day, x.DayOf(c.Decisions.Of(winner.influencerID).AcceptedAt))
	}
	return day
}

// daysAfter returns the day that is n days after an instant's, in the store's time
// zone.
func (x *Index) daysAfter(t time.Time, n int) string {
	year, month, day := t.In(x.rules.Location).Date()
	return time.Date(year, month, day+n, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
}
