package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/tributary-io/tributary/internal/wire"
)

// Group is a member of a consumer group that assigns partitions and keeps no
// offsets: the owner of a partition reads it from the offset in its own store.
// All topics of the group have the same partition count, and the range
// balancer gives the same indices of each to the same member.
type Group struct {
	client *Client
	id     string
	topics []string
	notify func(error)
	count  atomic.Int64 // of the topics' partitions, which never changes; 0: not known yet
}

// Timing of the group. A killed member's partitions move after sessionTimeout
// and one heartbeat of the others: within 10 s. 6 s is the least that a broker
// allows unless told otherwise (group.min.session.timeout.ms).
const (
	sessionTimeout    = 6 * time.Second
	heartbeatInterval = 1500 * time.Millisecond
	rebalanceTimeout  = 10 * time.Second // owners must have returned by then
	rejoinPause       = time.Second
)

// NewGroup makes a member; nothing is dialled until Consume. notify, if not
// nil, is called with each error after which the member tries again.
func NewGroup(client *Client, id string, notify func(error), topics ...string) *Group {
	if notify == nil {
		notify = func(error) {}
	}
	return &Group{client: client, id: id, topics: topics, notify: notify}
}

// Consume joins the group and runs own for every partition that this member
// owns, each in a goroutine of its own, with a context that ends when the
// partition is taken away; own must return soon after. It returns when ctx ends
// (nil), once all owners have returned and the group has been left, or with the
// first error of an owner, after which the others are stopped too. After a
// failure to join it tries again.
func (g *Group) Consume(ctx context.Context, own func(ctx context.Context, partition int) error) error {
	var names []string
	for _, topic := range g.topics {
		names = append(names, g.client.Named(topic))
	}
	group, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID: g.client.Named(g.id), Brokers: g.client.config.Brokers, Dialer: g.client.dialer(), Topics: names,
		GroupBalancers:    []kafka.GroupBalancer{rangeBalancer{}},
		HeartbeatInterval: heartbeatInterval, SessionTimeout: sessionTimeout,
		RebalanceTimeout: rebalanceTimeout, JoinGroupBackoff: rejoinPause,
	})
	if err != nil {
		return fmt.Errorf("kafka: group %s: %w", g.id, err)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var owners sync.WaitGroup
	for {
		generation, err := group.Next(ctx)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			g.notify(fmt.Errorf("kafka: group %s: %w", g.id, err))
			continue // kafka-go pauses by itself before it joins again
		}
		partitions, err := g.ownedPartitions(generation.Assignments)
		if err != nil {
			stop(err)
			break
		}
		for _, partition := range partitions {
			owners.Add(1)
			generation.Start(func(generationCtx context.Context) {
				defer owners.Done()
				ownCtx, cancel := context.WithCancel(ctx)
				defer cancel()
				defer context.AfterFunc(generationCtx, cancel)()
				if err := own(ownCtx, partition); err != nil && ownCtx.Err() == nil {
					stop(err)
				}
			})
		}
	}
	// Close waits for the owners, whose contexts have ended.
	if err := group.Close(); err != nil {
		g.notify(fmt.Errorf("kafka: leave group %s: %w", g.id, err))
	}
	owners.Wait()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) && !errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	return nil
}

// rangeBalancer is kafka-go's with the partitions in order. kafka-go assigns them
// as the broker's metadata lists them, in another order for each topic: a member
// would own partition 3 of one topic and 7 of the other.
type rangeBalancer struct{ kafka.RangeGroupBalancer }

func (b rangeBalancer) AssignGroups(members []kafka.GroupMember, partitions []kafka.Partition) kafka.GroupMemberAssignments {
	sorted := slices.SortedFunc(slices.Values(partitions), func(x, y kafka.Partition) int { return cmp.Compare(x.ID, y.ID) })
	return b.RangeGroupBalancer.AssignGroups(members, sorted)
}

