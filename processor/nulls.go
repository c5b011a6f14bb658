package processor

// This file counts null journeys (docs/reports.md, "Null journeys"): of each day a week
// after it, and for the last time once a window is over. Facts that come after that mark the
// day, and it is counted once more.

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/rollup"
)

// Bounds of the count. They keep its memory small; the numbers were chosen, not measured.
const (
	// visitorsPerRead is how many visitors' events are in memory together.
	visitorsPerRead = 200
	// eventsOfNulls is how many events of a visitor are read, the newest, and how many older
	// ones that came by a campaign. A shopper makes some dozens in two windows.
	eventsOfNulls = 300
	// companiesPerPage is how many companies are listed together.
	companiesPerPage = 1000
)

// firstNulls is the wait after the start: the partitions have owners by then.
const firstNulls = 2 * time.Minute

// countNullsDaily counts what is due of the companies of this member's partitions, until
// ctx ends.
func (p *Processor) countNullsDaily(ctx context.Context) {
	for wait := min(firstNulls, p.config.CountNullsEvery); pause(ctx, wait); wait = p.config.CountNullsEvery {
		if err := p.countNullsDue(ctx); err != nil && ctx.Err() == nil {
			p.metrics.nullFailures.Inc()
			p.Logger.Warn("null journeys could not be counted: it is tried again", "error", err, "in", p.config.CountNullsEvery)
		}
	}
}

// countNullsDue counts what is due of all companies. A company that fails does not keep the
// others waiting.
func (p *Processor) countNullsDue(ctx context.Context) error {
	var failed []error
	for after := ""; ; {
		page, err := p.Store.CompaniesAfter(ctx, after, companiesPerPage)
		if err != nil {
			return err
		}
		for _, company := range page {
			partition, err := p.Log.PartitionOf(ctx, []byte(company))
			if err != nil {
				return err
			}
			if !p.keepsUp(partition) {
				continue
			}
			if err := p.CountNulls(ctx, company, partition, true); err != nil {
				failed = append(failed, err)
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
		if len(page) < companiesPerPage {
			return errors.Join(failed...)
		}
		after = page[len(page)-1]
	}
}

// CountNulls counts the null journeys of all days of a company that are due, in many short
// transactions. Where it is stopped, the next call goes on. rest: after each transaction it
// waits as long as that took.
func (p *Processor) CountNulls(ctx context.Context, companyID string, partition int, rest bool) error {
	for more := true; more; {
		began := time.Now()
		err := p.limitTransactions(ctx, func() (err error) {
			more, err = p.countNullsStep(ctx, companyID, partition)
			return err
		})
		if err != nil {
			return err
		}
		if more && rest && !pause(ctx, time.Since(began)) {
			return ctx.Err()
		}
	}
	return nil
}

// countNullsStep begins the count of the next day, or looks at the day's next visitors. more
// is false where nothing is due.
func (p *Processor) countNullsStep(ctx context.Context, companyID string, partition int) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, p.config.ApplyTimeout)
	defer cancel()
	rules, err := p.rulesOf(ctx, []string{companyID})
	if err != nil || rules[companyID] == nil {
		return false, err
	}
	b := batch{now: p.Now().UTC(), companies: []companyBatch{{index: rules[companyID]}}}
	ended := false
	_, err = p.transact(ctx, b, func(a *application) error {
		count, err := a.tx.NullCount(ctx, a.company)
		if err != nil {
			return err
		}
		if more = count != nil; more {
			ended, err = a.countNulls(ctx, count, p.config.NullsChunk)
			return err
		}
		due, err := a.tx.DueNulls(ctx, a.company, a.index.NullRounds(a.now))
		if err != nil || due == nil {
			return err
		}
		if err := a.tx.LockPartition(ctx, partition); err != nil {
			return err
		}
		more = true
		return a.tx.BeginNullCount(ctx, a.company, due, a.now)
	})
	if err == nil && ended {
		p.metrics.nullDays.Inc()
	}
	return more, err
}

