package commerce

import "time"

// Signals is what has come last from a company's pages and from its platform.
type Signals struct {
	Event   string // name of the newest event, by the time in its id; empty: none has come
	EventAt time.Time
	OrderID string // of the order that was processed last; empty: none was
	OrderAt time.Time
}
