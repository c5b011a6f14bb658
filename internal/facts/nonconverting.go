package facts

import "time"

// CountRound says how long after a day its non-converting paths were counted.
type CountRound int16

// The rounds. Each counts the day anew, from facts alone.
const (
	Uncounted  CountRound = iota
	FirstCount            // visitors who had not bought or come again a week later
	FinalCount            // … in a whole window after their last touch
)

// CountRounds are the last days whose non-converting paths may be counted in each round, YYYY-MM-DD,
// and how they are chosen.
type CountRounds struct {
	Last  [FinalCount + 1]string // by round
	Again time.Time              // a final day whose facts have changed is counted again where it was counted before this
}

// CountAgain is how long after its last count a final day of which facts have changed is counted
// again, at least.
const CountAgain = 20 * time.Hour

// NonConvertingPath is a visitor's touches, of which the last one is of a day, and after which
// none came for a window.
type NonConvertingPath struct {
	Visitor  string
	From, To time.Time // an order in this time makes it no non-converting path; both inclusive
	Path     []string  // channels, the oldest first
}

// DaySpan is the days from From to To, both inclusive, YYYY-MM-DD.
type DaySpan struct{ From, To string }
