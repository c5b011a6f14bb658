// Package delivery keeps the delivery ledger: what became of the events that were sent
// (docs/reports.md, "Delivery"). Each is counted once, however often its records are read.
// Senders number their events, and a number that is left out is missing.
//
// The processor notes in a Ledger what a transaction counts, and writes it at the transaction's
// end. internal/postgres/upkeep has the SQL. There is no clock here. Everything is bounded,
// since anybody can make up streams and numbers.
package delivery

import "slices"

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
	Gaps []Gap // numbers below Top that have not come, in their order
}

// Gap is a run of numbers that have not come, which a number behind them has shown. It is stored as JSON.
type Gap struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
	Day  Day   `json:"day"` // on which that one came
}

// Change is what a number changes.
type Change struct {
	Missing map[Day]int64 // to be added to how many are missing, by the day on which that was seen
	Broken  bool          // the stream left out more than MaxGap numbers: they are not counted
}

// Missing is how many of the stream's numbers can still come and are missing.
func (s *Stream) Missing() (n int64) {
	for _, g := range s.Gaps {
		n += g.To - g.From + 1
	}
	return n
}

// Whole reports whether no number of the stream can be filled.
func (s *Stream) Whole() bool { return len(s.Gaps) == 0 }

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
			g := Gap{s.Top + 1, seq - 1, day}
			s.Gaps = append(s.Gaps, g)
			c.add(day, g.To-g.From+1)
			s.bound()
		}
		s.Top = seq
	}
}

// fill takes a number out of the gap that it is in, if it is in one.
func (s *Stream) fill(seq int64, c *Change) {
	i := slices.IndexFunc(s.Gaps, func(g Gap) bool { return g.From <= seq && seq <= g.To })
	if i < 0 {
		return // it came before: another event has the same number
	}
	g := s.Gaps[i]
	c.add(g.Day, -1)
	var left []Gap
	if g.From < seq {
		left = append(left, Gap{g.From, seq - 1, g.Day})
	}
	if seq < g.To {
		left = append(left, Gap{seq + 1, g.To, g.Day})
	}
	s.Gaps = slices.Replace(s.Gaps, i, i+1, left...)
	s.bound()
}

func (s *Stream) bound() {
	if more := len(s.Gaps) - maxGaps; more > 0 {
		s.Gaps = slices.Delete(s.Gaps, 0, more)
	}
}

// Explain takes n missing numbers, the highest, as given up by the sender, who says so:
// they are not missing. It tells of what it lost since it last did. It returns how many
// there were.
func (s *Stream) Explain(n int64, c *Change) (explained int64) {
	for n > explained && len(s.Gaps) > 0 {
		g := &s.Gaps[len(s.Gaps)-1]
		take := min(n-explained, g.To-g.From+1)
		c.add(g.Day, -take)
		explained += take
		if g.To -= take; g.From > g.To {
			s.Gaps = s.Gaps[:len(s.Gaps)-1]
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
