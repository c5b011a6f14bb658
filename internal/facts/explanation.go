package facts

import (
	"encoding/json"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/uuidtext"
)

// Explanation says who is credited and paid for an order, and why
// (docs/attribution.md, "Explanation"). The API, the command line and the pages
// show this one type. Amounts are JSON numbers in currency units, with at most as
// many decimal places as the currency has.
type Explanation struct {
	Order          ExplainedOrder             `json:"order"`
	Keys           []ExplainedKey             `json:"keys"`
	Touches        []ExplainedTouch           `json:"touches"`
	Cuts           []Cut                      `json:"cuts"`
	Decisions      []ExplainedDecision        `json:"decisions,omitempty"` // in disputes, and about order.customer_is
	Payout         ExplainedPayout            `json:"payout"`
	Models         map[string][]ExplainedPart `json:"models"`
	Counterfactual ExplainedCounterfactual    `json:"counterfactual"`
	Ledger         []ExplainedEntry           `json:"ledger,omitzero"` // added when the explanation is served; empty: no entry
}

// ExplainedOrder is the order as its outcome was computed from it.
type ExplainedOrder struct {
	OrderID   string      `json:"orderId"`
	Total     json.Number `json:"total"`
	Currency  string      `json:"currency"`
	CreatedAt string      `json:"createdAt"` // RFC 3339, UTC
	Status    int         `json:"status"`    // commerce.OrderApproved …
	Day       string      `json:"day"`       // YYYY-MM-DD in the store's time zone

	// CustomerIs are those of the influencers whom the order's evidence names who are its customer.
	CustomerIs []ExplainedCustomer `json:"customer_is,omitempty"`

	Tax     json.Number     `json:"tax,omitempty"` // that the total contains; absent: none was sent
	Test    bool            `json:"test,omitempty"`
	Codes   []ExplainedCode `json:"codes,omitempty"` // of discountCodes, in the order in which they were sent
	Refunds []ShownRefund   `json:"refunds,omitempty"`
}

// ExplainedCustomer is an influencer who is an order's customer.
type ExplainedCustomer struct {
	Influencer   string `json:"influencer"`
	InfluencerID string `json:"influencer_id"`
}

// ExplainedKey is one key of the order.
type ExplainedKey struct {
	Kind     KeyKind `json:"kind"`
	Strength int     `json:"strength"`         // 10 cart … 1 verified: the place in JoinKinds
	Hub      bool    `json:"hub"`              // it joins nothing
	HubOf    Hub     `json:"hub_of,omitempty"` // why: HubOfOrders or HubOfVisitors
	Visitors int     `json:"visitors"`         // to how many it leads; its JSON has none where the key is a hub
}

// MarshalJSON leaves out a hub's visitors: 0 would say that there are none. More of them
// change nothing, so the order is not computed again for them, and a number would be that
// of the moment in which it was.
func (k ExplainedKey) MarshalJSON() ([]byte, error) {
	type plain ExplainedKey
	if !k.Hub {
		return json.Marshal(plain(k))
	}
	return json.Marshal(struct {
		plain
		Visitors *int `json:"visitors,omitempty"`
	}{plain: plain(k)})
}

// ExplainedTouch is one touch that the keys led to.
type ExplainedTouch struct {
	ID           string  `json:"id"`
	At           string  `json:"at"` // RFC 3339, UTC, milliseconds
	Source       string  `json:"source"`
	Medium       string  `json:"medium"`
	Campaign     string  `json:"campaign"`
	Channel      string  `json:"channel"`
	Influencer   string  `json:"influencer,omitempty"`
	InfluencerID string  `json:"influencer_id,omitempty"`
	Click        string  `json:"click,omitempty"` // trb_click
	Arrival      Arrival `json:"evidence"`
	MatchedBy    string  `json:"matched_by"` // a KeyKind, or "order_utm"
	Proof        Proof   `json:"proof"`
	Used         bool    `json:"used"`             // false: it counts in no model but last, if in that
	Reason       string  `json:"reason,omitempty"` // why it is not used, or takes no payout: Reason.Words
}

// ExplainedDecision is what the merchant decided about an influencer: in a dispute, or about one who is the order's customer.
type ExplainedDecision struct {
	Influencer   string `json:"influencer"`
	InfluencerID string `json:"influencer_id"`
	Decision     string `json:"decision"` // one of commerce.DisputeDecisions, or to accept or refuse
	By           string `json:"by"`       // "user/<userId>", "key/<keyId>" or "cli"
	At           string `json:"at"`       // RFC 3339, UTC, milliseconds
	Reason       string `json:"reason"`   // of a dispute
	// ConfirmedBy is the second person, "user/<userId>", where the store wanted one.
	ConfirmedBy string `json:"confirmed_by,omitempty"`
}

// Cut is evidence that a limit left out.
type Cut struct {
	What  CutWhat `json:"what"`
	Kind  KeyKind `json:"kind,omitempty"` // of the key
	Limit Hub     `json:"limit"`          // which limit was exceeded; HubOfEvents of CutEvents
}

// CutWhat is what a limit left out.
type CutWhat string

// What a limit may leave out.
const (
	CutKey     CutWhat = "key"     // a key of the order
	CutVisitor CutWhat = "visitor" // a visitor to whom keys lead
	CutEvents  CutWhat = "events"  // old events of a visitor, or old touches that nothing proves
)

// Arrival is what shows that a visitor arrived (docs/attribution.md, "Touches").
type Arrival string

