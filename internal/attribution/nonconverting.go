package attribution

import (
	"slices"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

// This file computes non-converting paths: visitors with touches and no order (docs/reports.md,
// "Non-converting paths").

const (
	// firstCountAfter is how long after a day its non-converting paths are counted for the first time.
	// Most who come again or buy have done so by then.
	firstCountAfter = 7 * 24 * time.Hour
	// finalCountAfter is how long after a window a day's non-converting paths are counted for the last
	// time: events may come lateAfter (facts) later, and their observations reach orders of a
	// day before. Days are whole ones of the store's time zone.
	finalCountAfter = 12 * 24 * time.Hour
	// timely: facts that are younger change no day that was counted for the last time.
	timely = 8 * 24 * time.Hour
	// pathMargin is how much longer than windows the time is in which a fact can change
	// non-converting paths: hub limits count whole UTC days, and observations count a day after orders.
	pathMargin = 3 * 24 * time.Hour
)

// CountRounds returns which days' non-converting paths may be counted now.
func (x *Index) CountRounds(now time.Time) (r facts.CountRounds) {
	ended := func(ago time.Duration) string { return dayBefore(x.DayOf(now.Add(-ago))) }
	r.Last[facts.FirstCount] = ended(firstCountAfter)
	r.Last[facts.FinalCount] = ended(x.longestWindow() + finalCountAfter)
	r.Again = now.Add(-facts.CountAgain)
	return r
}

// PathsFrom returns the first day whose non-converting paths read no event from before an instant,
// YYYY-MM-DD.
func (x *Index) PathsFrom(until time.Time) string {
	return until.UTC().AddDate(0, 0, int((x.longestWindow()+pathMargin)/(24*time.Hour))+1).Format(time.DateOnly)
}

func dayBefore(day string) string {
	t, _ := time.Parse(time.DateOnly, day) // one of DayOf
	return t.AddDate(0, 0, -1).Format(time.DateOnly)
}

// daySpan returns a day's first instant, and that of the day after.
func (x *Index) daySpan(day string) (from, to time.Time, err error) {
	first, err := time.ParseInLocation(time.DateOnly, day, x.rules.Location)
	if err != nil {
		return from, to, err
	}
	return first.UTC(), first.AddDate(0, 0, 1).UTC(), nil
}

// PathEvents returns between which instants a visitor's events are read for the non-converting paths
// of a day.
func (x *Index) PathEvents(day string) (from, to time.Time, err error) {
	from, to, err = x.daySpan(day)
	window := x.rules.SettingsAt(to).Window
	return from.Add(-window - eventsBefore), to.Add(window), err
}

// NonConvertingPath returns a visitor's journey whose last touch is on a day, if after that touch
// none came for a window; ok is false where there is none. It is a non-converting path unless the
// visitor has an order. events are those of PathEvents, in any order.
//
// Events that a short link's click makes by itself are left out: a visitor has come once a
// page was seen, and the click is in its address. The server knows the click by its cookie
// and the page by the SDK's, so they would be two visitors.
func (x *Index) NonConvertingPath(visitor string, events []facts.Event, day string) (j facts.NonConvertingPath, ok bool, err error) {
	from, to, err := x.daySpan(day)
	if err != nil {
		return j, false, err
	}
	settings := x.rules.SettingsAt(to)
	did := visitOf(visitor, events, func(e *facts.Event) bool { return !e.Frame && e.Event.Event != core.LinkClick })
	touches := x.appendTouches(nil, &settings, did)
	end := len(touches) // of those up to the day's end
	for end > 0 && !touches[end-1].At.Before(to) {
		end--
	}
	if end == 0 {
		return j, false, nil
	}
	last := touches[end-1].At
	if last.Before(from) || end < len(touches) && !touches[end].At.After(last.Add(settings.Window)) {
		return j, false, nil
	}
	touches = slices.DeleteFunc(touches[:end], func(t Touch) bool { return t.At.Before(last.Add(-settings.Window)) })
	for i := range touches {
		x.match(&touches[i], &wire.Order{CreatedAt: last})
	}
	touches = merged(touches, mergedInto(touches))
	if settings.IgnoreDirect && !allDirect(touches) {
		touches = slices.DeleteFunc(touches, func(t Touch) bool { return t.Kind == facts.Direct })
	}
	j = facts.NonConvertingPath{Visitor: visitor, From: last.Add(-settings.Window), To: last.Add(settings.Window)}
	for _, t := range touches {
		j.Path = append(j.Path, t.Channel)
	}
	return j, true, nil
}

// PathsReadingEvent returns the days whose non-converting paths read an event, if these may have
// been counted for the last time; ok is false where none has.
func (x *Index) PathsReadingEvent(at, now time.Time) (days facts.DaySpan, ok bool) {
	if at.After(now.Add(-timely)) {
		return days, false
	}
	// It is a touch, or cuts one, of journeys up to a window before and after. It may join
	// orders to visitors, or make a key a hub, of orders up to a window later: these may be
	// another visitor's within a window of the order.
	window := x.longestWindow()
	return facts.DaySpan{From: x.DayOf(at.Add(-window - pathMargin)), To: x.DayOf(at.Add(2*window + pathMargin))}, true
}

// PathsReadingOrder is PathsReadingEvent of an order, by its createdAt.
func (x *Index) PathsReadingOrder(createdAt, now time.Time) (days facts.DaySpan, ok bool) {
	return x.PathsReadingEvent(createdAt, now)
}
