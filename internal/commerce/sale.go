package commerce

import (
	"encoding/json"
	"time"

	"github.com/shopspring/decimal"
)

// Evidence is what shows that an influencer led to an order; empty: nothing does.
type Evidence string

// The two kinds of evidence.
const (
	EvidenceCoupon Evidence = "coupon"
	EvidenceLink   Evidence = "link"
)

// Sale is one order as a merchant sees it: what was sold, and who is paid.
// Amounts are minor units of Currency.
type Sale struct {
	OrderID         string
	Name            string // what the shop calls it, "#1001"; may be empty
	CreatedAt       time.Time
	Day             string // YYYY-MM-DD of CreatedAt in the company's time zone
	Status          int    // OrderApproved | OrderPending | OrderCancelled
	Currency        string
	TotalMinor      int64
	InfluencerID    string // empty: nobody is credited
	Influencer      string
	Campaign        string
	Evidence        Evidence
	CommissionMinor int64  // the sum of the ledger, or what is expected while pending
	FixedBRLMinor   int64  // fixed fees of an order in another currency, in BRL: beside CommissionMinor
	WaitsFor        string // why a commission waits for the merchant's decision; empty: none waits
	ProcessedAt     time.Time
	DiscountCode    string // as the shop sent it; may be empty
	Test            bool   // it counts nowhere
}

// Cursor returns the sale's place in the order in which sales were processed.
func (s Sale) Cursor() Cursor { return Cursor{At: s.ProcessedAt, OrderID: s.OrderID} }

// Commissions returns the sale's commissions that are not zero: one amount for
// each currency, the order's currency first.
func (s Sale) Commissions() (list []Amount) {
	if s.CommissionMinor != 0 {
		list = append(list, Amount{s.CommissionMinor, s.Currency})
	}
	if s.FixedBRLMinor != 0 {
		list = append(list, Amount{s.FixedBRLMinor, BRL})
	}
	return list
}

// SaleGroup sums the orders of a day that have the same influencer, evidence,
// status and currency. Sums are exact, in minor units.
type SaleGroup struct {
	InfluencerID    string // empty: credited to nobody
	Influencer      string
	Evidence        Evidence
	Status          int
	Currency        string
	Orders          int64
	TotalMinor      decimal.Decimal
	CommissionMinor decimal.Decimal // as the payouts say: expected, for pending orders
	FixedBRLMinor   decimal.Decimal // as Sale's
}

// CommissionGroup is the sum of the ledger over a day's orders. Its currency may
// be another than the orders': a fixed fee is in BRL.
type CommissionGroup struct {
	InfluencerID string
	Influencer   string
	Currency     string
	AmountMinor  decimal.Decimal
}

// DaySales is a day of a company as it stood at one instant.
type DaySales struct {
	AsOf        time.Time // the database's clock
	Cursor      Cursor    // of the last order processed; zero where there is none
	Groups      []SaleGroup
	Commissions []CommissionGroup
	Sales       []Sale // the newest first; as many as were asked for
	More        bool   // there are older ones
}

// LedgerEntry is one posting to an influencer's account.
type LedgerEntry struct {
	Entry        int
	At           time.Time
	Kind         string // earned | reversed | adjusted, or one of EntryKinds
	InfluencerID string
	Influencer   string
	AmountMinor  int64
	Currency     string
	Reverses     int    // the entry it takes back; 0: none
	PayableOn    string // the day from which it counts as payable, YYYY-MM-DD
	CostID       string // the cost for which it was posted
	// The cost's terms, which never change. Both are zero where the cost is not
	// known any more.
	FixedFeeMinor int64           // BRL cents an order
	VarFee        decimal.Decimal // percent
	RuleRev       int64           // of the company's rules when it was posted
	Cause         string          // "order <updatedAt>", "event <id>", "rule <rev> <type>"
}

// Balance is what one influencer has in one currency, in minor units. Held, payable, paid and
// withheld together are the sum of the ledger without advances; what is expected or in review has no entries.
type Balance struct {
	InfluencerID  string
	Influencer    string
	Currency      string
	ExpectedMinor decimal.Decimal // of pending orders
	ReviewMinor   decimal.Decimal // waits for the merchant's decision
	HeldMinor     decimal.Decimal // earned; may be paid later
	PayableMinor  decimal.Decimal // earned; may be paid now: the due, what was carried, and what no closed statement has
	DueMinor      decimal.Decimal // what is to be paid of closed statements
	CarriedMinor  decimal.Decimal // the total of the last statement, where it is carried to the next one
	PaidMinor     decimal.Decimal // what was paid of statements, and advances
	WithheldMinor decimal.Decimal // of statements that are paid or to be paid
}

// OpenMinor is what may be paid and no closed statement has.
func (b *Balance) OpenMinor() decimal.Decimal {
	return b.PayableMinor.Sub(b.DueMinor).Sub(b.CarriedMinor)
}

// ExplainedSale is an order with the explanation of its credit and its ledger.
type ExplainedSale struct {
	Sale        Sale
	Explanation json.RawMessage // as in docs/attribution.md, "Explanation", without its ledger; nil until there is one
	Ledger      []LedgerEntry
	Recomputing bool // the order is queued to be computed again
	Erased      bool // its person was erased: what named them is gone
}
