package lang

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"
	"golang.org/x/text/currency"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/tributary-io/tributary/internal/commerce"
)

// Printer writes in one language. Safe for concurrent use.
type Printer struct {
	Tag                string // of Tags
	tag                language.Tag
	texts              map[string]string
	thousands, decimal string
}

// T returns the text of a key, with {0}, {1}, … replaced by the arguments:
// numbers as Count writes them, all else as fmt does. A key that is not there is
// returned as it is; a test finds those.
func (p *Printer) T(key string, args ...any) string {
	text, ok := p.texts[key]
	if !ok {
		return key
	}
	if len(args) == 0 {
		return text
	}
	pairs := make([]string, 0, 2*len(args))
	for i, arg := range args {
		pairs = append(pairs, "{"+strconv.Itoa(i)+"}", p.arg(arg))
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// Has reports whether there is a text of that key.
func (p *Printer) Has(key string) bool { _, ok := p.texts[key]; return ok }

// Keys lists the keys of all texts, in alphabetical order.
func (p *Printer) Keys() []string { return slices.Sorted(maps.Keys(p.texts)) }

// N returns the text for a number of things: that of key + ".one" or key +
// ".other", whose {0} is the number.
func (p *Printer) N(key string, n int64, args ...any) string {
	return p.T(key+p.form(n), append([]any{n}, args...)...)
}

func (p *Printer) arg(arg any) string {
	switch arg := arg.(type) {
	case string:
		return arg
	case int:
		return p.Count(int64(arg))
	case int64:
		return p.Count(arg)
	}
	return fmt.Sprint(arg)
}

// Count writes a whole number: "1,234" or "1.234".
func (p *Printer) Count(n int64) string {
	if n < 0 {
		return "−" + p.group(strconv.FormatInt(n, 10)[1:])
	}
	return p.group(strconv.FormatInt(n, 10))
}

// Money writes minor units: (123450, "BRL") is "R$ 1,234.50", with a no-break
// space. An amount without a currency is written without one.
func (p *Printer) Money(minor int64, code string) string {
	return p.Sum(decimal.NewFromInt(minor), code)
}

// Sum writes a sum of minor units as Money does.
func (p *Printer) Sum(minor decimal.Decimal, code string) string {
	text := commerce.FormatSum(minor, code)
	sign := ""
	if strings.HasPrefix(text, "-") {
		sign, text = "−", text[1:]
	}
	text = p.digits(text)
	if code == "" {
		return sign + text
	}
	return sign + symbol(code) + "\u00a0" + text
}

// Point is what stands before decimals: "." or ",".
func (p *Printer) Point() string { return p.decimal }

// Number writes a decimal with the digits that it has: 12.5 is "12.5" or "12,5".
func (p *Printer) Number(d decimal.Decimal) string {
	text := d.String()
	if strings.HasPrefix(text, "-") {
		return "−" + p.digits(text[1:])
	}
	return p.digits(text)
}

// Share writes part of whole as a percentage with one decimal, rounded half up:
// "41.7%". Of no whole there is none: "–".
func (p *Printer) Share(part, whole decimal.Decimal) string {
	if !whole.IsPositive() {
		return "–"
	}
	return p.digits(part.Shift(2).DivRound(whole, 1).StringFixed(1)) + "%"
}

// digits writes a number without a sign as this language does.
func (p *Printer) digits(text string) string {
	whole, cents, hasCents := strings.Cut(text, ".")
	text = p.group(whole)
	if hasCents {
		text += p.decimal + cents
	}
	return text
}

// group puts the language's separator between each three digits.
func (p *Printer) group(digits string) string {
	var out strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			out.WriteString(p.thousands)
		}
		out.WriteRune(d)
	}
	return out.String()
}

// symbol returns a currency's sign, R$ or US$; a currency without a sign of its
// own has its code.
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
