package admin

import (
	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
)

// costRecord is a cost of a listing.
type costRecord struct {
	ID          string     `json:"id"`
	Level       string     `json:"level"`       // campanha | influenciador
	Attribution string     `json:"attribution"` // cupom | cupom_link
	Config      costConfig `json:"config"`
	StartDate   string     `json:"startDate"`
	EndDate     string     `json:"endDate"`    // "" while open
	CampaignID  string     `json:"campaignId"` // "" at the influencer's level
}

// costConfig holds only the rates that are not zero.
type costConfig struct {
	PerDelivery *perDelivery `json:"porEntrega,omitempty"`
	Fixed       *fixedFee    `json:"comissaoFixa,omitempty"`
	Variable    *variableFee `json:"comissaoVariavel,omitempty"`
}

type perDelivery struct {
	Value     commerce.Amount `json:"value"`
	Frequency string          `json:"frequency"`
}

type fixedFee struct {
	Value commerce.Amount `json:"value"`
}

type variableFee struct {
	Percentage number `json:"percentage"`
}

// number is a decimal written as a JSON number, digit for digit.
type number struct{ decimal.Decimal }

func (n number) MarshalJSON() ([]byte, error) { return []byte(n.String()), nil }

func recordCost(c commerce.Cost) costRecord {
	record := costRecord{
		ID: c.CostID, Level: "influenciador", Attribution: "cupom_link",
		StartDate: c.StartDate, EndDate: c.EndDate, CampaignID: c.CampaignID,
	}
	if c.CampaignCost {
		record.Level = "campanha"
	}
	if c.CouponCost {
		record.Attribution = "cupom"
	}
	if c.ValueMinor > 0 {
		record.Config.PerDelivery = &perDelivery{commerce.Amount{Minor: c.ValueMinor, Currency: commerce.BRL}, c.Frequency}
	}
	if c.FixedFeeMinor > 0 {
		record.Config.Fixed = &fixedFee{commerce.Amount{Minor: c.FixedFeeMinor, Currency: commerce.BRL}}
	}
	if c.VarFee.IsPositive() {
		record.Config.Variable = &variableFee{number{c.VarFee}}
	}
	return record
}

// maxPercentDigits of var_fee: 0.000001 % of a million reais is a cent.
const maxPercentDigits = 6

// percent reads a rate between 0 and 100.
func percent(value any) (decimal.Decimal, *fault) {
	d, f := exact(value)
	switch {
	case f != nil:
		return d, f
	case d.IsNegative() || d.GreaterThan(decimal.New(100, 0)):
		return d, &fault{"out_of_range", "must be between 0 and 100"}
	case !d.Equal(d.Truncate(maxPercentDigits)):
		return d, &fault{"too_many_digits", "has more than 6 decimal places"}
	}
	return d, nil
}

// readCost reads a Cost. That a campaign's cost needs campaign_id is for the
// caller to check, who knows where the id stands.
func readCost(o object) commerce.CostTerms {
	before := len(o.bad.details)
	cost := commerce.CostTerms{
		FixedFeeMinor: optional(o, "fixed_fee", money(commerce.BRL)).Value,
		VarFee:        optional(o, "var_fee", percent).Value,
		ValueMinor:    optional(o, "value", money(commerce.BRL)).Value,
	}
	if len(o.bad.details) == before && cost.FixedFeeMinor == 0 && cost.VarFee.IsZero() && cost.ValueMinor == 0 {
		o.bad.add(o.path, "no_rate", "must carry at least one of fixed_fee, var_fee and value that is not zero")
	}
	frequency := optional(o, "frequency", oneWord(commerce.Specific, commerce.Daily, commerce.Weekly, commerce.Monthly))
	cost.Frequency = frequency.Value
	if _, there := o.values["frequency"]; cost.ValueMinor > 0 && (!there || frequency.Present && !frequency.Valid) {
		o.bad.add(o.at("frequency"), "required", "is required when value is greater than 0")
	}
	cost.StartDate, cost.EndDate = readPeriod(o, true)
	cost.CampaignCost = optional(o, "is_campaign_cost", boolean).Value
	cost.CouponCost = optional(o, "is_coupon_cost", boolean).Value
	return cost
}
