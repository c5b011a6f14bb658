package produce

import (
	"context"
	"sync"
	"time"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
)

const (
	// refuseAfter is how long a partition may fail before new requests are
	// refused at once: longer than an election of its leader takes.
	refuseAfter = 2 * time.Second

	// retryPause is the wait before a failed produce is tried again; a leader
	// election takes a few hundred milliseconds.
	retryPause = 100 * time.Millisecond

	// maxAttempt bounds one produce call of chunks that nobody waits for.
	maxAttempt = 10 * time.Second
)

// lane is one partition's queue and the goroutine that empties it.
type lane struct {
	batcher *Batcher
	key     laneKey
	wake    chan struct{} // one token: something was queued, or the lane closed

	mu      sync.Mutex
	queue   queue
	course  course
	sent    []*chunk  // is being sent, from memory; none: nothing is
	failing time.Time // since when produces fail; zero while they do not
	closed  bool

	batch  []*chunk      // of sent, what produce has yet to settle; the goroutine's own
	joined []wire.Record // of batch; the goroutine's own

	// With a spool only; see away.go.
	sentAt  time.Time
	keeping int // chunks handed to the spool that are not settled
	handed  handedOver
}

// course is where what comes to a lane goes.
type course int

const (
	direct   course = iota // into the queue, and from there to Kafka
	spooling               // into the spool, behind older records that it holds
	ending                 // into the queue: the spool's last records are being sent
)

// add queues all chunks of a parcel, or none of them.
func (l *lane) add(p *Parcel) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ErrClosed
	}
	if l.course == spooling {
		return l.keepNew(p)
	}
	waiting, _ := l.queue.waiting()
	busy := len(l.sent) > 0 || waiting > 0
	if busy && !l.failing.IsZero() && l.batcher.config.Now().Sub(l.failing) > refuseAfter {
		// One request at a time finds out whether Kafka is back. The others are
		// refused at once: they would hold their connections until the deadline.
		return ErrDown
	}
	if err := l.queue.put(p); err != nil {
		return err
	}
	// The goroutine sleeps only before an empty queue, or lingers until it is
	// full: it is not woken for each request.
	if _, bytes := l.queue.waiting(); waiting == 0 || bytes >= l.batcher.config.MaxBatchBytes {
		l.signal()
	}
	return nil
}

func (l *lane) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *lane) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.signal()
}

// run sends batches until the lane is closed and empty.
func (l *lane) run() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var away spoolTimer = noTimer{}
	if l.batcher.config.Spool != nil {
		watch := time.AfterFunc(time.Hour, l.handOverLate)
		defer watch.Stop()
		away = watch
	}
	drains := l.course != direct // nobody else sets it before the first batch
	for {
		if drains {
			if !l.drain(away) {
				return
			}
			drains = false
		}
		batch, more := l.take(timer)
		if len(batch) > 0 {
			away.Reset(l.batcher.config.AwayAfter)
			drains = l.send(batch)
			away.Stop()
		}
		if !more {
			return
		}
	}
}

