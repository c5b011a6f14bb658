package facts

import "time"

// NullRound says how long after a day its null journeys were counted.
type NullRound int16

// The rounds. Each counts the day anew, from facts alone.
const (
	NullsUncounted NullRound = iota
	NullsFirst               // visitors who had not bought or come again a week later
	NullsFinal               // … in a whole window after their last touch
)

// NullRounds are the last days whose null journeys may be counted in each round, YYYY-MM-DD,
// and how they are chosen.
type NullRounds struct {
	Last  [NullsFinal + 1]string // by round
	Again time.Time              // a final day whose facts have changed is counted again where it was counted before this
}

// NullsAgain is how long after its last count a final day of which facts have changed is counted
// again, at least.
const NullsAgain = 20 * time.Hour

// NullJourney is a visitor's touches, of which the last one is of a day, and after which
// none came for a window.
type NullJourney struct {
	Visitor  string
	From, To time.Time // an order in this time makes it no null journey; both inclusive
	Path     []string  // channels, the oldest first
}

// DaySpan is the days from From to To, both inclusive, YYYY-MM-DD.
type DaySpan struct{ From, To string }
