package facts

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
)

// Observation says that a visitor was seen with a key on a UTC day. With a key of
// KeyNetwork it was seen in an hour, by the edge's clock: its corrected time is what
// the sender says.
type Observation struct {
	Key
	Visitor         string
	Day             time.Time // midnight UTC; of KeyNetwork the hour of receipt
	First, Last     time.Time // corrected times of the first and last event with the key in it; of KeyNetwork when they were received
	FirstID, LastID time.Time // least and greatest IDTime of these events: the months in which they are stored
}

// VisitorDay is one visitor's UTC day, or an hour in which events of the visitor
// were received.
type VisitorDay struct {
	Visitor string
	Day     time.Time // midnight UTC, or the hour
	Hour    bool      // an hour of receipt: the observations of KeyNetwork
}

// Events returns between which corrected times the day's events lie, the second
// exclusive. An event of KeyNetwork is never late.
func (d VisitorDay) Events() (from, to time.Time) {
	if d.Hour {
		return d.Day.Add(-lateAfter), d.Day.Add(time.Hour)
	}
	return d.Day, d.Day.Add(24 * time.Hour)
}

// Has reports whether an observation of the visitor is one of the day's.
func (d VisitorDay) Has(s Observation) bool {
	return d.Hour == (s.Kind == KeyNetwork) && d.Day.Equal(s.Day)
}

// Days returns the visitor's days to which an event's observations belong.
func (c Copy) Days() []VisitorDay {
	if c.Visitor == "" {
		return nil
	}
	return []VisitorDay{{Visitor: c.Visitor, Day: DayOf(c.At)}, {Visitor: c.Visitor, Day: HourOf(c.ReceivedAt), Hour: true}}
}

// DayOf returns the UTC day of an instant, as its midnight.
func DayOf(t time.Time) time.Time { return time.Unix(startOf(t, 24*time.Hour), 0).UTC() }

// HourOf returns the hour of an instant, as its first instant.
func HourOf(t time.Time) time.Time { return time.Unix(startOf(t, time.Hour), 0).UTC() }

// Observations returns with which keys the visitors of events were seen: one for each
// key, visitor and day (of KeyNetwork: hour), ordered by kind, value, day and visitor.
func Observations(events []Event) []Observation {
	type id struct {
		key     Key
		visitor string // empty where it is the key's value
		day     int64  // Unix seconds
	}
	places := make(map[id]int, len(events)/2) // in list
	list := make([]Observation, 0, len(events)/2)
	var keys []Key
	for i := range events {
		e := &events[i]
		keys = e.AppendKeys(keys[:0])
		for _, k := range keys {
			at, length := e.At, 24*time.Hour
			if k.Kind == KeyNetwork {
				at, length = e.ReceivedAt, time.Hour
			}
			row := id{k, e.Visitor, startOf(at, length)}
			if k.Value == e.Visitor {
				row.visitor = ""
			}
			place, known := places[row]
			if !known {
				places[row] = len(list)
				list = append(list, Observation{k, e.Visitor, time.Unix(row.day, 0).UTC(), at, at, e.IDTime, e.IDTime})
				continue
			}
			s := &list[place]
			s.First, s.Last = commerce.Earlier(s.First, at), commerce.Later(s.Last, at)
			s.FirstID, s.LastID = commerce.Earlier(s.FirstID, e.IDTime), commerce.Later(s.LastID, e.IDTime)
		}
	}
	slices.SortFunc(list, func(a, b Observation) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Value, b.Value), a.Day.Compare(b.Day), cmp.Compare(a.Visitor, b.Visitor))
	})
	return list
}

// startOf returns when the day or hour of an instant begins, in Unix seconds.
func startOf(t time.Time, length time.Duration) int64 {
	seconds, of := t.Unix(), int64(length/time.Second)
	return seconds - ((seconds%of)+of)%of
}

// SortedDays returns days in a fixed order.
func SortedDays(days map[VisitorDay]bool) []VisitorDay {
	return slices.SortedFunc(maps.Keys(days), func(x, y VisitorDay) int {
		return cmp.Or(cmp.Compare(x.Visitor, y.Visitor), x.Day.Compare(y.Day), cmp.Compare(fmt.Sprint(x.Hour), fmt.Sprint(y.Hour)))
	})
}
