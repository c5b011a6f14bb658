package processing

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/tributary-io/tributary/test/bench/copied"
)

// Size is how much a run of faults has.
type Size struct {
	Stores   int
	Shoppers int // of each store
	Rounds   int // of each fault: the records come in so many parts
}

// Fault is what happens to the processors while facts come.
type Fault struct {
	Name, Title string
	// during lets a part of the records come, and the fault with it.
	during func(ctx context.Context, f *faultRun, come func() error) error
}

// Faults are all of them. The first is none: the facts come in another order than in the
// plain run, some twice, and in other batches.
func Faults() []Fault {
	return []Fault{
		{"shuffled", "shuffled, duplicated, in other batches", func(_ context.Context, _ *faultRun, come func() error) error { return come() }},
		{"killed-inside", "… the processor SIGKILLed inside of a transaction", killInside},
		{"killed-between", "… SIGKILLed between two transactions", killBetween},
		{"killed-anywhere", "… SIGKILLed while it applies", killAnywhere},
		{"moved", "… partitions move between two processors", move},
	}
}

// Part is a part of the records, as a fault of another package sees it.
type Part struct {
	Number int          // 1 is the first
	Come   func() error // lets it come
	Some   func() error // waits until some of it is applied
	Again  func() error // connects to the database again, after its server was ended
}

// NewFault is a fault of another package: during lets each part come, and the fault with it.
func NewFault(name, title string, during func(ctx context.Context, p Part) error) Fault {
	return Fault{name, title, func(ctx context.Context, f *faultRun, come func() error) error {
		f.outcome.Parts++
		before, err := f.db.Progress(ctx)
		if err != nil {
			return err
		}
		return during(ctx, Part{
			Number: f.outcome.Parts, Come: come,
			Some: func() error {
				return until(ctx, "some of it is applied", func() (bool, error) {
					p, err := f.db.Progress(ctx)
					return p.Records > before.Records, errors.Join(err, f.alive())
				})
			},
			Again: func() (err error) {
				_ = f.db.Close(ctx) // its server has ended
				f.db, err = copied.Open(ctx, f.DSN)
				return err
			},
		})
	}}
}

// killInside kills the processor while its transaction waits for a lock, with all that it
// has written until then.
func killInside(ctx context.Context, f *faultRun, come func() error) error {
	release, err := f.db.Hold(ctx, "orders")
	if err != nil {
		return err
	}
	err = come()
	if err == nil {
		err = until(ctx, "a transaction waits for the table", func() (bool, error) {
			n, err := copied.Waiting(ctx, f.DSN)
			return n > 0, errors.Join(err, f.alive())
		})
	}
	f.one.kill()
	f.outcome.Kills++
	if err := errors.Join(err, release()); err != nil {
		return err
	}
	f.one, err = f.startProcessor(f.topics)
	return err
}

// killBetween kills the processor when all that came is applied: no transaction runs.
func killBetween(ctx context.Context, f *faultRun, come func() error) error {
	if err := come(); err != nil {
		return err
	}
	if err := f.awaitApplied(ctx, f.topics); err != nil {
		return err
	}
	return f.killAndStart()
}

// killAnywhere kills the processor as soon as some of what came is applied.
func killAnywhere(ctx context.Context, f *faultRun, come func() error) error {
	before := f.topics.produced
	if err := come(); err != nil {
		return err
	}
	if err := until(ctx, "some of it is applied", func() (bool, error) {
		p, err := f.db.Progress(ctx)
		return p.Records > before, errors.Join(err, f.alive())
	}); err != nil {
		return err
	}
	return f.killAndStart()
}

func (f *faultRun) killAndStart() (err error) {
	f.one.kill()
	f.outcome.Kills++
	f.one, err = f.startProcessor(f.topics)
	return err
}

// move lets a second processor join and the first one go, by SIGTERM and by SIGKILL in
// turn, while records come.
func move(ctx context.Context, f *faultRun, come func() error) (err error) {
	if f.two, err = f.startProcessor(f.topics); err != nil {
		return err
	}
	if err := come(); err != nil {
		return err
	}
	owned := func(what string, ok func() bool) error {
		return until(ctx, what, func() (bool, error) { return ok(), f.alive() })
	}
	if err := owned("both own partitions", func() bool {
		one, two := f.one.partitionsOwned(ctx), f.two.partitionsOwned(ctx)
		return one > 0 && two > 0 && one+two == partitions
	}); err != nil {
		return err
	}
	if f.outcome.Moves%2 == 0 {
		f.one.terminate()
	} else {
		f.one.kill()
		f.outcome.Kills++
	}
	f.one, f.two = f.two, nil
	f.outcome.Moves++
	return owned("one owns all again", func() bool { return f.one.partitionsOwned(ctx) == partitions })
}

