// Package nonconverting counts non-converting paths (docs/reports.md,
// "Non-converting paths"): of each day a week after it, and for the last time once a
// window is over. Facts that come after that mark the day, and it is counted once more.
//
// The processor marks days with each batch, and calls Step beside the batches.
// internal/postgres/upkeep has the SQL. What a non-converting path is, and which facts change
// those of which days, the rules say (Rules); there is no clock here.
package nonconverting

import (
	"context"
	"slices"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/rollup"
)

// Bounds of the count. They keep its memory small; the numbers were chosen, not measured.
const (
	// visitorsPerRead is how many visitors' events are in memory together.
	visitorsPerRead = 200
	// mostEvents is how many events of a visitor are read, the newest, and how many older
	// ones that came by a campaign. A shopper makes some dozens in two windows.
	mostEvents = 300
)

// Anybody can send late events, and so let final days be counted again. The first time that is
// done facts.CountAgain after the last count; each further time the wait is twice as long,
// MostWaits times, which makes it 27 days, until no count was needed for Quiet.
const (
	MostWaits = 5
	Quiet     = 60 * 24 * time.Hour
)

// Count is how far the count of a day's non-converting paths has come.
type Count struct {
	Day      string // YYYY-MM-DD, in the store's time zone
	Round    facts.CountRound
	Marks    int64     // of the day when the count began
	BeganAt  time.Time // UTC
	After    []byte    // the last visitor that was looked at, packed
	Journeys int64
	LeftOut  int64 // of these: in no step
	Steps    rollup.Steps
}

// Store counts non-converting paths, in one transaction. Each method works on the rows of one company.
// internal/postgres/upkeep.NonConvertingPaths is one, and describes each method.
type Store interface {
	Mark(ctx context.Context, companyID string, days []facts.DaySpan) error
	Count(ctx context.Context, companyID string) (*Count, error)
	Due(ctx context.Context, companyID string, rounds facts.CountRounds) (*Count, error)
	Begin(ctx context.Context, companyID string, due *Count, now time.Time) error
	VisitorsOfDay(ctx context.Context, companyID, day string, after []byte, limit int) (visitors []string, last []byte, err error)
	EventsBetween(ctx context.Context, companyID string, visitors []string, from, to time.Time, most int) ([][]facts.Event, error)
	Bought(ctx context.Context, companyID string, journeys []facts.NonConvertingPath) (map[int]bool, error)
	GoOn(ctx context.Context, companyID string, c *Count) error
	End(ctx context.Context, companyID string, c *Count) error
}

// Rules are a company's. internal/attribution.Index are some, and describe each method.
type Rules interface {
	CountRounds(now time.Time) facts.CountRounds
	PathEvents(day string) (from, to time.Time, err error)
	NonConvertingPath(visitor string, events []facts.Event, day string) (j facts.NonConvertingPath, ok bool, err error)
	PathsReadingEvent(at, now time.Time) (days facts.DaySpan, ok bool)
	PathsReadingOrder(createdAt, now time.Time) (days facts.DaySpan, ok bool)
}

// Step begins the count of the next day that is due, or looks at the day's next visitors, at most
// chunk. lock keeps the owners of the company's partition from applying anything until the
// transaction ends. more is false where nothing is due; ended: the count of a day is.
func Step(ctx context.Context, store Store, rules Rules, companyID string, now time.Time, chunk int,
	lock func(ctx context.Context) error) (more, ended bool, err error) {
	count, err := store.Count(ctx, companyID)
	if err != nil {
		return false, false, err
	}
	if count != nil {
		ended, err = goOn(ctx, store, rules, companyID, count, chunk)
		return true, ended, err
	}
	due, err := store.Due(ctx, companyID, rules.CountRounds(now))
	if err != nil || due == nil {
		return false, false, err
	}
	if err := lock(ctx); err != nil {
		return false, false, err
	}
	return true, false, store.Begin(ctx, companyID, due, now)
}

// goOn adds the next visitors' non-converting paths to a count, and ends it behind the last.
func goOn(ctx context.Context, store Store, rules Rules, companyID string, count *Count, chunk int) (ended bool, err error) {
	visitors, last, err := store.VisitorsOfDay(ctx, companyID, count.Day, count.After, chunk)
	if err != nil {
		return false, err
	}
	for part := range slices.Chunk(visitors, visitorsPerRead) {
		journeys, err := journeysOf(ctx, store, rules, companyID, count.Day, part)
		if err != nil {
			return false, err
		}
		for _, j := range journeys {
			count.Journeys++
			if !count.Steps.Add(j.Path) {
				count.LeftOut++
			}
		}
	}
	count.After = last
	if len(visitors) < chunk {
		return true, store.End(ctx, companyID, count)
	}
	return false, store.GoOn(ctx, companyID, count)
}

// journeysOf returns the non-converting paths of visitors that end on a day.
func journeysOf(ctx context.Context, store Store, rules Rules, companyID, day string,
	visitors []string) ([]facts.NonConvertingPath, error) {
	from, to, err := rules.PathEvents(day)
	if err != nil {
		return nil, err
	}
	events, err := store.EventsBetween(ctx, companyID, visitors, from, to, mostEvents)
	if err != nil {
		return nil, err
	}
	var journeys []facts.NonConvertingPath
	for i, visitor := range visitors {
		j, ok, err := rules.NonConvertingPath(visitor, events[i], day)
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
	bought, err := store.Bought(ctx, companyID, journeys)
	if err != nil {
		return nil, err
	}
	var nulls []facts.NonConvertingPath
	for i, j := range journeys {
		if !bought[i] {
			nulls = append(nulls, j)
		}
	}
	return nulls, nil
}
