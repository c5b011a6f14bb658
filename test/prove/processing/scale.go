package processing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/bench/copied"
)

// Freeze is where a processor is when it is frozen.
type Freeze string

const (
	// FrozenBefore: it has read records and is about to begin their transaction. Once it
	// goes on, it begins it at once.
	FrozenBefore Freeze = "before a transaction"
	// FrozenInside: its transaction has written, and holds locks.
	FrozenInside Freeze = "inside of a transaction"
)

// ScaleRun proves that processors are added, killed and frozen under load without a loss,
// a double or two owners of a partition.
type ScaleRun struct {
	Place
	Size       Size
	Processors []int    // how many there are, one number after the other; each is reached by adding some
	Freezes    []Freeze // with each number, one after the other
	Seed       uint64
}

// ScaleOutcome is what a run saw.
type ScaleOutcome struct {
	Records   int64
	Orders    int
	Added     int // processors
	Kills     int
	Freezes   int
	Fenced    int // batches that frozen processors tried to commit once others owned their partitions
	Takeovers int // of a partition of a topic by an owner
	Hash      string
	Problems  []string
}

// scaleRun is one run with its processors.
type scaleRun struct {
	*stand
	topics  *topics
	running []*process
	outcome ScaleOutcome
}

// Do runs it. In the end, all facts must be stored once, by one owner at a time, and the
// ledger must be that of a replay.
func (r ScaleRun) Do(ctx context.Context) (o ScaleOutcome, err error) {
	s, err := newStand(ctx, r.Place, r.Size.Stores)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	if err := s.db.RecordMoves(ctx); err != nil {
		return o, err
	}
	t, err := s.newTopics(ctx)
	if err != nil {
		return o, err
	}
	defer t.close()
	g := &generator{r: rand.New(rand.NewPCG(r.Seed, 2))} //nolint:gosec // a load, repeatable
	for _, c := range s.companies {
		g.facts(c, r.Size.Shoppers)
	}
	g.r.Shuffle(len(g.records), func(i, j int) { g.records[i], g.records[j] = g.records[j], g.records[i] })
	l := startLoad(ctx, t, g.records)
	f := &scaleRun{stand: s, topics: t}
	err = f.script(ctx, r)
	err = errors.Join(err, l.end())
	if err != nil {
		return f.outcome, err
	}
	if err := s.awaitApplied(ctx, t); err != nil {
		return f.outcome, err
	}
	for _, p := range f.running {
		p.terminate()
	}
	f.outcome.Records = t.produced
	return f.outcome, f.check(ctx, g.records)
}

// moreFreezes bounds the freezes until a frozen processor has tried to commit.
const moreFreezes = 5

// script adds, kills and freezes processors.
func (f *scaleRun) script(ctx context.Context, r ScaleRun) error {
	for _, n := range r.Processors {
		for len(f.running) < n {
			if err := f.add(); err != nil {
				return err
			}
		}
		if err := f.awaitShared(ctx); err != nil {
			return fmt.Errorf("%d processors: %w", n, err)
		}
		for _, freeze := range r.Freezes {
			if err := f.killAndAdd(ctx); err != nil {
				return fmt.Errorf("%d processors, one killed: %w", n, err)
			}
			if err := f.freeze(ctx, freeze); err != nil {
				return fmt.Errorf("%d processors, one frozen %s: %w", n, freeze, err)
			}
		}
	}
	// A frozen processor may learn from Kafka that it owns nothing before it tries to commit.
	for range moreFreezes {
		if f.outcome.Fenced > 0 || len(r.Freezes) == 0 {
			break
		}
		if err := f.freeze(ctx, r.Freezes[0]); err != nil {
			return fmt.Errorf("one more frozen %s: %w", r.Freezes[0], err)
		}
	}
	return nil
}

func (f *scaleRun) add() error {
	p, err := f.startProcessor(f.topics)
	if err != nil {
		return err
	}
	f.running = append(f.running, p)
	f.outcome.Added++
	return nil
}

// awaitShared returns once each processor owns partitions, and all are owned.
func (f *scaleRun) awaitShared(ctx context.Context) error {
	return f.awaitOwned(ctx, "the processors share the partitions", f.running)
}

func (f *scaleRun) awaitOwned(ctx context.Context, what string, by []*process) error {
	return until(ctx, what, func() (bool, error) {
		sum := 0
		for _, p := range by {
			owned := p.partitionsOwned(ctx)
			if owned == 0 {
				return false, f.alive()
			}
			sum += owned
		}
		return sum == partitions, f.alive()
	})
}

// killAndAdd kills the processor that has run for longest and starts another.
func (f *scaleRun) killAndAdd(ctx context.Context) error {
	f.running[0].kill()
	f.running = f.running[1:]
	f.outcome.Kills++
	if err := f.add(); err != nil {
		return err
	}
	return f.awaitShared(ctx)
}

