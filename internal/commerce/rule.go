package commerce

import (
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/fold"
	"github.com/tributary-io/tributary/internal/publichost"
	"github.com/tributary-io/tributary/internal/wire"
)

// maxElements bounds the links, coupons and costs of a registration, each.
const maxElements = 100

// Frequencies of costs, in the order in which messages tell them.
var Frequencies = []string{Specific, Daily, Weekly, Monthly}

// Check returns every rule that a registration breaks, as far as it can be known
// without a look-up: not whether the links' hosts have public addresses, nor
// whether it fits what is stored.
func (r Registration) Check() (bad Violations) {
	var body place
	bad.foldable(body, "name", r.Name, MaxName, fold.Name)
	bad.text(body, "campaign", r.Campaign, MaxName)
	if r.CampaignID != "" {
		bad.filled(body, "campaign_id", r.CampaignID, MaxCampaignID)
	}
	bad.text(body, "category", r.Category, MaxCategory)
	if len(r.Links) == 0 && !r.KnownOnly && (!r.CouponOnly || len(r.Coupons)+len(r.Costs) == 0) {
		bad.Add("links", CodeTooFew, "must have at least 1 element")
	}
	bad.atMost("links", len(r.Links), maxElements)
	bad.atMost("coupons", len(r.Coupons), maxElements)
	bad.atMost("costs", len(r.Costs), maxElements)
	for i, link := range r.Links {
		bad.text(element("links", i), "url", link, MaxURL)
		if _, err := publichost.OfDestination(link); err != nil {
			bad.Add(element("links", i).field("url"), CodeInvalidURL, "%s", err)
		}
	}
	for i, coupon := range r.Coupons {
		coupon.check(element("coupons", i), &bad)
	}
	for i, cost := range r.Costs {
		at := element("costs", i)
		cost.check(at, &bad)
		if cost.CampaignCost && r.CampaignID == "" {
			bad.Add("campaign_id", CodeRequired, "is required, since %s is true", at.field("is_campaign_cost"))
		}
	}
	return bad
}

// Check returns every rule that a coupon breaks.
func (c CouponTerms) Check() (bad Violations) {
	c.check(place{}, &bad)
	return bad
}

func (c CouponTerms) check(at place, bad *Violations) {
	bad.foldable(at, "cupom", c.Code, MaxCoupon, fold.Code)
	bad.period(at, c.StartDate, c.EndDate)
}

// NewCoupon is a coupon for an existing campaign.
type NewCoupon struct {
	CampaignID string
	CouponTerms
}

// Check returns every rule that a new coupon breaks.
func (c NewCoupon) Check() (bad Violations) {
	bad.filled(place{}, "campaign_id", c.CampaignID, MaxCampaignID)
	c.check(place{}, &bad)
	return bad
}

// InfluencerRef names an influencer, or one campaign of theirs.
type InfluencerRef struct {
	Name       string
	CampaignID string // empty: the influencer
}

// Check returns every rule that the names break.
func (r InfluencerRef) Check() (bad Violations) {
	bad.foldable(place{}, "name", r.Name, MaxName, fold.Name)
	if r.CampaignID != "" {
		bad.filled(place{}, "campaign_id", r.CampaignID, MaxCampaignID)
	}
	return bad
}

// NewCost is a cost for an existing influencer.
type NewCost struct {
	InfluencerRef
	CostTerms
}

// Check returns every rule that a new cost breaks.
func (c NewCost) Check() (bad Violations) {
	bad = c.InfluencerRef.Check()
	c.check(place{}, &bad)
	if c.CampaignCost && c.CampaignID == "" {
		bad.Add("campaign_id", CodeRequired, "is required, since is_campaign_cost is true")
	}
	return bad
}

// CheckNewName returns every rule that the new name of an influencer breaks.
func CheckNewName(name string) (bad Violations) {
	bad.foldable(place{}, "new_name", name, MaxName, fold.Name)
	return bad
}

// CheckCategory returns every rule that an influencer's name and new category break.
func CheckCategory(name, category string) (bad Violations) {
	bad = InfluencerRef{Name: name}.Check()
	bad.text(place{}, "category", category, MaxCategory)
	return bad
}

// rates are the fields of a cost of which at least one is not zero.
var rates = []string{"fixed_fee", "var_fee", "value"}

// maxPercentDigits of var_fee: 0.000001 % of a million reais is a cent.
const maxPercentDigits = 6

// Check returns every rule that a cost breaks. It does not check that a
// campaign's cost has a campaign, whose id is not part of the terms.
func (c CostTerms) Check() (bad Violations) {
	c.check(place{}, &bad)
	return bad
}

