package processor

// This file removes old events (docs/operations.md, "Retention").

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/caseload"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// AnyPartition is Retain's, where it is not known to which one the company belongs: then
// all partitions wait while a transaction runs.
const AnyPartition = -1

// sinceMargin is how much longer ago than the last removal's begin a change of an order may
// be and is looked at again: clocks of machines differ.
const sinceMargin = time.Hour

// Retain seals the orders of a company that read events from before its retention, and
// removes these events, in many short transactions; report, which may be nil, is called
// after each with what it removed. Where it is stopped, the next call goes on; where there is
// nothing to remove, it changes nothing. Outcomes stay as they are.
func (p *Processor) Retain(ctx context.Context, was facts.Retention, partition int, report func(facts.Removed)) (sum facts.Removed, err error) {
	r, err := p.removalOf(ctx, was, partition)
	if err != nil || r == nil {
		return sum, err
	}
	for next := r.seal; next != nil; {
		var step removalStep
		if err := p.removalTx(ctx, r, func(a *application) (err error) {
			step, err = next(ctx, a)
			return err
		}); err != nil {
			return sum, fmt.Errorf("remove old events of company %s: %w", was.CompanyID, err)
		}
		r.cursor, next = step.cursor, step.next
		sum.Add(step.removed)
		if report != nil {
			report(step.removed)
		}
	}
	return sum, nil
}

// PreviewRetain counts what Retain would remove of a company now, and changes nothing.
// Sightings are not counted.
func (p *Processor) PreviewRetain(ctx context.Context, was facts.Retention) (from time.Time, counted facts.Removed, err error) {
	r, err := p.removalOf(ctx, was, AnyPartition)
	if err != nil || r == nil {
		return from, counted, err
	}
	err = p.Store.Transact(ctx, func(tx Tx) (err error) {
		if counted, err = tx.CountOld(ctx, was.CompanyID, r.from, r.shopperDay()); err != nil {
			return err
		}
		counted.Sealed, err = tx.CountUnsealed(ctx, was.CompanyID, r.spans)
		return err
	})
	if err != nil {
		return from, counted, fmt.Errorf("company %s: %w", was.CompanyID, err)
	}
	return r.from, counted, nil
}

// removal is the removal of a company's events from before an instant.
type removal struct {
	index     *attribution.Index
	company   string
	partition int
	began     time.Time
	from      time.Time    // events before it are removed: a UTC day's beginning
	spans     []facts.Span // of orders that read events from before it
	since     time.Time    // of the other orders, those that have changed since then may need a seal
	cursor    removalCursor
	chunk     int // Config.RetainChunk
}

// orders is how many orders one transaction seals.
func (r *removal) orders() int { return max(1, r.chunk/20) }

// removalCursor is how far a removal has come.
type removalCursor struct {
	order facts.SealCandidate // the last one that was looked at
	event uuid.UUID           // the last one that was looked at
	ahead bool                // of the events with ids after now
}

// removalStep is what one transaction did, and what the next one does; nil: all is done.
type removalStep struct {
	removed facts.Removed
	cursor  removalCursor
	next    func(ctx context.Context, a *application) (removalStep, error)
}

// removalOf returns the removal that a company needs now, and nil where it keeps its events.
func (p *Processor) removalOf(ctx context.Context, was facts.Retention, partition int) (*removal, error) {
	rules, err := p.rulesOf(ctx, []string{was.CompanyID})
	if err != nil {
		return nil, err
	}
	index := rules[was.CompanyID]
	if index == nil {
		return nil, fmt.Errorf("company %s: %w", was.CompanyID, errNoRules)
	}
	now := p.Now().UTC()
	from := index.RetainFrom(now)
	if from.IsZero() {
		return nil, nil //nolint:nilnil // none is no error, as the comment says
	}
	r := &removal{index: index, company: was.CompanyID, partition: partition, began: now, from: from, spans: index.Reading(from), since: now, chunk: p.config.RetainChunk}
	if !was.DoneAt.IsZero() && !from.Before(was.Until) { // all orders up to then are sealed but those that came later
		first := index.AllReading(was.Until).AddDate(0, 0, -2) // a store's day may end after UTC's
		r.since = was.DoneAt
		r.cursor.order = facts.SealCandidate{Day: first.Format(time.DateOnly), CreatedAt: first}
	}
	r.since = r.since.Add(-sinceMargin)
	return r, nil
}

