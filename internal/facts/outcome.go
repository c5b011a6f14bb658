package facts

import (
	"encoding/json"
	"fmt"

	"github.com/tributary-io/tributary/internal/commerce"
)

// Evidence is what shows that an influencer led to an order: a coupon or a link.
type Evidence = commerce.Evidence

// The two kinds of evidence.
const (
	EvidenceCoupon = commerce.EvidenceCoupon
	EvidenceLink   = commerce.EvidenceLink
)

// Outcome is what follows from a Case and the rules. Amounts are in minor units
// (cents) of Currency.
type Outcome struct {
	OrderID     string
	Currency    string
	Day         string // of createdAt, in the store's time zone
	Status      int    // commerce.OrderApproved …
	TotalMinor  int64
	Credits     []Credit // by Position; of an approved order only
	Payout      Payout
	Lines       []Line     // what is owed
	FoundBy     []OrderKey // keys of DerivedKinds: by them a changed rule or a new event finds the order
	Hubs        []OrderKey // the order's own keys that are hubs
	Explanation Explanation
}

// Payout is who is paid for an order, and how much. An empty InfluencerID means
// nobody; in PayoutReview it is who would be paid. Amounts are in minor units (cents).
type Payout struct {
	State           PayoutState
	Reason          Reason // why it waits, or nothing is earned
	InfluencerID    string
	CampaignID      string
	Evidence        Evidence
	CouponID        string // where Evidence is a coupon
	Proof           Proof  // of the evidence
	PayableOn       string // YYYY-MM-DD in the store's time zone; empty: nothing is owed
	BaseMinor       int64
	CommissionMinor int64 // in the order's currency
	FixedBRLMinor   int64 // in BRL: the fixed fees of an order in another currency, never added to CommissionMinor
}

// Line is one amount that is owed for an order: one for each cost and currency. The
// net of the order's ledger must equal it.
type Line struct {
	InfluencerID string
	CampaignID   string
	CostID       string
	AmountMinor  int64 // minor units of Currency
	Currency     string
	PayableOn    string // the day from which it may be paid, YYYY-MM-DD in the store's time zone
}

// StoredOutcome is an outcome to store.
type StoredOutcome struct {
	Outcome
	Text  []byte // Explanation as JSON
	Hash  []byte // of the outcome: equal outcomes have equal hashes
	First *bool  // whether the order is its customer's first; nil: not known, or SetFirstOrders stores it
	// Before is what was stored of the order's outcome before: OrderID, Currency, Day,
	// Status, TotalMinor, Credits without their TouchID, and Payout. nil: nothing was.
	Before *Outcome
}

// ToStore returns the outcome with its text and its hash.
func (o *Outcome) ToStore() (StoredOutcome, error) {
	text, err := json.Marshal(&o.Explanation)
	if err != nil {
		return StoredOutcome{}, fmt.Errorf("outcome of order %s: %w", o.OrderID, err)
	}
	return StoredOutcome{Outcome: *o, Text: text, Hash: o.hash(text)}, nil
}
