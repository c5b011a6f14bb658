package edge

import (
	"context"
	"time"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
)

// refollowPause is the wait before the topic is read again after a failure.
const refollowPause = time.Second

// follow keeps the view up to date until ctx ends.
func (d *directory) follow(ctx context.Context, source Directory) {
	for ctx.Err() == nil {
		id, err := source.TopicID(ctx, wire.TopicDirectory)
		var end int64
		if err == nil {
			end, err = source.LogEnd(ctx, wire.TopicDirectory, 0)
		}
		if err != nil {
			d.log.Warn("directory: Kafka cannot be read yet", "error", err)
			background.Sleep(ctx, refollowPause)
			continue
		}
		reading, again := context.WithCancel(ctx)
		d.mu.Lock()
		d.rebuilt, d.refilling, d.next, d.readAgain, d.topicID = newEntries(), false, 0, again, id
		d.mu.Unlock()
		err = source.Follow(reading, wire.TopicDirectory, 0, kafka.FromFirst, func(offset int64, r kafka.Record) error {
			d.apply(string(r.Key), r.Value)
			d.mu.Lock()
			d.next = offset + 1
			d.mu.Unlock()
			return nil
		}, func() { d.reachedEnd(end) })
		again()
		if ctx.Err() != nil {
			return
		}
		d.log.Warn("directory: reading stopped, and begins again", "error", err)
		background.Sleep(ctx, refollowPause)
	}
}

// reachedEnd is called when the topic is read up to end, where the log ended
// when the reading began. The last records before end may be compacted away, so
// next need not have come there itself.
func (d *directory) reachedEnd(end int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.next = max(d.next, end)
	d.caughtUp, d.checked, d.contact = true, d.now(), d.now()
	if d.rebuilt == nil {
		return
	}
	lacking := 0
	for id := range d.served.companies {
		if d.rebuilt.companies[id] == nil {
			lacking++
		}
	}
	d.refilling = lacking > 0 || len(d.rebuilt.companies) == 0
	switch {
	case lacking > 0:
		d.log.Warn("directory: the topic lacks companies; those known before are served until no more come", "companies",
			len(d.rebuilt.companies), "lacking", lacking)
	case d.refilling:
		d.log.Info("directory: the topic holds no company yet")
	default:
		d.serveRebuilt()
	}
}

func (d *directory) serveRebuilt() {
	d.served, d.rebuilt, d.refilling, d.changed = d.rebuilt, nil, false, true
	for id := range d.wrong {
		if d.served.companies[id] == nil {
			delete(d.wrong, id)
			continue
		}
		d.tellWrongKey(id)
	}
}

// checkEnd asks Kafka regularly where the topic ends, until ctx ends. So a
// directory without changes can be told from a lost connection, and from a topic
// that was made anew, which has another id.
func (d *directory) checkEnd(ctx context.Context, source Directory) {
	interval := d.config.DirectoryFresh / 4
	for ctx.Err() == nil {
		asked, cancel := context.WithTimeout(ctx, interval)
		id, err := source.TopicID(asked, wire.TopicDirectory)
		var end int64
		if err == nil {
			end, err = source.LogEnd(asked, wire.TopicDirectory, 0)
		}
		cancel()
		if err == nil {
			d.endIs(end, id)
		}
		background.Sleep(ctx, interval)
	}
}

// endIs is called with the offset at which Kafka says that the log ends now, and the
// topic's id.
func (d *directory) endIs(end int64, id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.contact = d.now()
	if d.readAgain == nil {
		return // nothing is read yet
	}
	another := d.topicID != id // which grows past what was read, too
	if d.rebuilt != nil && !d.refilling && !another {
		return // not read to its end yet
	}
	switch {
	case another:
		d.log.Error("directory: the topic was deleted and made again; it is read anew")
		d.topicID = id
		d.readAgain()
	case end < d.next:
		d.log.Error("directory: the topic is shorter than what was read of it; it is read anew", "read", d.next, "end", end)
		d.readAgain()
	case end == d.next:
		d.checked = d.contact
		if d.refilling && d.refilled() {
			d.serveRebuilt()
		}
	}
}
