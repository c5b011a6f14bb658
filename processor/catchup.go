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

// A company is behind where it has at least one in mostOthers of the events that the company
// with most of them has: the last recentEvents that were applied are counted, or twice as many.
// The numbers were chosen, not measured.
const (
	mostOthers   = 10
	recentEvents = 10_000
)

// recent counts the events that were applied last, by company.
type recent struct {
	events map[string]int // by company
	total  int
}

func (r *recent) add(company string) {
	if r.events == nil {
		r.events = map[string]int{}
	}
	r.events[company]++
	if r.total++; r.total < 2*recentEvents {
		return
	}
	r.total = 0
	for id, n := range r.events {
		if r.events[id] = n / 2; n < 2 {
			delete(r.events, id)
		}
		r.total += n / 2
	}
}

// behind returns a function that tells of a company whether its events are behind, where those
// of the partition are.
func (r *recent) behind() func(companyID string) bool {
	most := 0
	for _, n := range r.events {
		most = max(most, n)
	}
	return func(id string) bool { return mostOthers*r.events[id] >= most }
}

// catchUp is for how long queued orders wait to be computed while events are behind.
type catchUp struct {
	until time.Time // then they are computed, however far behind the events are; zero: none has waited yet
}

// deferring returns a function that tells of a company whether its orders are to wait. Those of
// a company that has few of the events do not: a stranger who sends another store more than is
// applied in time holds up no order of it.
func (o *owner) deferring(records []record) func(companyID string) bool {
	for i := range records {
		if records[i].topic == wire.TopicEvents {
			o.recent.add(string(records[i].Key))
		}
	}
	if !o.defersOrders(records) {
		return noCompany
	}
	return o.recent.behind()
}

func noCompany(string) bool { return false }

func everyCompany(string) bool { return true }

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
