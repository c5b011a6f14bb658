package produce

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/tributary-io/tributary/internal/kafka"
)

// partitionCount is a topic's partition count. The first that needs it asks
// Kafka; the others wait.
type partitionCount struct {
	asking  chan struct{} // holds one token: who has it asks
	n       int           // owned by the token's holder until known is closed
	known   chan struct{}
	assumed int         // of an earlier run; 0: none
	silent  atomic.Bool // Kafka was asked and did not say
}

// Partitions is the topic's partition count, asked until it is known. With a
// spool, a count of an earlier run serves while Kafka does not say.
func (b *Batcher) Partitions(topic string, deadline time.Time) (int, error) {
	count := b.count(topic)
	select {
	case <-count.known:
		return count.n, nil
	default:
	}
	left := deadline.Sub(b.config.Now())
	if count.assumed > 0 {
		if count.silent.Load() {
			return count.assumed, nil
		}
		left = min(left, b.config.AwayAfter)
	}
	ctx, cancel := context.WithTimeout(b.base, left)
	defer cancel()
	n, err := count.ask(ctx, topic, b.producer)
	if err != nil && count.assumed > 0 {
		count.silent.Store(true)
		return count.assumed, nil
	}
	return n, err
}

// Spools tells whether the spool holds, or may hold, records of a key's partition: what
// was acknowledged of the partition need not be on Kafka yet.
func (b *Batcher) Spools(topic, key string, deadline time.Time) bool {
	if b.config.Spool == nil {
		return false
	}
	n, err := b.Partitions(topic, deadline)
	return err != nil || b.config.Spool.Holds(Partition{topic, kafka.PartitionFor(key, n)})
}

// ConfirmPartitions is the topic's partition count as Kafka says it.
func (b *Batcher) ConfirmPartitions(ctx context.Context, topic string) (int, error) {
	count := b.count(topic)
	n, err := count.ask(ctx, topic, b.producer)
	if err == nil && count.assumed > 0 && count.assumed != n && count.silent.CompareAndSwap(true, false) {
		b.config.Log.Error("a topic has another count of partitions than before: spooled records go to their new partitions", "topic", topic,
			"before", count.assumed, "now", n)
	}
	return n, err
}

func (b *Batcher) count(topic string) *partitionCount {
	b.mu.Lock()
	defer b.mu.Unlock()
	count := b.counts[topic]
	if count == nil {
		count = &partitionCount{asking: make(chan struct{}, 1), known: make(chan struct{})}
		if b.config.Spool != nil {
			count.assumed = b.config.Partitions[topic]
		}
		b.counts[topic] = count
	}
	return count
}

func (p *partitionCount) ask(ctx context.Context, topic string, producer Producer) (int, error) {
	select {
	case <-p.known:
		return p.n, nil
	default:
	}
	select {
	case <-p.known:
		return p.n, nil
	case <-ctx.Done():
		return 0, ErrDown
	case p.asking <- struct{}{}:
	}
	defer func() { <-p.asking }()
	select {
	case <-p.known: // while the token was on its way
		return p.n, nil
	default:
	}
	n, err := producer.Partitions(ctx, topic)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrDown, err)
	}
	if n <= 0 {
		return 0, fmt.Errorf("%w: topic %s has no partitions", ErrDown, topic)
	}
	p.n = n
	close(p.known)
	return n, nil
}
