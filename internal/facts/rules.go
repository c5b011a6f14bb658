package facts

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/wire"
)

// Rules are all rules and settings of one company at a revision.
type Rules struct {
	CompanyID    string
	Rev          int64
	Location     *time.Location // of the store's calendar days
	Hosts        []string       // the store's own hosts
	PayoutRule   string         // coupon_first | last_touch
	Window       time.Duration
	HalfLife     time.Duration
	IgnoreDirect bool
	PayRecurring bool
	Influencers  []Influencer
	Campaigns    []Campaign
	Links        []Link
	Coupons      []Coupon
	Costs        []Cost
}

// Payout rules (company.payout_rule).
const (
	CouponFirst = commerce.CouponFirst
	LastTouch   = commerce.LastTouch
)

// Influencer of a store. A closed rule (ArchivedAt, DeletedAt not zero) holds
// for what was before.
type Influencer struct {
	ID, Name, Folded string
	CreatedAt        time.Time
	ArchivedAt       time.Time
}

type Campaign struct {
	ID, InfluencerID, Name, Folded string
	CreatedAt, ArchivedAt          time.Time
}

type Link struct {
	ID, InfluencerID, CampaignID, Code string
	ArchivedAt                         time.Time
}

// Coupon holds on days From to To, inclusive, YYYY-MM-DD; empty is unbounded.
type Coupon struct {
	ID, InfluencerID, CampaignID, Code string // Code is folded
	From, To                           string
	DeletedAt                          time.Time
}

// Cost is what an order earns its influencer. FixedFeeMinor is in BRL cents;
// VarFee in percent. From, To as in Coupon.
type Cost struct {
	ID, InfluencerID, CampaignID string // CampaignID empty: influencer-level
	FixedFeeMinor                int64
	VarFee                       decimal.Decimal
	CouponOnly                   bool
	From, To                     string
	Rev                          int64
	DeletedAt                    time.Time
}

// Change is a rule or a setting that changed.
type Change struct {
	wire.Rule
	Rev int64 // of the company's rules
}

// ParseChange reads the body of a rule's or a settings' record. A type that is
// not known is ErrUnknownKind.
func ParseChange(c wire.Commerce) (Change, error) {
	change := Change{Rev: c.Rev}
	if c.Kind == wire.KindSettings {
		change.Type = wire.RuleSettings // its body says nothing more
		return change, nil
	}
	if err := json.Unmarshal(c.Body, &change.Rule); err != nil {
		return change, fmt.Errorf("%w: %w", ErrNotJSON, err)
	}
	switch change.Type {
	case wire.RuleInfluencer, wire.RuleCampaign, wire.RuleLink, wire.RuleCoupon, wire.RuleCost:
		return change, nil
	}
	return change, fmt.Errorf("rule of type %.40q: %w", change.Type, ErrUnknownKind)
}
