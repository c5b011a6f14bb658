package site

import (
	"errors"
	"net/url"
	"strings"

	"github.com/shopspring/decimal"
	"golang.org/x/net/idna"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/lang"
)

// TypedIn is the hidden field with the language in which a form was read when it was
// previewed: what was typed means something else in another one.
const TypedIn = "typed_in"

// Said is what was read of a form's field, in the words of the page.
type Said struct{ Label, Text string }

// typed returns what was typed into a field, without spaces around it.
func (f *Form) typed(name string) string { return strings.TrimSpace(url.Values(f.values).Get(name)) }

// Money reads an amount as people type it (lang.Printer.ReadMoney), in minor units of the
// currency; 0 where nothing was typed. What cannot be read fails at the field. An amount
// that differs from the one the field had is said before it is saved (Said).
func (f *Form) Money(name, code string) int64 {
	text := f.typed(name)
	if text == "" {
		return 0
	}
	minor, err := f.Lang.ReadMoney(text, code)
	if err != nil {
		f.failTyped(name, err)
		return 0
	}
	if before, err := f.Lang.ReadMoney(f.Field(name).before, code); err != nil || before != minor {
		f.Say(name, f.Lang.Money(minor, code))
	}
	return minor
}

// Percent reads a percentage (lang.Printer.ReadPercent), as Money does.
func (f *Form) Percent(name string) decimal.Decimal {
	text := f.typed(name)
	if text == "" {
		return decimal.Zero
	}
	d, err := f.Lang.ReadPercent(text)
	f.failTyped(name, err)
	return d
}

// Number reads a number with at most that many decimals, three or more.
func (f *Form) Number(name string, decimals int) decimal.Decimal {
	d, err := f.Lang.ReadNumber(f.typed(name), decimals)
	f.failTyped(name, err)
	return d
}

// Day reads a day as YYYY-MM-DD; empty where nothing was typed, or what was typed fails at
// the field.
func (f *Form) Day(name string) string {
	text := f.typed(name)
	if text == "" {
		return ""
	}
	day, err := f.Lang.ReadDay(text)
	f.failTyped(name, err)
	return day
}

// TypedDay reads a day of an address as Day does; what cannot be read stays as it is, and is
// refused by what checks the days.
func TypedDay(l *lang.Printer, text string) string {
	if day, err := l.ReadDay(text); err == nil {
		return day
	}
	return text
}

// failTyped fails a field whose text could not be read.
func (f *Form) failTyped(name string, err error) {
	if err != nil {
		f.Fail(name, TypedText(f.Lang, err))
	}
}

// WithScheme is an address as people type it, with https:// where it has no scheme.
func WithScheme(address string) string {
	if address == "" || strings.Contains(address, ":/") {
		return address
	}
	return "https://" + address
}

// ShopOrigin reads the address of a shop as people type it: with or without
// scheme, with or without path. host has no port. A name with accents becomes the one that
// browsers send (RFC 5891). What cannot be read is returned as origin, in small letters and with a
// scheme, for commerce.Settings.Check to refuse; host is empty then.
func ShopOrigin(text string) (origin, host string) {
	text = strings.ToLower(strings.TrimSpace(text))
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	origin, err := OriginOf(text)
	if err != nil || origin == "" {
		return text, ""
	}
	scheme, rest, _ := strings.Cut(origin, "://")
	name, port, hasPort := strings.Cut(rest, ":")
	if host, err = idna.Lookup.ToASCII(name); err != nil {
		return text, ""
	}
	origin = scheme + "://" + host
	if hasPort {
		origin += ":" + port
	}
	return origin, host
}

// TypedText says why what was typed was not read.
func TypedText(l *lang.Printer, err error) string {
	var typed *lang.TypedError
	switch {
	case errors.As(err, &typed):
		return l.T(typed.Key, typed.Args...)
	case errors.Is(err, commerce.ErrUnknownCurrency):
		return l.T("form.money")
	}
	return l.T("form.number")
}

// Say adds to what the form says back before it is saved, under the field's label and in
// the order of the fields.
func (f *Form) Say(name, text string) {
	said := map[string]string{f.Field(name).Label: text}
	for _, line := range f.Said {
		if _, again := said[line.Label]; !again {
			said[line.Label] = line.Text
		}
	}
	f.Said = nil
	for _, x := range f.Fields {
		if text, found := said[x.Label]; found {
			f.Said = append(f.Said, Said{x.Label, text})
		}
	}
}