// ownedPartitions are the partition indices assigned to this member, which must
// be the same in each topic.
func (g *Group) ownedPartitions(assignments map[string][]kafka.PartitionAssignment) ([]int, error) {
	var first []int
	for i, topic := range g.topics {
		var indices []int
		for _, a := range assignments[g.client.Named(topic)] {
			indices = append(indices, a.ID)
		}
		slices.Sort(indices)
		if i == 0 {
			first = indices
		} else if !slices.Equal(first, indices) {
			return nil, fmt.Errorf("kafka: group %s owns partitions %v of %s and %v of %s: the topics' partition counts must be equal", g.id, first,
				g.topics[0], indices, topic)
		}
	}
	return first, nil
}

// Bounds tells where a partition's log begins and where the next record will be.
func (g *Group) Bounds(ctx context.Context, topic string, partition int) (first, next int64, err error) {
	log, err := g.client.logEnd(ctx, topic, partition)
	return log.first, log.next, err
}

// ClusterID names the cluster: offsets of one mean nothing in another.
func (g *Group) ClusterID(ctx context.Context) (string, error) { return g.client.ClusterID(ctx) }

// PartitionOf tells which partition of the group's topics a key belongs to.
func (g *Group) PartitionOf(ctx context.Context, key []byte) (int, error) {
	if g.count.Load() == 0 {
		n, err := g.client.Partitions(ctx, g.topics[0])
		if err != nil {
			return 0, err
		}
		g.count.Store(int64(n))
	}
	return PartitionFor(key, int(g.count.Load())), nil
}

// fetchBytes is what one answer of the broker may hold; it is read from the
// connection record by record.
const fetchBytes = 2 << 20

// readerQueue is how many records of a topic wait between kafka-go's Reader and its
// caller, who has a queue of its own, bounded in bytes. Of events, which have 64 KiB at
// most, several do: with one, each record would cost two changes of goroutines.
func readerQueue(topic string) int {
	if topic == wire.TopicEvents {
		return 8
	}
	return 1
}

// Read hands each record of a partition from an offset on to handle, in order,
// until ctx ends or handle fails. Key and value stay valid afterwards. During a
// broker's outage it tries again; an offset that the log does not hold is an error.
func (g *Group) Read(ctx context.Context, topic string, partition int, from int64, handle func(r wire.Fetched) error) error {
	name := g.client.Named(topic)
	ctx, cancel := context.WithCancel(ctx)
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: g.client.config.Brokers, Topic: name, Partition: partition, Dialer: g.client.readingDialer(ctx),
		MinBytes: 1, MaxBytes: fetchBytes, MaxWait: pollWait,
		QueueCapacity:  readerQueue(topic),
		ReadBackoffMin: 100 * time.Millisecond, ReadBackoffMax: time.Second,
		OffsetOutOfRangeError: true,
	})
	defer reader.Close()
	defer cancel()
	if err := reader.SetOffset(from); err != nil {
		return fmt.Errorf("kafka: read %s/%d from %d: %w", name, partition, from, err)
	}
	for {
		message, err := reader.ReadMessage(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, kafka.OffsetOutOfRange), errors.Is(err, io.EOF):
			return fmt.Errorf("kafka: read %s/%d at %d: %w", name, partition, reader.Offset(), err)
		case err != nil:
			g.notify(fmt.Errorf("kafka: read %s/%d: %w", name, partition, err))
			continue // the reader dials again, backing off, and reports every third failure
		}
		fetched := wire.Fetched{
			Record: Record{Key: message.Key, Value: message.Value, Trace: traceOf(message.Headers)},
			Offset: message.Offset, Time: message.Time, End: message.HighWaterMark,
		}
		if err := handle(fetched); err != nil {
			return err
		}
	}
}

// traceOf is the trace that the headers of a record name, where there is one.
func traceOf(headers []kafka.Header) wire.Trace {
	for _, h := range headers {
		if h.Key == wire.TraceHeader {
			return wire.ParseTrace(h.Value)
		}
	}
	return wire.Trace{}
}

// Publish writes one record with acks=all; see Produce.
func (p *Producer) Publish(ctx context.Context, topic string, key, value []byte) error {
	return p.Produce(ctx, topic, Record{Key: key, Value: value})
}
