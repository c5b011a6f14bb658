package facts

import (
	"encoding/json"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
)

// Explanation says who is credited and paid for an order, and why
// (docs/attribution.md, "Explanation"). The API, the command line and the pages
// all show this one type. Amounts are JSON numbers with at most the digits of
// their currency.
type Explanation struct {
	Order          ExplainedOrder             `json:"order"`
	Keys           []ExplainedKey             `json:"keys"`
	Touches        []ExplainedTouch           `json:"touches"`
	Payout         ExplainedPayout            `json:"payout"`
	Models         map[string][]ExplainedPart `json:"models"`
	Counterfactual ExplainedCounterfactual    `json:"counterfactual"`
	Ledger         []ExplainedEntry           `json:"ledger,omitzero"` // added when it is read; an empty one says that nothing was posted
}

// ExplainedOrder is the order as it was decided.
type ExplainedOrder struct {
	OrderID   string      `json:"orderId"`
	Total     json.Number `json:"total"`
	Currency  string      `json:"currency"`
	CreatedAt string      `json:"createdAt"` // RFC 3339, UTC
	Status    int         `json:"status"`    // commerce.OrderApproved …
	Day       string      `json:"day"`       // YYYY-MM-DD in the store's time zone
}

// ExplainedKey is one key of the order and where it led.
type ExplainedKey struct {
	Kind     KeyKind `json:"kind"`
	Strength int     `json:"strength"` // 5 cart … 1 phone
	Hub      bool    `json:"hub"`      // it joins nothing
	Visitors int     `json:"visitors"`
}

// ExplainedTouch is one touch that the keys led to.
type ExplainedTouch struct {
	ID         string  `json:"id"`
	At         string  `json:"at"` // RFC 3339, UTC, milliseconds
	Source     string  `json:"source"`
	Medium     string  `json:"medium"`
	Campaign   string  `json:"campaign"`
	Channel    string  `json:"channel"`
	Influencer string  `json:"influencer,omitempty"`
	Click      string  `json:"click,omitempty"` // trb_click
	Arrival    Arrival `json:"evidence"`
	MatchedBy  string  `json:"matched_by"` // a KeyKind, or "order_utm"
	Used       bool    `json:"used"`
	Reason     string  `json:"reason,omitempty"` // why it is not used: Reason.Words
}

// Arrival is what shows that a visitor arrived, strongest first.
type Arrival string

const (
	ByClick    Arrival = "trb_click"
	ByUTM      Arrival = "utm"
	ByAdClick  Arrival = "click_id"
	ByReferrer Arrival = "referrer"
	ByOrderUTM Arrival = "order_utm"
	Direct     Arrival = "direct"
)

// ExplainedPayout is who is paid what, and why.
type ExplainedPayout struct {
	Winner      *ExplainedWinner `json:"winner"`
	Rule        string           `json:"rule"` // coupon_first | last_touch
	Losers      []ExplainedLoser `json:"losers"`
	Costs       []ExplainedCost  `json:"costs"`
	Base        json.Number      `json:"base"`
	Commission  json.Number      `json:"commission"`  // in the order's currency; 0 where reversed
	Commissions []ExplainedSum   `json:"commissions"` // all that is not zero, one a currency; none where reversed
	State       PayoutState      `json:"state"`
	Reason      Reason           `json:"reason,omitempty"` // why none
	Note        string           `json:"note,omitempty"`   // Reason.Words
}

// PayoutState says what becomes of a commission.
type PayoutState string

const (
	PayoutEarned   PayoutState = "earned"   // the order is approved
	PayoutExpected PayoutState = "expected" // it is pending
	PayoutReversed PayoutState = "reversed" // it was cancelled
	PayoutNone     PayoutState = "none"     // nothing is earned, whatever the status
)

// ExplainedWinner is the influencer who is paid.
type ExplainedWinner struct {
	Influencer   string   `json:"influencer"`
	InfluencerID string   `json:"influencer_id"`
	Campaign     string   `json:"campaign"`
	CampaignID   string   `json:"campaign_id,omitempty"`
	Evidence     Evidence `json:"evidence"`
}

// ExplainedLoser is an influencer with evidence who is not paid.
type ExplainedLoser struct {
	Influencer string   `json:"influencer"`
	Evidence   Evidence `json:"evidence"`
	Reason     string   `json:"reason"` // Reason.Words
}

// CostLevel is what a cost record is agreed for.
type CostLevel string

const (
	LevelCampaign   CostLevel = "campaign"
	LevelInfluencer CostLevel = "influencer"
)

// ExplainedCost is what one cost record earns.
type ExplainedCost struct {
	CostID   string         `json:"cost_id"`
	Level    CostLevel      `json:"level"`
	FixedFee json.Number    `json:"fixed_fee"` // BRL
	VarFee   json.Number    `json:"var_fee"`   // percent
	Revision int64          `json:"revision"`
	Amount   json.Number    `json:"amount"`  // in the order's currency
	Amounts  []ExplainedSum `json:"amounts"` // all that is not zero, one a currency
}

// ExplainedSum is an amount that says its currency: a fixed fee is in BRL,
// whatever the order is in.
type ExplainedSum struct {
	Amount   json.Number `json:"amount"`
	Currency string      `json:"currency"`
}

// ExplainedPart is one share of the order under a model.
type ExplainedPart struct {
	Touch      string      `json:"touch,omitempty"` // none where the share is of no touch
	Channel    string      `json:"channel"`
	Influencer string      `json:"influencer,omitempty"`
	Share      json.Number `json:"share"`
	Amount     json.Number `json:"amount"`
}

// ExplainedCounterfactual is the payout on less evidence.
type ExplainedCounterfactual struct {
	WithoutCoupon ExplainedPayout `json:"without_coupon"`
	WithoutLink   ExplainedPayout `json:"without_link"`
}

// ExplainedEntry is one entry of the order's ledger.
type ExplainedEntry struct {
	Entry        int         `json:"entry"`
	At           time.Time   `json:"at"`
	Kind         string      `json:"kind"` // ledger.Kind
	Influencer   string      `json:"influencer"`
	InfluencerID string      `json:"influencer_id"`
	CostID       string      `json:"cost_id"`
	RuleRev      int64       `json:"rule_rev"`
	Amount       json.Number `json:"amount"`
	Currency     string      `json:"currency"`
	Reverses     int         `json:"reverses,omitempty"`
	Cause        string      `json:"cause"` // Cause.String
}

// Number writes minor units of a currency as an explanation's amount.
func Number(minor int64, currency string) json.Number {
	text, _ := commerce.Amount{Minor: minor, Currency: currency}.MarshalJSON() // never fails
	return json.Number(text)
}
