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
	"github.com/tributary-io/tributary/internal/wire"
)

// object is a JSON object of a body while it is read. Every rule that is broken
// is collected with the path of its field. Unknown fields are ignored.
type object struct {
	path   string // of the object itself; empty for the body
	values map[string]any
	bad    *commerce.Violations
}

func (o object) at(name string) string {
	if o.path == "" {
		return name
	}
	return o.path + "." + name
}

// fault says why a value is refused.
type fault struct{ code, message string }

// reader turns a JSON value that is not null into a T, or refuses it.
type reader[T any] func(value any) (T, *fault)

// required reads a field that must be sent.
func required[T any](o object, name string, read reader[T]) T {
	field := optional(o, name, read)
	if _, there := o.values[name]; !there || field.Present && !field.Valid {
		o.bad.Add(o.at(name), commerce.CodeRequired, "is required")
	}
	return field.Value
}

// optional reads a field that may be absent or null. A value that is refused is
// returned as absent; the request fails anyway.
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
		o.bad.Add(o.at(name), fault.code, "%s", fault.message)
		return wire.Optional[T]{}
	}
	return wire.Some(got)
}

// child returns the object in a field. A null one is present and not valid.
func (o object) child(name string) wire.Optional[object] {
	return optional(o, name, func(value any) (object, *fault) {
		values, ok := value.(map[string]any)
		if !ok {
			return object{}, wrongType("an object", value)
		}
		return object{path: o.at(name), values: values, bad: o.bad}, nil
	})
}

// children returns the objects in an array field of at most max elements.
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
				o.bad.Add(path, f.code, "%s", f.message)
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
			return nil, &fault{commerce.CodeTooMany, fmt.Sprintf("has %d elements; at most %d are taken", len(elements), max)}
		}
		return elements, nil
	}
}

// text reads a string.
func text(value any) (string, *fault) {
	s, ok := value.(string)
	if !ok {
		return "", wrongType("a string", value)
	}
	return s, nil
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

// exact reads a number as a decimal with exactly the digits of its text.
func exact(value any) (decimal.Decimal, *fault) {
	number, ok := value.(json.Number)
	if !ok {
		return decimal.Decimal{}, wrongType("a number", value)
	}
	d, err := commerce.ParseDecimal(number.String())
	if err != nil {
		return d, &fault{commerce.CodeOutOfRange, "is out of range"}
	}
	return d, nil
}

// integer reads a whole number.
func integer(value any) (int64, *fault) {
	number, ok := value.(json.Number)
	if !ok {
		return 0, wrongType("a number", value)
	}
	if n, err := strconv.ParseInt(number.String(), 10, 64); err == nil {
		return n, nil
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

// small reads a whole number that fits 32 bits.
func small(value any) (int, *fault) {
	n, f := integer(value)
	if f == nil && n != int64(int32(n)) {
		f = &fault{commerce.CodeOutOfRange, "is out of range"}
	}
	return int(n), f
}

// choice reads a number that must be one of a few integers. commerce checks
// which; a number that is not whole is refused here, with the same code.
func choice(value any) (int, *fault) {
	n, f := small(value)
	if _, isNumber := value.(json.Number); f != nil && isNumber {
		f = &fault{commerce.CodeInvalidValue, "must be one of the integers that are documented"}
	}
	return n, f
}

// money reads an amount of a currency in minor units. Where the currency is not
// known only the type is checked, since the currency is a violation already.
func money(currency string) reader[int64] {
	return func(value any) (int64, *fault) {
		number, ok := value.(json.Number)
		if !ok {
			return 0, wrongType("a number", value)
		}
		minor, err := commerce.ParseMinor(number.String(), currency)
		switch {
		case err == nil:
			return minor, nil
		case errors.Is(err, commerce.ErrUnknownCurrency):
			return 0, nil
		case errors.Is(err, commerce.ErrTooManyDigits):
			return 0, &fault{commerce.CodeTooManyDigits, "has more decimal places than " + currency + " has"}
		}
		return 0, &fault{commerce.CodeOutOfRange, "is out of range"}
	}
}

// price reads an amount with any number of decimal places, as its exact text.
func price(value any) (string, *fault) {
	d, f := exact(value)
	if f != nil {
		return "", f
	}
	return d.String(), nil
}

// timestamp reads an instant, written YYYY-MM-DDTHH:MM:SSZ as the specification says.
func timestamp(value any) (time.Time, *fault) {
	s, ok := value.(string)
	if !ok {
		return time.Time{}, wrongType("a string", value)
	}
	t, err := time.Parse(timestampFormat, s)
	// time.Parse also accepts a fraction of a second, which the layout does not have.
	if err != nil || len(s) != len(timestampFormat) {
		return time.Time{}, &fault{commerce.CodeInvalidTimestamp, "must be a real instant written YYYY-MM-DDTHH:MM:SSZ (UTC, no fraction)"}
	}
	if !commerce.Recordable(t) {
		return time.Time{}, &fault{commerce.CodeOutOfRange, "must lie between the years 1970 and 2199"}
	}
	return t, nil
}

// day reads the text of a date. commerce checks whether it is one; an empty text
// is refused here, since there it means that no date was sent.
func day(value any) (string, *fault) {
	s, f := text(value)
	if f == nil && s == "" {
		f = &fault{commerce.CodeInvalidDate, "must be a real date written YYYY-MM-DD"}
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