// shopperDay returns the day before which visitors' days are removed, in the store's time
// zone: one that is over.
func (r *removal) shopperDay() string { return r.from.AddDate(0, 0, -1).Format(time.DateOnly) }

// removalTx runs one transaction of a removal, while the partition's owner waits. The rules
// are read then: with those of before it would undo what the owner has computed by a rule
// that has changed meanwhile.
func (p *Processor) removalTx(ctx context.Context, r *removal, f func(a *application) error) error {
	return p.limitTransactions(ctx, func() error {
		ctx, cancel := context.WithTimeout(ctx, p.config.ApplyTimeout)
		defer cancel()
		b := batch{now: p.Now().UTC(), companies: []companyBatch{{index: r.index}}}
		_, err := p.transact(ctx, b, func(a *application) error {
			if err := a.tx.LockPartition(ctx, r.partition); err != nil {
				return err
			}
			rules, err := p.rulesOf(ctx, []string{r.company})
			if err != nil {
				return err
			}
			if rules[r.company] == nil {
				return errNoRules
			}
			a.index = rules[r.company]
			return f(a)
		})
		return err
	})
}

// seal seals the next orders, by day.
func (r *removal) seal(ctx context.Context, a *application) (removalStep, error) {
	list, err := a.tx.Unsealed(ctx, r.company, r.spans, r.cursor.order, r.orders())
	if err != nil {
		return removalStep{}, err
	}
	done := removalStep{cursor: r.cursor, next: r.seal, removed: facts.Removed{Sealed: len(list)}}
	if len(list) == 0 {
		done.next = r.events
		return done, a.tx.BeginRemoval(ctx, r.company, r.from, a.index.NullsFrom(r.from))
	}
	if done.removed.Sealed, err = a.seal(ctx, list); err != nil {
		return removalStep{}, err
	}
	done.cursor.order = list[done.removed.Sealed-1]
	return done, nil
}

// events removes the next events, after sealing the orders that have come meanwhile.
func (r *removal) events(ctx context.Context, a *application) (removalStep, error) {
	late, err := a.tx.UnsealedSince(ctx, r.company, r.spans, r.since, r.orders())
	if err != nil {
		return removalStep{}, err
	}
	done := removalStep{cursor: r.cursor, next: r.events}
	if len(late) > 0 {
		done.removed.Sealed, err = a.seal(ctx, late)
		return done, err
	}
	end := r.from
	if r.cursor.ahead { // ids that a wrong clock made
		end = facts.NoLaterID
	}
	last, visitors, looked, removed, err := a.tx.RemoveEvents(ctx, r.company, r.cursor.event, end, r.from, r.chunk)
	if err != nil {
		return removalStep{}, err
	}
	done.removed.Events, done.cursor.event = removed, last
	if done.removed.Sightings, err = a.tx.RemoveSightings(ctx, r.company, visitors, r.from); err != nil {
		return removalStep{}, err
	}
	switch {
	case looked == r.chunk:
	case r.cursor.ahead:
		done.next = r.shoppers
	default:
		done.cursor.ahead, done.cursor.event = true, facts.FirstID(r.began.AddDate(0, 0, 1))
	}
	return done, nil
}

// shoppers removes the next visitors' days; at the end it stores that all is done.
func (r *removal) shoppers(ctx context.Context, a *application) (removalStep, error) {
	n, err := a.tx.RemoveShoppers(ctx, r.company, r.shopperDay(), r.chunk)
	if err != nil {
		return removalStep{}, err
	}
	done := removalStep{cursor: r.cursor, next: r.shoppers, removed: facts.Removed{Shoppers: n}}
	if n < r.chunk {
		done.next, err = nil, a.tx.EndRemoval(ctx, r.company, r.from, r.began)
	}
	return done, err
}

