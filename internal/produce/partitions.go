package produce

import (
	"context"
	"fmt"
	"time"
)

// partitionCount is a topic's partition count. The first that needs it asks
// Kafka; the others wait.
type partitionCount struct {
	asking chan struct{} // holds one token: who has it asks
	n      int           // owned by the token's holder until known is closed
	known  chan struct{}
}

// Partitions is the topic's partition count, asked until it is known.
func (b *Batcher) Partitions(topic string, deadline time.Time) (int, error) {
	b.mu.Lock()
	count := b.counts[topic]
	if count == nil {
		count = &partitionCount{asking: make(chan struct{}, 1), known: make(chan struct{})}
		b.counts[topic] = count
	}
	b.mu.Unlock()
	select {
	case <-count.known:
		return count.n, nil
	default:
	}
	ctx, cancel := context.WithTimeout(b.base, deadline.Sub(b.config.Now()))
	defer cancel()
	select {
	case <-count.known:
		return count.n, nil
	case <-ctx.Done():
		return 0, ErrDown
	case count.asking <- struct{}{}:
	}
	defer func() { <-count.asking }()
	select {
	case <-count.known: // while the token was on its way
		return count.n, nil
	default:
	}
	n, err := b.producer.Partitions(ctx, topic)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrDown, err)
	}
	if n <= 0 {
		return 0, fmt.Errorf("%w: topic %s has no partitions", ErrDown, topic)
	}
	count.n = n
	close(count.known)
	return n, nil
}
