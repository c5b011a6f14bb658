package facts

import (
	"cmp"
	"slices"
	"time"
)

// Sighting says that a visitor was seen with a key on a UTC day.
type Sighting struct {
	Key
	Visitor         string
	Day             time.Time // midnight UTC
	First, Last     time.Time // corrected times of the first and last event with the key on that day
	FirstID, LastID time.Time // least and greatest IDTime of these events: the months in which they are stored
}

// VisitorDay is one visitor's UTC day.
type VisitorDay struct {
	Visitor string
	Day     time.Time // midnight UTC
}

// DayOf returns the UTC day of an instant, as its midnight.
func DayOf(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// Sightings returns with which keys the visitors of events were seen: one for each
// key, visitor and day, ordered by kind, value, day and visitor.
func Sightings(events []Event) []Sighting {
	type id struct {
		key     Key
		visitor string
		day     time.Time
	}
	rows := map[id]*Sighting{}
	for i := range events {
		e := &events[i]
		for _, k := range e.Keys() {
			row := id{k, e.Visitor, DayOf(e.At)}
			s := rows[row]
			if s == nil {
				rows[row] = &Sighting{k, e.Visitor, row.day, e.At, e.At, e.IDTime, e.IDTime}
				continue
			}
			s.First, s.Last = earlier(s.First, e.At), later(s.Last, e.At)
			s.FirstID, s.LastID = earlier(s.FirstID, e.IDTime), later(s.LastID, e.IDTime)
		}
	}
	list := make([]Sighting, 0, len(rows))
	for _, s := range rows {
		list = append(list, *s)
	}
	slices.SortFunc(list, func(a, b Sighting) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Value, b.Value), a.Day.Compare(b.Day), cmp.Compare(a.Visitor, b.Visitor))
	})
	return list
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
