package money

import (
	"slices"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/lang"
)

// sums holds an amount per currency. Currencies are never added to each other.
type sums map[string]decimal.Decimal

func (m sums) add(code string, minor decimal.Decimal) { m[code] = m[code].Add(minor) }

// lines writes each currency on a line, the home currency first, even when it is zero.
func (m sums) lines(l *lang.Printer, home string) []string {
	var out []string
	for _, code := range m.codes(home) {
		out = append(out, l.Sum(m[code], code))
	}
	return out
}

func (m sums) codes(home string) []string {
	var others []string
	for code, minor := range m {
		if code != home && !minor.IsZero() {
			others = append(others, code)
		}
	}
	slices.Sort(others)
	if m[home].IsZero() && len(others) > 0 {
		return others
	}
	return append([]string{home}, others...)
}
