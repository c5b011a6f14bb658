package commerce

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Codes of violations. They are stable: clients of the API branch on them.
const (
	CodeRequired          = "required"
	CodeEmpty             = "empty"
	CodeTooLong           = "too_long"
	CodeTooFew            = "too_few"
	CodeTooMany           = "too_many"
	CodeTooManyDigits     = "too_many_digits"
	CodeOutOfRange        = "out_of_range"
	CodeInvalidType       = "invalid_type"
	CodeInvalidValue      = "invalid_value"
	CodeInvalidFormat     = "invalid_format"
	CodeInvalidCharacters = "invalid_characters"
	CodeInvalidTimestamp  = "invalid_timestamp"
	CodeInvalidDate       = "invalid_date"
	CodeInvalidURL        = "invalid_url"
	CodeConflict          = "conflict"
	CodeNotYours          = "not_yours"
	CodeUnknownField      = "unknown_field"
	CodeNoRate            = "no_rate" // a cost of which every rate is zero
)

// Violation is one rule that a value breaks.
type Violation struct {
	Field   string // JSON path, e.g. "costs[1].frequency"; empty: the value as a whole
	Code    string
	Message string // for people; it follows the field's name
	// Of Message, for pages in other languages: a format of fmt and its arguments.
	Format string
	Args   []any
}

// Violations are the rules that a request breaks, one a field. The zero value
// is none.
type Violations struct {
	List []Violation // at most maxViolations
	More int         // how many are left out
}

// maxViolations bounds an answer: a body of a mebibyte can break a rule
// 100,000 times.
const maxViolations = 200

// Any reports whether a rule is broken.
func (v *Violations) Any() bool { return len(v.List) > 0 }

// Of reports whether a field, or an object or list around it, breaks a rule.
func (v *Violations) Of(field string) bool {
	return slices.ContainsFunc(v.List, func(known Violation) bool {
		rest, found := strings.CutPrefix(field, known.Field)
		return found && (rest == "" || known.Field != "" && (rest[0] == '.' || rest[0] == '['))
	})
}

// Add adds a violation, unless the field, or an object or list around it, has one
// already.
func (v *Violations) Add(field, code, format string, args ...any) {
	v.add(Violation{Field: field, Code: code, Message: fmt.Sprintf(format, args...), Format: format, Args: args})
}

func (v *Violations) add(it Violation) {
	if v.Of(it.Field) {
		return
	}
	if len(v.List) == maxViolations {
		v.More++
		return
	}
	v.List = append(v.List, it)
}

// AddAll adds what a check found. Fields that could not be read have a violation
// already and get no second one; where a rate of a cost could not be read, that
// all rates are zero is no violation.
func (v *Violations) AddAll(found Violations) {
	known := *v
	for _, it := range found.List {
		if it.Code == CodeNoRate && slices.ContainsFunc(rates, func(rate string) bool { return known.Of(join(it.Field, rate)) }) {
			continue
		}
		v.add(it)
	}
	v.More += found.More
}

// place is where in a request a value stands: in the body itself (the zero
// value), in an object of it, or in an element of a list of it.
type place struct {
	name   string
	index  int
	inList bool
}

func element(list string, index int) place { return place{name: list, index: index, inList: true} }

// field is the JSON path of a field at the place; it is only made for violations.
func (p place) field(name string) string {
	path := p.name
	if p.inList {
		path += "[" + strconv.Itoa(p.index) + "]"
	}
	return join(path, name)
}

func join(path, name string) string {
	if path == "" || name == "" {
		return path + name
	}
	return path + "." + name
}
