package facts

import (
	"time"

	"github.com/tributary-io/tributary/internal/wire"
)

// Case is all that an order's outcome depends on beside the rules.
type Case struct {
	Order    wire.Order
	Cause    Cause
	Keys     []KeyReach
	Visitors []Visitor
}

// KeyReach is where one key of the order leads within its interval, each count
// and list read up to one more than its limit (internal/attribution).
type KeyReach struct {
	Key
	Orders   int      // orders that share the key
	Seen     int      // visitors seen with the key on the interval's UTC days
	Visitors []string // those seen within the interval itself; none where Orders is above its limit
}

// Visitor is one visitor to whom a key leads.
type Visitor struct {
	ID        string
	Customers int // distinct keys on the interval's UTC days, up to one more than the limit
	Emails    int
	Phones    int
	Carts     int
	Events    []Event // human ones only, from a session's reach before the window to the order
}

// Reach bounds what is read for a case.
type Reach struct {
	Window       time.Duration // before the order
	After        time.Duration // a sighting this long after the order joins
	SessionReach time.Duration // before the window, to cut the first session
	Simultaneous time.Duration // events this long after the order are read

	Visitors   int // of a key
	Orders     int // of a key
	Identities int // customers, e-mails or phones of a visitor
	Carts      int // of a visitor
	Events     int // of a visitor, the newest
}
