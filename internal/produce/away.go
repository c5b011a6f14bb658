package produce

import (
	"fmt"
	"time"

	"github.com/tributary-io/tributary/internal/kafka"
)

// Kafka is away for a partition when a produce failed in a way that no retry
// mends, or is not acknowledged within Config.AwayAfter. Then what waits is
// handed to the spool, what is being sent first, and all that comes follows it
// there, until the spool holds nothing of the partition (drain.go). So every
// record is sent, at least once, before any that came after it.

// handedOver is what was being sent when it was handed to the spool. If Kafka
// acknowledges it after all, the spool need not send it again.
type handedOver struct {
	keeping      int // chunks of it that the spool has yet to settle
	last         Position
	records      int // that are kept, up to last
	acknowledged bool
}

// spoolTimer is what run needs of the timer for AwayAfter.
type spoolTimer interface {
	Reset(d time.Duration) bool
	Stop() bool
}

// noTimer is the timer of a lane without a spool.
type noTimer struct{}

func (noTimer) Reset(time.Duration) bool { return false }
func (noTimer) Stop() bool               { return false }

func (l *lane) partition() Partition { return Partition{l.key.topic, l.key.partition} }

// isAway tells whether the spool holds records of the partition, as far as the lane knows.
func (l *lane) isAway() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.course != direct
}

// findsAway tells whether, after a failed produce, what was sent is the spool's
// from now on. The lane's own goroutine calls it.
func (l *lane) findsAway(err error) bool {
	if !kafka.IsTemporary(err) && !kafka.IsRefusal(err) || l.batcher.base.Err() != nil {
		l.handOver(err)
		return true
	}
	return l.isAway()
}

// handOverLate is called when a batch was not acknowledged in time.
func (l *lane) handOverLate() {
	l.mu.Lock()
	defer l.mu.Unlock()
	// The timer may have fired for the batch before.
	if (len(l.sent) > 0 || l.course == ending) && l.batcher.config.Now().Sub(l.sentAt) >= l.batcher.config.AwayAfter {
		l.handOverLocked(ErrTimeout)
	}
}

func (l *lane) handOver(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.handOverLocked(why)
}

// handOverLocked hands what is being sent and what waits to the spool. Once
// that refuses a chunk, the others of its request fail too: a request's later
// chunks must not overtake its earlier ones.
func (l *lane) handOverLocked(why error) {
	if l.course == spooling {
		return
	}
	if l.course == direct {
		l.handed = handedOver{}
	}
	l.course = spooling
	var failed error // the last request's
	var last *Parcel
	var refused error
	keep := func(c *chunk, sent bool) error {
		if c.parcel != last {
			last, failed = c.parcel, nil
		}
		if failed = l.keep(c, sent, failed); failed != nil {
			c.settle("", failed)
			refused = failed
		}
		return failed
	}
	for _, c := range l.sent { // its bytes are freed when the produce ends
		if c.settled.Load() {
			continue // refused for good, or acknowledged alone
		}
		_ = keep(c, true) // it is settled
	}
	for {
		waiting := l.queue.take(nil, l.batcher.config.MaxBatchBytes)
		if len(waiting) == 0 {
			break
		}
		for i, c := range waiting {
			if keep(c, false) != nil {
				l.queue.free(waiting[i : i+1])
			}
		}
	}
	l.batcher.config.Log.Warn("Kafka does not acknowledge records: they are handed to the spool", "topic", l.key.topic, "partition",
		l.key.partition, "error", why, "spool", refused)
}

// keepNew hands a new request's chunks to the spool. After an error some may be
// kept: the request fails, and is sent again.
func (l *lane) keepNew(p *Parcel) error {
	if err := l.queue.put(p); err != nil { // they count while they are not durable
		return err
	}
	chunks := l.queue.take(nil, p.bytes())
	for i, c := range chunks {
		if err := l.keep(c, false, nil); err != nil {
			l.queue.free(chunks[i:])
			return err
		}
	}
	return nil
}

// keep hands a chunk to the spool, unless failed is an error already. The
// caller holds l.mu.
func (l *lane) keep(c *chunk, sent bool, failed error) error {
	if failed != nil {
		return failed
	}
	l.keeping++
	if sent {
		l.handed.keeping++
	}
	err := l.batcher.config.Spool.Keep(l.partition(), c.records, c.parcel.Keyed, func(at Position, err error) { l.kept(c, sent, at, err) })
	if err != nil {
		l.keeping--
		if sent {
			l.handed.keeping--
		}
		return fmt.Errorf("%w: %w", ErrSpool, err)
	}
	return nil
}

// kept is called once a chunk is durable in the spool, or is not.
func (l *lane) kept(c *chunk, sent bool, at Position, err error) {
	if err != nil {
		c.settle("", fmt.Errorf("%w: %w", ErrSpool, err))
	} else {
		c.settle(Spooled, nil)
		l.batcher.drained.add(c.bytes)
	}
	l.mu.Lock()
	if sent {
		l.handed.keeping--
	} else {
		l.queue.free([]*chunk{c})
	}
	if sent && err == nil {
		l.handed.last, l.handed.records = at, l.handed.records+len(c.records)
	}
	l.keeping--
	l.mu.Unlock()
	l.signal()
}

// noteAcknowledged is called when Kafka acknowledged a batch from memory: if it
// was handed over, and is acknowledged whole, its copies need not be sent.
func (l *lane) noteAcknowledged(batch []*chunk) {
	if l.batcher.config.Spool != nil {
		l.mu.Lock()
		l.handed.acknowledged = l.course != direct && len(batch) == len(l.sent)
		l.mu.Unlock()
	}
}

// forgetHanded takes what was acknowledged after all from the spool, before
// anything is drained: the records lie there first.
func (l *lane) forgetHanded() {
	for {
		l.mu.Lock()
		handed := l.handed
		if handed.keeping == 0 {
			l.handed = handedOver{}
		}
		l.mu.Unlock()
		switch {
		case !handed.acknowledged:
			return
		case handed.keeping > 0:
			if !l.awaitWake() {
				return
			}
		case handed.records > 0:
			l.sentFromSpool(handed.last, handed.records)
			return
		default:
			return
		}
	}
}

// awaitWake waits for a signal. It returns false when the wait is over for good.
func (l *lane) awaitWake() bool {
	select {
	case <-l.wake:
		return true
	case <-l.batcher.base.Done():
		return false
	}
}

func (l *lane) sentFromSpool(last Position, records int) {
	if err := l.batcher.config.Spool.Sent(l.partition(), last, records); err != nil {
		l.batcher.config.Log.Error("the spool cannot forget records that Kafka has: they may be sent again", "topic", l.key.topic, "partition",
			l.key.partition, "error", err)
	}
}
