package edge

import (
	"time"

	"github.com/tributary-io/tributary/internal/produce"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

// delivery is one request's events on their way to Kafka.
type delivery struct {
	server   *Server
	batch    *core.Batch
	arrival  arrival
	now      time.Time
	deadline time.Time
	results  []result           // one for each item, in order
	durable  produce.Durability // the weakest of its records'

	attempt  *attempt
	finished bool
	claimed  []fingerprint // the events that this request claimed
	events   []wire.Record
	rejected []wire.Record // dead letters
	others   []*attempt    // of requests that carry some of the same events
	err      error
}

// makeRecords makes each item's record and result. It claims the events that
// no other request carries; finish releases them.
func (d *delivery) makeRecords() {
	c := d.arrival.company
	buffer := make([]byte, 0, d.sizeHint())
	ends := make([]int, 0, len(d.batch.Items))
	d.claimed = make([]fingerprint, 0, len(d.batch.Items))
	var rejected rejections
	for i := range d.batch.Items {
		item := &d.batch.Items[i]
		d.results[i] = result{eventID: item.Event.ID, status: statusOK}
		if item.Err != nil {
			d.results[i] = result{item.Event.ID, statusRejected, item.Err.Code, reason(item.Err)}
			rejected.add(item)
			continue
		}
		id := d.server.duplicates.fingerprint(eventKey{c.CompanyID, uuidBytes(item.Event.ID), d.arrival.trust})
		first, other := d.server.duplicates.claim(id, d.attempt)
		if !first {
			d.results[i].status = statusDuplicate
			if other != nil && other != d.attempt {
				d.others = append(d.others, other)
			}
			continue
		}
		d.claimed = append(d.claimed, id)
		via := d.arrival.via
		if via == "" {
			via = viaLibrary(item.Event.Context.Library.Name, item.Raw)
		}
		buffer = d.server.appendRecord(buffer, &item.Event, &d.arrival, via, nil)
		ends = append(ends, len(buffer))
	}
	var redacted int
	d.rejected, redacted, d.err = rejected.records(c, d.now)
	d.server.metrics.redactedBytes.Add(float64(redacted))
	key := []byte(c.CompanyID)
	d.events = make([]wire.Record, len(ends))
	begin := 0
	for i, end := range ends {
		d.events[i] = wire.Record{Key: key, Value: buffer[begin:end:end]}
		begin = end
	}
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
	s := d.server
	timer := time.NewTimer(d.deadline.Sub(s.deps.Now()))
	defer timer.Stop()
	// Dead letters first: if they were refused after the events, the events
	// would be in the log of a request that failed.
	err := d.err
	var rejected, events []*produce.Chunk
	if err == nil && len(d.rejected) > 0 {
		rejected, err = s.batcher.Enqueue(wire.TopicRejected, d.arrival.company.CompanyID, d.rejected, d.deadline, nil)
	}
	if err == nil && len(d.events) > 0 {
		events, err = s.batcher.Enqueue(wire.TopicEvents, d.arrival.company.CompanyID, d.events, d.deadline, nil)
	}
	if err == nil {
		err = d.await(events, timer.C)
	}
	// Other requests wait for these events, not for the dead letters.
	d.finish(err == nil)
	if err != nil {
		return err
	}
	if err := d.await(rejected, timer.C); err != nil {
		return err
	}
	for _, other := range d.others {
		select {
		case <-other.done:
			if !other.ok {
				return produce.ErrTimeout
			}
		case <-timer.C:
			return produce.ErrTimeout
		}
	}
	return nil
}

// await waits until all chunks are durable, and keeps the weakest durability.
func (d *delivery) await(chunks []*produce.Chunk, timeout <-chan time.Time) error {
	for _, c := range chunks {
		durable, err := c.Await(timeout)
		if err != nil {
			return err
		}
		if durable != produce.Kafka {
			d.durable = durable
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
