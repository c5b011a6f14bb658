package processor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// Start-up errors: the log and the stored offsets do not belong together.
var (
	ErrPastEnd  = errors.New("the stored offset is past the log's end: the log was truncated or replaced")
	ErrRetained = errors.New("records that were not yet read are gone from the log: its retention is too short")
)

// record is one record of either topic.
type record struct {
	topic      string
	offset     int64
	key, value []byte
}

// owner is the single writer of one partition of both topics.
type owner struct {
	*Processor
	partition int
	clusterID string
	next      map[string]int64 // by topic: the first record not yet applied
	commerce  chan record
	events    chan record
	queued    bool // the recompute queue may have orders of this partition
}

// readAhead is how many records of each topic wait in memory for the next batch.
const readAhead = 1000

var inputs = []string{wire.TopicCommerce, wire.TopicEvents}

// own runs one partition until ctx ends or another owner takes over (nil).
func (p *Processor) own(ctx context.Context, partition int) error {
	o := &owner{
		Processor: p, partition: partition, next: map[string]int64{}, queued: true,
		commerce: make(chan record, readAhead), events: make(chan record, readAhead),
	}
	if err := o.start(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("partition %d: %w", partition, err)
	}
	p.metrics.partitions.Inc()
	defer p.metrics.partitions.Dec()
	p.Logger.Info("partition owned", "partition", partition, "events", o.next[wire.TopicEvents], "commerce", o.next[wire.TopicCommerce])

	running, stop := context.WithCancelCause(ctx)
	var readers sync.WaitGroup
	for topic, records := range map[string]chan record{wire.TopicCommerce: o.commerce, wire.TopicEvents: o.events} {
		readers.Go(func() {
			if err := o.read(running, topic, records); err != nil && running.Err() == nil {
				stop(err)
			}
		})
	}
	err := o.loop(running)
	stop(err) // unless a reader's error was first
	err = context.Cause(running)
	readers.Wait()
	switch {
	case ctx.Err() != nil:
		return nil // taken away, or asked to end
	case errors.Is(err, facts.ErrFenced):
		p.metrics.fenced.Inc()
		p.Logger.Warn("partition lost to another owner", "partition", partition, "error", err)
		pause(ctx, fencedPause)
		return nil
	}
	return fmt.Errorf("partition %d: %w", partition, err)
}

// fencedPause is before the group is joined again: two owners that take turns
// at fencing one another would keep all others from working.
const fencedPause = time.Second

// start learns where to begin, and refuses offsets that are not this log's.
func (o *owner) start(ctx context.Context) error {
	return o.patiently(ctx, "start", func(ctx context.Context) error {
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
		}
		return nil
	})
}

