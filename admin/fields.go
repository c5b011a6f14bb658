package admin

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/shopspring/decimal"
	"golang.org/x/text/language"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/wire"
)

// object is a JSON object of a body while it is checked: every rule violated
// is collected under its path, none stops the rest. Unknown fields are ignored.
type object struct {
	path   string // of the object itself; empty for the body
	values map[string]any
	bad    *violations
}

func (o object) at(name string) string {
	if o.path == "" {
		return name
	}
	return o.path + "." + name
}

// fault is why a value is refused.
type fault struct{ code, message string }

// reader turns a JSON value that is not null into a checked T, or refuses it.
type reader[T any] func(value any) (T, *fault)

// required reads a field that must be there.
func required[T any](o object, name string, read reader[T]) T {
	field := optional(o, name, read)
	if _, there := o.values[name]; !there || field.Present && !field.Valid {
		o.bad.add(o.at(name), "required", "is required")
	}
	return field.Value
}

// optional reads a field that may be absent or null. A refused value counts as
// absent: the request fails anyway.
func optional[T any](o object, name string, read reader[T]) wire.Optional[T] {
	value, there := o.values[name]
	if !there {
		return wire.Optional[T]{}
	}
	if value == nil {
		return wire.Null[T]()
	}
	got, fault := read(value)
	if fault != nil {
		o.bad.add(o.at(name), fault.code, "%s", fault.message)
		return wire.Optional[T]{}
	}
	return wire.Some(got)
}

// child is the object in a field; a null one is present and not valid.
func (o object) child(name string) wire.Optional[object] {
	return optional(o, name, func(value any) (object, *fault) {
		values, ok := value.(map[string]any)
		if !ok {
			return object{}, wrongType("an object", value)
		}
		return object{path: o.at(name), values: values, bad: o.bad}, nil
	})
}

// children are the objects in an array field of at most max elements.
func (o object) children(name string, max int) wire.Optional[[]object] {
	return optional(o, name, func(value any) ([]object, *fault) {
		elements, fault := array(max)(value)
		if fault != nil {
			return nil, fault
		}
		list := make([]object, 0, len(elements))
		for i, element := range elements {
			path := fmt.Sprintf("%s[%d]", o.at(name), i)
			values, ok := element.(map[string]any)
			if !ok {
				f := wrongType("an object", element)
				o.bad.add(path, f.code, "%s", f.message)
				continue
			}
			list = append(list, object{path: path, values: values, bad: o.bad})
		}
		return list, nil
	})
}

func array(max int) reader[[]any] {
	return func(value any) ([]any, *fault) {
		elements, ok := value.([]any)
		if !ok {
			return nil, wrongType("an array", value)
		}
		if len(elements) > max {
			return nil, &fault{"too_many", fmt.Sprintf("has %d elements; at most %d are taken", len(elements), max)}
		}
		return elements, nil
	}
}

// text reads a string of at most max characters.
func text(max int) reader[string] {
	return func(value any) (string, *fault) {
		s, ok := value.(string)
		if !ok {
			return "", wrongType("a string", value)
		}
		if utf8.RuneCountInString(s) > max {
			return "", &fault{"too_long", fmt.Sprintf("is longer than %d characters", max)}
		}
		if commerce.HasControls(s) {
			return "", &fault{"invalid_characters", "has control characters"}
		}
		return s, nil
	}
}

// filled reads a string that is more than space.
func filled(max int) reader[string] {
	return func(value any) (string, *fault) {
		s, f := text(max)(value)
		if f == nil && strings.TrimSpace(s) == "" {
			f = &fault{"empty", "is empty"}
		}
		return s, f
	}
}

func boolean(value any) (bool, *fault) {
	b, ok := value.(bool)
	if !ok {
		return false, wrongType("a boolean", value)
	}
	return b, nil
}

// exact reads a number as the decimal that its text says.
func exact(value any) (decimal.Decimal, *fault) {
	number, ok := value.(json.Number)
	if !ok {
		return decimal.Decimal{}, wrongType("a number", value)
	}
	d, err := commerce.ParseDecimal(number.String())
	if err != nil {
		return d, &fault{"out_of_range", "is out of range"}
	}
	return d, nil
}

// integer reads a whole number between min and max.
func integer(min, max int64) reader[int64] {
	return func(value any) (int64, *fault) {
		d, f := exact(value)
		if f != nil {
			return 0, f
		}
		if !d.IsInteger() {
			return 0, &fault{"invalid_type", "must be an integer"}
		}
		if d.LessThan(decimal.New(min, 0)) || d.GreaterThan(decimal.New(max, 0)) {
			return 0, &fault{"out_of_range", fmt.Sprintf("must be between %d and %d", min, max)}
		}
		return d.IntPart(), nil
	}
}

