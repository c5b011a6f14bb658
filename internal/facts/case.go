package facts

import (
	"slices"
	"time"

	"github.com/tributary-io/tributary/internal/wire"
)

// Case is all that an order's outcome depends on, beside the company's rules.
// The order's interval goes from createdAt − Limits.Window to createdAt +
// Limits.ObservationsAfter.
type Case struct {
	Order    wire.Order // the current order
	Keys     []KeyReach // of the order
	Visitors []Visitor  // those to whom the keys lead

	// Same are the ids of one visitor each by several hashing secrets; nil where no rotation concerns
	// the order.
	Same [][]string

	ApprovedSince time.Time // when the unbroken run of approved versions began; zero: the order is not approved
	Decisions     Decisions

	// SelfPurchases are the influencers who are the order's customer by keys that are erased; those that are
	// stored show the others.
	SelfPurchases []string

	Snapshot *EvidenceSnapshot // the order's evidence, where it is snapshotted: then Keys and Visitors are empty. nil: it is not
}

// KeyReach is one key of the order, and the visitors to whom it leads. Orders
// is counted up to one more than Limits.Orders. Of the other two only as many
// rows are read as show that there are more than Limits.Visitors.
type KeyReach struct {
	Key
	Holds       KeyKind  // as of OrderJoin
	Orders      int      // that have the key and were created in the interval
	DayVisitors int      // visitors seen with the key on a UTC day of the interval
	Visitors    []string // those of them seen in the interval itself, sorted; none where Orders is above its limit
}

// Visitor is one visitor to whom a key leads. The counts are of distinct keys on
// the UTC days of the interval; each may stop once it is above its limit.
type Visitor struct {
	ID      string
	Most    int  // how many of its events are read, the newest; and of older ones as many that came by a campaign
	Claimed bool // anybody can send events that are read as the visitor's
	Proof   bool // a proof key leads to it

	Customers int
	Emails    int
	Phones    int
	CartNos   int // of KeyCartNo
	Carts     int // of KeyCart
	Verified  int // of KeyVerified
	// Events are those of people, not of bots, from Limits.EventsBefore before
	// the window to Limits.EventsAfter after the order. Newest first. Where there are
	// more than Most, Cut is set: the newest so many are there, and of those
	// before them the newest so many that came by a campaign (Event.Arrived). Of an ID
	// that is no secret (IsSecretID) and to which a proof key leads, those that may be
	// proven follow, in no order. Cases may share events: they are never changed.
	Events []Event
	Cut    bool
}

// Limits bounds what is read for a case. Each count is read up to one more, so
// that a reader sees that the limit is exceeded.
type Limits struct {
	Window            time.Duration                           // before the order: touches in it count; the longest of all orders'
	WindowAt          func(createdAt time.Time) time.Duration // the window of an order
	ObservationsAfter time.Duration                           // a visitor seen with a key this long after the order is joined
	NetworkBefore     time.Duration                           // before the order: keys of KeyNetwork count in hours of receipt from then on
	NetworkAfter      time.Duration                           // after the order: … up to then
	EventsBefore      time.Duration                           // events this long before the window are read too
	EventsAfter       time.Duration                           // events this long after createdAt are read

	Visitors   int // of one key
	Orders     int // of one key
	Identities int // of one visitor: customers, e-mails or phones, each kind apart
	Carts      int // of one visitor: carts, cart numbers or verified keys, each kind apart
	Events     int // that may be proven of one visitor whose id may be guessed, by one kind of source; of EventsBetween as Visitor.Most
}

// Read counts what was read of visitors' events.
type Read struct {
	Events  int
	Claimed int // of those: of visitors as whom anybody can send events
}

// Add adds what was read besides.
func (r *Read) Add(other Read) { r.Events, r.Claimed = r.Events+other.Events, r.Claimed+other.Claimed }

// IDs returns all ids of the visitor that has one. The first of them names it.
func (c *Case) IDs(id string) []string {
	for _, ids := range c.Same {
		if slices.Contains(ids, id) {
			return ids
		}
	}
	return []string{id}
}
