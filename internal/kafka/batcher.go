package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Errors of the Batcher. Each means: not acknowledged, the caller may retry.
var (
	ErrQueueFull = errors.New("kafka: the queue to Kafka is full")
	ErrDown      = errors.New("kafka: the cluster does not take records now")
	ErrTimeout   = errors.New("kafka: not acknowledged in time")
	ErrRefused   = errors.New("kafka: the cluster refused the records")
	ErrClosed    = errors.New("kafka: shutting down")
)

// packBytes is what a large request is cut into, so that it shares produces
// with others and one produce never outgrows its bound by more than this.
const packBytes = 128 << 10

// BatcherConfig says how a Batcher behaves. The zero value of each field is its default.
type BatcherConfig struct {
	Linger         time.Duration // an idle partition's wait for company: 1 ms
	MaxBatchBytes  int           // of one produce: 768 KiB, under Kafka's default 1 MiB message.max.bytes
	MaxQueuedBytes int           // waiting for one partition: 16 MiB

	Log *slog.Logger
	Now func() time.Time

	// Produced hears of each produce, Queued of each change of the bytes that
	// are on their way. Both are called by many goroutines.
	Produced func(began, ended time.Time, records int, err error)
	Queued   func(bytes int)
}

func (c BatcherConfig) withDefaults() BatcherConfig {
	if c.Linger == 0 {
		c.Linger = time.Millisecond
	}
	if c.MaxBatchBytes == 0 {
		c.MaxBatchBytes = 768 << 10
	}
	if c.MaxQueuedBytes == 0 {
		c.MaxQueuedBytes = 16 << 20
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Produced == nil {
		c.Produced = func(time.Time, time.Time, int, error) {}
	}
	if c.Queued == nil {
		c.Queued = func(int) {}
	}
	return c
}

// PartitionProducer writes batches; *Producer is one.
type PartitionProducer interface {
	// Partitions is the topic's partition count.
	Partitions(ctx context.Context, topic string) (int, error)
	// ProducePartition writes one batch, once, with acks=all. After an error the
	// batch may or may not be in the log.
	ProducePartition(ctx context.Context, topic string, partition int, batch []Record) error
}

// Batcher joins the records of many requests into one produce per partition.
// Each partition has one lane: one goroutine, one produce under way, so that
// order holds. While it waits for its ack the next batch gathers by itself;
// only an idle lane lingers.
type Batcher struct {
	producer PartitionProducer
	config   BatcherConfig

	cancel context.CancelFunc
	base   context.Context // ends the produces under way, at the end of a drain
	wait   sync.WaitGroup  // the lanes

	mu     sync.Mutex
	closed bool
	lanes  map[laneKey]*lane
	counts map[string]*partitionCount
}

type laneKey struct {
	topic     string
	partition int
}

// NewBatcher makes a batcher; Close it when done.
func NewBatcher(producer PartitionProducer, config BatcherConfig) *Batcher {
	base, cancel := context.WithCancel(context.Background())
	return &Batcher{
		producer: producer, config: config.withDefaults(), base: base, cancel: cancel,
		lanes: map[laneKey]*lane{}, counts: map[string]*partitionCount{},
	}
}

// Pack is some records of one request, bound for one partition.
type Pack struct {
	records  []Record
	bytes    int
	deadline time.Time // after it nobody waits and it is not tried again
	done     chan struct{}
	err      error       // once done is closed
	settled  func(error) // if not nil, called by the lane before done is closed
}

// Done is closed once Kafka has the pack, or will not have it.
func (p *Pack) Done() <-chan struct{} { return p.done }

// Await is nil once Kafka has the pack.
func (p *Pack) Await(timeout <-chan time.Time) error {
	select {
	case <-p.done:
		return p.err
	case <-timeout:
		return ErrTimeout
	}
}

func (p *Pack) settle(err error) {
	p.err = err
	if p.settled != nil {
		p.settled(err)
	}
	close(p.done)
}

// Enqueue hands records of one key to the partition of that key, in order.
// The records belong to the batcher until each pack is done: their bytes must
// not be reused, even by a caller that stopped waiting. settled may be nil.
func (b *Batcher) Enqueue(topic, key string, records []Record, deadline time.Time, settled func(error)) ([]*Pack, error) {
	n, err := b.Partitions(topic, deadline)
	if err != nil {
		return nil, err
	}
	l, err := b.lane(laneKey{topic, PartitionFor([]byte(key), n)})
	if err != nil {
		return nil, err
	}
	var packs []*Pack
	for len(records) > 0 {
		size, count := 0, 0
		for count < len(records) && (count == 0 || size+recordBytes(records[count]) <= packBytes) {
			size += recordBytes(records[count])
			count++
		}
		packs = append(packs, &Pack{
			records: records[:count:count], bytes: size, deadline: deadline, done: make(chan struct{}), settled: settled,
		})
		records = records[count:]
	}
	if err := l.add(packs); err != nil {
		return nil, err
	}
	return packs, nil
}

func recordBytes(r Record) int {
	const overhead = 32 // lengths, deltas and the header of a record
	return len(r.Key) + len(r.Value) + overhead
}

func (b *Batcher) lane(key laneKey) (*lane, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, ErrClosed
	}
	l := b.lanes[key]
	if l == nil {
		l = &lane{batcher: b, key: key, wake: make(chan struct{}, 1)}
		b.lanes[key] = l
		b.wait.Go(l.run)
	}
	return l, nil
}

// produceTimeout bounds a Produce whose context has no deadline.
const produceTimeout = 10 * time.Second

// Produce hands records to their keys' partitions, in order, and returns once
// all in-sync replicas have all of them, or ctx ends. On an error some of them
// may have been written. The records' bytes must not be reused, even then.
func (b *Batcher) Produce(ctx context.Context, topic string, records ...Record) error {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = b.config.Now().Add(produceTimeout)
	}
	var packs []*Pack
	for len(records) > 0 {
		run := 1
		for run < len(records) && string(records[run].Key) == string(records[0].Key) {
			run++
		}
		more, err := b.Enqueue(topic, string(records[0].Key), records[:run:run], deadline, nil)
		if err != nil {
			return err // what is queued of the others may still be written
		}
		packs, records = append(packs, more...), records[run:]
	}
	for _, p := range packs {
		select {
		case <-p.done:
			if p.err != nil {
				return p.err
			}
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ErrTimeout, ctx.Err())
		}
	}
	return nil
}

// Close sends what is queued and returns once every lane has ended, at the
// latest when ctx ends: what is not acknowledged by then fails.
func (b *Batcher) Close(ctx context.Context) {
	b.mu.Lock()
	b.closed = true
	for _, l := range b.lanes {
		l.close()
	}
	b.mu.Unlock()
	stop := context.AfterFunc(ctx, b.cancel)
	b.wait.Wait()
	stop()
	b.cancel()
}

// partitionCount is asked of Kafka by whoever needs it first; others wait.
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
