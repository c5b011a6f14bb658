package commerce

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bojanz/currency"
	"github.com/shopspring/decimal"
)

// BRL is the currency of fees and costs (docs/api.md, "Influencers").
const BRL = "BRL"

// MaxAmountMinor bounds each amount that a store sends, in minor units of its
// currency: ten thousand million reais. With it, a price times a quantity of a
// million, and the sum of a million amounts, are far inside int64.
const MaxAmountMinor int64 = 1_000_000_000_000

// Errors of ParseMinor.
var (
	ErrNotMoney         = errors.New("is not a decimal number")
	ErrTooManyDigits    = errors.New("has more decimal places than its currency")
	ErrMoneyRange       = errors.New("is out of range")
	ErrUnknownCurrency  = errors.New("is not an ISO 4217 currency code")
	maxParsed           = decimal.New(1, 17) // far inside int64
	maxDecimalTextBytes = 64
)

// withdrawn are currencies that left ISO 4217's list of current ones since 2015, with
// the digits that it gave them: a store may still import or change orders in them.
// Source: ISO 4217, list three, and the last editions of list one that had them.
var withdrawn = map[string]int{
	"ANG": 2, "BGN": 2, "BYR": 0, "CUC": 2, "HRK": 2, "LTL": 2, "MRO": 2, "SLL": 2, "STD": 2, "VEF": 2, "ZWL": 2,
}

// Exponent is the number of minor-unit digits of an ISO 4217 currency: 2 for
// BRL, 0 for JPY, 3 for KWD. The digits are ISO's own (list one, edition of
// 2026-01-01, as github.com/bojanz/currency carries it), not those that people write.
func Exponent(code string) (int, error) {
	if digits, current := currency.GetDigits(code); current {
		return int(digits), nil
	}
	if digits, known := withdrawn[code]; known {
		return digits, nil
	}
	return 0, ErrUnknownCurrency
}

// ParseDecimal reads an exact decimal from JSON number text, bounded in length
// and exponent so that "1e999999999" takes no time.
func ParseDecimal(text string) (decimal.Decimal, error) {
	if text == "" || len(text) > maxDecimalTextBytes {
		return decimal.Decimal{}, ErrNotMoney
	}
	d, err := decimal.NewFromString(text)
	if err != nil {
		return decimal.Decimal{}, ErrNotMoney
	}
	if d.Exponent() > 18 || d.Exponent() < -18 {
		return decimal.Decimal{}, ErrMoneyRange
	}
	return d, nil
}

// ParseMinor reads an amount in currency units from JSON number text and returns
// it in minor units: ("12.30", "BRL") is 1230. It uses no floating-point numbers.
func ParseMinor(text, code string) (int64, error) {
	exponent, err := Exponent(code)
	if err != nil {
		return 0, err
	}
	d, err := ParseDecimal(text)
	if err != nil {
		return 0, err
	}
	minor := d.Shift(int32(exponent))
	if !minor.IsInteger() {
		return 0, ErrTooManyDigits
	}
	if minor.Abs().GreaterThan(maxParsed) {
		return 0, ErrMoneyRange
	}
	return minor.IntPart(), nil
}

// FormatMinor writes minor units as a decimal of the currency: (1230, "BRL")
// is "12.30". An unknown currency is written with two digits.
func FormatMinor(minor int64, code string) string {
	return FormatSum(decimal.NewFromInt(minor), code)
}

// FormatSum writes a sum of minor units as FormatMinor does.
func FormatSum(minor decimal.Decimal, code string) string {
	exponent, err := Exponent(code)
	if err != nil {
		exponent = 2
	}
	return minor.Shift(-int32(exponent)).StringFixed(int32(exponent))
}

// Amount is an amount of money. In JSON it is a number with at most the decimal
// places of its currency.
type Amount struct {
	Minor    int64
	Currency string
}

// MarshalJSON writes {1230, "BRL"} as 12.3.
func (a Amount) MarshalJSON() ([]byte, error) {
	return Sum{decimal.NewFromInt(a.Minor), a.Currency}.MarshalJSON()
}

func (a Amount) String() string {
	return fmt.Sprintf("%s %s", FormatMinor(a.Minor, a.Currency), a.Currency)
}

// Sum is a sum of amounts of one currency, in JSON as an Amount.
type Sum struct {
	Minor    decimal.Decimal // whole
	Currency string
}

// SumOf returns a function that makes sums of a currency.
func SumOf(currency string) func(minor decimal.Decimal) Sum {
	return func(minor decimal.Decimal) Sum { return Sum{minor, currency} }
}

// String writes {1230, "BRL"} as 12.30.
func (s Sum) String() string { return FormatSum(s.Minor, s.Currency) }

// MarshalJSON writes {1230, "BRL"} as 12.3.
func (s Sum) MarshalJSON() ([]byte, error) {
	text := FormatSum(s.Minor, s.Currency)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return []byte(text), nil
}