// oneOf reads one of a few integers.
func oneOf(allowed ...int64) reader[int] {
	return func(value any) (int, *fault) {
		d, f := exact(value)
		if f != nil {
			return 0, f
		}
		if !d.IsInteger() || !slices.Contains(allowed, d.IntPart()) {
			return 0, &fault{"invalid_value", fmt.Sprintf("must be one of %s", strings.Trim(strings.ReplaceAll(fmt.Sprint(allowed), " ", ", "), "[]"))}
		}
		return int(d.IntPart()), nil
	}
}

// oneWord reads one of a few strings.
func oneWord(allowed ...string) reader[string] {
	return func(value any) (string, *fault) {
		s, ok := value.(string)
		if !ok {
			return "", wrongType("a string", value)
		}
		if !slices.Contains(allowed, s) {
			return "", &fault{"invalid_value", "must be one of " + strings.Join(allowed, ", ")}
		}
		return s, nil
	}
}

// money reads an amount of a currency, zero or more, in minor units. With an
// unknown currency only the type is checked: the currency's own violation tells.
func money(currency string) reader[int64] {
	return func(value any) (int64, *fault) {
		d, f := exact(value)
		if f != nil {
			return 0, f
		}
		if d.IsNegative() {
			return 0, &fault{"out_of_range", "must not be negative"}
		}
		minor, err := commerce.ParseMinor(value.(json.Number).String(), currency)
		switch err {
		case nil:
			if minor > commerce.MaxAmountMinor {
				return 0, tooMuch(currency)
			}
			return minor, nil
		case commerce.ErrUnknownCurrency:
			return 0, nil
		case commerce.ErrTooManyDigits:
			return 0, &fault{"too_many_digits", "has more decimal places than " + currency + " has"}
		}
		return 0, tooMuch(currency)
	}
}

// tooMuch refuses an amount above commerce.MaxAmountMinor.
func tooMuch(currency string) *fault {
	return &fault{"out_of_range", fmt.Sprintf("must be at most %s", commerce.Amount{Minor: commerce.MaxAmountMinor, Currency: currency})}
}

// price reads an amount of zero or more with any number of decimal places, as
// its exact text. With an unknown currency it is bounded as one without cents.
func price(currency string) reader[string] {
	exponent, err := commerce.Exponent(currency)
	if err != nil {
		exponent = 0
	}
	most := decimal.New(commerce.MaxAmountMinor, -int32(exponent))
	return func(value any) (string, *fault) {
		d, f := exact(value)
		switch {
		case f != nil:
			return "", f
		case d.IsNegative():
			return "", &fault{"out_of_range", "must not be negative"}
		case d.GreaterThan(most):
			return "", tooMuch(currency)
		}
		return d.String(), nil
	}
}

// timestamp reads the specification's `YYYY-MM-DDTHH:MM:SSZ`, a real instant.
func timestamp(value any) (time.Time, *fault) {
	s, ok := value.(string)
	if !ok {
		return time.Time{}, wrongType("a string", value)
	}
	t, err := time.Parse(timestampFormat, s)
	// Parse takes a fraction that the layout does not have.
	if err != nil || len(s) != len(timestampFormat) {
		return time.Time{}, &fault{"invalid_timestamp", "must be a real instant written YYYY-MM-DDTHH:MM:SSZ (UTC, no fraction)"}
	}
	if !commerce.Recordable(t) {
		return time.Time{}, &fault{"out_of_range", "must lie between the years 1970 and 2199"}
	}
	return t, nil
}

// date reads a real calendar day, YYYY-MM-DD.
func date(value any) (string, *fault) {
	s, ok := value.(string)
	if !ok {
		return "", wrongType("a string", value)
	}
	if t, err := time.Parse(time.DateOnly, s); err != nil || t.Year() < 1 {
		return "", &fault{codeInvalidDate, "must be a real date written YYYY-MM-DD"}
	}
	return s, nil
}

func currencyCode(value any) (string, *fault) {
	s, ok := value.(string)
	if !ok {
		return "", wrongType("a string", value)
	}
	if _, err := commerce.Exponent(s); err != nil {
		return "", &fault{"invalid_value", "must be an ISO 4217 currency code in capitals, such as BRL"}
	}
	return s, nil
}

// country reads ISO 3166-1 alpha-2, in capitals.
func country(value any) (string, *fault) {
	s, f := capitals(value)
	if f != nil {
		return "", f
	}
	if region, err := language.ParseRegion(s); err != nil || !region.IsCountry() || region.Canonicalize().String() != s {
		return "", &fault{"invalid_value", "must be an ISO 3166-1 alpha-2 country code, such as BR"}
	}
	return s, nil
}

// capitals reads `^[A-Z]{2}$`.
func capitals(value any) (string, *fault) {
	s, ok := value.(string)
	if !ok {
		return "", wrongType("a string", value)
	}
	if len(s) != 2 || s[0] < 'A' || s[0] > 'Z' || s[1] < 'A' || s[1] > 'Z' {
		return "", &fault{"invalid_format", "must be two capital letters"}
	}
	return s, nil
}

func wrongType(want string, got any) *fault {
	return &fault{"invalid_type", fmt.Sprintf("must be %s, not %s", want, typeName(got))}
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
