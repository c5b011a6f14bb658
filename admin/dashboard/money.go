package dashboard

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/shopspring/decimal"
	"golang.org/x/text/currency"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/tributary-io/tributary/internal/commerce"
)

// money writes minor units for people: (123450, "BRL") is "R$ 1,234.50", with a
// no-break space. An amount without a currency is written without one.
func money(minor int64, code string) string { return sumText(decimal.NewFromInt(minor), code) }

// sumText writes a sum of minor units as money does.
func sumText(minor decimal.Decimal, code string) string {
	text := commerce.FormatSum(minor, code)
	sign := ""
	if strings.HasPrefix(text, "-") {
		sign, text = "−", text[1:]
	}
	whole, cents, hasCents := strings.Cut(text, ".")
	text = group(whole)
	if hasCents {
		text += "." + cents
	}
	if code == "" {
		return sign + text
	}
	return sign + symbol(code) + "\u00a0" + text
}

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

// symbol returns a currency's sign as English texts write it, R$ or US$; a
// currency without a sign of its own has its code.
func symbol(code string) string {
	unit, err := currency.ParseISO(code)
	if err != nil {
		return code
	}
	text := message.NewPrinter(language.English).Sprint(currency.Symbol(unit))
	if text == "$" {
		return "US$" // "$" is the sign of many currencies
	}
	return text
}

// group puts a comma between each three digits.
func group(digits string) string {
	var out strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			out.WriteByte(',')
		}
		out.WriteRune(d)
	}
	return out.String()
}

func count(n int64) string { return group(strconv.FormatInt(n, 10)) }

func plural(n int64, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return count(n) + " " + word + "s"
}

// sums holds an amount per currency. Currencies are never added to each other.
type sums map[string]decimal.Decimal

func (m sums) add(code string, minor decimal.Decimal) { m[code] = m[code].Add(minor) }

// lines writes each currency on a line, the home currency first, even when it is zero.
func (m sums) lines(home string) []string {
	var out []string
	for _, code := range m.codes(home) {
		out = append(out, sumText(m[code], code))
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

// percent writes part of whole with one decimal, rounded half up: "41.7%".
func percent(part, whole decimal.Decimal) string {
	if !whole.IsPositive() {
		return "–"
	}
	return part.Shift(2).DivRound(whole, 1).StringFixed(1) + "%"
}