// read feeds one topic's records to the loop.
func (o *owner) read(ctx context.Context, topic string, records chan<- record) error {
	expected := o.next[topic]
	return o.Log.Read(ctx, topic, o.partition, expected, func(offset int64, key, value []byte) error {
		if offset != expected { // neither topic is compacted or transactional: a gap is a loss
			return fmt.Errorf("%w: %s/%d: expected %d, got %d", ErrRetained, topic, o.partition, expected, offset)
		}
		expected++
		select {
		case records <- record{topic, offset, key, value}:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// loop applies batch after batch; between them it works off what is queued.
func (o *owner) loop(ctx context.Context) error {
	for {
		batch, err := o.collect(ctx)
		if err != nil {
			return err
		}
		if len(batch) > 0 {
			if err := o.apply(ctx, batch); err != nil {
				return err
			}
		}
		if o.queued {
			if err := o.recompute(ctx); err != nil {
				return err
			}
		}
	}
}

// collect waits for records and takes what is there, within the batch's
// bounds. Of both topics waiting commerce goes first, with at most half of the
// batch, so that neither starves the other. While orders are queued it does not wait.
func (o *owner) collect(ctx context.Context) ([]record, error) {
	var batch []record
	size := 0
	add := func(r record) { batch, size = append(batch, r), size+len(r.value) }
	drain := func(from <-chan record, most int) {
		for len(batch) < most && size < o.config.BatchBytes {
			select {
			case r := <-from:
				add(r)
			default:
				return
			}
		}
	}
	drain(o.commerce, o.config.BatchRecords/2)
	drain(o.events, o.config.BatchRecords)
	if len(batch) == 0 && !o.queued {
		select {
		case r := <-o.commerce:
			add(r)
		case r := <-o.events:
			add(r)
		case <-ctx.Done():
		}
		drain(o.commerce, o.config.BatchRecords/2)
		drain(o.events, o.config.BatchRecords)
	}
	return batch, ctx.Err()
}

// moves is the step that a run of records makes.
func (o *owner) moves(records []record) []facts.Move {
	to := map[string]int64{}
	for _, r := range records {
		to[r.topic] = r.offset + 1
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

// apply writes records in one transaction. Where the store can never hold some
// value, halves are tried until the record is found that carries it; that one
// is rejected and the rest goes through.
func (o *owner) apply(ctx context.Context, records []record) error {
	began := time.Now()
	var applied facts.Applied
	moves := o.moves(records)
	err := o.patiently(ctx, "apply a batch", func(ctx context.Context) error {
		return o.inTurn(ctx, func() (err error) {
			applied, err = o.attempt(ctx, records, moves)
			return err
		})
	})
	if errors.Is(err, facts.ErrData) {
		if len(records) > 1 {
			if err := o.apply(ctx, records[:len(records)/2]); err != nil {
				return err
			}
			return o.apply(ctx, records[len(records)/2:])
		}
		o.Logger.Error("record rejected: it cannot be stored", "topic", records[0].topic, "partition", o.partition, "offset", records[0].offset, "error", err)
		err = o.patiently(ctx, "reject a record", func(ctx context.Context) error {
			if err := o.reject(ctx, []rejection{{records[0], codeUnstorable, "a value cannot be stored"}}); err != nil {
				return err
			}
			_, err := o.Store.Apply(ctx, facts.Batch{ClusterID: o.clusterID, Moves: moves, Now: o.Now().UTC()})
			return err
		})
	}
	if err != nil {
		return err
	}
	for _, m := range moves {
		o.next[m.Topic] = m.To
	}
	o.metrics.batch(time.Since(began), records, applied)
	if applied.Queued > 0 {
		o.queued = true
	}
	o.hint(applied.Orders)
	return nil
}

// attempt reads records and writes what they say, in one transaction.
func (o *owner) attempt(ctx context.Context, records []record, moves []facts.Move) (facts.Applied, error) {
	batch, rejected, err := o.batch(ctx, records)
	if err != nil {
		return facts.Applied{}, err
	}
	batch.Moves = moves
	if err := o.reject(ctx, rejected); err != nil {
		return facts.Applied{}, err
	}
	return o.Store.Apply(ctx, batch)
}

// recompute works off one chunk of the queue for each of the partition's companies.
func (o *owner) recompute(ctx context.Context) error {
	var mine []string
	err := o.patiently(ctx, "read the recompute queue", func(ctx context.Context) error {
		mine = nil
		companies, err := o.Store.Queued(ctx)
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
	if err != nil {
		return err
	}
	o.queued = len(mine) > 0
	for _, id := range mine {
		var applied facts.Applied
		err := o.patiently(ctx, "recompute orders", func(ctx context.Context) error {
			rules, err := o.rulesOf(ctx, []string{id})
			if err != nil {
				return err
			}
			batch := facts.Batch{ClusterID: o.clusterID, Moves: o.moves(nil), Now: o.Now().UTC()}
			if r := rules[id]; r != nil {
				batch.Companies = []facts.CompanyBatch{{Rules: r.rules, Decide: r.index.Decide}}
			}
			return o.inTurn(ctx, func() (err error) {
				applied, err = o.Store.Recompute(ctx, batch, o.config.RecomputeChunk)
				return err
			})
		})
		if errors.Is(err, facts.ErrData) {
			// No record is to blame; live work goes on, the queue at the next start or change.
			o.Logger.Error("queued orders cannot be stored", "company", id, "partition", o.partition, "error", err)
			o.queued = false
			continue
		}
		if err != nil {
			return err
		}
		o.metrics.orders.Add(float64(len(applied.Orders)))
		o.hint(applied.Orders)
	}
	return nil
}

// Pauses between attempts at something that may succeed later.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
)

// patiently tries until it succeeds, ctx ends, or an error comes that no
// waiting mends.
func (o *owner) patiently(ctx context.Context, what string, try func(ctx context.Context) error) error {
	for wait := firstPause; ; wait = min(2*wait, lastPause) {
		attempt, cancel := context.WithTimeout(ctx, o.config.ApplyTimeout)
		err := try(attempt)
		cancel()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, facts.ErrFenced), errors.Is(err, facts.ErrData), errors.Is(err, facts.ErrOtherCluster),
			errors.Is(err, ErrPastEnd), errors.Is(err, ErrRetained):
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
