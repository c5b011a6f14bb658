package processor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// A partition of which the log and the stored offset do not belong together is
// halted: nothing is skipped.
var (
	ErrPastEnd  = errors.New("the stored offset is past the log's end: the log was truncated or replaced")
	ErrRetained = errors.New("records that were not yet read are gone from the log: its retention is too short")
	// ErrUnreadable: what exactly is wrong is seen when the partition is begun anew.
	ErrUnreadable = errors.New("the log cannot be read on from the stored offset")
)

// record is one record of either topic.
type record struct {
	wire.Fetched
	topic string
}

// size is what a record counts for in memory.
func (r record) size() int64 { return int64(len(r.Key)+len(r.Value)) + recordOverhead }

// recordOverhead is what a record costs in memory beside its bytes.
const recordOverhead = 256

// owner is the single writer of one partition of both topics.
type owner struct {
	*Processor
	partition int
	clusterID string
	next      map[string]int64 // by topic: the first record not yet applied
	commerce  chan record
	events    chan record
	held      atomic.Int64 // bytes of the read-ahead that wait here
	most      int          // records of the next batch: fewer after one that took too long
	queued    bool         // the recompute queue may have orders of this partition
	chunk     int          // queued orders of the next transaction
	progress  *progress
}

// waiting is how many records of each topic wait in memory for the next batch
// at most; their bytes are bounded over all partitions.
const waiting = 1000

var inputs = []string{wire.TopicCommerce, wire.TopicEvents}

// own runs one partition until ctx ends or another owner takes over (nil). A
// partition that has halted is looked at again and again: others go on, and an
// operator may mend it.
func (p *Processor) own(ctx context.Context, partition int) error {
	progress := p.began(partition)
	defer p.ended(partition)
	for {
		o := &owner{
			Processor: p, partition: partition, next: map[string]int64{}, queued: true, progress: progress,
			most: p.config.BatchRecords, chunk: p.config.RecomputeChunk,
			commerce: make(chan record, waiting), events: make(chan record, waiting),
		}
		err := o.run(ctx)
		switch {
		case ctx.Err() != nil:
			return nil // taken away, or asked to end
		case errors.Is(err, facts.ErrFenced):
			p.metrics.fenced.Inc()
			p.Logger.Warn("partition lost to another owner", "partition", partition, "error", err)
			pause(ctx, fencedPause)
			return nil
		case isHalting(err):
			progress.halted(err, p.Now())
			p.Logger.Error("partition halted: nothing of it is applied until this is mended; see docs/operations.md", "partition", partition, "error", err)
			pause(ctx, p.config.HaltPause)
		default:
			return fmt.Errorf("partition %d: %w", partition, err)
		}
	}
}

// isHalting tells of an error after which nothing more of a partition can be
// applied until somebody mends it.
func isHalting(err error) bool {
	return errors.Is(err, ErrPastEnd) || errors.Is(err, ErrRetained) || errors.Is(err, ErrUnreadable)
}

// fencedPause is before the group is joined again: two owners that take turns
// at fencing one another would keep all others from working.
const fencedPause = time.Second

// run reads and applies until ctx ends or something fails that no waiting mends.
func (o *owner) run(ctx context.Context) error {
	if err := o.start(ctx); err != nil {
		return err
	}
	o.Logger.Info("partition owned", "partition", o.partition, "events", o.next[wire.TopicEvents], "commerce", o.next[wire.TopicCommerce])
	running, stop := context.WithCancelCause(ctx)
	var readers sync.WaitGroup
	for topic, records := range map[string]chan record{wire.TopicCommerce: o.commerce, wire.TopicEvents: o.events} {
		readers.Go(func() {
			if err := o.fetch(running, topic, records); err != nil && running.Err() == nil {
				stop(err)
			}
		})
	}
	err := o.loop(running)
	stop(err) // unless a reader's error was first
	err = context.Cause(running)
	readers.Wait()
	o.readAhead.Release(o.held.Swap(0)) // what was read and is not applied
	return err
}

// start learns where to begin, and refuses offsets that are not this log's.
func (o *owner) start(ctx context.Context) error {
	return o.retry(ctx, "start", never, func(ctx context.Context) error {
		var err error
		if o.clusterID, err = o.Log.ClusterID(ctx); err != nil {
			return err
		}
		for _, topic := range inputs {
			first, end, err := o.Log.Bounds(ctx, topic, o.partition)
			if err != nil {
				return err
			}
			next, err := o.Store.Offset(ctx, topic, o.partition, o.clusterID, first)
			switch {
			case err != nil:
				return err
			case next > end:
				return fmt.Errorf("%w: %s/%d: stored %d, log ends at %d", ErrPastEnd, topic, o.partition, next, end)
			case next < first:
				return fmt.Errorf("%w: %s/%d: stored %d, log begins at %d", ErrRetained, topic, o.partition, next, first)
			}
			o.next[topic] = next
			o.progress.at(topic, next, end, o.Now())
		}
		return nil
	})
}

