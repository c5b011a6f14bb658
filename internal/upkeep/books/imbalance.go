package books

import (
	"fmt"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
)

// Imbalance is a day on which a model's credits are not what the approved orders come to
// (docs/attribution.md, "Channel credit"). Amounts are minor units of the currency.
type Imbalance struct {
	CompanyID string          `json:"company_id"`
	Day       string          `json:"day"` // of the orders, in the store's time zone; YYYY-MM-DD
	Currency  string          `json:"currency"`
	Model     string          `json:"model"`
	Credited  decimal.Decimal `json:"credited_minor"` // the sum of the credits
	Approved  decimal.Decimal `json:"approved_minor"` // and of the approved orders
}

// String says what differs, and by how much.
func (i Imbalance) String() string {
	digits, err := commerce.Exponent(i.Currency)
	if err != nil {
		digits = 0 // written in minor units: no credit can have been made in it
	}
	text := func(d decimal.Decimal) string { return d.Shift(-int32(digits)).StringFixed(int32(digits)) }
	difference, direction := i.Credited.Sub(i.Approved), "too much"
	if difference.IsNegative() {
		difference, direction = difference.Neg(), "too little"
	}
	return fmt.Sprintf("company %s, %s, %s, model %s: credits of %s, approved orders of %s: %s %s",
		i.CompanyID, i.Day, i.Currency, i.Model, text(i.Credited), text(i.Approved), text(difference), direction)
}

// SoldDay is a day with orders, and how many.
type SoldDay struct {
	Day    string
	Orders int64
}

// Day names a day of a company's orders.
type Day struct{ CompanyID, Day string }
