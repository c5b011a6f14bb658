package reports

import (
	"math"

	"github.com/shopspring/decimal"
)

// sum is what was added to a metric of a row. A report has many rows, and nearly all of
// their sums are whole and small: such a sum needs no memory of its own.
type sum struct {
	whole int64
	rest  *decimal.Decimal // what whole cannot hold; nil: nothing
}

// addWhole adds a whole number.
func (s *sum) addWhole(n int64) {
	if after := s.whole + n; (after > s.whole) == (n > 0) {
		s.whole = after
		return
	}
	s.addRest(decimal.NewFromInt(n))
}

// add adds a number.
func (s *sum) add(d decimal.Decimal) {
	if n, ok := wholeOf(d); ok {
		s.addWhole(n)
		return
	}
	s.addRest(d)
}

func (s *sum) addRest(d decimal.Decimal) {
	if s.rest != nil {
		d = s.rest.Add(d)
	}
	s.rest = &d
}

// plus adds another sum.
func (s *sum) plus(other *sum) {
	if other.whole != 0 {
		s.addWhole(other.whole)
	}
	if other.rest != nil {
		s.addRest(*other.rest)
	}
}

func (s *sum) decimal() decimal.Decimal {
	switch {
	case s.rest != nil:
		return s.rest.Add(decimal.NewFromInt(s.whole))
	case s.whole == 0:
		return decimal.Zero
	}
	return decimal.NewFromInt(s.whole)
}

func (s *sum) isZero() bool { return s.whole == 0 && s.rest == nil || s.decimal().IsZero() }

// compare returns -1, 0 or 1, as s is less than other, equal or greater.
func (s *sum) compare(other *sum) int {
	switch {
	case s.rest != nil || other.rest != nil:
		return s.decimal().Cmp(other.decimal())
	case s.whole < other.whole:
		return -1
	case s.whole > other.whole:
		return 1
	}
	return 0
}

// wholeDigits is with how many digits every number fits into an int64.
const wholeDigits = 18

// wholeOf returns a number that is whole, and false where it is not, or may be too great.
func wholeOf(d decimal.Decimal) (n int64, ok bool) {
	e := d.Exponent()
	if e < 0 || e > wholeDigits || d.NumDigits() > wholeDigits {
		return 0, false
	}
	n = d.CoefficientInt64()
	for range e {
		if n > math.MaxInt64/10 || n < math.MinInt64/10 {
			return 0, false
		}
		n *= 10
	}
	return n, true
}
