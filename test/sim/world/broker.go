package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"syscall"
	"time"

	segment "github.com/segmentio/kafka-go"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
)

// partitions is the count of each topic's, but the directory's one.
const partitions = 2

// cluster is a model of Kafka: logs with a leader, which acknowledges records
// once the replicas have them (acks=all). What is not acknowledged may be cut
// off when the leader changes. Requests and answers take time and get lost; a
// request that its sender has given up may still be carried out.
type cluster struct {
	w      *world
	random *dice

	mu      sync.Mutex
	topics  map[string][]*partitionLog
	faults  clusterFaults
	pending sync.WaitGroup // requests that are carried out
}

// clusterFaults are what the cluster does wrong. Shares are of 1.
type clusterFaults struct {
	refuses   bool          // connections
	silent    bool          // takes requests and answers none; carries out lostAcks of them
	slow      time.Duration // more than usual, at most, each way
	temporary float64       // share of produces that fail with an error that a retry mends
	lostAcks  float64       // share of produces that are carried out and not acknowledged
	denied    bool          // no permission to write
	maxRecord int           // bytes of a record's value; 0: no bound

	leaderless [partitions]bool // partitions of events.v1 without a leader
}

// partitionLog is one partition's log on its leader. Consumers see what is
// before committed.
type partitionLog struct {
	topic     string
	number    int
	records   []logged
	committed int
	leader    int           // grows with each change of the leader
	grown     chan struct{} // closed and replaced when committed grows
}

type logged struct {
	key, value []byte
	at         time.Time
}

func newCluster(w *world, random *dice) *cluster {
	c := &cluster{w: w, random: random, topics: map[string][]*partitionLog{}}
	for topic, count := range map[string]int{
		wire.TopicEvents: partitions, wire.TopicCommerce: partitions, wire.TopicBulk: partitions, wire.TopicRejected: partitions,
		wire.TopicDirectory: 1,
	} {
		for n := range count {
			c.topics[topic] = append(c.topics[topic], &partitionLog{topic: topic, number: n, grown: make(chan struct{})})
		}
	}
	return c
}

func (c *cluster) log(topic string, partition int) *partitionLog { return c.topics[topic][partition] }

func (c *cluster) set(change func(*clusterFaults)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.faults)
}

func (c *cluster) current() clusterFaults {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.faults
}

// requestTimeout is a client's own, for requests that bring no deadline.
const requestTimeout = 5 * time.Second

// travel is one way of a request or an answer.
func (c *cluster) travel(f clusterFaults) time.Duration {
	d := c.random.between(100*time.Microsecond, 2*time.Millisecond)
	if f.slow > 0 {
		d += c.random.between(f.slow/2, f.slow)
	}
	return d
}

