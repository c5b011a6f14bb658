package edge

import (
	"slices"
	"time"

	"github.com/tributary-io/tributary/internal/produce"
	"github.com/tributary-io/tributary/internal/tracing"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

// delivery is one request's events on their way to Kafka. Its memory is used again.
type delivery struct {
	server   *Server
	batch    core.Batch
	arrival  arrival
	now      time.Time
	deadline time.Time
	results  []result // one for each item, in order
	warnings warnings
	durable  produce.Durability // the weakest of its events'

	attempt  *attempt
	finished bool
	claimed  []fingerprint // the events that this request claimed
	ends     []int         // of their records, in the parcel's buffer
	events   *produce.Parcel
	rejected *produce.Parcel // dead letters
	told     *produce.Parcel // the notice
	origin   []byte          // the page's, as the header has it
	stream   string          // of a batch that tells what its sender gave up
	others   []*attempt      // of requests that carry some of the same events
	err      error
	sending  *tracing.Span // nil: not recorded
}

// reset forgets the request and keeps its memory.
func (d *delivery) reset() {
	clear(d.batch.Items) // they hold the request's body
	clear(d.results)
	clear(d.others)
	d.warnings.reset()
	*d = delivery{
		batch: core.Batch{Items: d.batch.Items[:0]}, results: d.results[:0], warnings: d.warnings,
		claimed: d.claimed[:0], ends: d.ends[:0], others: d.others[:0],
	}
}

// makeRecords makes each item's record and result. It claims the events that
// no other request carries; finish releases them.
func (d *delivery) makeRecords() {
	c := d.arrival.company
	sender := d.server.duplicates.sender(c.CompanyID, d.arrival.trust)
	var buffer []byte
	var rejected rejections
	for i := range d.batch.Items {
		item := &d.batch.Items[i]
		d.results = append(d.results, result{eventID: item.Event.ID, status: statusOK})
		if item.Unread || d.warnings.strict {
			d.doubt(i, item)
		}
		if item.Err != nil {
			d.results[i] = result{item.Event.ID, statusRejected, item.Err.Code, reason(item.Err)}
			rejected.add(item)
			continue
		}
		id := d.server.duplicates.fingerprint(sender, uuidBytes(item.Event.ID))
		first, other := d.server.duplicates.claim(id, d.attempt)
		if !first {
			d.results[i].status = statusDuplicate
			if other != nil && other != d.attempt {
				d.others = append(d.others, other)
			}
			continue
		}
		d.claimed = append(d.claimed, id)
		via := d.arrival.entry.via(item.Event.Context.Library.Name, item.Raw)
		if d.events == nil {
			d.events = d.newParcel()
			buffer = slices.Grow(d.events.Buffer, d.sizeHint())
		}
		sent := sentKeys{visitor: item.Event.VisitorID}
		buffer = d.server.appendRecord(buffer, &item.Event, &d.arrival, via, nil)
		sent.who = item.Event.Identity // nobody's where the event must name nobody
		d.warnings.unkeyed(i, &sent, d.arrival.recent)
		d.ends = append(d.ends, len(buffer))
	}
	if d.events != nil {
		d.events.Buffer = buffer
		begin, trace := 0, d.sending.Trace()
		for _, end := range d.ends {
			d.events.Records = append(d.events.Records, wire.Record{Key: c.key, Value: buffer[begin:end:end], Trace: trace})
			begin = end
		}
	}
	d.reject(&rejected)
}

// doubt looks for what of an event was not read, and refuses it for that where this is asked.
func (d *delivery) doubt(i int, item *core.Item) {
	w := &d.warnings
	switch {
	case !w.strict:
		w.look(i, item)
	case item.Err == nil:
		if item.Unread {
			w.look(i, item)
		}
		w.unkeyed(i, &sentKeys{item.Event.VisitorID, item.Event.Identity}, d.server.keysOf(&d.arrival))
		item.Err, w.refused = w.refused, nil
	}
}

// reject makes the dead letters.
func (d *delivery) reject(items *rejections) {
	if len(items.letters) == 0 {
		return
	}
	d.rejected = d.newParcel()
	var redacted int
	d.rejected.Records, redacted, d.err = items.records(d.arrival.company, d.now)
	d.server.metrics.redactedBytes.Add(float64(redacted))
}

func (d *delivery) newParcel() *produce.Parcel {
	p := d.server.batcher.NewParcel()
	p.Keyed = d.arrival.trust != wire.TrustOpen
	return p
}

// sizeHint is about how many bytes the records will take: the items' texts, and
// what the edge adds.
func (d *delivery) sizeHint() int {
	size := 0
	for i := range d.batch.Items {
		size += len(d.batch.Items[i].Text) + 400
	}
	return size
}

// send sends the records and returns once all of them are durable, and those
// that other requests carry. After an error some may be in the log: the client
// sends all again, and what was acknowledged comes back as a duplicate.
func (d *delivery) send() error {
	// Dead letters first: if they were refused after the events, the events
	// would be in the log of a request that failed.
	err := d.err
	if err == nil && d.rejected != nil {
		err = d.server.batcher.Enqueue(wire.TopicRejected, d.arrival.company.CompanyID, d.rejected, d.deadline)
	}
	if err == nil && d.events != nil {
		err = d.server.batcher.Enqueue(wire.TopicEvents, d.arrival.company.CompanyID, d.events, d.deadline)
	}
	if err == nil && d.events != nil {
		err = d.await(d.events)
	}
	// Other requests wait for these events, not for the dead letters.
	d.finish(err == nil)
	if err == nil && d.rejected != nil {
		err = d.await(d.rejected)
	}
	if err == nil && len(d.others) > 0 {
		err = d.awaitOthers()
	}
	if err == nil && d.hasDuplicate() && d.server.batcher.Spools(wire.TopicEvents, d.arrival.company.CompanyID, d.deadline) {
		d.durable = produce.Spooled // the first copy may be there alone
	}
	if err == nil {
		err = d.tell()
	}
	return err
}

// hasDuplicate tells whether another request has stored one of the events.
func (d *delivery) hasDuplicate() bool {
	return slices.ContainsFunc(d.results, func(r result) bool { return r.status == statusDuplicate })
}

// await waits until a parcel is durable, and keeps the weakest durability.
func (d *delivery) await(p *produce.Parcel) error {
	durable, err := p.Wait()
	if err == nil && durable != produce.Kafka {
		d.durable = durable
	}
	return err
}

func (d *delivery) awaitOthers() error {
	timer := time.NewTimer(d.deadline.Sub(d.server.deps.Now()))
	defer timer.Stop()
	for _, other := range d.others {
		select {
		case <-other.done():
			if !other.succeeded() {
				return produce.ErrTimeout
			}
		case <-timer.C:
			return produce.ErrTimeout
		}
	}
	return nil
}

// finish tells the requests that carry the same events whether these are
// durable. Only its first call counts.
func (d *delivery) finish(ok bool) {
	if !d.finished {
		d.finished = true
		d.server.duplicates.finish(d.attempt, d.claimed, ok)
	}
}

// end is called whatever happened: what is not finished, after a panic, may be sent
// again.
func (d *delivery) end() {
	d.finish(false)
	for _, p := range []*produce.Parcel{d.events, d.rejected, d.told} {
		if p != nil {
			p.Release()
		}
	}
	if d.arrival.recent != nil {
		d.arrival.recent.Release()
	}
	d.events, d.rejected, d.told, d.arrival.recent = nil, nil, nil, nil
}
