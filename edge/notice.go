package edge

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"slices"
	"time"

	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

// repeatWait bounds the wait for a notice that tells of nothing but repeats: their events
// are durable already, so the answer does not depend on it.
const repeatWait = 500 * time.Millisecond

// tell makes known what became of the request's events that are not in events.v1, and
// returns once that is durable. It is called when everything else is: a request that
// fails is sent again, and then tells. A notice of repeats alone is told as well as can be.
func (d *delivery) tell() error {
	notice := d.notice()
	if notice == nil {
		return nil
	}
	value, err := json.Marshal(notice)
	if err != nil {
		return err
	}
	deadline, onlyRepeats := d.deadline, notice.Rejected == nil && notice.Dropped == nil
	if onlyRepeats {
		if until := d.server.deps.Now().Add(repeatWait); until.Before(deadline) {
			deadline = until
		}
	}
	d.told = d.newParcel()
	d.told.Records = append(d.told.Records, wire.Record{Key: d.arrival.company.key, Value: value})
	err = d.server.batcher.Enqueue(wire.TopicEvents, d.arrival.company.CompanyID, d.told, deadline)
	if err == nil {
		err = d.await(d.told)
	}
	if err != nil && onlyRepeats {
		d.server.metrics.untold.Inc()
		return nil
	}
	return err
}

// notice is what there is to tell; nil: every event of the request is in events.v1.
func (d *delivery) notice() *wire.Notice {
	if d.batch.Dropped == (core.Dropped{}) && !slices.ContainsFunc(d.results, func(r result) bool { return r.status != statusOK }) {
		return nil
	}
	request := d.server.deps.NewID() // a client may choose the request's own id
	n := &wire.Notice{V: 1, ID: digest(request), CompanyID: d.arrival.company.CompanyID, ReceivedAt: d.now.UTC().Truncate(time.Millisecond)}
	for i := range d.results {
		switch r := &d.results[i]; r.status {
		case statusDuplicate:
			n.Duplicate++
		case statusRejected:
			n.Reject(string(r.code), d.rejectedID(i))
			if e := &d.batch.Items[i].Event; e.Stream != "" && e.Seq > 0 {
				n.Numbers = append(n.Numbers, wire.NoticeNumber{Stream: d.arrival.company.keys.Stream(e.Stream), Seq: e.Seq})
			}
		}
	}
	if d.batch.Dropped != (core.Dropped{}) {
		n.Dropped = d.dropped()
	}
	n.Origin, n.Agent = normalOrigin(string(d.origin)), d.server.agents.Family(d.arrival.userAgent)
	return n
}

// rejectedID tells a rejected event from others by its id, so that one that is sent again
// is known. It is nil for one without an id that can be read.
func (d *delivery) rejectedID(i int) []byte {
	item := &d.batch.Items[i]
	if id := item.Event.ID; id != "" && item.Err.Code != core.CodeInvalidEventID {
		return digest("event:" + id)[:wire.NoticeIDSize]
	}
	return nil
}

// dropped is what the sender says that it gave up. A batch that is sent again begins with
// the same event and says the same.
func (d *delivery) dropped() *wire.NoticeDropped {
	out := &wire.NoticeDropped{Counts: map[string]int64{}, Stream: d.stream}
	text := []byte(d.batch.Items[0].Event.ID)
	for i, reason := range core.DropReasons() {
		text = binary.AppendVarint(text, d.batch.Dropped[i])
		if d.batch.Dropped[i] > 0 {
			out.Counts[reason] = d.batch.Dropped[i]
		}
	}
	out.ID = digest("dropped:" + string(text))
	return out
}

// digest is 16 bytes by which the processor knows what it has counted.
func digest(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:16]
}

// streamOf is the numbering of a batch's events, as it is stored.
func streamOf(batch *core.Batch, c *company) string {
	for i := range batch.Items {
		if e := &batch.Items[i]; e.Err == nil && e.Event.Stream != "" {
			return c.keys.Stream(e.Event.Stream)
		}
	}
	return ""
}