// ask is a request that changes nothing: it fails while the cluster is away.
func (c *cluster) ask(ctx context.Context) error {
	f := c.current()
	if f.refuses {
		return syscall.ECONNREFUSED
	}
	if f.silent {
		if !background.Sleep(ctx, requestTimeout) {
			return ctx.Err()
		}
		return context.DeadlineExceeded
	}
	select {
	case <-time.After(c.travel(f) + c.travel(f)):
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// produce writes a batch for a process; nil: one that does not die.
func (c *cluster) produce(ctx context.Context, by *process, topic string, partition int, batch []wire.Record) error {
	f := c.current()
	if by != nil && by.isDead() {
		return errDead
	}
	if f.refuses {
		return syscall.ECONNREFUSED
	}
	// As the real producer does, it has the bytes of its own from here on.
	var written []logged
	for _, r := range batch {
		written = append(written, logged{slices.Clone(r.Key), slices.Clone(r.Value), time.Time{}})
	}
	answer := make(chan error, 1)
	c.pending.Go(func() {
		// The request is in the sender's memory until it has arrived.
		time.Sleep(c.travel(f))
		if by != nil && by.isDead() && c.random.chance(0.5) {
			return
		}
		if err, lost := c.carryOut(f, topic, partition, written); !lost {
			time.Sleep(c.travel(f))
			answer <- err
		}
	})
	var died chan struct{}
	if by != nil {
		died = by.died
	}
	select {
	case err := <-answer:
		if by != nil && by.isDead() {
			return errDead
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-died:
		return errDead
	}
}

// carryOut is the leader's part of a produce. lost: nobody gets its answer.
func (c *cluster) carryOut(f clusterFaults, topic string, partition int, batch []logged) (err error, lost bool) {
	if f.silent && !c.random.chance(f.lostAcks) {
		return nil, true
	}
	if f.denied {
		return segment.TopicAuthorizationFailed, false
	}
	for _, r := range batch {
		if f.maxRecord > 0 && len(r.value) > f.maxRecord {
			c.w.noteRefused(r.value)
			return segment.MessageSizeTooLarge, false
		}
	}
	if topic == wire.TopicEvents && f.leaderless[partition] {
		return segment.LeaderNotAvailable, false
	}
	if c.random.chance(f.temporary) {
		return []error{segment.NotLeaderForPartition, segment.LeaderNotAvailable, segment.NotEnoughReplicas, io.EOF}[c.random.intn(4)], false
	}
	l := c.log(topic, partition)
	c.mu.Lock()
	leader := l.leader
	for _, r := range batch {
		r.at = time.Now()
		l.records = append(l.records, r)
	}
	end := len(l.records)
	c.mu.Unlock()
	time.Sleep(c.travel(f)) // to the replicas
	c.mu.Lock()
	if l.leader != leader {
		c.mu.Unlock()
		return segment.NotLeaderForPartition, false // of its records any may be there
	}
	c.commit(l, end)
	c.mu.Unlock()
	lost = f.silent || c.random.chance(f.lostAcks)
	if !lost && f.temporary > 0 && c.random.chance(f.temporary/2) {
		return segment.NotEnoughReplicasAfterAppend, false
	}
	return nil, lost
}

// commit lets consumers see the records before end. The caller holds c.mu.
func (c *cluster) commit(l *partitionLog, end int) {
	if end <= l.committed {
		return
	}
	for at := l.committed; at < end; at++ {
		c.w.noteCommitted(l, at, l.records[at])
	}
	l.committed = end
	close(l.grown)
	l.grown = make(chan struct{})
}

// changeLeader gives a partition another leader: of what is not acknowledged it
// has an arbitrary part.
func (c *cluster) changeLeader(topic string, partition int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.log(topic, partition)
	l.leader++
	l.records = l.records[:l.committed+c.random.intn(len(l.records)-l.committed+1)]
	c.commit(l, len(l.records))
	c.w.trace("leader of %s/%d changes at %d", topic, partition, len(l.records))
}

// records are a partition's from an offset on that consumers see.
func (c *cluster) read(topic string, partition int, from int64) (records []logged, end int64, grown <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.log(topic, partition)
	return l.records[min(int(from), l.committed):l.committed], int64(l.committed), l.grown
}

// follow hands a partition's records to handle until ctx ends.
func (c *cluster) follow(ctx context.Context, topic string, partition int, from int64, handle func(at int64, end int64, r logged) error,
	caughtUp func(at int64)) error {
	for {
		records, end, grown := c.read(topic, partition, from)
		for _, r := range records {
			if err := handle(from, end, r); err != nil {
				return err
			}
			from++
		}
		caughtUp(from)
		select {
		case <-grown:
		case <-ctx.Done():
			return ctx.Err()
		}
		for c.ask(ctx) != nil { // away: a reader tries again
			if !background.Sleep(ctx, 250*time.Millisecond) {
				return ctx.Err()
			}
		}
	}
}

// edgeClient is the cluster as one life of an edge sees it: its producer and its
// source of the directory.
type edgeClient struct {
	*cluster
	by *process
	of *machine
}

func (c edgeClient) Partitions(ctx context.Context, topic string) (int, error) {
	if c.by.isDead() {
		return 0, errDead
	}
	if err := c.ask(ctx); err != nil {
		return 0, err
	}
	return len(c.topics[topic]), nil
}

func (c edgeClient) ProducePartition(ctx context.Context, topic string, partition int, batch []wire.Record) error {
	if topic != wire.TopicEvents {
		return c.produce(ctx, c.by, topic, partition, batch)
	}
	var list []string
	for _, r := range batch {
		list = append(list, ids(r.Value)...)
	}
	c.of.noteProduce(list)
	err := c.produce(ctx, c.by, topic, partition, batch)
	c.of.noteProduced(partition, list, err)
	return err
}

func (c edgeClient) LogEnd(ctx context.Context, topic string, partition int) (int64, error) {
	if c.by.isDead() {
		return 0, errDead
	}
	if err := c.ask(ctx); err != nil {
		return 0, err
	}
	_, end, _ := c.read(topic, partition, 0)
	return end, nil
}

func (c edgeClient) TopicID(ctx context.Context, topic string) (string, error) {
	if c.by.isDead() {
		return "", errDead
	}
	return topic, c.ask(ctx)
}

func (c edgeClient) Follow(ctx context.Context, topic string, partition int, _ int64, handle func(offset int64, r kafka.Record) error,
	caughtUp func()) error {
	end, err := c.LogEnd(ctx, topic, partition)
	if err != nil {
		return err
	}
	return c.follow(ctx, topic, partition, 0, func(at, _ int64, r logged) error {
		if c.by.isDead() {
			return errDead
		}
		return handle(at, kafka.Record{Key: r.key, Value: r.value})
	}, func(at int64) {
		if caughtUp != nil && at >= end {
			caughtUp()
			caughtUp = nil
		}
	})
}

// groupMember is the cluster as a processor sees it.
type groupMember struct {
	*cluster
	group *group
	by    *process
}

func (m groupMember) ClusterID(ctx context.Context) (string, error) { return "cluster", m.ask(ctx) }

func (m groupMember) Bounds(ctx context.Context, topic string, partition int) (first, next int64, err error) {
	if err := m.ask(ctx); err != nil {
		return 0, 0, err
	}
	_, end, _ := m.read(topic, partition, 0)
	return 0, end, nil
}

func (m groupMember) TopicID(ctx context.Context, topic string) (string, error) {
	return topic, m.ask(ctx)
}

func (m groupMember) RecordAt(ctx context.Context, topic string, partition int, offset int64) (wire.Fetched, bool, error) {
	if err := m.ask(ctx); err != nil {
		return wire.Fetched{}, false, err
	}
	return wire.Fetched{}, false, nil // asked only where a record's digest is stored, which the simulation does not
}

func (m groupMember) PartitionOf(_ context.Context, key []byte) (int, error) {
	return kafka.PartitionFor(key, partitions), nil
}

func (m groupMember) Read(ctx context.Context, topic string, partition int, from int64, handle func(r wire.Fetched) error) error {
	return m.follow(ctx, topic, partition, from, func(at, end int64, r logged) error {
		return handle(wire.Fetched{Record: wire.Record{Key: r.key, Value: r.value}, Offset: at, Time: r.at, End: end})
	}, func(int64) {})
}

func (m groupMember) Publish(ctx context.Context, topic string, key, value []byte) error {
	if topic != wire.TopicRejected { // hints may be lost
		return nil
	}
	return m.produce(ctx, m.by, topic, kafka.PartitionFor(key, partitions), []wire.Record{{Key: key, Value: value}})
}

func (m groupMember) Consume(ctx context.Context, run func(ctx context.Context, partition int) error) error {
	return m.group.consume(ctx, m.by, run)
}

// group assigns partitions to the processors that live. A former owner may not
// know for a while that it is one.
type group struct {
	w       *world
	random  *dice
	mu      sync.Mutex
	members []*member
	changed chan struct{} // closed and replaced
}

type member struct{ by *process }

func newGroup(w *world, random *dice) *group {
	return &group{w: w, random: random, changed: make(chan struct{})}
}

func (g *group) update(change func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change()
	close(g.changed)
	g.changed = make(chan struct{})
}

// owned are the partitions of a member, and a channel that closes with a change.
func (g *group) owned(m *member) (mine []int, changed <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := slices.Index(g.members, m)
	for p := range partitions {
		if p%len(g.members) == at {
			mine = append(mine, p)
		}
	}
	return mine, g.changed
}

func (g *group) consume(ctx context.Context, by *process, run func(ctx context.Context, partition int) error) error {
	m := &member{by}
	g.update(func() { g.members = append(g.members, m) })
	defer g.update(func() { g.members = slices.DeleteFunc(g.members, func(other *member) bool { return other == m }) })
	var owners sync.WaitGroup
	defer owners.Wait()
	for ctx.Err() == nil {
		mine, changed := g.owned(m)
		generation, end := context.WithCancel(ctx)
		failed := make(chan error, len(mine))
		var running sync.WaitGroup
		for _, partition := range mine {
			running.Go(func() { failed <- run(generation, partition) })
		}
		select {
		case <-changed:
			// It learns of that late, while the new owner works already.
			background.Sleep(ctx, g.random.between(0, 8*time.Second))
		case <-ctx.Done():
		case err := <-failed: // another owner has moved an offset: it joins again
			if err != nil {
				end()
				running.Wait()
				return fmt.Errorf("processor: %w", err)
			}
		}
		end()
		running.Wait()
	}
	return nil
}