// Run proves one fault.
type Run struct {
	Place
	Fault Fault
	Size  Size
	Seed  uint64
	// Servers is what the database's servers have cost so far, CPU time; nil: that is not measured.
	Servers func() (time.Duration, error)
}

// Outcome is what a run saw.
type Outcome struct {
	Records  int
	Orders   int
	Kills    int
	Moves    int           // of partitions from one processor to another
	Parts    int           // that came with a fault of another package
	CPU      time.Duration // of Run.Servers, without the fault
	Plain    string        // the ledger hash of the facts in order, each once, without a fault
	Faulted  string        // … of the same facts shuffled and duplicated, with the fault
	Problems []string
}

// faultRun is one run with its processors.
type faultRun struct {
	*stand
	topics  *topics
	one     *process
	two     *process // nil: none
	outcome Outcome
}

// Do runs the facts in order, and then shuffled under the fault, in the same emptied
// database, and compares both ledgers with each other and each with its replay.
func (r Run) Do(ctx context.Context) (o Outcome, err error) {
	s, err := newStand(ctx, r.Place, r.Size.Stores)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	g := &generator{r: rand.New(rand.NewPCG(r.Seed, 1))} //nolint:gosec // a load, repeatable
	for _, c := range s.companies {
		g.facts(c, r.Size.Shoppers)
	}
	plain, err := r.round(ctx, s, g.records, Fault{}, 1)
	if err != nil {
		return o, fmt.Errorf("without a fault: %w", err)
	}
	if err := s.db.Truncate(ctx, s.empty...); err != nil {
		return o, err
	}
	shuffled := append([]record{}, g.records...)
	for range len(g.records) / 5 {
		shuffled = append(shuffled, g.records[g.r.IntN(len(g.records))])
	}
	g.r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	o, err = r.round(ctx, s, shuffled, r.Fault, r.Size.Rounds)
	o.Plain, o.CPU = plain.Faulted, plain.CPU
	if err == nil && o.Plain != o.Faulted {
		o.Problems = append(o.Problems, fmt.Sprintf("the ledger hash is %.12s…, and %.12s… without a fault", o.Faulted, o.Plain))
	}
	if err == nil && o.Orders == 0 {
		o.Problems = append(o.Problems, "there are no orders: nothing is proven")
	}
	return o, err
}

// Plain runs the facts in order alone.
func (r Run) Plain(ctx context.Context) (o Outcome, err error) {
	s, err := newStand(ctx, r.Place, r.Size.Stores)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	g := &generator{r: rand.New(rand.NewPCG(r.Seed, 1))} //nolint:gosec // a load, repeatable
	for _, c := range s.companies {
		g.facts(c, r.Size.Shoppers)
	}
	return r.round(ctx, s, g.records, Fault{}, 1)
}

// round writes records in parts, with the fault at each, and verifies what is left.
func (r Run) round(ctx context.Context, s *stand, records []record, fault Fault, parts int) (o Outcome, err error) {
	t, err := s.newTopics(ctx)
	if err != nil {
		return o, err
	}
	defer t.close()
	f := &faultRun{stand: s, topics: t}
	before, err := r.cost()
	if err != nil {
		return o, err
	}
	if f.one, err = s.startProcessor(t); err != nil {
		return o, err
	}
	defer func() {
		f.one.terminate()
		if f.two != nil {
			f.two.terminate()
		}
	}()
	for n := range parts {
		if err := f.write(ctx, records[n*len(records)/parts:(n+1)*len(records)/parts], fault); err != nil {
			return f.outcome, fmt.Errorf("part %d of %d: %w", n+1, parts, err)
		}
	}
	if err := s.awaitApplied(ctx, t); err != nil {
		return f.outcome, err
	}
	if fault.during == nil {
		after, err := r.cost()
		if err != nil {
			return f.outcome, err
		}
		f.outcome.CPU = after - before
	}
	f.outcome.Records = len(records)
	f.outcome.Faulted, f.outcome.Orders, err = s.verify(ctx)
	return f.outcome, err
}

// cost is Servers, where it is given.
func (r Run) cost() (time.Duration, error) {
	if r.Servers == nil {
		return 0, nil
	}
	return r.Servers()
}

// write writes one part: half of it is applied, the other half comes with the fault.
func (f *faultRun) write(ctx context.Context, records []record, fault Fault) error {
	half := len(records) / 2
	if fault.during == nil {
		half = 0
	}
	if err := f.topics.produce(ctx, records[:half]); err != nil {
		return err
	}
	if err := f.awaitApplied(ctx, f.topics); err != nil {
		return err
	}
	come := func() error { return f.topics.produce(ctx, records[half:]) }
	if fault.during == nil {
		return come()
	}
	return fault.during(ctx, f, come)
}