func (c CostTerms) check(at place, bad *Violations) {
	bad.amount(at, "fixed_fee", c.FixedFeeMinor, BRL)
	bad.amount(at, "value", c.ValueMinor, BRL)
	switch {
	case c.VarFee.IsNegative() || c.VarFee.GreaterThan(decimal.New(100, 0)):
		bad.Add(at.field("var_fee"), CodeOutOfRange, "must be between 0 and 100")
	case !c.VarFee.Equal(c.VarFee.Truncate(maxPercentDigits)):
		bad.Add(at.field("var_fee"), CodeTooManyDigits, "has more than %d decimal places", maxPercentDigits)
	}
	if c.FixedFeeMinor == 0 && c.VarFee.IsZero() && c.ValueMinor == 0 {
		bad.Add(at.field(""), CodeNoRate, "must carry at least one of fixed_fee, var_fee and value that is not zero")
	}
	if c.Frequency != "" {
		bad.word(at, "frequency", c.Frequency, Frequencies...)
	} else if c.ValueMinor > 0 {
		bad.Add(at.field("frequency"), CodeRequired, "is required when value is greater than 0")
	}
	if c.StartDate == "" {
		bad.Add(at.field("start_date"), CodeRequired, "is required")
	}
	bad.period(at, c.StartDate, c.EndDate)
	if _, err := ParseDay(c.OwedFrom, time.UTC); c.OwedFrom != "" && err != nil {
		bad.Add(at.field("owed_from"), CodeInvalidDate, "must be a real date written YYYY-MM-DD, of the years 1970 to 2199")
	} else if c.OwedFrom != "" && c.ValueMinor == 0 {
		bad.Add(at.field("owed_from"), CodeInvalidValue, "is of a value, and there is none")
	}
}

// Check returns every rule that an additional cost breaks.
func (c AdditionalCost) Check() (bad Violations) {
	var body place
	bad.filled(body, "name", c.Name, MaxName)
	bad.text(body, "category", c.Category, MaxCategory)
	if c.ValueMinor == 0 {
		bad.Add("value", CodeOutOfRange, "must be greater than 0")
	}
	bad.amount(body, "value", c.ValueMinor, BRL)
	bad.word(body, "frequency", c.Frequency, Frequencies...)
	if c.StartDate == "" {
		bad.Add("start_date", CodeRequired, "is required")
	}
	bad.period(body, c.StartDate, c.EndDate)
	return bad
}

// CostChange says which fields of an additional cost change.
type CostChange struct {
	Name, Category, Frequency, StartDate, EndDate wire.Optional[string] // a null Category or EndDate clears it
	ValueMinor                                    wire.Optional[int64]
}

// Check returns every rule that the fields break by themselves. Check the
// cost again after Apply.
func (c CostChange) Check() (bad Violations) {
	// The other fields get values that break no rule.
	changed := AdditionalCost{Name: "-", ValueMinor: 1, Frequency: Daily, StartDate: "0001-01-01"}
	c.Apply(&changed)
	return changed.Check()
}

// Apply makes the change.
func (c CostChange) Apply(cost *AdditionalCost) {
	cost.Name, cost.ValueMinor = strings.TrimSpace(c.Name.Or(cost.Name)), c.ValueMinor.Or(cost.ValueMinor)
	cost.Frequency, cost.StartDate = c.Frequency.Or(cost.Frequency), c.StartDate.Or(cost.StartDate)
	if c.Category.Present {
		cost.Category = strings.TrimSpace(c.Category.Value)
	}
	if c.EndDate.Present {
		cost.EndDate = c.EndDate.Value
	}
}

// Check returns every rule that a filter breaks.
func (f CostFilter) Check() (bad Violations) {
	if f.Frequency != "" {
		bad.word(place{}, "frequency", f.Frequency, Frequencies...)
	}
	bad.period(place{}, f.From, f.To)
	return bad
}

// atMost checks the length of a list.
func (v *Violations) atMost(list string, length, max int) {
	if length > max {
		v.Add(list, CodeTooMany, "has %d elements; at most %d are taken", length, max)
	}
}

// period checks start_date and end_date: real days in order; an empty one
// is no bound.
func (v *Violations) period(at place, start, end string) {
	v.date(at, "start_date", start)
	v.date(at, "end_date", end)
	if start != "" && end != "" && end < start {
		v.Add(at.field("end_date"), CodeInvalidDate, "is before start_date")
	}
}

// date checks a real calendar day, YYYY-MM-DD, of the years 1 to 9999.
func (v *Violations) date(at place, name, text string) {
	if text == "" {
		return
	}
	if day, err := time.Parse(time.DateOnly, text); err != nil || day.Year() < 1 {
		v.Add(at.field(name), CodeInvalidDate, "must be a real date written YYYY-MM-DD")
	}
}

// amount checks an amount in minor units of a currency.
func (v *Violations) amount(at place, name string, minor int64, currency string) {
	switch {
	case minor < 0:
		v.Add(at.field(name), CodeOutOfRange, "must not be negative")
	case minor > MaxAmountMinor:
		v.Add(at.field(name), CodeOutOfRange, "must be at most %s", Amount{MaxAmountMinor, currency})
	}
}
