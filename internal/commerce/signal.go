package commerce

import "time"

// Signals is what has come last from a company's pages and from its platform.
type Signals struct {
	Event   string // name of the newest event, by the time in its id; empty: none has come
	EventAt time.Time
	OrderID string // of the order that was processed last; empty: none was
	Order   string // what the shop calls that order; empty: nothing
	OrderAt time.Time
}

// RefusedOrigin is a page's origin that the company does not list, and that tried to send events.
type RefusedOrigin struct {
	Origin string // as browsers send it, "null" too; empty: all others together
	Events int64
	LastAt time.Time
}