// fetch feeds one topic's records to the loop, as far ahead as memory allows.
func (o *owner) fetch(ctx context.Context, topic string, records chan<- record) error {
	expected := o.next[topic]
	err := o.Log.Read(ctx, topic, o.partition, expected, func(fetched wire.Fetched) error {
		if fetched.Offset != expected { // neither topic is compacted or transactional: a gap is a loss
			return fmt.Errorf("%w: %s/%d: expected %d, got %d", ErrRetained, topic, o.partition, expected, fetched.Offset)
		}
		expected++
		r := record{fetched, topic}
		size := min(r.size(), int64(o.config.ReadAheadBytes))
		if err := o.readAhead.Acquire(ctx, size); err != nil {
			return err
		}
		o.held.Add(size)
		o.progress.fetched(topic, fetched, o.Now())
		select {
		case records <- r:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	if err != nil && ctx.Err() == nil && !isHalting(err) {
		return fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return err
}

// loop applies batch after batch; between them it works off what is queued.
func (o *owner) loop(ctx context.Context) error {
	for {
		records, err := o.collect(ctx)
		if err != nil {
			return err
		}
		if len(records) > 0 {
			if err := o.applyRecords(ctx, records); err != nil {
				return err
			}
			var size int64
			for _, r := range records {
				size += min(r.size(), int64(o.config.ReadAheadBytes))
			}
			o.held.Add(-size)
			o.readAhead.Release(size)
		}
		if o.queued {
			if err := o.recomputeQueued(ctx); err != nil {
				return err
			}
		}
	}
}

// collect waits for records and takes what is there, within the batch's
// bounds. Of both topics waiting commerce goes first, with at most half of the
// batch, so that neither starves the other. While orders are queued it does not wait.
func (o *owner) collect(ctx context.Context) ([]record, error) {
	var records []record
	size := 0
	add := func(r record) { records, size = append(records, r), size+len(r.Value) }
	drain := func(from <-chan record, most int) {
		for len(records) < most && size < o.config.BatchBytes {
			select {
			case r := <-from:
				add(r)
			default:
				return
			}
		}
	}
	half := max(1, o.most/2)
	drain(o.commerce, half)
	drain(o.events, o.most)
	if len(records) == 0 && !o.queued {
		select {
		case r := <-o.commerce:
			add(r)
		case r := <-o.events:
			add(r)
		case <-ctx.Done():
		}
		drain(o.commerce, half)
		drain(o.events, o.most)
	}
	return records, ctx.Err()
}

// moves is the step that a run of records makes.
func (o *owner) moves(records []record) []facts.Move {
	to := map[string]int64{}
	for _, r := range records {
		to[r.topic] = r.Offset + 1
	}
	var moves []facts.Move
	for _, topic := range inputs { // one order, so that row locks never cross
		end, ok := to[topic]
		if !ok {
			end = o.next[topic]
		}
		moves = append(moves, facts.Move{Topic: topic, Partition: o.partition, From: o.next[topic], To: end})
	}
	return moves
}

// applyRecords writes records in one transaction. A batch that takes too long,
// or that the store can never hold, is applied in halves. Of a single record
// that the store cannot hold, the facts alone are written, and the orders that
// it concerns are queued: so no record is rejected because of another's order.
// Where its own facts cannot be held, the record is rejected.
func (o *owner) applyRecords(ctx context.Context, records []record) error {
	began := time.Now()
	done, err := o.applyOnce(ctx, records, false)
	if len(records) == 1 && errors.Is(err, facts.ErrData) {
		o.Logger.Error("orders that a record concerns cannot be stored: they are queued", "topic", records[0].topic, "partition", o.partition, "offset", records[0].Offset, "error", err)
		done, err = o.applyOnce(ctx, records, true)
	}
	switch {
	case len(records) > 1 && (errors.Is(err, facts.ErrData) || errors.Is(err, errTooLong)):
		if errors.Is(err, errTooLong) {
			o.most = max(1, len(records)/2)
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
		o.most = min(2*o.most, o.config.BatchRecords)
	}
	for _, m := range o.moves(records) {
		o.next[m.Topic] = m.To
	}
	o.progress.applied(records, o.Now())
	o.metrics.batch(time.Since(began), records, done)
	if done.queued > 0 {
		o.queued = true
	}
	o.hint(done.computed)
	return nil
}

// applyOnce reads records and writes what they say in one transaction, tried
// again until it succeeds or no waiting mends it. A batch of several records
// that takes too long is errTooLong: a smaller one may not.
func (o *owner) applyOnce(ctx context.Context, records []record, factsOnly bool) (done applied, err error) {
	giveUp := never
	if len(records) > 1 {
		giveUp = tookTooLong
	}
	err = o.retry(ctx, "apply a batch", giveUp, func(ctx context.Context) error {
		return o.inSlot(ctx, func() error {
			b, rejected, err := o.read(ctx, records)
			if err != nil {
				return err
			}
			b.moves, b.factsOnly = o.moves(records), factsOnly
			if err := o.reject(ctx, rejected); err != nil {
				return err
			}
			done, err = o.apply(ctx, b)
			return err
		})
	})
	return done, err
}

// rejectRecord passes a record by: it is told and counted, nothing of it is kept.
func (o *owner) rejectRecord(ctx context.Context, r record, cause error) error {
	o.Logger.Error("record rejected: it cannot be stored", "topic", r.topic, "partition", o.partition, "offset", r.Offset, "error", cause)
	return o.retry(ctx, "reject a record", never, func(ctx context.Context) error {
		if err := o.reject(ctx, []rejection{{r, codeUnstorable, "a value cannot be stored"}}); err != nil {
			return err
		}
		_, err := o.apply(ctx, batch{clusterID: o.clusterID, moves: o.moves([]record{r}), now: o.Now().UTC()})
		return err
	})
}

// recomputeQueued works off one chunk of the queue for each of the partition's
// companies. A chunk that takes too long, or that cannot be stored, is made
// smaller; a single order that cannot be stored is set aside.
func (o *owner) recomputeQueued(ctx context.Context) error {
	companies, err := o.queuedCompanies(ctx)
	if err != nil {
		return err
	}
	o.queued = len(companies) > 0
	for _, id := range companies {
		var done applied
		err := o.retry(ctx, "compute queued orders", tookTooLong, func(ctx context.Context) error {
			rules, err := o.rulesOf(ctx, []string{id})
			if err != nil {
				return err
			}
			b := batch{clusterID: o.clusterID, moves: o.moves(nil), now: o.Now().UTC()}
			if index := rules[id]; index != nil {
				b.companies = []companyBatch{{index: index}}
			}
			return o.inSlot(ctx, func() (err error) {
				done, err = o.recompute(ctx, b, o.chunk)
				return err
			})
		})
		switch {
		case err == nil:
			o.chunk = min(2*o.chunk, o.config.RecomputeChunk)
			o.metrics.orders.Add(float64(len(done.computed)))
			o.hint(done.computed)
		case o.chunk > 1 && (errors.Is(err, facts.ErrData) || errors.Is(err, errTooLong)):
			o.chunk /= 2
		case errors.Is(err, facts.ErrData):
			if err := o.setAside(ctx, id, err); err != nil {
				return err
			}
		case errors.Is(err, errTooLong): // a single order: it is tried again, between batches
		default:
			return err
		}
	}
	return nil
}

// queuedCompanies are the partition's companies that have orders queued.
func (o *owner) queuedCompanies(ctx context.Context) (mine []string, err error) {
	err = o.retry(ctx, "read the recompute queue", never, func(ctx context.Context) error {
		mine = nil
		companies, err := o.Store.QueuedCompanies(ctx)
		if err != nil {
			return err
		}
		for _, id := range companies {
			partition, err := o.Log.PartitionOf(ctx, []byte(id))
			if err != nil {
				return err
			}
			if partition == o.partition {
				mine = append(mine, id)
			}
		}
		return nil
	})
	return mine, err
}

// setAside passes a company's next queued order by, since its outcome cannot
// be stored: the others go on, and it is tried again when something queues it.
func (o *owner) setAside(ctx context.Context, company string, cause error) error {
	var order string
	err := o.retry(ctx, "set a queued order aside", never, func(ctx context.Context) (err error) {
		order, err = o.setAsideNext(ctx, batch{clusterID: o.clusterID, moves: o.moves(nil)}, company)
		return err
	})
	if err == nil {
		o.metrics.setAside.Inc()
		o.Logger.Error("queued order set aside: its outcome cannot be stored", "company", company, "order", order, "partition", o.partition, "error", cause)
	}
	return err
}

// Pauses between attempts at something that may succeed later.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
)

// errTooLong: an attempt used up its time.
var errTooLong = errors.New("took too long")

func never(error) bool { return false }

func tookTooLong(err error) bool { return errors.Is(err, errTooLong) }

// retry tries until it succeeds, ctx ends, an error comes that no waiting
// mends, or giveUp says so of an error.
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
			isHalting(err), giveUp(err):
			return err
		}
		o.metrics.retries.Inc()
		o.Logger.Warn("waiting to try again", "what", what, "partition", o.partition, "wait", wait, "error", err)
		if !pause(ctx, wait) {
			return ctx.Err()
		}
	}
}

// pause waits; false where ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
