package facts

import (
	"fmt"
	"time"

	"github.com/tributary-io/tributary/internal/packed"
)

// PackedObservation is the part of a stored observation that says when.
type PackedObservation struct {
	Slot                int32 // Day, in hours since 1970
	FirstMS, LastMS     int32 // First and Last, in milliseconds since Day
	FirstHour, LastHour int32 // FirstID and LastID, in hours since 1970
}

// Bounds of the ids of events that can be stored.
var (
	NoEarlierID = time.Unix(0, 0).UTC()
	NoLaterID   = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
)

// SlotOf returns a day or an hour as an observation has it.
func SlotOf(day time.Time) int32 { return int32(day.Unix() / 3600) }

// Pack returns when the visitor was seen, as it is stored.
func (s *Observation) Pack() PackedObservation {
	return PackedObservation{
		Slot: SlotOf(s.Day), FirstMS: int32(s.First.Sub(s.Day).Milliseconds()), LastMS: int32(s.Last.Sub(s.Day).Milliseconds()),
		FirstHour: SlotOf(s.FirstID), LastHour: SlotOf(s.LastID),
	}
}

// Unpack returns an observation of when the visitor was seen. FirstID and LastID are those of
// whole hours, the later one's end.
func (p PackedObservation) Unpack() Observation {
	hour := func(n int32) time.Time { return time.Unix(int64(n)*3600, 0).UTC() }
	day := hour(p.Slot)
	return Observation{
		Day: day, First: day.Add(time.Duration(p.FirstMS) * time.Millisecond), Last: day.Add(time.Duration(p.LastMS) * time.Millisecond),
		FirstID: hour(p.FirstHour), LastID: hour(p.LastHour + 1).Add(-time.Millisecond),
	}
}

// Pack returns the key's value as it is stored.
func (k Key) Pack() []byte { return packed.ID(k.Value) }

// UnpackKey returns the key that is stored as a number and bytes.
func UnpackKey(kind int16, value []byte) (k Key, err error) {
	if k.Kind, err = KindOf(kind); err != nil {
		return k, err
	}
	if k.Value, err = packed.Text(value); err != nil {
		return k, fmt.Errorf("key of kind %s: %w", k.Kind, err)
	}
	return k, nil
}