// sealsPerStep is how many orders are sealed together: the evidence of one may be large.
const sealsPerStep = 10

// seal stores the seals of the first orders, and their outcomes by them, until the turn is
// over. It returns of how many.
func (a *application) seal(ctx context.Context, list []facts.SealCandidate) (sealed int, err error) {
	turn := a.newTurn(ownTime)
	for step := range slices.Chunk(list, sealsPerStep) {
		if sealed > 0 && turn.over() {
			break
		}
		ids := make([]string, len(step))
		for i, c := range step {
			ids[i] = c.OrderID
		}
		if err := a.sealOrders(ctx, ids); err != nil {
			return 0, err
		}
		sealed += len(step)
	}
	return sealed, nil
}

func (a *application) sealOrders(ctx context.Context, ids []string) error {
	var seals []facts.Seal
	for left := ids; len(left) > 0; {
		var err error
		if left, _, err = caseload.Each(ctx, a.tx, a.company, a.index.Limits(), left, attribution.ClaimedEvents, func(c *facts.Case) bool {
			seals = append(seals, a.index.Seal(*c, a.now))
			return true
		}); err != nil {
			return err
		}
	}
	if err := a.tx.InsertSeals(ctx, a.company, seals); err != nil {
		return err
	}
	a.addConcerned(ids, facts.Cause{Kind: facts.CauseSeal})
	for len(ids) > 0 {
		var err error
		if ids, err = a.decideOrders(ctx, ids, nil); err != nil {
			return err
		}
	}
	return nil
}

// firstRetain is the wait after the start: the partitions have owners by then.
const firstRetain = time.Minute

// retainDaily removes the old events of the companies of this member's partitions once a
// day, until ctx ends.
func (p *Processor) retainDaily(ctx context.Context) {
	for wait := min(firstRetain, p.config.RetainEvery); pause(ctx, wait); wait = p.config.RetainEvery {
		if err := p.retainDue(ctx); err != nil && ctx.Err() == nil {
			p.metrics.retainFailures.Inc()
			p.Logger.Error("old events could not be removed: it is tried again", "error", err, "in", p.config.RetainEvery)
		}
	}
}

// mostBehind is how far behind the log an owner may be while old events are removed: what
// waits may still concern orders that a removal would seal (commerce.RetentionMargin).
const mostBehind = time.Hour

// retainDue removes the old events of all companies that are due. A company whose removal
// fails does not keep the others waiting.
func (p *Processor) retainDue(ctx context.Context) error {
	list, err := p.Store.Retentions(ctx)
	if err != nil {
		return err
	}
	var failed []error
	var removed facts.Removed
	for _, company := range list {
		partition, err := p.Log.PartitionOf(ctx, []byte(company.CompanyID))
		if err != nil {
			return err
		}
		if !p.keepsUp(partition) || facts.DayOf(p.Now()).Before(company.DoneAt) {
			continue
		}
		sum, err := p.Retain(ctx, company, partition, p.metrics.addRemoved)
		removed.Add(sum)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			failed = append(failed, err)
		case sum != facts.Removed{}:
			p.Logger.Info("old events removed", "company", company.CompanyID, "events", sum.Events, "orders_sealed", sum.Sealed, "sightings", sum.Sightings, "visitors_days", sum.Shoppers)
		}
	}
	if removed.Events > 0 {
		_, err := p.Store.DropEmptyMonths(ctx, p.Now())
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// keepsUp reports whether this member owns a partition now and applies its records in time.
func (p *Processor) keepsUp(partition int) bool {
	own, owned := p.partitionNow(partition)
	topics := own.Topics
	return owned && own.State == Running && topics[wire.TopicEvents].Seconds < mostBehind.Seconds() && topics[wire.TopicCommerce].Seconds < mostBehind.Seconds()
}
