package processor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/upkeep/delivery"
	"github.com/tributary-io/tributary/internal/wire"
)

// Errors after which a partition is halted: its log and its stored offset do not
// match. No record is skipped; somebody has to repair it (docs/operations.md).
var (
	ErrPastEnd = errors.New("the stored offset is past the log's end: the log was truncated or replaced")
	// ErrReplaced means that the log is another one. However far it grows, the stored
	// offset is not of it.
	ErrReplaced = errors.New("the log is not the one that the stored offset belongs to")
	ErrRetained = errors.New("records that were not yet read are gone from the log: its retention is too short")
	// ErrUnreadable means that Kafka refused a read. The next start of the
	// partition finds out which of the other two it is.
	ErrUnreadable = errors.New("the log cannot be read on from the stored offset")
)

// record is one record of a topic.
type record struct {
	wire.Fetched
	topic string
	event *parsedEvent // nil: it is parsed with its batch
}

// parsedEvent is what readEvent made of a record.
type parsedEvent struct {
	facts.Event
	notice *facts.Notice // the record is no event
	err    error
}

// size is how many bytes a record counts for in the read-ahead.
func (r record) size() int64 {
	if r.topic == wire.TopicEvents {
		return int64(len(r.Key)+3*len(r.Value)) + eventOverhead
	}
	return int64(len(r.Key)+len(r.Value)) + recordOverhead
}

const (
	// recordOverhead is about how many bytes a record takes in memory beside its key
	// and value: the struct, its slices' headers and its place in a channel.
	recordOverhead = 256
	// eventOverhead is the same with a parsed event, beside its texts and its packed form.
	eventOverhead = 1280
)

// owner is the single writer of one partition of all topics. Only its loop
// changes the fields without a lock; the fetchers send to the channels.
type owner struct {
	*Processor
	partition  int
	clusterID  string
	epoch      map[string]int64     // by topic: of the takeover
	logID      map[string]string    // by topic: its id; empty: not known
	next       map[string]int64     // by topic: the first record not yet applied
	commerce   chan *record         // read and not yet applied
	events     chan *record         // read and not yet applied
	bulk       chan *record         // read and not yet applied
	preparing  chan gathered        // gets the next batch's records; nil: none is prepared
	leftOver   []record             // that were gathered and had no room in their batch
	grouped    *grouped             // of the records that are to be applied; nil: they are not grouped yet
	memory     share                // of the read-ahead
	batchLimit int                  // records of the next batch; lower after a batch that took too long
	queued     bool                 // orders of this partition may be queued
	catchUp    catchUp              // on the events, where these are behind
	recent     recent               // events that were applied
	eventAt    time.Time            // when the newest event of a batch was produced; zero: none was read
	queueTurns []string             // companies with queued orders whose turn is still to come
	chunkLimit int                  // queued orders of the next transaction
	owed       time.Duration        // by how much queued orders have taken longer than records that came meanwhile
	tooLong    map[string]int       // by company: how often its next queued order, alone, took too long
	queues     map[string]queueTurn // by company: its next turn of queued orders; none: its first one
	disturbed  bool                 // records have come since then
	progress   *progress
	traces     map[orderRef]wire.Trace // of queued orders; nil: of none
}

// maxBulk is how many records of bulk.v1 a batch has: another store's order waits for at most two such batches, the one that is
// applied and the one that is prepared. The number was chosen; `make bench` measures what it gives.
const maxBulk = 300

// maxWaiting bounds how many records of each topic wait in memory for the next
// batch. Config.ReadAheadBytes bounds their bytes, of all partitions together.
const maxWaiting = 3000

// runPartition applies the records of one partition. It returns nil when ctx ends
// or another owner has taken over. A halted partition is tried again after a
// pause, for ever: the other partitions go on meanwhile. Any other error is
// returned, and ends the processor.
func (p *Processor) runPartition(ctx context.Context, partition int) error {
	progress := p.addProgress(partition)
	defer p.removeProgress(partition)
	for {
		o := &owner{
			Processor: p, partition: partition, epoch: map[string]int64{}, logID: map[string]string{}, next: map[string]int64{},
			queued: true, progress: progress,
			batchLimit: p.config.BatchRecords, chunkLimit: p.config.RecomputeChunk, tooLong: map[string]int{}, queues: map[string]queueTurn{},
			commerce: make(chan *record, maxWaiting), events: make(chan *record, maxWaiting), bulk: make(chan *record, maxWaiting),
			memory: share{all: p.readAhead},
		}
		err := o.run(ctx)
		switch {
		case ctx.Err() != nil:
			return nil // the partition was taken away, or the processor is asked to stop
		case errors.Is(err, facts.ErrFenced):
			p.metrics.fenced.Inc()
			p.Logger.Warn("partition lost to another owner", "partition", partition, "error", err)
			background.Sleep(ctx, fencedPause)
			return nil
		case IsHalting(err):
			progress.setHalted(err, p.Now())
			p.Logger.Error("partition halted: none of its records is applied until this is repaired; see docs/operations.md", "partition",
				partition, "error", err)
			background.Sleep(ctx, p.config.HaltPause)
		default:
			return fmt.Errorf("partition %d: %w", partition, err)
		}
	}
}

