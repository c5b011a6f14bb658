package preview

import (
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
)

// Answer is what a change would move. The API, the command line and the pages show this
// one type. Amounts are JSON numbers in currency units; those of different currencies
// are never added.
type Answer struct {
	Moves  []Move  `json:"moves"`  // of the newest orders; the newest first
	Totals []Total `json:"totals"` // of all orders that were computed; each that is not zero
	Credit []Moved `json:"credit"` // the channel models', of all orders that were computed; each that is not zero
	Orders Orders  `json:"orders"`
	Cut    string  `json:"cut,omitempty"` // why the answer is not complete: CutOrders or CutTime
}

// Orders counts orders.
type Orders struct {
	Concerned int  `json:"concerned"`      // that the change may move; counted up to Limits.Counted
	More      bool `json:"more,omitempty"` // there are more than were counted
	Computed  int  `json:"computed"`       // the newest of those counted
	LeftOut   int  `json:"left_out"`       // that were not computed
	Moved     int  `json:"moved"`          // of which the payout changes
	Credited  int  `json:"credited"`       // of which channel credit changes
}

// Move is what changes about one order's payout in one currency.
type Move struct {
	OrderID   string       `json:"orderId"`
	CreatedAt time.Time    `json:"createdAt"`
	From      *Share       `json:"from"` // null: nobody
	To        *Share       `json:"to"`   // null: nobody
	Amount    commerce.Sum `json:"amount"`
	Currency  string       `json:"currency"`
}

// Share is who has what of an order's commission.
type Share struct {
	Influencer   string            `json:"influencer"`
	InfluencerID string            `json:"influencer_id"`
	Campaign     string            `json:"campaign,omitempty"`
	CampaignID   string            `json:"campaign_id,omitempty"`
	Evidence     facts.Evidence    `json:"evidence"`
	State        facts.PayoutState `json:"state"`
	Reason       facts.Reason      `json:"reason,omitempty"`
	Amount       commerce.Sum      `json:"amount"`
	PayableOn    string            `json:"payable_on,omitempty"`
}

// Total is what changes for an influencer: the sum over orders of one state.
type Total struct {
	Influencer   string            `json:"influencer"`
	InfluencerID string            `json:"influencer_id"`
	State        facts.PayoutState `json:"state"` // earned, expected or review
	Before       commerce.Sum      `json:"before"`
	After        commerce.Sum      `json:"after"`
	Amount       commerce.Sum      `json:"amount"` // After less Before
	Currency     string            `json:"currency"`
}

// Moved is what changes of a channel under one model.
type Moved struct {
	Model        string       `json:"model"`
	Channel      string       `json:"channel"`
	InfluencerID string       `json:"influencer_id,omitempty"`
	Amount       commerce.Sum `json:"amount"`
	Currency     string       `json:"currency"`
}
