package facts

import "github.com/tributary-io/tributary/internal/wire"

// Stored is a part of one company's facts, as a store has them.
type Stored struct {
	CompanyID string
	Events    []Event
	Decisions []Decision
	Orders    []OrderVersion
	Entries   []wire.Commerce // records of manual entries
	ClosedDay string          // the last day of the store that is closed, YYYY-MM-DD; empty: none is told
}