// take waits for a first chunk, and lingers for others only if it had to wait:
// what gathered behind the last produce goes at once.
func (l *lane) take(timer *time.Timer) (batch []*chunk, more bool) {
	idle := false
	for {
		l.mu.Lock()
		waiting, _ := l.queue.waiting()
		closed := l.closed
		l.mu.Unlock()
		if waiting > 0 {
			break
		}
		if closed {
			return nil, false
		}
		idle = true
		<-l.wake
	}
	if idle {
		l.linger(timer)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent = l.queue.take(l.sent, l.batcher.config.MaxBatchBytes)
	if l.batcher.config.Spool != nil {
		l.sentAt = l.batcher.config.Now()
	}
	l.batch = append(l.batch[:0], l.sent...)
	return l.batch, true
}

// linger ends after Config.Linger, or as soon as a batch is full.
func (l *lane) linger(timer *time.Timer) {
	timer.Reset(l.batcher.config.Linger)
	for {
		select {
		case <-timer.C:
			return
		case <-l.wake:
			l.mu.Lock()
			_, bytes := l.queue.waiting()
			enough := l.closed || bytes >= l.batcher.config.MaxBatchBytes
			l.mu.Unlock()
			if enough {
				return
			}
		}
	}
}

// send writes the batch and settles its chunks, or hands them to the spool: then
// it reports that.
func (l *lane) send(batch []*chunk) (away bool) {
	if refused := l.produce(batch); len(refused) > 1 {
		// One request's records may be the reason: each request's are sent alone.
		for i := range refused {
			l.settle(l.produce(refused[i:i+1]), "", ErrRefused)
		}
	} else {
		l.settle(refused, "", ErrRefused)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.course == direct { // or the spool may have some of them
		for _, c := range l.sent {
			c.parcel.leave()
		}
	}
	clear(l.sent)
	clear(l.batch[:cap(l.batch)])
	l.sent = l.sent[:0]
	return l.course != direct
}

// produce writes the chunks in one produce, tried again after temporary
// failures until nobody waits for it any more. It returns, unsettled, the
// chunks that Kafka refused for good.
func (l *lane) produce(batch []*chunk) (refused []*chunk) {
	b := l.batcher
	for {
		batch = l.dropExpired(batch)
		if len(batch) == 0 {
			return nil
		}
		began := b.config.Now()
		last, count := began, 0
		for _, c := range batch {
			count += len(c.records)
			if c.parcel.deadline.After(last) {
				last = c.parcel.deadline
			}
		}
		if last.Equal(began) { // all are durable elsewhere, and nobody waits
			last = began.Add(maxAttempt)
		}
		l.joined = l.joined[:0]
		for _, c := range batch {
			l.joined = append(l.joined, c.records...)
		}
		ctx, cancel := context.WithTimeout(b.base, last.Sub(began))
		err := b.producer.ProducePartition(ctx, l.key.topic, l.key.partition, l.joined)
		cancel()
		clear(l.joined)
		b.config.Produced(began, b.config.Now(), count, err)
		l.note(err)
		switch {
		case err == nil:
			l.settle(batch, Kafka, nil)
			l.noteAcknowledged(batch)
			return nil
		case b.config.Spool != nil && l.findsAway(err):
			l.free(batch)
			return nil
		case b.base.Err() != nil:
			l.settle(batch, "", ErrClosed)
			return nil
		case !kafka.IsTemporary(err):
			b.config.Log.Error("Kafka refused records for good", "topic", l.key.topic, "partition", l.key.partition, "records", count, "error", err)
			return batch
		}
		background.Sleep(b.base, retryPause)
		if b.config.Spool != nil && l.isAway() {
			l.free(batch)
			return nil
		}
	}
}

// note remembers since when produces fail. It logs the first failure and the
// first success after failures.
func (l *lane) note(err error) {
	l.mu.Lock()
	since, now := l.failing, l.batcher.config.Now()
	switch {
	case err == nil:
		l.failing = time.Time{}
	case since.IsZero():
		l.failing = now
	}
	l.mu.Unlock()
	log := l.batcher.config.Log
	switch {
	case err != nil && since.IsZero():
		log.Warn("a produce failed", "topic", l.key.topic, "partition", l.key.partition, "error", err)
	case err == nil && !since.IsZero():
		log.Info("produces succeed again", "topic", l.key.topic, "partition", l.key.partition, "after", now.Sub(since))
	}
}

// dropExpired settles the chunks nobody waits for and keeps the rest.
func (l *lane) dropExpired(batch []*chunk) []*chunk {
	now := l.batcher.config.Now()
	var expired []*chunk
	kept := batch[:0]
	for _, c := range batch {
		if c.expired(now) {
			expired = append(expired, c)
		} else {
			kept = append(kept, c)
		}
	}
	l.settle(expired, "", ErrTimeout)
	return kept
}

// settle tells those who wait for the chunks, and frees the chunks' bytes.
func (l *lane) settle(chunks []*chunk, durable Durability, err error) {
	if len(chunks) == 0 {
		return
	}
	for _, c := range chunks {
		c.settle(durable, err)
	}
	l.free(chunks)
}

// free frees the bytes of chunks that were taken.
func (l *lane) free(chunks []*chunk) {
	l.mu.Lock()
	l.queue.free(chunks)
	l.mu.Unlock()
}
