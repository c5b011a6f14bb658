package lang

import (
	"strings"
	"time"
	"unicode"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
)

// TypedError says why what somebody typed was not taken: by the text Key with Args.
type TypedError struct {
	Key  string
	Args []any
}

func (e *TypedError) Error() string { return "lang: what was typed is not taken: " + e.Key }

// maxTyped bounds what is read, in bytes.
const maxTyped = 64

// MaxPercentDigits is how many decimals a typed percentage has at most.
const MaxPercentDigits = 6

// ReadMoney reads an amount as people type it in this language, in minor units of the
// currency: what Money and Plain write, and the same with or without the currency's sign,
// spaces and separators of thousands. A number that can only be meant as another language
// writes it is taken; "1,500" in Portuguese can be meant both ways and is refused with both
// amounts. An error is a *TypedError, or that of an unknown currency.
func (p *Printer) ReadMoney(text, code string) (minor int64, err error) {
	exponent, err := commerce.Exponent(code)
	if err != nil {
		return 0, err
	}
	body, negative := bare(text, code)
	switch {
	case strings.Contains(body, "%"):
		return 0, &TypedError{"form.money_percent", nil}
	case hasOtherCurrency(body):
		return 0, &TypedError{"form.money_currency", []any{symbol(code)}}
	}
	number, err := p.read(body, exponent, "form.money", func(d decimal.Decimal) string {
		if minor := d.Shift(int32(exponent)); minor.IsInteger() {
			return p.Sum(minor, code)
		}
		return symbol(code) + "\u00a0" + p.Number(d)
	})
	if err != nil {
		return 0, err
	}
	minor, err = commerce.ParseMinor(number, code)
	if err != nil {
		return 0, &TypedError{"form.money_range", nil}
	}
	if negative {
		minor = -minor
	}
	return minor, nil
}

// ReadPercent reads a percentage with at most MaxPercentDigits decimals, with or without
// its sign: "12,5%" is 12.5. An error is a *TypedError.
func (p *Printer) ReadPercent(text string) (decimal.Decimal, error) {
	return p.ReadNumber(strings.TrimSuffix(strings.TrimSpace(text), "%"), MaxPercentDigits)
}

// ReadNumber reads a number with at most that many decimals, three or more, as Number
// writes it. An error is a *TypedError.
func (p *Printer) ReadNumber(text string, decimals int) (d decimal.Decimal, err error) {
	body, negative := bare(text, "")
	number, err := p.read(body, decimals, "form.number", p.Number)
	if err == nil {
		d, err = commerce.ParseDecimal(number)
	}
	if err != nil {
		return decimal.Decimal{}, asTyped(err, "form.number")
	}
	if negative {
		d = d.Neg()
	}
	return d, nil
}

// ReadDay reads a day as YYYY-MM-DD or as Date writes it. 11/01/2026 is a day in
// Portuguese; in English it can be two, and is refused with them. An error is a *TypedError.
func (p *Printer) ReadDay(text string) (day string, err error) {
	text = strings.TrimSpace(text)
	own := "2 Jan 2006"
	if strings.HasPrefix(p.texts["date.short"], "{dd}/{mm}/") {
		own = "2/1/2006"
	}
	for _, layout := range []string{time.DateOnly, own} {
		if t, err := time.Parse(layout, text); err == nil && len(text) <= maxTyped {
			return t.Format(time.DateOnly), nil
		}
	}
	var meant []any
	for _, layout := range []string{"2/1/2006", "1/2/2006"} {
		if t, err := time.Parse(layout, text); err == nil && (len(meant) == 0 || meant[0] != t.Format(time.DateOnly)) {
			meant = append(meant, t.Format(time.DateOnly))
		}
	}
	if len(meant) == 2 && len(text) <= maxTyped {
		return "", &TypedError{"form.day_readings", append([]any{text}, meant...)}
	}
	return "", &TypedError{"form.day", nil}
}

