package delivery

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
)

// Bounds of what a company and day may make the ledger remember. Anybody may make up
// streams and send what is rejected or comes again; what is more is counted as below.
const (
	MaxStreams = 100_000 // followed; of others the numbers are not looked at
	MaxSeen    = 20_000  // remembered; others are counted again where their records are read again
)

// How long the ledger remembers, from the day of a batch's event on. A sender keeps what it
// could not send for a week (sdk-js), and events.v1 is kept for 30 days.
const (
	keepWhole = 8  // days of a stream without a gap
	keepRest  = 35 // days of all else
)

// forgetEvery is after how many new streams of a day something is forgotten, at most so
// many rows of each kind: more than come.
const (
	forgetEvery = 500
	forgetMost  = 2 * forgetEvery
)

// Write writes what the transaction adds to the ledger, and returns what of it metrics count. It is
// called once, at the transaction's end.
func (l *Ledger) Write(ctx context.Context, store Store, companyID string) (Found, error) {
	days, err := l.readDays(ctx, store, companyID)
	if err != nil {
		return l.found, err
	}
	counted, err := l.countOnce(ctx, store, companyID, days)
	if err != nil {
		return l.found, err
	}
	if err := l.followStreams(ctx, store, companyID, days, counted); err != nil {
		return l.found, err
	}
	if err := l.writeDays(ctx, store, companyID, days); err != nil {
		return l.found, err
	}
	var counts []Count
	for d, n := range l.counts {
		if n != 0 {
			counts = append(counts, Count{Day: d.day, Outcome: d.outcome, Events: n})
		}
	}
	if err := store.Count(ctx, companyID, counts); err != nil {
		return l.found, err
	}
	var sources []SourceCount
	for s, n := range l.sources {
		if n != 0 {
			sources = append(sources, SourceCount{Day: s.day, Origin: s.Origin, Agent: s.Agent, Outcome: s.outcome, Events: n})
		}
	}
	if err := store.CountSources(ctx, companyID, sources); err != nil || len(l.refused) == 0 {
		return l.found, err
	}
	return l.found, store.AddRefused(ctx, companyID, l.refusedOrigins())
}

// rememberedDay is a StoredDay before the transaction and now.
type rememberedDay struct {
	StoredDay
	before  StoredDay
	changed bool
}

// readDays reads what is remembered of the days that the transaction counts.
func (l *Ledger) readDays(ctx context.Context, store Store, companyID string) (map[time.Time]*rememberedDay, error) {
	days := map[time.Time]*rememberedDay{}
	add := func(at time.Time) {
		day := facts.DayOf(at)
		if days[day] == nil {
			days[day] = &rememberedDay{StoredDay: StoredDay{Day: day}}
		}
	}
	for day := range l.arrived.days {
		add(day)
	}
	for i := range l.notices {
		add(l.notices[i].ReceivedAt)
	}
	for _, o := range l.once {
		add(o.at)
	}
	if len(days) == 0 {
		return days, nil
	}
	var list []StoredDay
	for _, d := range days {
		list = append(list, d.StoredDay)
	}
	stored, err := store.Days(ctx, companyID, list)
	if err != nil {
		return nil, err
	}
	for _, d := range stored {
		day := facts.DayOf(d.Day)
		days[day].Streams, days[day].Seen, days[day].Unfollowed = d.Streams, d.Seen, d.Unfollowed
	}
	for _, d := range days {
		d.before = d.StoredDay
	}
	return days, nil
}

// writeDays stores what is remembered of days, and now and then forgets what is old.
func (l *Ledger) writeDays(ctx context.Context, store Store, companyID string, days map[time.Time]*rememberedDay) error {
	var list []StoredDay
	var newest time.Time
	forget := false
	for _, d := range days {
		if !d.changed {
			continue
		}
		list = append(list, d.StoredDay)
		if d.Day.After(newest) {
			newest = d.Day
		}
		forget = forget || d.before.Streams+d.before.Seen == 0 || (d.before.Streams+d.before.Seen)/forgetEvery != (d.Streams+d.Seen)/forgetEvery
	}
	if len(list) == 0 {
		return nil
	}
	slices.SortFunc(list, func(x, y StoredDay) int { return x.Day.Compare(y.Day) })
	if err := store.PutDays(ctx, companyID, list); err != nil || !forget {
		return err
	}
	return store.Forget(ctx, companyID, newest.AddDate(0, 0, -keepWhole), newest.AddDate(0, 0, -keepRest), forgetMost)
}

// countOnce counts what was not counted before, and returns what that is.
func (l *Ledger) countOnce(ctx context.Context, store Store, companyID string,
	days map[time.Time]*rememberedDay) (counted []Once, err error) {
	if len(l.once) == 0 {
		return nil, nil
	}
	var list []Seen
	for _, o := range l.once {
		list = append(list, Seen{ID: o.id, Day: facts.DayOf(o.at)})
	}
	known, err := store.KnownSeen(ctx, companyID, list)
	if err != nil {
		return nil, err
	}
	var remember []Seen
	for i, o := range l.once {
		if known[string(o.id)] {
			continue
		}
		if day := days[facts.DayOf(o.at)]; day.Seen < MaxSeen {
			day.Seen++
			day.changed = true
			remember = append(remember, list[i])
			known[string(o.id)] = true
		}
		counted = append(counted, o)
		l.add(o.at, o.outcome, o.events, o.from)
		if reason, dropped := strings.CutPrefix(o.outcome, Dropped); dropped {
			l.found.drop(reason, o.events)
		}
	}
	if len(remember) == 0 {
		return counted, nil
	}
	return counted, store.InsertSeen(ctx, companyID, remember)
}

// Found is what ledgers add to metrics.
type Found struct {
	DroppedFor                   map[string]int64 // by reason
	Missing, Arrived, Unfollowed int64
}

// Add adds what another ledger has found.
func (f *Found) Add(other Found) {
	for reason, n := range other.DroppedFor {
		f.drop(reason, n)
	}
	f.Missing, f.Arrived, f.Unfollowed = f.Missing+other.Missing, f.Arrived+other.Arrived, f.Unfollowed+other.Unfollowed
}

func (f *Found) drop(reason string, n int64) {
	if f.DroppedFor == nil {
		f.DroppedFor = map[string]int64{}
	}
	f.DroppedFor[reason] += n
}

// miss takes events that are missing now; of n below 0 they were, and are no longer.
func (f *Found) miss(n int64) {
	f.Missing += max(n, 0)
	f.Arrived += max(-n, 0)
}
