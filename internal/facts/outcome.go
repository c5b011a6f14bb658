package facts

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/tributary-io/tributary/internal/commerce"
)

// Evidence is what shows that an influencer led to an order.
type Evidence = commerce.Evidence

// The two kinds of evidence.
const (
	EvidenceCoupon = commerce.EvidenceCoupon
	EvidenceLink   = commerce.EvidenceLink
)

// Outcome is what follows from a Case: derived rows, ready to store.
type Outcome struct {
	OrderID     string
	Currency    string
	Day         string // of createdAt, in the store's time zone
	Credits     []Credit
	Payout      Payout
	Lines       []Line
	FoundBy     []OrderKey // of DerivedKinds: by what a change of rules or a visit finds the order
	Hubs        []OrderKey // the order's own keys that join nothing
	Explanation Explanation
}

// Hash is the SHA-256 of the whole outcome: equal outcomes have equal hashes.
func (o *Outcome) Hash() ([]byte, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("outcome of order %s: %w", o.OrderID, err)
	}
	sum := sha256.Sum256(text)
	return sum[:], nil
}

// Credit is one touch's share of an order under one model.
type Credit struct {
	Model        string
	Position     int // of the touch in the path, from 1; 0 where the share is of no touch
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
	Evidence        Evidence
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

// StoredOutcome is an outcome with its hash, ready to store.
type StoredOutcome struct {
	Outcome
	Hash []byte
}