// freeze stops a processor by SIGSTOP past its session's timeout, until others have
// applied records of its partitions, and lets it go on. One that is frozen inside of a
// transaction keeps its locks until PostgreSQL ends that.
func (f *scaleRun) freeze(ctx context.Context, where Freeze) error {
	lock, table, statement := f.db.Bar, "company", "rules_rev" // what is read last before a transaction
	if where == FrozenInside {
		lock, table, statement = f.db.Hold, "orders", "insert into orders"
	}
	release, err := lock(ctx, table)
	if err != nil {
		return err
	}
	frozen, err := f.freezeBlocked(ctx, statement)
	if err := errors.Join(err, release()); err != nil {
		return err
	}
	defer func() { _ = frozen.child.Signal(syscall.SIGCONT) }() // also where something fails
	kept, err := f.db.Kept(ctx)
	if err != nil {
		return err
	}
	others := slices.DeleteFunc(slices.Clone(f.running), func(p *process) bool { return p == frozen })
	if err := f.awaitOwned(ctx, "the others own all partitions", others); err != nil {
		return err
	}
	if err := until(ctx, "the others apply records of the frozen one's partitions", func() (bool, error) {
		n, err := f.db.MovesSince(ctx, frozen.name, kept)
		return n > 0, errors.Join(err, f.alive())
	}); err != nil {
		return err
	}
	f.outcome.Freezes++
	if err := f.awaitFenced(ctx, frozen); err != nil {
		return err
	}
	if err := f.awaitShared(ctx); err != nil {
		return err
	}
	return nil
}

// awaitFenced lets a frozen processor go on, while Kafka cannot tell it that others own its
// partitions, until it was refused to commit. Where Kafka's answer was on the way already,
// it may never try.
func (f *scaleRun) awaitFenced(ctx context.Context, frozen *process) error {
	if err := f.topics.Pause(); err != nil {
		return err
	}
	defer func() { _ = f.topics.Continue() }() // also where something fails
	if err := frozen.child.Signal(syscall.SIGCONT); err != nil {
		return err
	}
	before := frozen.fenced
	err := until(ctx, "the frozen processor is fenced", func() (bool, error) {
		frozen.fenced = max(before, frozen.metric(ctx, "tributary_processor_fenced_total"))
		answers := frozen.metric(ctx, "go_goroutines") > 0
		return frozen.fenced > before || answers && frozen.partitionsOwned(ctx) == 0, f.alive()
	})
	f.outcome.Fenced += frozen.fenced - before
	return errors.Join(err, f.topics.Continue())
}

// freezeBlocked freezes a processor whose statement, with a text in it, waits for a lock.
func (f *scaleRun) freezeBlocked(ctx context.Context, statement string) (frozen *process, err error) {
	err = until(ctx, "a processor waits for the table", func() (bool, error) {
		name, err := copied.Blocked(ctx, f.DSN, statement)
		if at := slices.IndexFunc(f.running, func(p *process) bool { return p.name == name }); at >= 0 {
			frozen = f.running[at]
		}
		return frozen != nil, errors.Join(err, f.alive())
	})
	if err != nil {
		return nil, err
	}
	return frozen, frozen.child.Signal(syscall.SIGSTOP)
}

// check compares what is stored with what was written.
func (f *scaleRun) check(ctx context.Context, records []record) (err error) {
	o := &f.outcome
	moves, err := f.db.Moves(ctx)
	if err != nil {
		return err
	}
	o.Problems = copied.OwnerProblems(moves)
	o.Takeovers = takeovers(moves)
	stored, _, err := f.db.Stored(ctx)
	if err != nil {
		return err
	}
	if want := distinctEvents(records); stored != want {
		o.Problems = append(o.Problems, fmt.Sprintf("%d events are stored, of %d that were written", stored, want))
	}
	counted, err := f.db.CountedStored(ctx)
	if err != nil {
		return err
	}
	if counted != stored {
		o.Problems = append(o.Problems, fmt.Sprintf("%d events are stored, and %d were counted", stored, counted))
	}
	if o.Fenced == 0 && o.Freezes > 0 {
		o.Problems = append(o.Problems, "no frozen processor tried to commit: nothing is proven of fencing")
	}
	o.Hash, o.Orders, err = f.verify(ctx)
	if err == nil && o.Orders == 0 {
		o.Problems = append(o.Problems, "there are no orders: nothing is proven")
	}
	return err
}

// distinctEvents counts the events of records.
func distinctEvents(records []record) int64 {
	seen := map[[2]string]bool{}
	for _, r := range records {
		if r.topic != wire.TopicEvents {
			continue
		}
		var e struct {
			EventID string `json:"eventId"`
		}
		if err := json.Unmarshal(r.value, &e); err != nil {
			panic(err) // of our own making
		}
		seen[[2]string{r.company, e.EventID}] = true
	}
	return int64(len(seen))
}

// takeovers counts how often a partition of a topic got another owner.
func takeovers(moves []copied.Moved) (n int) {
	type epoch struct {
		topic     string
		partition int
		number    int64
	}
	seen := map[epoch]bool{}
	for _, m := range moves {
		seen[epoch{m.Topic, m.Partition, m.Epoch}] = true
	}
	return len(seen)
}

// load writes records until it is told to end: each once, and then copies.
type load struct {
	stop chan struct{}
	done sync.WaitGroup
	err  error
}

// Of the load: so many records at a time, with a pause after them. So two processors have
// something to do and keep up.
const (
	loadChunk = 100
	loadPause = 50 * time.Millisecond
)

func startLoad(ctx context.Context, t *topics, records []record) *load {
	l := &load{stop: make(chan struct{})}
	l.done.Go(func() { l.err = l.write(ctx, t, records) })
	return l
}

func (l *load) write(ctx context.Context, t *topics, records []record) error {
	pause := time.NewTicker(loadPause)
	defer pause.Stop()
	for all, rest := false, records; ; {
		n := min(loadChunk, len(rest))
		if err := t.produce(ctx, rest[:n]); err != nil {
			return err
		}
		if rest = rest[n:]; len(rest) == 0 {
			all, rest = true, records
		}
		ending := l.stop
		if !all {
			ending = nil
		}
		select {
		case <-ending:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-pause.C:
		}
	}
}

// end writes what is left and returns once that is done.
func (l *load) end() error {
	close(l.stop)
	l.done.Wait()
	return l.err
}