// countNulls adds the next visitors' null journeys to a count, and ends it behind the last.
func (a *application) countNulls(ctx context.Context, count *facts.NullCount, chunk int) (ended bool, err error) {
	visitors, last, err := a.tx.VisitorsOfDay(ctx, a.company, count.Day, count.After, chunk)
	if err != nil {
		return false, err
	}
	steps, err := rollup.UnpackNullSteps(count.Steps)
	if err != nil {
		return false, err
	}
	for part := range slices.Chunk(visitors, visitorsPerRead) {
		journeys, err := a.nullJourneys(ctx, count.Day, part)
		if err != nil {
			return false, err
		}
		for _, j := range journeys {
			count.Journeys++
			if !steps.Add(j.Path) {
				count.LeftOut++
			}
		}
	}
	count.After, count.Steps = last, steps.Pack()
	if len(visitors) < chunk {
		return true, a.tx.EndNullCount(ctx, a.company, count)
	}
	return false, a.tx.GoOnWithNullCount(ctx, a.company, count)
}

// nullJourneys returns the null journeys of visitors that end on a day.
func (a *application) nullJourneys(ctx context.Context, day string, visitors []string) ([]facts.NullJourney, error) {
	from, to, err := a.index.NullEvents(day)
	if err != nil {
		return nil, err
	}
	events, err := a.tx.EventsBetween(ctx, a.company, visitors, from, to, eventsOfNulls)
	if err != nil {
		return nil, err
	}
	var journeys []facts.NullJourney
	for i, visitor := range visitors {
		j, ok, err := a.index.NullJourney(visitor, events[i], day)
		if err != nil {
			return nil, err
		}
		if ok {
			journeys = append(journeys, j)
		}
	}
	if len(journeys) == 0 {
		return nil, nil
	}
	bought, err := a.tx.Bought(ctx, a.company, journeys)
	if err != nil {
		return nil, err
	}
	var nulls []facts.NullJourney
	for i, j := range journeys {
		if !bought[i] {
			nulls = append(nulls, j)
		}
	}
	return nulls, nil
}

// changesNulls notes the days whose null journeys read an event of an instant, where they
// may have been counted for the last time.
func (a *application) changesNulls(at time.Time) {
	if days, ok := a.index.NullsReadingEvent(at, a.now); ok {
		a.marked = append(a.marked, days)
	}
}

// orderChangesNulls does the same for an order, of which versions were added: where it came
// or moved, was cancelled or is not any more, or is joined by other keys.
func (a *application) orderChangesNulls(before, now []facts.StoredVersion) {
	if _, old := a.index.NullsReadingOrder(now[0].Order.CreatedAt, a.now); !old && len(before) == 0 {
		return // a new order, as most are
	}
	is := facts.Fold(now)
	if len(before) > 0 {
		was := facts.Fold(before)
		cancelled := (was.Status == commerce.OrderCancelled) != (is.Status == commerce.OrderCancelled)
		if !cancelled && was.CreatedAt.Equal(is.CreatedAt) && slices.Equal(facts.OrderJoins(&was), facts.OrderJoins(&is)) {
			return
		}
		if days, ok := a.index.NullsReadingOrder(was.CreatedAt, a.now); ok {
			a.marked = append(a.marked, days)
		}
	}
	if days, ok := a.index.NullsReadingOrder(is.CreatedAt, a.now); ok {
		a.marked = append(a.marked, days)
	}
}

// markNulls stores what was noted. It must be called before outcomes are computed: a count
// that begins afterwards reads them.
func (a *application) markNulls(ctx context.Context) error {
	if len(a.marked) == 0 {
		return nil
	}
	return a.tx.MarkNulls(ctx, a.company, merged(a.marked))
}

// merged returns spans of days that cover the same days, ordered, without two that touch.
func merged(spans []facts.DaySpan) (list []facts.DaySpan) {
	slices.SortFunc(spans, func(a, b facts.DaySpan) int { return cmp.Compare(a.From, b.From) })
	for _, s := range spans {
		if n := len(list); n > 0 && s.From <= list[n-1].To {
			list[n-1].To = max(list[n-1].To, s.To)
			continue
		}
		list = append(list, s)
	}
	return list
}