// IsHalting reports whether a partition is halted after err: no record of it can
// be applied until somebody repairs it.
func IsHalting(err error) bool {
	return errors.Is(err, ErrPastEnd) || errors.Is(err, ErrReplaced) || errors.Is(err, ErrRetained) || errors.Is(err, ErrUnreadable)
}

// fencedPause is the wait of a fenced owner before it returns and the group is
// joined again. Without it two owners that fence each other in turn would keep
// the group rebalancing, and no partition would be applied.
const fencedPause = time.Second

// run reads and applies records until ctx ends, or until an error that no retry
// can mend. It always returns an error, and leaves no goroutine behind.
func (o *owner) run(ctx context.Context) error {
	if err := o.start(ctx); err != nil {
		return err
	}
	o.Logger.Info("partition owned", "partition", o.partition, "events", o.next[wire.TopicEvents], "commerce", o.next[wire.TopicCommerce],
		"bulk", o.next[wire.TopicBulk])
	running, stop := context.WithCancelCause(ctx)
	var readers sync.WaitGroup
	for topic, records := range map[string]chan *record{wire.TopicCommerce: o.commerce, wire.TopicEvents: o.events, wire.TopicBulk: o.bulk} {
		from := o.next[topic] // read here: the loop changes the map
		readers.Go(func() {
			if err := o.fetch(running, topic, from, records); err != nil && running.Err() == nil {
				stop(err)
			}
		})
	}
	err := o.loop(running)
	o.takePrepared()
	stop(err) // keeps a fetcher's error if that came first
	err = context.Cause(running)
	readers.Wait()
	o.memory.freeAll() // of the records that were read and not applied
	return err
}

// start takes the partition over, and reads from where to begin. It returns an error
// where the stored offsets are not of this log.
func (o *owner) start(ctx context.Context) error {
	return o.retry(ctx, "start", never, func(ctx context.Context) error {
		var err error
		if o.clusterID, err = o.Log.ClusterID(ctx); err != nil {
			return err
		}
		for _, topic := range wire.Processed {
			id, err := o.Log.TopicID(ctx, topic)
			if err != nil {
				return err
			}
			o.logID[topic] = id
			first, _, err := o.Log.Bounds(ctx, topic, o.partition)
			if err != nil {
				return err
			}
			taken, err := o.Store.TakeOver(ctx, topic, o.partition, o.clusterID, o.logID[topic], first)
			if err != nil {
				return err
			}
			// The log's end is asked for again: the owner before may have applied what came since.
			_, end, err := ComparePlace(ctx, o.Log,
				facts.StoredOffset{Topic: topic, Partition: o.partition, Next: taken.Next, LogID: taken.LogID, Last: taken.Last})
			if errors.Is(err, ErrPastEnd) { // where nothing tells which log it was, nothing would tell later that it is another
				err = errors.Join(err, o.Store.MarkReplaced(ctx, topic, o.partition, taken.Epoch))
			}
			if err != nil {
				return err
			}
			o.epoch[topic], o.next[topic] = taken.Epoch, taken.Next
			o.progress.setStart(topic, taken.Next, end, o.Now())
		}
		o.progress.endHalt(o.Now())
		return nil
	})
}

