package books

import (
	"fmt"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
)

// Imbalance is a day on which a model's credits are not what the approved orders come to
// (docs/attribution.md, "Channel credit"). Amounts are minor units of the currency.
type Imbalance struct {
	CompanyID          string
	Day                string // of the orders, in the store's time zone; YYYY-MM-DD
	Currency           string
	Model              string
	Credited, Approved decimal.Decimal // the sum of the credits, and of the approved orders
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