// Kinds of Arrival. Of several in one event the first of this list counts.
const (
	ByClick    Arrival = "trb_click" // the click on a short link, or its landing
	ByUTM      Arrival = "utm"
	ByAdClick  Arrival = "click_id" // of an ad network
	ByReferrer Arrival = "referrer"
	ByOrderUTM Arrival = "order_utm" // the order's own UTM values; of no event
	Direct     Arrival = "direct"    // none of these
)

// ExplainedPayout is who is paid what, and why.
type ExplainedPayout struct {
	Winner      *ExplainedWinner `json:"winner"`
	Rule        string           `json:"rule"` // coupon_first | last_touch
	Losers      []ExplainedLoser `json:"losers"`
	Costs       []ExplainedCost  `json:"costs"`
	Base        json.Number      `json:"base"`
	BaseIs      string           `json:"base_is,omitempty"` // BaseWithTax or BaseWithoutTax; absent: the order has no tax
	Commission  json.Number      `json:"commission"`        // in the order's currency; 0 where reversed
	Commissions []ExplainedSum   `json:"commissions"`       // each that is not zero, one for each currency; none where reversed
	State       PayoutState      `json:"state"`
	Reason      Reason           `json:"reason,omitempty"`     // why it waits, or nothing is earned
	Note        string           `json:"note,omitempty"`       // Reason.Words
	PayableOn   string           `json:"payable_on,omitempty"` // the day from which it may be paid, YYYY-MM-DD in the store's time zone
}

// PayoutState says whether a commission is owed.
type PayoutState string

const (
	PayoutEarned   PayoutState = "earned"   // the order is approved
	PayoutExpected PayoutState = "expected" // the order is pending
	PayoutReview   PayoutState = "review"   // it waits for the merchant's decision; nothing is posted
	PayoutReversed PayoutState = "reversed" // the order is cancelled
	PayoutNone     PayoutState = "none"     // nothing is earned, whatever the status
)

// ExplainedWinner is the influencer who is paid, or would be in PayoutReview.
type ExplainedWinner struct {
	Influencer   string   `json:"influencer"`
	InfluencerID string   `json:"influencer_id"`
	Campaign     string   `json:"campaign"`
	CampaignID   string   `json:"campaign_id,omitempty"`
	Evidence     Evidence `json:"evidence"`
	Proof        Proof    `json:"proof"`
}

// ExplainedLoser is an influencer with evidence who is not paid.
type ExplainedLoser struct {
	Influencer string   `json:"influencer"`
	Evidence   Evidence `json:"evidence"`
	Reason     string   `json:"reason"` // Reason.Words
}

// CostLevel says whether a cost is one campaign's, or the influencer's.
type CostLevel string

// The two levels.
const (
	LevelCampaign   CostLevel = "campaign"
	LevelInfluencer CostLevel = "influencer"
)

// ExplainedCost is what the winner earns by one cost.
type ExplainedCost struct {
	CostID   string         `json:"cost_id"`
	Level    CostLevel      `json:"level"`
	FixedFee json.Number    `json:"fixed_fee"` // BRL
	VarFee   json.Number    `json:"var_fee"`   // percent
	Revision int64          `json:"revision"`
	Amount   json.Number    `json:"amount"`  // in the order's currency
	Amounts  []ExplainedSum `json:"amounts"` // each that is not zero, one for each currency
}

// ExplainedSum is an amount with its currency: a fixed fee is in BRL, whatever the
// order's currency is.
type ExplainedSum struct {
	Amount   json.Number `json:"amount"`
	Currency string      `json:"currency"`
}

// ExplainedPart is one share of the order under a model.
type ExplainedPart struct {
	Touch      string      `json:"touch,omitempty"` // id of the touch; none for Channel marketplace, unattributed or of a coupon
	Channel    string      `json:"channel"`
	Influencer string      `json:"influencer,omitempty"`
	Share      json.Number `json:"share"` // of the order's total, 0 to 1, six decimal places
	Amount     json.Number `json:"amount"`
}

// ExplainedCounterfactual is what would be paid with less evidence.
type ExplainedCounterfactual struct {
	WithoutCoupon ExplainedPayout `json:"without_coupon"`
	WithoutLink   ExplainedPayout `json:"without_link"`
}

// ExplainedEntry is one entry of the order's ledger.
type ExplainedEntry struct {
	Entry        int         `json:"entry"` // 1, 2, … within the order
	At           time.Time   `json:"at"`    // when it was posted
	Kind         string      `json:"kind"`  // ledger.Kind
	Influencer   string      `json:"influencer"`
	InfluencerID string      `json:"influencer_id"`
	CostID       string      `json:"cost_id"`
	RuleRev      int64       `json:"rule_rev"`
	Amount       json.Number `json:"amount"`
	Currency     string      `json:"currency"`
	Reverses     int         `json:"reverses,omitempty"` // the entry that it reverses
	PayableOn    string      `json:"payable_on"`         // the day from which it counts as payable, YYYY-MM-DD
	Cause        string      `json:"cause"`              // Cause.String
}

// TouchesOf returns the event ids of an influencer's touches in a stored explanation,
// the newest of them; at most most.
func TouchesOf(stored json.RawMessage, influencerID string, most int) []string {
	var x Explanation
	if len(stored) == 0 || json.Unmarshal(stored, &x) != nil {
		return nil // not explained yet, or by another version
	}
	var ids []string
	for _, t := range x.Touches {
		if t.InfluencerID == influencerID && uuidtext.Is(t.ID) {
			ids = append(ids, t.ID)
		}
	}
	return ids[max(0, len(ids)-most):]
}

// Number returns minor units of a currency as an amount of an explanation.
func Number(minor int64, currency string) json.Number {
	text, _ := commerce.Amount{Minor: minor, Currency: currency}.MarshalJSON() // never fails
	return json.Number(text)
}