// fetch sends one topic's records, from an offset on, to the loop. It reads ahead
// as far as Config.ReadAheadBytes and maxWaiting allow.
func (o *owner) fetch(ctx context.Context, topic string, from int64, records chan<- *record) error {
	expected := from
	err := o.Log.Read(ctx, topic, o.partition, from, func(fetched wire.Fetched) error {
		if fetched.Offset != expected { // neither topic is compacted or transactional, so a gap means lost records
			return fmt.Errorf("%w: %s/%d: expected %d, got %d", ErrRetained, topic, o.partition, expected, fetched.Offset)
		}
		expected++
		r := record{Fetched: fetched, topic: topic}
		if topic == wire.TopicEvents { // while the batch before is applied
			r.event = readEvent(r.Value)
		}
		if err := o.memory.take(ctx, r.size()); err != nil {
			return err
		}
		o.progress.addFetched(topic, fetched, o.Now())
		select {
		case records <- &r:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	if err != nil && ctx.Err() == nil && !IsHalting(err) {
		return fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return err
}

// loop applies batch after batch, and between two batches one chunk of queued
// orders, unless these are to wait. While records wait, queued orders take no more time than
// records do: one chunk of them may be longer, and then batches come first until they have
// taken as long. It returns an error only.
func (o *owner) loop(ctx context.Context) error {
	for {
		records, err := o.collect(ctx)
		if err != nil {
			return err
		}
		if err := o.stillOwns(ctx); err != nil {
			return err
		}
		if len(records) == 0 {
			o.owed = 0
		} else {
			o.disturbed = true
			began := o.Now()
			if err := o.applyRecords(ctx, records); err != nil {
				return err
			}
			o.owed = max(0, o.owed-o.Now().Sub(began))
			var size int64
			for i := range records {
				size += records[i].size()
			}
			o.memory.free(size)
		}
		if o.queued && !o.defersOrders(nil) && o.owed == 0 {
			began := o.Now()
			if err := o.recomputeQueued(ctx); err != nil {
				return err
			}
			o.owed = o.Now().Sub(began)
		}
	}
}

// collect waits for records and returns those of the next batch: those that were prepared
// while the last one was applied, else those that wait (gather). While orders are queued it
// does not wait; while these wait, it waits no longer than they may.
func (o *owner) collect(ctx context.Context) ([]record, error) {
	g := o.takePrepared()
	if len(g.records) == 0 {
		g = o.gather(g, o.batchLimit)
	}
	if len(g.records) == 0 && (!o.queued || o.defersOrders(nil)) {
		until, stop := o.catchUp.timer(o.Now())
		look := time.NewTimer(o.config.CheckLogEvery)
		select {
		case r := <-o.commerce:
			g.add(r)
		case r := <-o.events:
			g.add(r)
		case r := <-o.bulk:
			g.add(r)
		case <-until:
		case <-look.C:
		case <-ctx.Done():
		}
		look.Stop()
		stop()
		g = o.gather(g, o.batchLimit)
	}
	o.grouped = g.grouped
	return g.records, ctx.Err()
}

// moves returns how the offsets move when records are applied: one Move for each
// topic, in a fixed order so that two owners cannot deadlock on the rows' locks. A
// topic without a record moves from its offset to the same one, which still checks
// that no other owner has moved it.
func (o *owner) moves(records []record) []facts.Move {
	to, newest := map[string]int64{}, map[string]int{}
	for i, r := range records {
		to[r.topic], newest[r.topic] = r.Offset+1, i
	}
	last := map[string][]byte{}
	for topic, i := range newest {
		last[topic] = facts.LastRecord(records[i].Fetched)
	}
	var moves []facts.Move
	for _, topic := range wire.Processed {
		end, ok := to[topic]
		if !ok {
			end = o.next[topic]
		}
		moves = append(moves,
			facts.Move{Topic: topic, Partition: o.partition, Epoch: o.epoch[topic], LogID: o.logID[topic], From: o.next[topic],
				To: end, Last: last[topic]})
	}
	return moves
}

// applyRecords applies records in one transaction. A batch that takes too long, or
// that has a value which cannot be stored, is split in halves, down to single
// records. If a single record still cannot be stored, the reason may be an order
// that it concerns and not the record: then its facts alone are stored and those
// orders are queued. Only a record whose own facts cannot be stored is rejected.
func (o *owner) applyRecords(ctx context.Context, records []record) error {
	began := time.Now()
	done, err := o.applyOnce(ctx, records, o.deferring(records))
	if len(records) == 1 && errors.Is(err, facts.ErrData) {
		o.Logger.Error("the outcome of an order that a record concerns cannot be stored: the orders are queued", "topic", records[0].topic,
			"partition", o.partition, "offset", records[0].Offset, "error", err)
		done, err = o.applyOnce(ctx, records, everyCompany)
	}
	switch {
	case len(records) > 1 && (errors.Is(err, facts.ErrData) || errors.Is(err, errTooLong)):
		if errors.Is(err, errTooLong) {
			o.batchLimit = max(1, len(records)/2)
		}
		if err := o.applyRecords(ctx, records[:len(records)/2]); err != nil {
			return err
		}
		return o.applyRecords(ctx, records[len(records)/2:])
	case errors.Is(err, facts.ErrData):
		if err := o.rejectRecord(ctx, records[0], err); err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		o.batchLimit = min(2*o.batchLimit, o.config.BatchRecords)
	}
	for _, m := range o.moves(records) {
		o.next[m.Topic] = m.To
	}
	o.progress.addApplied(records, o.Now())
	o.metrics.addBatch(time.Since(began), records, done)
	o.traceRecords(records, done, o.Now())
	if done.queued > 0 || done.asked > 0 {
		o.queued = true
	}
	o.sendHint(done.computed)
	return nil
}

// applyOnce applies records in one transaction, all or none of them. Of companies of which
// factsOnly says so it stores the facts and queues the orders. It tries
// again until that succeeds or no retry can help. Errors: facts.ErrData where a
// value cannot be stored, facts.ErrFenced, and errTooLong for a batch of several
// records, since a smaller one may be fast enough. A single record is tried again
// for ever.
func (o *owner) applyOnce(ctx context.Context, records []record, factsOnly func(companyID string) bool) (done applied, err error) {
	giveUp := never
	if len(records) > 1 {
		giveUp = tookTooLong
	}
	err = o.retry(ctx, "apply a batch", giveUp, func(ctx context.Context) error {
		return o.limitTransactions(ctx, func() error {
			b, rejected, err := o.readBatch(ctx, o.groupOf(records))
			if err != nil {
				return err
			}
			b.moves, b.queued, b.observed = o.moves(records), o.queued, o.observe(records)
			for i := range b.companies {
				b.companies[i].factsOnly = factsOnly(b.companies[i].index.CompanyID())
			}
			if err := o.publishRejected(ctx, rejected); err != nil {
				return err
			}
			done, err = o.apply(ctx, b, o.prepareNext)
			return err
		})
	})
	return done, err
}

// rejectRecord publishes a record to rejected.v1, counts it and moves its offset.
// None of its facts is stored.
func (o *owner) rejectRecord(ctx context.Context, r record, cause error) error {
	o.Logger.Error("record rejected: it cannot be stored", "topic", r.topic, "partition", o.partition, "offset", r.Offset, "error", cause)
	return o.retry(ctx, "reject a record", never, func(ctx context.Context) error {
		if err := o.publishRejected(ctx, []rejection{{r, codeUnstorable, "a value cannot be stored"}}); err != nil {
			return err
		}
		company := string(r.Key)
		rules, err := o.rulesOf(ctx, []string{company})
		if err != nil {
			return err
		}
		b := batch{clusterID: o.clusterID, moves: o.moves([]record{r}), now: o.Now().UTC()}
		if index := rules[company]; index != nil {
			b.companies = []companyBatch{{index: index,
				rejected: []delivery.Once{delivery.RejectedRecord(o.clusterID, r.topic, o.partition, r.Offset, codeUnstorable, b.now)}}}
		}
		_, err = o.apply(ctx, b, o.prepareNext)
		return err
	})
}

// While records come, a chunk of queued orders is to take chunkTime, and else idleTime: each
// record waits for one chunk. leastChunk orders are taken from the queue at least, and those
// are put back that have no time left. All were chosen, not measured.
const (
	chunkTime  = 50 * time.Millisecond
	idleTime   = 250 * time.Millisecond
	leastChunk = 10
)

// Waits between two attempts: firstPause, then twice as long each time, up to
// lastPause.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
)

// errTooLong means that an attempt did not end within Config.ApplyTimeout.
var errTooLong = errors.New("took too long")

func never(error) bool { return false }

func tookTooLong(err error) bool { return errors.Is(err, errTooLong) }

// retry calls try until it returns nil, and waits between two calls. Each call has
// Config.ApplyTimeout. It returns the error where ctx has ended, where no retry can
// help (facts.ErrFenced, ErrData, ErrOtherCluster, a halting one), or where giveUp
// returns true for it.
func (o *owner) retry(ctx context.Context, what string, giveUp func(error) bool, try func(ctx context.Context) error) error {
	for wait := firstPause; ; wait = min(2*wait, lastPause) {
		attempt, cancel := context.WithTimeout(ctx, o.config.ApplyTimeout)
		err := try(attempt)
		if err != nil && errors.Is(attempt.Err(), context.DeadlineExceeded) {
			err = fmt.Errorf("%w: %w", errTooLong, err)
		}
		cancel()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, facts.ErrFenced), errors.Is(err, facts.ErrData), errors.Is(err, facts.ErrOtherCluster),
			IsHalting(err), giveUp(err):
			return err
		}
		o.metrics.retries.Inc()
		o.Logger.Warn("waiting to try again", "what", what, "partition", o.partition, "wait", wait, "error", err)
		if !background.Sleep(ctx, wait) {
			return ctx.Err()
		}
	}
}
