package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
)

// text reads a string.
func text(value any) (string, *fault) {
	s, ok := value.(string)
	if !ok {
		return "", wrongType("a string", value)
	}
	return s, nil
}

// label reads an id, or another text that is often sent as a number: an integer is its digits.
func label(value any) (string, *fault) {
	if number, ok := value.(json.Number); ok && isWhole(number.String()) {
		return number.String(), nil
	}
	s, ok := value.(string)
	if !ok {
		return "", wrongType("a string or an integer", value)
	}
	return s, nil
}

// isWhole reports whether a text is an integer in digits alone.
func isWhole(text string) bool {
	text = strings.TrimPrefix(text, "-")
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// word reads a string that must be one of a few. commerce checks which; an empty
// one is refused here, since there it means that none was sent.
func word(value any) (string, *fault) {
	s, f := text(value)
	if f == nil && s == "" {
		f = &fault{commerce.CodeInvalidValue, "is empty"}
	}
	return s, f
}

// given reads a string that must not be empty, where commerce takes an empty one
// for one that was not sent.
func given(value any) (string, *fault) {
	s, f := text(value)
	if f == nil && strings.TrimSpace(s) == "" {
		f = &fault{commerce.CodeEmpty, "is empty"}
	}
	return s, f
}

func boolean(value any) (bool, *fault) {
	b, ok := value.(bool)
	if !ok {
		return false, wrongType("a boolean", value)
	}
	return b, nil
}

// exact reads a number, or its text, as a decimal with exactly its digits.
func exact(value any) (decimal.Decimal, *fault) {
	digits, f := decimalText(value, usualDigits)
	if f != nil {
		return decimal.Decimal{}, f
	}
	d, err := commerce.ParseDecimal(digits)
	if err != nil {
		return d, &fault{commerce.CodeOutOfRange, "is out of range"}
	}
	return d, nil
}

// usualDigits is how many decimal places amounts have where no currency says it.
const usualDigits = 2

// decimalText is the text of a number, or of a decimal that was sent as a text. Of amounts
// with fewer than three decimal places a text such as "1.500" is refused: in one country it
// is a thousand and a half, in another one and a half.
func decimalText(value any, places int) (string, *fault) {
	if number, ok := value.(json.Number); ok {
		return number.String(), nil
	}
	s, ok := value.(string)
	if !ok {
		return "", wrongType("a number", value)
	}
	whole, fraction, point := strings.Cut(s, ".")
	if !isWhole(whole) || point && (!isWhole(fraction) || fraction[0] == '-') {
		return "", &fault{commerce.CodeInvalidFormat,
			"must be a number, or its digits as a text with a point before the decimals, such as \"1234.50\""}
	}
	if len(fraction) == 3 && places < 3 {
		return "", &fault{commerce.CodeInvalidFormat,
			"has three digits after the point, which may be thousands: write \"1500.00\" or \"1.50\", or send a number"}
	}
	return s, nil
}

// integer reads a whole number, or its digits as a text.
func integer(value any) (int64, *fault) {
	digits, isText := value.(string)
	if number, ok := value.(json.Number); ok {
		digits = number.String()
	} else if !isText {
		return 0, wrongType("a number", value)
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	switch {
	case err == nil && digits[0] != '+':
		return n, nil
	case isText && isWhole(digits):
		return 0, &fault{commerce.CodeOutOfRange, "is out of range"}
	case isText:
		return 0, &fault{commerce.CodeInvalidFormat, "must be an integer, or its digits as a text"}
	}
	d, f := exact(value) // 1e3 and 1.0 are whole numbers too
	switch {
	case f != nil:
		return 0, f
	case !d.IsInteger():
		return 0, &fault{commerce.CodeInvalidType, "must be an integer"}
	case !d.BigInt().IsInt64():
		return 0, &fault{commerce.CodeOutOfRange, "is out of range"}
	}
	return d.IntPart(), nil
}

// quantity is how many of an item there are.
type quantity struct {
	whole int64
	exact string // where it is no whole number: whole is the next one
}

// readQuantity reads a quantity, a number or its text. It may have a fraction, as of goods by
// weight, and then counts as the next whole number.
func readQuantity(value any) (q quantity, f *fault) {
	if q.whole, f = integer(value); f != nil {
		digits, wrong := decimalText(value, quantityPlaces)
		if wrong != nil {
			return q, wrong
		}
		d, err := commerce.ParseDecimal(digits)
		if err != nil || d.Abs().GreaterThan(decimal.NewFromInt(commerce.MaxQuantity)) {
			return q, outsideQuantity
		}
		if q.whole = d.Ceil().IntPart(); !d.IsInteger() {
			q.exact = d.String()
		}
		if d.IsNegative() {
			q.whole = -1
		}
	}
	if q.whole < 0 || q.whole > commerce.MaxQuantity {
		return q, outsideQuantity
	}
	return q, nil
}

// quantityPlaces is how many decimal places a quantity may well have: grams of a kilogram.
const quantityPlaces = 3

var outsideQuantity = &fault{commerce.CodeOutOfRange, fmt.Sprintf("must be between 0 and %d", commerce.MaxQuantity)}

// small reads a whole number that fits 32 bits.
func small(value any) (int, *fault) {
	n, f := integer(value)
	if f == nil && n != int64(int32(n)) {
		f = &fault{commerce.CodeOutOfRange, "is out of range"}
	}
	return int(n), f
}

// choice reads a number, and no text, that must be one of a few integers. commerce
// checks which; a number that is not whole is refused here, with the same code.
func choice(value any) (int, *fault) {
	n, f := smallNumber(value)
	if _, isNumber := value.(json.Number); f != nil && isNumber {
		f = &fault{commerce.CodeInvalidValue, "must be one of the integers that are documented"}
	}
	return n, f
}

// orderStatus reads an order's status, a number or its digits as a text.
func orderStatus(value any) (int, *fault) {
	n, f := small(value)
	if f == nil {
		return n, nil
	}
	switch value.(type) {
	case json.Number, string:
		return 0, &fault{commerce.CodeInvalidValue, "must be " + commerce.OrderStatuses}
	}
	return 0, wrongType(commerce.OrderStatuses, value)
}

// smallNumber reads a number, and no text, that fits 32 bits.
func smallNumber(value any) (int, *fault) {
	if _, isNumber := value.(json.Number); !isNumber {
		return 0, wrongType("a number", value)
	}
	return small(value)
}

// money reads an amount of a currency, a number or its text, in minor units. Where the currency is not
// known only the type is checked, since the currency is a violation already.
func money(currency string) reader[int64] {
	return func(value any) (int64, *fault) {
		digits, f := decimalText(value, decimalPlaces(currency))
		if f != nil {
			return 0, f
		}
		minor, err := commerce.ParseMinor(digits, currency)
		switch {
		case err == nil:
			return minor, nil
		case errors.Is(err, commerce.ErrUnknownCurrency):
			return 0, nil
		case errors.Is(err, commerce.ErrTooManyDigits):
			return 0, &fault{commerce.CodeTooManyDigits,
				"has more decimal places than " + currency + " has: round it before you send it, to an amount such as " +
					commerce.FormatMinor(exampleMinor, currency)}
		}
		return 0, &fault{commerce.CodeOutOfRange, "is out of range"}
	}
}

// exampleMinor is an amount in messages, in minor units.
const exampleMinor = 199_90

// decimalPlaces is how many a currency has.
func decimalPlaces(currency string) int {
	places, err := commerce.Exponent(currency)
	if err != nil {
		return usualDigits
	}
	return places
}

// price reads an amount with any number of decimal places, a number or its text, as its
// exact text.
func price(currency string) reader[string] {
	places := decimalPlaces(currency)
	return func(value any) (string, *fault) {
		digits, f := decimalText(value, places)
		if f != nil {
			return "", f
		}
		d, err := commerce.ParseDecimal(digits)
		if err != nil {
			return "", &fault{commerce.CodeOutOfRange, "is out of range"}
		}
		return d.String(), nil
	}
}

// timestamp reads an instant: RFC 3339 with any offset and any fraction of a second, and
// offsets without a colon. What is finer than a microsecond, Postgres's precision, is cut off.
func timestamp(value any) (time.Time, *fault) {
	s, ok := value.(string)
	if !ok {
		return time.Time{}, wrongType("a string such as 2026-03-15T12:00:00Z or 2026-03-15T09:00:00-03:00", value)
	}
	s = strings.ToUpper(s)
	if n := len(s) - len("+0000"); n >= len("2006-01-02T15:04:05") && (s[n] == '+' || s[n] == '-') {
		s = s[:n+3] + ":" + s[n+3:]
	}
	var t time.Time
	if len(s) > maxTimestamp || t.UnmarshalText([]byte(s)) != nil {
		if _, err := time.Parse("2006-01-02T15:04:05", s); err == nil {
			return t, &fault{commerce.CodeInvalidTimestamp,
				"has no time zone: end it with Z for UTC, or with an offset, such as 2026-03-15T12:00:00-03:00"}
		}
		return t, &fault{commerce.CodeInvalidTimestamp,
			"must be a real instant with its time zone (RFC 3339), such as 2026-03-15T12:00:00Z or 2026-03-15T09:00:00-03:00"}
	}
	if t = t.UTC().Truncate(time.Microsecond); !commerce.Recordable(t) {
		return t, &fault{commerce.CodeOutOfRange, "must lie between the years 1970 and 2199"}
	}
	return t, nil
}

// maxTimestamp bounds the text of an instant, in bytes.
const maxTimestamp = 64

// day reads the text of a date. commerce checks whether it is one; an empty text
// is refused here, since there it means that no date was sent.
func day(value any) (string, *fault) {
	s, f := text(value)
	if f == nil && s == "" {
		f = &fault{commerce.CodeInvalidDate, "must be a real date written YYYY-MM-DD"}
	}
	return s, f
}

// capitals reads a code of letters in capitals, whatever case it was sent in.
func capitals(value any) (string, *fault) {
	s, f := text(value)
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r - 'a' + 'A'
		}
		return r
	}, s), f
}

// country reads an ISO 3166-1 code of two or three letters as that of two.
func country(value any) (string, *fault) {
	s, f := capitals(value)
	if f == nil {
		s = commerce.CountryCode(s)
	}
	return s, f
}

func wrongType(want string, got any) *fault {
	return &fault{commerce.CodeInvalidType, fmt.Sprintf("must be %s, not %s", want, typeName(got))}
}

func typeName(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case json.Number:
		return "a number"
	case string:
		return "a string"
	case []any:
		return "an array"
	}
	return "an object"
}