// Plain writes minor units as Money does, without the currency's sign: as people type it.
func (p *Printer) Plain(minor int64, code string) string {
	text := commerce.FormatMinor(minor, code)
	if strings.HasPrefix(text, "-") {
		return "-" + p.digits(text[1:])
	}
	return p.digits(text)
}

func asTyped(err error, key string) error {
	if typed, ok := err.(*TypedError); ok { //nolint:errorlint // made here
		return typed
	}
	return &TypedError{key, nil}
}

// bare takes the sign and the currency from a number, and makes one space of each kind of
// space.
func bare(text, code string) (body string, negative bool) {
	minus := func() {
		for _, sign := range []string{"-", "−"} {
			if rest, found := strings.CutPrefix(text, sign); found && !negative {
				text, negative = strings.TrimSpace(rest), true
			}
		}
	}
	text = strings.TrimSpace(text)
	minus()
	for _, sign := range signsOf(code) {
		if n := len(sign); len(text) >= n && strings.EqualFold(text[:n], sign) {
			text = strings.TrimSpace(text[n:])
			break
		}
		if n := len(text) - len(sign); n >= 0 && strings.EqualFold(text[n:], sign) {
			text = strings.TrimSpace(text[:n])
			break
		}
	}
	minus()
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, text), negative
}

// signsOf are the ways to write a currency, the longest first.
func signsOf(code string) []string {
	switch sign := symbol(code); {
	case code == "":
		return nil
	case sign == "US$":
		return []string{sign, code, "$"}
	case len(sign) < len(code):
		return []string{code, sign}
	default:
		return []string{sign, code}
	}
}

// hasOtherCurrency reports whether a number has the sign or the code of a currency.
func hasOtherCurrency(body string) bool {
	letters := strings.ToUpper(strings.TrimFunc(body, func(r rune) bool { return !unicode.IsLetter(r) }))
	_, err := commerce.Exponent(letters)
	return err == nil || strings.ContainsFunc(body, func(r rune) bool { return unicode.Is(unicode.Sc, r) })
}

// read reads an unsigned number with at most that many decimals, and returns it with a
// point and without separators. wrong is the key of the text for what is no number.
func (p *Printer) read(body string, decimals int, wrong string, write func(decimal.Decimal) string) (string, error) {
	if len(body) > maxTyped {
		return "", &TypedError{wrong, nil}
	}
	number, own := readAs(body, p.thousands, p.decimal)
	swapped, other := readAs(body, p.decimal, p.thousands)
	switch {
	case !own && !other:
		return "", &TypedError{wrong, nil}
	case !own:
		number = swapped
	case other && number != swapped && strings.Contains(number, ".") && decimals < 3:
		x, y := decimal.RequireFromString(swapped), decimal.RequireFromString(number)
		return "", &TypedError{"form.two_readings", []any{body, write(x), write(y)}}
	}
	if _, cents, _ := strings.Cut(number, "."); len(cents) > decimals {
		return "", &TypedError{"form.decimals", []any{decimals}}
	}
	return number, nil
}

// readAs reads digits with separators of thousands, which may be spaces, and of decimals.
func readAs(body, thousands, point string) (number string, ok bool) {
	whole, cents, hasCents := strings.Cut(body, point)
	if hasCents && !areDigits(cents) || !hasCents && whole == "" {
		return "", false
	}
	if !strings.Contains(whole, thousands) {
		thousands = " "
	}
	groups := strings.Split(whole, thousands)
	for i, group := range groups {
		if !areDigits(group) && (whole != "" || !hasCents) || i > 0 && len(group) != 3 ||
			i == 0 && len(groups) > 1 && (len(group) > 3 || group[0] == '0') {
			return "", false
		}
	}
	number = strings.Join(groups, "")
	if hasCents {
		number = "0" + number + "." + cents
	}
	return number, true
}

func areDigits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}
