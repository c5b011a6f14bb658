package facts

import "time"

// EvidenceSnapshot is the evidence of an order as it was when its events were about to be removed. Its
// outcome is computed from it from then on, whatever events are there: changed rules, new
// versions of the order and decisions apply to it as they did to the events. A snapshot is a
// fact and never changes.
type EvidenceSnapshot struct {
	OrderID    string
	SnapshotAt time.Time
	Path       SnapshotPath
}

// SnapshotPath is what a snapshot keeps of an order's keys and visitors. It names no visitor and
// no key's value. It is stored as JSON: fields may be added, none changes its meaning.
type SnapshotPath struct {
	Keys   []SnapshotKey `json:"keys,omitempty"`   // strongest first
	Cuts   []Cut         `json:"cuts,omitempty"`   // what limits had left out
	Hidden bool          `json:"hidden,omitempty"` // these left out what visitors claim, and anybody could reach them

	// Models are the touches that the channel models see, before they are matched to
	// influencers.
	Models []SnapshotTouch `json:"models,omitempty"`
	// Paid are those that the payout sees; PaidAsModels: they are Models.
	Paid         []SnapshotTouch `json:"paid,omitempty"`
	PaidAsModels bool            `json:"paid_as_models,omitempty"`
	// Accepted are those that decisions before the snapshot accepted. A later decision accepts
	// of Models and Paid.
	Accepted []SnapshotDecision `json:"accepted,omitempty"`
}

// SnapshotKey is one key of the order, without its value.
type SnapshotKey struct {
	Kind     KeyKind `json:"kind"`
	Hub      Hub     `json:"hub,omitempty"`
	Visitors int     `json:"visitors,omitempty"` // to whom it led
}

// SnapshotTouch is one arrival of a visitor.
type SnapshotTouch struct {
	ID         string    `json:"id"` // of its first event; OrderTouch for the order's own UTM values
	At         time.Time `json:"at"` // UTC, milliseconds
	Kind       Arrival   `json:"evidence"`
	Source     string    `json:"source,omitempty"`
	Medium     string    `json:"medium,omitempty"`
	Campaign   string    `json:"campaign,omitempty"`   // utm_campaign, not folded
	Content    string    `json:"content,omitempty"`    // utm_content, not folded
	Click      string    `json:"click,omitempty"`      // trb_click without its mac: a click and its landing have the same
	Code       string    `json:"code,omitempty"`       // the short link's, from trb_click
	MatchedBy  string    `json:"matched_by,omitempty"` // KeyKind of the key that led to the visitor, or ByOrderUTM
	Proof      Proof     `json:"proof,omitempty"`
	InCheckout bool      `json:"in_checkout,omitempty"` // a checkout had begun, in the same run of activity (docs/attribution.md, "Proof")
	Proven     bool      `json:"proven,omitempty"`      // a proof key led to its visitor, whose id was a secret
}

// SnapshotDecision is what one decision had accepted.
type SnapshotDecision struct {
	InfluencerID string          `json:"influencer_id"`
	Rev          int64           `json:"rev"`
	Found        []SnapshotTouch `json:"found,omitempty"` // by the order's keys
	Alone        []SnapshotTouch `json:"alone,omitempty"` // that the decision named
}

// Span is the time from From on until before To.
type Span struct{ From, To time.Time }

// SnapshotCandidate is an order that may have to be snapshotted.
type SnapshotCandidate struct {
	OrderID   string
	CreatedAt time.Time
	Day       string // of createdAt in the store's time zone, YYYY-MM-DD
}

// DayOrFirst returns the day; of the zero value one before all days.
func (c SnapshotCandidate) DayOrFirst() string {
	if c.Day == "" {
		return "0001-01-01"
	}
	return c.Day
}
