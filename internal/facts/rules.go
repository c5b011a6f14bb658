package facts

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/wire"
)

// Rules are all rules and settings of one company at a revision.
type Rules struct {
	CompanyID string
	Rev       int64
	Location  *time.Location // the store's time zone, for its calendar days
	Hosts     []string       // the store's own hosts
	Origins   []string       // whose pages may send events
	Settings                 // of orders created now
	Past      []PastSettings // of orders created before, the oldest first

	HasErasures   bool // persons were erased, or are to be
	RetentionDays int  // after so many days events are removed; 0: never

	Influencers []Influencer
	Campaigns   []Campaign
	Links       []Link
	Coupons     []Coupon
	Costs       []Cost
	Identities  []Identity // that tell one influencer from all others
}

// Settings decide about the orders that were created while they were in force.
type Settings struct {
	PayoutRule   string        // CouponFirst or LastTouch
	Window       time.Duration // how long before an order a touch counts
	HalfLife     time.Duration // of the model time_decay
	IgnoreDirect bool          // the models leave direct touches out
	PayRecurring bool          // recurring orders earn too
	WithoutTax   bool          // the base of commissions is without tax
	Unproven     string        // one of commerce.UnprovenRules; empty: review
	SelfPurchase string        // one of commerce.SelfPurchaseRules; empty: review
	HoldDays     int           // from an order's approval until its commission may be paid
	// DeliveredHoldDays is the same from its delivery, where that is known.
	DeliveredHoldDays int
	PassingHosts      []string // changes to the hosts that commerce.Passing knows
}

// PastSettings were in force until an instant.
type PastSettings struct {
	Settings
	Until time.Time // exclusive
}

// SettingsAt returns the settings that were in force at an instant.
func (r *Rules) SettingsAt(t time.Time) Settings {
	for _, past := range r.Past {
		if t.Before(past.Until) {
			return past.Settings
		}
	}
	return r.Settings
}

// Windows returns the windows of all settings, each once, the longest first.
func (r *Rules) Windows() []time.Duration {
	windows := []time.Duration{r.Window}
	for _, past := range r.Past {
		windows = append(windows, past.Window)
	}
	slices.Sort(windows)
	slices.Reverse(windows)
	return slices.Compact(windows)
}

// Payout rules (company.payout_rule).
const (
	CouponFirst = commerce.CouponFirst
	LastTouch   = commerce.LastTouch
)

// Influencer is one influencer of a store. This and the rules below count for what
// was before they were closed: ArchivedAt or DeletedAt is zero while one is open.
type Influencer struct {
	ID, Name   string
	Folded     string   // fold.Name of Name
	Former     []string // fold.Name of the names that it had before; Folded may be one of them
	CreatedAt  time.Time
	ArchivedAt time.Time
	Unproven   []UnprovenSince // the influencer's own setting, the oldest first
}

// Names returns the folded names by which a visit is the influencer's, each once: its own first.
func (f *Influencer) Names() []string {
	return append([]string{f.Folded}, slices.DeleteFunc(slices.Clone(f.Former), func(name string) bool { return name == f.Folded })...)
}

// UnprovenSince is an influencer's own setting of what is done with evidence that
// nothing proves.
type UnprovenSince struct {
	Since    time.Time
	Unproven string // one of commerce.UnprovenRules; empty: the store's
}

// UnprovenAt returns the influencer's own setting at an instant, and "" where the
// store's counts.
func (f *Influencer) UnprovenAt(t time.Time) (unproven string) {
	for _, u := range f.Unproven {
		if !t.Before(u.Since) {
			unproven = u.Unproven
		}
	}
	return unproven
}

// Campaign is one campaign of an influencer.
type Campaign struct {
	ID, InfluencerID, Name string
	Folded                 string // fold.Name of Name
	CreatedAt, ArchivedAt  time.Time
}

// Link is a short link of a campaign.
type Link struct {
	ID, InfluencerID, CampaignID string
	Code                         string // the part of the short link's path, and of a click id
	ArchivedAt                   time.Time
}

// Coupon is a discount code of a campaign.
type Coupon struct {
	ID, InfluencerID, CampaignID string
	Code                         string // fold.Code of the code
	From, To                     string // the days on which it counts, YYYY-MM-DD, both inclusive; empty: no bound
	DeletedAt                    time.Time
}

// Cost is what an influencer earns on an order.
type Cost struct {
	ID, InfluencerID string
	CampaignID       string          // empty: for all of the influencer's campaigns without a cost of their own
	FixedFeeMinor    int64           // BRL cents
	VarFee           decimal.Decimal // percent
	CouponOnly       bool            // needs coupon evidence
	From, To         string          // the days on which it counts, as in Coupon
	Rev              int64           // the revision of the rules that made or ended it
	CreatedAt        time.Time
	DeletedAt        time.Time
}

// Replaces reports whether c alone counts where both count. c was made later, for the
// same campaign, evidence and first day, and it either differs from old only in amount,
// or was made after old was deleted. A fee and a share that were never deleted are no
// two amounts of one kind: they add up.
func (c *Cost) Replaces(old *Cost) bool {
	same := c.InfluencerID == old.InfluencerID && c.CampaignID == old.CampaignID && c.CouponOnly == old.CouponOnly && c.From == old.From
	later := cmp.Or(c.CreatedAt.Compare(old.CreatedAt), cmp.Compare(c.ID, old.ID)) > 0
	otherAmount := c.To == old.To && (c.FixedFeeMinor == 0) == (old.FixedFeeMinor == 0) && c.VarFee.IsZero() == old.VarFee.IsZero()
	remade := !old.DeletedAt.IsZero() && !old.DeletedAt.After(c.CreatedAt)
	return same && later && (otherAmount || remade)
}

// Change is a changed rule or setting.
type Change struct {
	wire.Rule
	Rev int64 // of the company's rules
}

// ParseChange parses the record of a changed rule, or of changed settings. A type
// that is not known is ErrUnknownKind.
func ParseChange(c wire.Commerce) (Change, error) {
	change := Change{Rev: c.Rev}
	if c.Kind == wire.KindSettings {
		change.Type = wire.RuleSettings // the record has no other content
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
