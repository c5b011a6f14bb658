package dashboard

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/lang"
)

// sizeOf returns the CSS class by which amounts of that length fit their place:
// "long" from ten million on, "longer" from a hundred billion on.
func sizeOf(lines ...string) string {
	longest := 0
	for _, line := range lines {
		longest = max(longest, utf8.RuneCountInString(line))
	}
	switch {
	case longest > 19:
		return "longer"
	case longest > 15:
		return "long"
	}
	return ""
}

// breakable lets a long line break after the currency instead of within the digits.
func breakable(line, size string) string {
	if size == "longer" {
		return strings.ReplaceAll(line, "\u00a0", " ")
	}
	return line
}

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
