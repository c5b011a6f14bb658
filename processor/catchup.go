package processor

import (
	"time"

	"github.com/tributary-io/tributary/internal/wire"
)

// behindRecords is how many events wait in a partition's log, beside those of the batch,
// where it is behind: then an order is often read before its visitors' events, and would
// be computed again for each batch that has some of them. The number was chosen, not
// measured. A partition that keeps up has none or a few.
const behindRecords = 100

// behindFor is how long ago the newest event of a batch came where a partition is behind: a
// stranger who sends many events in a while delays no other store's orders. The number was
// chosen, not measured.
const behindFor = 2 * time.Second

// catchUp is for how long queued orders wait to be computed while events are behind.
type catchUp struct {
	until time.Time // then they are computed, however far behind the events are; zero: none has waited yet
}

// defersOrders reports whether orders are to wait until more events are applied. records are
// those that are about to be applied.
//
// Orders that wait are queued, so each is computed once, however many batches concern it.
// They wait no longer than Config.DeferOrders. After that all orders are computed with
// their batch, and the queue between two batches, until it is empty. Where the events are
// not behind, no order waits.
func (o *owner) defersOrders(records []record) bool {
	for i := range records {
		if r := &records[i]; r.topic == wire.TopicEvents && r.Time.After(o.eventAt) {
			o.eventAt = r.Time
		}
	}
	if o.progress.waiting(wire.TopicEvents)-int64(eventsIn(records)) <= behindRecords || o.Now().Sub(o.eventAt) < behindFor {
		return false
	}
	if !o.queued { // none waits yet
		return true
	}
	now := o.Now()
	if o.catchUp.until.IsZero() {
		o.catchUp.until = now.Add(o.config.DeferOrders)
	}
	return now.Before(o.catchUp.until)
}

// timer returns a channel that gets a value when orders wait no longer, and a function
// that frees it. The channel is nil where none waits.
func (c catchUp) timer(now time.Time) (until <-chan time.Time, stop func()) {
	if c.until.IsZero() {
		return nil, func() {}
	}
	timer := time.NewTimer(c.until.Sub(now))
	return timer.C, func() { timer.Stop() }
}

// eventsIn counts the events of a batch.
func eventsIn(records []record) (n int) {
	for _, r := range records {
		if r.topic == wire.TopicEvents {
			n++
		}
	}
	return n
}
