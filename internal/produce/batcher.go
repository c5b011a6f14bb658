package produce

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
)

// Errors of the Batcher. Each means: not durable, the caller may retry.
var (
	ErrQueueFull = errors.New("produce: the queue to Kafka is full")
	ErrDown      = errors.New("produce: the cluster does not take records now")
	ErrTimeout   = errors.New("produce: not acknowledged in time")
	ErrRefused   = errors.New("produce: the cluster refused the records")
	ErrClosed    = errors.New("produce: shutting down")
	ErrSpool     = errors.New("produce: neither the cluster nor the spool takes records")
)

// Config says how a Batcher behaves. The zero value of each field is its default.
type Config struct {
	Linger        time.Duration // an idle partition's wait for more records: 1 ms
	MaxBatchBytes int           // of one produce: 768 KiB, under Kafka's default 1 MiB message.max.bytes

	// Bounds of what is queued and not yet acknowledged, in bytes.
	MaxQueuedBytes    int // of all partitions together: 64 MiB
	MaxPartitionBytes int // of one partition: 16 MiB

	// Spool keeps what Kafka does not take, or has not acknowledged within
	// AwayAfter; nil: there is none, and requests fail.
	Spool     Spool
	AwayAfter time.Duration // 500 ms
	// DrainRate is how much of what is spooled is sent in a second, in bytes,
	// beside as much as is spooled in that second: 32 MiB.
	DrainRate int
	// Partitions are topics' partition counts as they were known in an earlier
	// run: with a spool, good until Kafka says them.
	Partitions map[string]int

	Log *slog.Logger
	Now func() time.Time

	// Produced is called after each produce, Queued with each change of the bytes
	// that are queued; both by many goroutines.
	Produced func(began, ended time.Time, records int, err error)
	Queued   func(bytes int)
}

func (c Config) withDefaults() Config {
	if c.Linger == 0 {
		c.Linger = time.Millisecond
	}
	if c.MaxBatchBytes == 0 {
		c.MaxBatchBytes = 768 << 10
	}
	if c.MaxQueuedBytes == 0 {
		c.MaxQueuedBytes = 64 << 20
	}
	if c.MaxPartitionBytes == 0 {
		c.MaxPartitionBytes = 16 << 20
	}
	if c.AwayAfter == 0 {
		c.AwayAfter = 500 * time.Millisecond
	}
	if c.DrainRate == 0 {
		c.DrainRate = 32 << 20
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

// Producer writes batches; *kafka.Producer is one.
type Producer interface {
	// Partitions is the topic's partition count.
	Partitions(ctx context.Context, topic string) (int, error)
	// ProducePartition writes one batch, once, with acks=all. After an error the
	// batch may or may not be in the log. The batch is not kept: its memory is used
	// again as soon as it returns.
	ProducePartition(ctx context.Context, topic string, partition int, batch []wire.Record) error
}

// Batcher joins the records of many requests into one produce per partition.
// Each partition has one lane: one goroutine and one produce at a time, which
// keeps the order. While a lane waits for an ack, the next batch gathers in its
// queue; only an idle lane lingers.
type Batcher struct {
	producer Producer
	config   Config
	budget   *budget // of all queues

	cancel  context.CancelFunc
	base    context.Context // ends the produces under way, at the end of Close
	closing chan struct{}   // closed when Close begins
	wait    sync.WaitGroup  // the lanes
	drained drainBudget

	parcels   sync.Pool // of *Parcel
	deadlines deadlines

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
func NewBatcher(producer Producer, config Config) *Batcher {
	base, cancel := context.WithCancel(context.Background())
	config = config.withDefaults()
	return &Batcher{
		producer: producer, config: config, base: base, cancel: cancel, closing: make(chan struct{}),
		budget: &budget{limit: config.MaxQueuedBytes, changed: config.Queued},
		lanes:  map[laneKey]*lane{}, counts: map[string]*partitionCount{},
		drained: newDrainBudget(config.DrainRate), deadlines: deadlines{now: config.Now},
	}
}

// Resume begins to send what the spool holds from an earlier run. Call it before
// the first Enqueue.
func (b *Batcher) Resume() {
	if b.config.Spool == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.config.Spool.Partitions() {
		if key := (laneKey{p.Topic, p.Number}); b.lanes[key] == nil && !b.closed {
			b.begin(key, spooling)
		}
	}
}

// Enqueue hands a parcel's records, which have one key, to the partition of that
// key, in order. They belong to the batcher until the parcel is released, also when
// the caller stops waiting. After an error nothing waits for the parcel.
func (b *Batcher) Enqueue(topic, key string, p *Parcel, deadline time.Time) error {
	n, err := b.Partitions(topic, deadline)
	if err != nil {
		return err
	}
	l, err := b.lane(laneKey{topic, kafka.PartitionFor(key, n)})
	if err != nil {
		return err
	}
	p.cut(deadline)
	return l.add(p)
}

func (b *Batcher) lane(key laneKey) (*lane, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, ErrClosed
	}
	l := b.lanes[key]
	if l == nil {
		l = b.begin(key, direct)
	}
	return l, nil
}

// begin makes a lane and runs it. The caller holds b.mu.
func (b *Batcher) begin(key laneKey, first course) *lane {
	l := &lane{
		batcher: b, key: key, wake: make(chan struct{}, 1), course: first,
		queue: &memoryQueue{shared: b.budget, limit: b.config.MaxPartitionBytes},
	}
	b.lanes[key] = l
	b.wait.Go(l.run)
	return l
}

// produceTimeout bounds a Produce whose context has no deadline.
const produceTimeout = 10 * time.Second

// Produce hands records to their keys' partitions, in order, and returns once
// all of them are durable, or ctx ends. On an error some of them may have been
// written. The records' bytes must not be reused, even then.
func (b *Batcher) Produce(ctx context.Context, topic string, records ...wire.Record) error {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = b.config.Now().Add(produceTimeout)
	}
	var parcels []*Parcel
	for len(records) > 0 {
		run := 1
		for run < len(records) && string(records[run].Key) == string(records[0].Key) {
			run++
		}
		p := b.NewParcel()
		p.Records = append(p.Records, records[:run]...)
		//nolint:contextcheck // deadline is ctx's; what is queued outlives ctx
		if err := b.Enqueue(topic, string(records[0].Key), p, deadline); err != nil {
			return err // what is queued of the others may still be written
		}
		parcels, records = append(parcels, p), records[run:]
	}
	for _, p := range parcels {
		select {
		case <-p.ended:
			if _, err := p.outcome(); err != nil {
				return err
			}
			p.Release()
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ErrTimeout, ctx.Err())
		}
	}
	return nil
}

// Close sends what is queued and returns once every lane has ended, at the
// latest when ctx ends: what is not acknowledged by then fails. What is spooled
// stays in the spool, which the caller closes afterwards.
func (b *Batcher) Close(ctx context.Context) {
	b.mu.Lock()
	if !b.closed {
		close(b.closing)
	}
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
