package preview

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/caseload"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
)

// Change makes the change to preview. It writes through the same store as a change that
// is to stay (internal/postgres/merchant), with the context that it is given: what it
// writes there is undone. Its error is Preview's.
type Change func(ctx context.Context) error

// Store is what a preview reads. internal/postgres/preview.Store is one.
type Store interface {
	// Try makes a change and undoes it. Nothing of it stays, and nobody else sees it.
	// An unknown company is commerce.ErrNotFound.
	Try(ctx context.Context, companyID string, change Change) (Tried, error)

	// Read runs f on one unchanging view of a company's facts.
	Read(ctx context.Context, companyID string, f func(v View) error) error
}

// Tried is what a change that was undone would have done.
type Tried struct {
	Before, After *facts.Rules
	Changes       []facts.Change   // what the processor would be told of
	Decisions     []facts.Decision // likewise
}

// View reads one company's facts.
type View interface {
	caseload.Reader

	// OrdersByKeys returns the ids of the orders of keys, at most limit, in no order.
	OrdersByKeys(ctx context.Context, spans []facts.KeySpan, limit int) ([]string, error)
	// OrdersCreated returns the ids of the orders created between two instants, both
	// inclusive, the newest first, at most limit.
	OrdersCreated(ctx context.Context, from, to time.Time, limit int) ([]string, error)
	// Newest returns those of the ids that are orders, the newest first, at most limit.
	Newest(ctx context.Context, orderIDs []string, limit int) ([]string, error)
	// AcceptedEvents reads the stored events of a decision's touches into it.
	AcceptedEvents(ctx context.Context, d *facts.Decision) error
}

// Limits bound a preview. A zero value is the default named here.
type Limits struct {
	Orders  int           // that are computed, the newest; 2,000
	Counted int           // orders that are counted at most; 100,000
	Moves   int           // that are listed, of the newest orders; 1,000
	Time    time.Duration // after which no more orders are computed; 5 s
	AtOnce  int           // previews that run at the same time; 2
	Wait    time.Duration // of a preview for its turn; 2 s

	Now func() time.Time // the clock; time.Now
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Orders: cmp.Or(l.Orders, 2000), Counted: cmp.Or(l.Counted, 100_000), Moves: cmp.Or(l.Moves, 1000),
		Time: cmp.Or(l.Time, 5*time.Second), AtOnce: cmp.Or(l.AtOnce, 2), Wait: cmp.Or(l.Wait, 2*time.Second), Now: l.Now,
	}
}

// Previewer makes previews; safe for concurrent use.
type Previewer struct {
	store  Store
	limits Limits
	turns  chan struct{} // holds one value for each preview that runs
}

// New makes a previewer.
func New(store Store, limits Limits) *Previewer {
	limits = limits.withDefaults()
	if limits.Now == nil {
		limits.Now = time.Now
	}
	return &Previewer{store: store, limits: limits, turns: make(chan struct{}, limits.AtOnce)}
}

// Why a preview is not complete.
const (
	CutOrders = "orders" // the change concerns more orders than are computed
	CutTime   = "time"   // it took too long
)

// ErrBusy says that as many previews run as may. It is commerce.ErrUnavailable.
var ErrBusy = fmt.Errorf("%w: other previews are running", commerce.ErrUnavailable)

