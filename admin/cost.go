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

// number is a decimal that is written as a JSON number with all of its digits.
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

// readCost reads a cost. The caller checks it.
func readCost(o object) commerce.CostTerms {
	cost := commerce.CostTerms{
		FixedFeeMinor: optional(o, "fixed_fee", money(commerce.BRL)).Value,
		VarFee:        optional(o, "var_fee", exact).Value,
		ValueMinor:    optional(o, "value", money(commerce.BRL)).Value,
		Frequency:     optional(o, "frequency", word).Value,
		OwedFrom:      optional(o, "owed_from", day).Value,
		CampaignCost:  optional(o, "is_campaign_cost", boolean).Value,
		CouponCost:    optional(o, "is_coupon_cost", boolean).Value,
	}
	cost.StartDate, cost.EndDate = readPeriod(o, true)
	return cost
}
