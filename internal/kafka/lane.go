package kafka

import (
	"context"
	"sync"
	"time"
)

// patience is how long a partition may fail before new requests are refused at
// once: longer than an election of its leader takes.
const patience = 2 * time.Second

// lane is one partition's queue and the goroutine that empties it.
type lane struct {
	batcher *Batcher
	key     laneKey
	wake    chan struct{} // one token: something was queued, or the lane closed

	mu      sync.Mutex
	queue   []*Pack
	bytes   int // of the queue and of the batch being sent
	sending bool
	failing time.Time // since when produces fail; zero while they do not
	closed  bool
}

// add queues all packs of a request, or none of them.
func (l *lane) add(packs []*Pack) error {
	bytes := 0
	for _, p := range packs {
		bytes += p.bytes
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	busy := l.sending || len(l.queue) > 0
	switch {
	case l.closed:
		return ErrClosed
	case l.bytes+bytes > l.batcher.config.MaxQueuedBytes:
		return ErrQueueFull
	case busy && !l.failing.IsZero() && l.batcher.config.Now().Sub(l.failing) > patience:
		// One request at a time finds out whether Kafka is back; the others
		// are told at once rather than hold a connection until their bound.
		return ErrDown
	}
	l.queue = append(l.queue, packs...)
	l.bytes += bytes
	l.batcher.config.Queued(bytes)
	l.signal()
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
	for {
		batch, more := l.take(timer)
		if len(batch) > 0 {
			l.send(batch)
		}
		if !more {
			return
		}
	}
}

// take waits for a first pack, and lingers for others only if it had to wait:
// what gathered behind the last produce goes at once.
func (l *lane) take(timer *time.Timer) (batch []*Pack, more bool) {
	idle := false
	for {
		l.mu.Lock()
		queued, closed := len(l.queue), l.closed
		l.mu.Unlock()
		if queued > 0 {
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
	size, n := 0, 0
	for n < len(l.queue) && (n == 0 || size+l.queue[n].bytes <= l.batcher.config.MaxBatchBytes) {
		size += l.queue[n].bytes
		n++
	}
	batch = append(batch, l.queue[:n]...)
	rest := copy(l.queue, l.queue[n:])
	clear(l.queue[rest:])
	l.queue = l.queue[:rest]
	l.sending = true
	return batch, true
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
			enough := l.closed || l.bytes >= l.batcher.config.MaxBatchBytes
			l.mu.Unlock()
			if enough {
				return
			}
		}
	}
}

// send writes the batch and settles its packs.
func (l *lane) send(batch []*Pack) {
	if refused := l.produce(batch); len(refused) > 1 {
		// One request's records may have spoilt the produce for all: each alone.
		for i := range refused {
			l.settle(l.produce(refused[i:i+1]), ErrRefused)
		}
	} else {
		l.settle(refused, ErrRefused)
	}
	l.mu.Lock()
	l.sending = false
	l.mu.Unlock()
}

// produce writes the packs in one produce, tried again after temporary
// failures until nobody waits for it any more. It returns, unsettled, the
// packs that Kafka refused for good.
func (l *lane) produce(batch []*Pack) (refused []*Pack) {
	b := l.batcher
	for {
		batch = l.dropExpired(batch)
		if len(batch) == 0 {
			return nil
		}
		last := batch[0].deadline
		records := 0
		for _, p := range batch {
			records += len(p.records)
			if p.deadline.After(last) {
				last = p.deadline
			}
		}
		joined := make([]Record, 0, records)
		for _, p := range batch {
			joined = append(joined, p.records...)
		}
		began := b.config.Now()
		ctx, cancel := context.WithTimeout(b.base, last.Sub(began))
		err := b.producer.ProducePartition(ctx, l.key.topic, l.key.partition, joined)
		cancel()
		b.config.Produced(began, b.config.Now(), records, err)
		l.note(err)
		switch {
		case err == nil:
			l.settle(batch, nil)
			return nil
		case b.base.Err() != nil:
			l.settle(batch, ErrClosed)
			return nil
		case !IsTemporary(err):
			b.config.Log.Error("Kafka refused records for good", "topic", l.key.topic, "partition", l.key.partition, "records", records, "error", err)
			return batch
		}
		select {
		case <-b.base.Done():
		case <-time.After(retryPause):
		}
	}
}

// note remembers since when produces fail, and logs the first failure and the
// end of a row of them.
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

// dropExpired settles the packs nobody waits for and keeps the rest.
func (l *lane) dropExpired(batch []*Pack) []*Pack {
	now := l.batcher.config.Now()
	var expired []*Pack
	kept := batch[:0]
	for _, p := range batch {
		if now.Before(p.deadline) {
			kept = append(kept, p)
		} else {
			expired = append(expired, p)
		}
	}
	l.settle(expired, ErrTimeout)
	return kept
}

func (l *lane) settle(packs []*Pack, err error) {
	bytes := 0
	for _, p := range packs {
		bytes += p.bytes
		p.settle(err)
	}
	l.mu.Lock()
	l.bytes -= bytes
	l.mu.Unlock()
	l.batcher.config.Queued(-bytes)
}