// Preview says what a change would move. Errors are those of the change and of the
// store, and ErrBusy.
func (p *Previewer) Preview(ctx context.Context, companyID string, change Change) (*Answer, error) {
	began := p.limits.Now() // the wait for its turn is of its time
	turn := time.NewTimer(p.limits.Wait)
	defer turn.Stop()
	select {
	case p.turns <- struct{}{}:
		defer func() { <-p.turns }()
	case <-turn.C:
		return nil, ErrBusy
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	tried, err := p.store.Try(ctx, companyID, change)
	if err != nil {
		return nil, err
	}
	c := comparison{
		before: attribution.NewIndex(tried.Before), after: attribution.NewIndex(tried.After), tried: tried,
		company: companyID, until: began.Add(p.limits.Time), limits: p.limits, now: p.limits.Now, found: newFindings(p.limits.Moves),
	}
	if err := p.store.Read(ctx, companyID, func(v View) error { return c.run(ctx, v) }); err != nil {
		return nil, fmt.Errorf("preview: %w", err)
	}
	return c.answer(), nil
}

// comparison is one preview while it is made.
type comparison struct {
	before, after *attribution.Index
	tried         Tried
	company       string
	limits        Limits
	until         time.Time // no more orders are computed then
	now           func() time.Time

	concerned int  // orders
	more      bool // they are more than were counted
	computed  int
	cut       string
	found     *findings
}

// Orders are read and compared together, so many at most and for so long: what is found of
// them is kept where the time of the preview ends.
const (
	ordersPerStep = 50
	stepTime      = 250 * time.Millisecond
)

// run compares the orders that the change concerns, the newest first.
func (c *comparison) run(ctx context.Context, v View) error {
	for i := range c.tried.Decisions {
		if err := v.AcceptedEvents(ctx, &c.tried.Decisions[i]); err != nil {
			return err
		}
	}
	ids, err := c.orders(ctx, v)
	if err != nil {
		return err
	}
	for len(ids) > 0 {
		if !c.now().Before(c.until) {
			c.cut = CutTime
			return nil
		}
		step := ids[:min(len(ids), ordersPerStep)]
		left, err := c.compare(ctx, v, step)
		if err != nil {
			return err
		}
		c.found.endStep()
		done := len(step) - len(left)
		ids, c.computed = slices.Concat(left, ids[len(step):]), c.computed+done
	}
	return nil
}

// orders returns the orders to compare, the newest first, and counts all that the
// change concerns.
func (c *comparison) orders(ctx context.Context, v View) ([]string, error) {
	var ids []string
	var spans []facts.KeySpan
	for _, change := range c.tried.Changes {
		concern, err := c.after.ConcernedByChange(change)
		if err != nil {
			return nil, err
		}
		if concern.All {
			from := commerce.Later(concern.From, settingsSince(c.tried.Before, c.tried.After))
			if ids, err = v.OrdersCreated(ctx, from, concern.To, c.limits.Counted+1); err != nil {
				return nil, err
			}
			return c.newest(ids), nil
		}
		spans = append(spans, concern.Keys...)
	}
	if len(spans) > 0 {
		var err error
		if ids, err = v.OrdersByKeys(ctx, spans, c.limits.Counted+1); err != nil {
			return nil, err
		}
	}
	for _, d := range c.tried.Decisions {
		ids = append(ids, d.OrderID)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	ids, err := v.Newest(ctx, ids, c.limits.Counted+1)
	return c.newest(ids), err
}

// settingsSince returns since when the orders were created about which other settings decide after a change: the zero
// time where it is every order.
func settingsSince(before, after *facts.Rules) time.Time {
	n := len(before.Past)
	ofAll := !slices.Equal(before.Hosts, after.Hosts) || !slices.Equal(before.Origins, after.Origins) ||
		before.Location.String() != after.Location.String()
	if ofAll || len(after.Past) <= n || !reflect.DeepEqual(before.Past, after.Past[:n]) {
		return time.Time{}
	}
	return after.Past[n].Until
}

// newest counts orders, which are ordered the newest first, and returns those to
// compare.
func (c *comparison) newest(ids []string) []string {
	c.concerned, c.more = min(len(ids), c.limits.Counted), len(ids) > c.limits.Counted
	if len(ids) > c.limits.Orders {
		c.cut = CutOrders
		ids = ids[:c.limits.Orders]
	}
	return ids
}

// compare decides orders by both rules. It returns those that are left: at least one is
// compared, and no more once the step or the preview has taken its time.
func (c *comparison) compare(ctx context.Context, v View, ids []string) (left []string, err error) {
	until := c.now().Add(stepTime)
	if c.until.Before(until) {
		until = c.until
	}
	was := map[string]facts.Outcome{}
	goOn := func() bool { return c.now().Before(until) }
	decideBefore := func(k *facts.Case) bool {
		was[k.Order.OrderID] = c.before.Decide(*k)
		return goOn()
	}
	decideAfter := func(k *facts.Case) bool {
		for _, d := range c.tried.Decisions {
			if d.OrderID == k.Order.OrderID {
				k.Decisions = facts.FoldDecisions(append(k.Decisions, d))
			}
		}
		old := was[k.Order.OrderID]
		delete(was, k.Order.OrderID)
		c.found.add(&k.Order, &old, c.after.Decide(*k), c.before, c.after)
		return goOn()
	}
	each := func(x *attribution.Index, ids []string, f func(k *facts.Case) bool) ([]string, error) {
		left, _, err := caseload.Each(ctx, v, c.company, x.Limits(), ids, attribution.ClaimedEvents, f)
		return left, err
	}
	if !c.readsDiffer() {
		return each(c.after, ids, func(k *facts.Case) bool { decideBefore(k); return decideAfter(k) })
	}
	if left, err = each(c.before, ids, decideBefore); err != nil {
		return nil, err
	}
	for decided := without(ids, left); len(decided) > 0; { // those that were decided by the rules before
		if decided, err = each(c.after, decided, func(k *facts.Case) bool { decideAfter(k); return true }); err != nil {
			return nil, err
		}
	}
	return left, nil
}

// without returns those ids that are not among the others.
func without(ids, others []string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Contains(others, id) })
}

// readsDiffer reports whether a case has to be read for each of the rules apart: after
// a change of settings an order may have another window.
func (c *comparison) readsDiffer() bool {
	for _, change := range c.tried.Changes {
		concern, err := c.after.ConcernedByChange(change)
		if errors.Is(err, facts.ErrUnknownKind) || concern.All {
			return true
		}
	}
	return false
}
