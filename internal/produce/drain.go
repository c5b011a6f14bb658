package produce

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/throttle"
	"github.com/tributary-io/tributary/internal/wire"
)

const (
	// drainBytes is about what one produce from the spool has; each partition
	// holds one in memory.
	drainBytes = 256 << 10

	// maxDrainPause is the longest wait before a failed produce from the spool is
	// tried again. Each wait is twice the one before, from retryPause on.
	maxDrainPause = 2 * time.Second

	// refusedPause is the wait where a record that Kafka refuses for good cannot be
	// quarantined: until somebody makes room, or changes the topic's settings, no
	// retry helps.
	refusedPause = 30 * time.Second
)

// errNotQuarantined: what Kafka refuses for good holds the records behind it.
var errNotQuarantined = errors.New("the spool cannot quarantine what Kafka refuses for good")

// drain sends what the spool holds of the partition, oldest first, until it
// holds nothing: then it returns true, and what comes goes to Kafka directly. It
// returns false when the lane is closed.
//
// Once the spool's last records are being sent, what comes waits in memory for
// them, or a partition with steady traffic would be drained for ever. If they
// are not acknowledged in time, what waits follows them into the spool.
func (l *lane) drain(away spoolTimer) bool {
	defer away.Stop()
	pause, maxBytes, sent := retryPause, int64(drainBytes), 0
	l.forgetHanded()
	for {
		if l.drainedOrClosed() {
			if sent > 0 {
				l.batcher.config.Log.Info("spooled records are on Kafka", "topic", l.key.topic, "partition", l.key.partition, "records", sent,
					"all", !l.isAway())
			}
			return !l.isAway()
		}
		kept, err := l.batcher.config.Spool.Next(l.partition(), maxBytes)
		if err == nil && len(kept.Records) == 0 {
			if !l.awaitWake() { // until what is handed to the spool is durable
				return false
			}
			continue
		}
		if err != nil {
			l.batcher.config.Log.Error("the spool cannot be read", "topic", l.key.topic, "partition", l.key.partition, "error", err)
		} else if err = l.sendKept(kept); kafka.IsRefusal(err) && maxBytes == 0 {
			err = l.sendEach(kept)
		}
		switch {
		case err == nil:
			pause, maxBytes, sent = retryPause, drainBytes, sent+len(kept.Records)
			l.sentFromSpool(kept.Last, len(kept.Records))
			if kept.All {
				l.beginEnding(away)
			}
			continue
		case kafka.IsRefusal(err) && maxBytes > 0:
			maxBytes = 0 // the records of one request may be the reason
			continue
		case errors.Is(err, errNotQuarantined):
			l.batcher.config.Log.Error("Kafka refuses a spooled record for good: the partition's later ones wait behind it", "topic", l.key.topic,
				"partition", l.key.partition, "error", err)
			pause = refusedPause
		}
		l.handOver(err)
		select {
		case <-l.batcher.closing:
		case <-time.After(pause):
		}
		pause = min(2*pause, maxDrainPause)
	}
}

// beginEnding lets what comes wait in the queue.
func (l *lane) beginEnding(away spoolTimer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.course != ending && !l.closed {
		l.course, l.sentAt = ending, l.batcher.config.Now()
		away.Reset(l.batcher.config.AwayAfter)
	}
}

// drainedOrClosed ends the spooling if nothing is left to send. While the lane
// closes it waits until what is handed to the spool is durable.
func (l *lane) drainedOrClosed() bool {
	for {
		l.mu.Lock()
		if l.closed {
			l.handOverLocked(ErrClosed)
		}
		closed, keeping := l.closed, l.keeping
		if keeping == 0 && !l.batcher.config.Spool.Holds(l.partition()) {
			l.course = direct
			l.mu.Unlock()
			return true
		}
		l.mu.Unlock()
		if !closed || keeping == 0 || !l.awaitWake() {
			return closed
		}
	}
}

// sendKept writes spooled records to Kafka, each to its key's partition. That is
// the lane's, unless the count of partitions was not what it was thought to be.
func (l *lane) sendKept(kept Kept) error {
	b := l.batcher
	open, end := context.WithCancel(b.base)
	defer end()
	defer b.whenClosing(end)()
	size, misplaced := 0, false
	for _, r := range kept.Records {
		size += recordBytes(r)
	}
	if err := b.drained.wait(open, size); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(open, maxAttempt)
	defer cancel()
	n, err := b.ConfirmPartitions(ctx, l.key.topic)
	if err != nil {
		return err
	}
	for _, r := range kept.Records {
		misplaced = misplaced || kafka.PartitionFor(r.Key, n) != l.key.partition
	}
	if !misplaced {
		return l.produceKept(ctx, l.key.partition, kept.Records)
	}
	for i, r := range kept.Records {
		if err := l.produceKept(ctx, kafka.PartitionFor(r.Key, n), kept.Records[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// sendEach sends one request's records one by one, and quarantines those that
// Kafka refuses for good: they were acknowledged, so they may not be lost, and
// they must not hold those behind them for ever.
func (l *lane) sendEach(kept Kept) error {
	for i := range kept.Records {
		one := kept.Records[i : i+1]
		err := l.sendKept(Kept{Records: one})
		if kafka.IsRefusal(err) {
			l.batcher.config.Log.Error("Kafka refuses a spooled record for good: it is quarantined, and tried again at the next start", "topic",
				l.key.topic, "partition", l.key.partition, "bytes", recordBytes(one[0]), "error", err)
			if err = l.batcher.config.Spool.Quarantine(l.partition(), one); err != nil {
				err = fmt.Errorf("%w: %w", errNotQuarantined, err)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *lane) produceKept(ctx context.Context, partition int, records []wire.Record) error {
	b := l.batcher
	began := b.config.Now()
	err := b.producer.ProducePartition(ctx, l.key.topic, partition, records)
	b.config.Produced(began, b.config.Now(), len(records), err)
	l.note(err)
	return err
}

// whenClosing calls end some time after Close has begun: an acknowledgement that
// is on its way may still come. stop ends the wait.
func (b *Batcher) whenClosing(end func()) (stop func()) {
	stopped := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		select {
		case <-stopped:
			return
		case <-b.closing:
		}
		select {
		case <-stopped:
		case <-time.After(b.config.AwayAfter):
			end()
		}
	})
	return func() { close(stopped); wait.Wait() }
}

// drainBudget bounds how fast the spool is drained: DrainRate, and as much again
// as is spooled meanwhile, so that a drain ends however much comes.
type drainBudget struct {
	bucket *throttle.Bucket
	mu     *sync.Mutex
	free   *int // bytes that were spooled and are not used up
	most   int
}

func newDrainBudget(perSecond int) drainBudget {
	most := max(perSecond, 2*drainBytes, 1<<20)
	return drainBudget{throttle.NewBucket(float64(perSecond), float64(most)), &sync.Mutex{}, new(int), most}
}

// add notes that bytes were spooled.
func (d drainBudget) add(bytes int) {
	d.mu.Lock()
	*d.free = min(*d.free+bytes, d.most)
	d.mu.Unlock()
}

// wait returns once bytes may be sent.
func (d drainBudget) wait(ctx context.Context, bytes int) error {
	d.mu.Lock()
	used := min(bytes, *d.free)
	*d.free -= used
	d.mu.Unlock()
	if !background.Sleep(ctx, d.bucket.Charge(time.Now(), float64(min(bytes-used, d.most)))) {
		return ctx.Err()
	}
	return nil
}
