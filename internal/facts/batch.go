package facts

import (
	"errors"
	"time"

	"github.com/tributary-io/tributary/internal/wire"
)

// Move is a step of one partition's offset, written as compare-and-set.
type Move struct {
	Topic     string
	Partition int
	From, To  int64 // next record to apply, before and after
}

// StoredOffset is where one partition stands.
type StoredOffset struct {
	Topic     string
	Partition int
	ClusterID string
	Next      int64 // the first record not yet applied
}

// Errors of a store.
var (
	// ErrFenced: the offset is not where this owner left it, so another owns
	// the partition now. Nothing was written.
	ErrFenced = errors.New("the partition's offset was moved by another owner")
	// ErrOtherCluster: the stored offset belongs to another Kafka cluster.
	ErrOtherCluster = errors.New("the stored offset belongs to another Kafka cluster")
	// ErrData: the store cannot hold some value of the batch, now or ever.
	ErrData = errors.New("a value cannot be stored")
)

// Batch is what one transaction applies.
type Batch struct {
	ClusterID string
	Moves     []Move
	Companies []CompanyBatch
	Now       time.Time
}

// CompanyBatch is one company's part of a batch.
type CompanyBatch struct {
	Rules    *Rules
	Decide   Decide
	Events   []Event
	Orders   []OrderVersion
	Products []Product
	Changes  []Change
	Rejected []Rejection
}

// Change is a rule or a setting that changed. A settings change has the type
// "settings" and concerns every order of its days.
type Change struct {
	wire.Rule
	Rev int64
}

// ChangeSettings is the Type of a settings change.
const ChangeSettings = "settings"

// Rejection counts a record that came to nothing.
type Rejection struct {
	Code string
	At   time.Time
}

// Applied says what a batch did.
type Applied struct {
	Stored, Duplicate int
	Orders            []OrderRef // whose outcome was computed again
	Queued            int        // orders put off to the recompute queue
}

// OrderRef names an order.
type OrderRef struct{ CompanyID, OrderID string }

// Case is all that an order's outcome depends on.
type Case struct {
	Order    wire.Order
	Cause    string
	Keys     []KeyReach
	Visitors []Visitor
}

// KeyReach is where one key of the order leads within its interval.
type KeyReach struct {
	Key
	Visitors []string // at most HubVisitors+1; none where Orders is above HubOrders
	Orders   int      // at most HubOrders+1
}

// Visitor is one visitor that a key leads to, with events oldest first, from
// one session's reach before the window to the order's instant.
type Visitor struct {
	ID        string
	Customers int // at most HubIdentities+1
	Emails    int
	Events    []Event
}

// A hub joins nothing (docs/attribution.md, "Two hops").
const (
	HubVisitors   = 20  // visitors of one key
	HubOrders     = 200 // orders of one key
	HubIdentities = 20  // customers or e-mails of one visitor
)

const (
	// AfterOrder: a visitor seen with an order's key this long after it counts.
	AfterOrder = 24 * time.Hour
	// SessionReach is how far before the window events are read to cut its first session.
	SessionReach = 24 * time.Hour
	// Simultaneous: a touch this long after createdAt, whose stamps are whole seconds, is before the order.
	Simultaneous = time.Second
)

// Outcome is what follows from a Case: derived rows, ready to store.
type Outcome struct {
	OrderID     string
	Day         string // of createdAt, in the store's time zone
	Cause       string
	Credits     []Credit
	Payout      Payout
	Lines       []Line
	Evidence    []Key // KeyUTM, KeyLink, KeyInfluencer: what rules could concern it
	Explanation []byte
}

// Credit is one touch's share of an order under one model.
type Credit struct {
	Model        string
	Position     int
	TouchID      string
	Channel      string
	InfluencerID string
	CampaignID   string
	AmountMinor  int64
}

// Payout is who is paid; InfluencerID empty is nobody.
type Payout struct {
	InfluencerID    string
	CampaignID      string
	Evidence        string // coupon | link
	BaseMinor       int64
	CommissionMinor int64 // in the order's currency
	FixedBRLMinor   int64 // fixed fees of an order in another currency: owed beside, never added
}

// Line is what the ledger must say net of its reversals for (order, cost, currency).
type Line struct {
	InfluencerID string
	CampaignID   string
	CostID       string
	AmountMinor  int64
	Currency     string
}

// Decide computes an outcome under one company's rules; it is pure.
type Decide func(Case) (Outcome, error)
