package commerce

import (
	"encoding/json"

	"github.com/shopspring/decimal"
)

// OrderSearch looks for orders by what a person knows of them.
type OrderSearch struct {
	Text  string   // the order's id, name or number in any case, or a code that was typed; "1001" finds "#1001" too
	Email []string // keyed hashes of the customer's e-mail, by each hashing secret; none: not looked for
	Phone []string // likewise of the phone
	Limit int
}

// Review is an order whose commission waits for the merchant's decision. Of Sale,
// who is credited is empty.
type Review struct {
	Sale            Sale
	InfluencerID    string
	Influencer      string
	CommissionMinor int64 // in the order's currency
	FixedBRLMinor   int64
	Reason          string
	Explanation     json.RawMessage
}

// InfluencerSearch says which influencers to list, and in which order.
type InfluencerSearch struct {
	Text     string // part of the name, or a coupon's whole code; empty: all
	Sort     string // one of InfluencerSorts
	From     string // day from which on sales are counted, YYYY-MM-DD
	Today    string
	Currency string // of the sales that are counted
	Archived bool   // those who are archived, and no others
	Offset   int
	Limit    int
}

// Ways to sort influencers.
const (
	SortByName  = "name"
	SortBySales = "sales"
	SortByNew   = "new"
)

// InfluencerSorts lists them.
var InfluencerSorts = []string{SortByName, SortBySales, SortByNew}

// InfluencerSummary is an influencer in a list. Sums are of approved orders from a
// day on, in one currency.
type InfluencerSummary struct {
	InfluencerID    string
	Name            string
	Category        string
	Links           int64
	Coupons         int64 // in force today
	Costs           int64
	Orders          int64
	TotalMinor      decimal.Decimal
	CommissionMinor decimal.Decimal
}
