package edge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/tributary-io/tributary/internal/kafka"
)

// Errors of the batcher. Each means: not acknowledged, the caller may retry.
var (
	errQueueFull = errors.New("edge: the queue to Kafka is full")
	errKafkaDown = errors.New("edge: Kafka does not take events now")
	errTimeout   = errors.New("edge: Kafka did not acknowledge in time")
	errRefused   = errors.New("edge: Kafka refused the records")
	errClosed    = errors.New("edge: shutting down")
)

// packBytes is what a large request is cut into, so that it shares produces
// with others and one produce never outgrows its bound by more than this.
const packBytes = 128 << 10

// retryPause is the wait before a failed produce is tried again.
const retryPause = 100 * time.Millisecond

// batcher joins the records of many requests into one produce per partition.
// Each partition has one lane: one goroutine, one produce under way, so that
// order holds. While it waits for its ack the next batch gathers by itself;
// only an idle lane lingers.
type batcher struct {
	producer Producer
	config   Config
	now      func() time.Time
	metrics  *metrics
	log      *slog.Logger

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

func newBatcher(producer Producer, config Config, now func() time.Time, m *metrics, log *slog.Logger) *batcher {
	base, cancel := context.WithCancel(context.Background())
	return &batcher{
		producer: producer, config: config, now: now, metrics: m, log: log, base: base, cancel: cancel,
		lanes: map[laneKey]*lane{}, counts: map[string]*partitionCount{},
	}
}

// pack is some records of one request, bound for one partition.
type pack struct {
	records  []kafka.Record
	bytes    int
	deadline time.Time // after it nobody waits and it is not tried again
	done     chan struct{}
	err      error       // once done is closed
	settled  func(error) // if not nil, called by the lane before done is closed
}

// await is nil once Kafka has the pack.
func (p *pack) await(timeout <-chan time.Time) error {
	select {
	case <-p.done:
		return p.err
	case <-timeout:
		return errTimeout
	}
}

func (p *pack) settle(err error) {
	p.err = err
	if p.settled != nil {
		p.settled(err)
	}
	close(p.done)
}

// enqueue hands records of one key to the partition of that key, in order.
// The records belong to the batcher until each pack is done: their bytes must
// not be reused, even by a caller that stopped waiting. settled may be nil.
func (b *batcher) enqueue(topic, key string, records []kafka.Record, deadline time.Time, settled func(error)) ([]*pack, error) {
	n, err := b.partitions(topic, deadline)
	if err != nil {
		return nil, err
	}
	l, err := b.lane(laneKey{topic, kafka.PartitionFor([]byte(key), n)})
	if err != nil {
		return nil, err
	}
	var packs []*pack
	for len(records) > 0 {
		size, count := 0, 0
		for count < len(records) && (count == 0 || size+recordBytes(records[count]) <= packBytes) {
			size += recordBytes(records[count])
			count++
		}
		packs = append(packs, &pack{
			records: records[:count:count], bytes: size, deadline: deadline, done: make(chan struct{}), settled: settled,
		})
		records = records[count:]
	}
	if err := l.add(packs); err != nil {
		return nil, err
	}
	return packs, nil
}

func recordBytes(r kafka.Record) int {
	const overhead = 32 // lengths, deltas and the header of a record
	return len(r.Key) + len(r.Value) + overhead
}

func (b *batcher) lane(key laneKey) (*lane, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, errClosed
	}
	l := b.lanes[key]
	if l == nil {
		l = &lane{batcher: b, key: key, wake: make(chan struct{}, 1)}
		b.lanes[key] = l
		b.wait.Go(l.run)
	}
	return l, nil
}

// close sends what is queued and returns once every lane has ended, at the
// latest when ctx ends: what is not acknowledged by then fails.
func (b *batcher) close(ctx context.Context) {
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

func (b *batcher) partitions(topic string, deadline time.Time) (int, error) {
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
	ctx, cancel := context.WithTimeout(b.base, deadline.Sub(b.now()))
	defer cancel()
	select {
	case <-count.known:
		return count.n, nil
	case <-ctx.Done():
		return 0, errKafkaDown
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
		return 0, fmt.Errorf("%w: %w", errKafkaDown, err)
	}
	if n <= 0 {
		return 0, fmt.Errorf("%w: topic %s has no partitions", errKafkaDown, topic)
	}
	count.n = n
	close(count.known)
	return n, nil
}
