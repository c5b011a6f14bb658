// Package delivery keeps the delivery ledger: what became of the events that were sent
// (docs/reports.md, "Delivery"). Each is counted once, however often its records are read.
// Senders number their events, and a number that is left out is missing.
//
// The processor notes in a Ledger what a transaction counts, and writes it at the transaction's
// end. internal/postgres/upkeep has the SQL. There is no clock here. Everything is bounded,
// since anybody can make up streams and numbers.
package delivery

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// Bounds of what is known of one stream.
const (
	// MaxGap is how many numbers may be left out at once. A sender that leaves out more
	// has not lost events: its numbering cannot be believed.
	MaxGap = 10_000
	// maxGaps is how many gaps of a stream may be filled. Of more, the oldest stay missing
	// for good.
	maxGaps = 64
)

// Day is a day as the number of days since 1970-01-01, of UTC.
type Day int64

// Stream is one sender's numbering, as far as it has come.
type Stream struct {
	Top  int64 // the highest number that has come
	gaps []gap // numbers below Top that have not come, in their order
}

// gap is a run of numbers that have not come, which a number behind them has shown.
type gap struct {
	from, to int64
	day      Day // on which that one came
}

// Change is what a number changes.
type Change struct {
	Missing map[Day]int64 // to be added to how many are missing, by the day on which that was seen
	Broken  bool          // the stream left out more than MaxGap numbers: they are not counted
}

// Missing is how many of the stream's numbers can still come and are missing.
func (s *Stream) Missing() (n int64) {
	for _, g := range s.gaps {
		n += g.to - g.from + 1
	}
	return n
}

// Whole reports whether no number of the stream can be filled.
func (s *Stream) Whole() bool { return len(s.gaps) == 0 }

// Add takes a number that came on a day.
func (s *Stream) Add(seq int64, day Day, c *Change) {
	switch {
	case seq < 1:
	case seq <= s.Top:
		s.fill(seq, c)
	case seq-s.Top-1 > MaxGap:
		c.Broken = true
		s.Top = seq
	default:
		if seq > s.Top+1 {
			g := gap{s.Top + 1, seq - 1, day}
			s.gaps = append(s.gaps, g)
			c.add(day, g.to-g.from+1)
			s.bound()
		}
		s.Top = seq
	}
}

// fill takes a number out of the gap that it is in, if it is in one.
func (s *Stream) fill(seq int64, c *Change) {
	i := slices.IndexFunc(s.gaps, func(g gap) bool { return g.from <= seq && seq <= g.to })
	if i < 0 {
		return // it came before: another event has the same number
	}
	g := s.gaps[i]
	c.add(g.day, -1)
	var left []gap
	if g.from < seq {
		left = append(left, gap{g.from, seq - 1, g.day})
	}
	if seq < g.to {
		left = append(left, gap{seq + 1, g.to, g.day})
	}
	s.gaps = slices.Replace(s.gaps, i, i+1, left...)
	s.bound()
}

func (s *Stream) bound() {
	if more := len(s.gaps) - maxGaps; more > 0 {
		s.gaps = slices.Delete(s.gaps, 0, more)
	}
}

// Explain takes n missing numbers, the highest, as given up by the sender, who says so:
// they are not missing. It tells of what it lost since it last did. It returns how many
// there were.
func (s *Stream) Explain(n int64, c *Change) (explained int64) {
	for n > explained && len(s.gaps) > 0 {
		g := &s.gaps[len(s.gaps)-1]
		take := min(n-explained, g.to-g.from+1)
		c.add(g.day, -take)
		explained += take
		if g.to -= take; g.from > g.to {
			s.gaps = s.gaps[:len(s.gaps)-1]
		}
	}
	return explained
}

func (c *Change) add(day Day, n int64) {
	if c.Missing == nil {
		c.Missing = map[Day]int64{}
	}
	if c.Missing[day] += n; c.Missing[day] == 0 {
		delete(c.Missing, day)
	}
}

// Pack returns the gaps as they are stored; nil: there are none.
func (s *Stream) Pack() []byte {
	var out []byte
	at := int64(0)
	for _, g := range s.gaps {
		out = binary.AppendUvarint(out, uint64(g.from-at))
		out = binary.AppendUvarint(out, uint64(g.to-g.from))
		out = binary.AppendVarint(out, int64(g.day))
		at = g.to
	}
	return out
}

var errPacked = errors.New("the gaps of a stream are no packed ones")

// Unpack reads what Pack made of the gaps of a stream with a highest number.
func Unpack(top int64, packed []byte) (*Stream, error) {
	s := &Stream{Top: top}
	at := int64(0)
	for len(packed) > 0 {
		skipped, a := binary.Uvarint(packed)
		length, b := binary.Uvarint(packed[max(a, 0):])
		day, c := binary.Varint(packed[max(a, 0)+max(b, 0):])
		if a <= 0 || b <= 0 || c <= 0 || length > MaxGap || skipped > uint64(top) || len(s.gaps) == maxGaps {
			return nil, errPacked
		}
		g := gap{at + int64(skipped), at + int64(skipped) + int64(length), Day(day)}
		if g.from <= at || g.to >= top {
			return nil, fmt.Errorf("%w: %d to %d of %d", errPacked, g.from, g.to, top)
		}
		s.gaps, at, packed = append(s.gaps, g), g.to, packed[a+b+c:]
	}
	return s, nil
}
