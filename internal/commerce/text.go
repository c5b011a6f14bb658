package commerce

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tributary-io/tributary/internal/fold"
)

// Bounds of texts that a store sends, in characters.
const (
	MaxID         = 255 // an id that a store gives: an order's, an item's
	MaxText       = 512
	MaxUserAgent  = 2048
	MaxName       = 200 // of an influencer, campaign or additional cost
	MaxCategory   = 100
	MaxCampaignID = 100
	MaxCoupon     = 100
	MaxURL        = 2048 // short enough for every browser and for a Kafka record
)

// IsID reports whether a text can be an id that a store gives. Look up no other:
// Postgres returns an error for some of them.
func IsID(text string) bool {
	return text != "" && utf8.ValidString(text) && !tooLong(text, MaxID) && !hasControls(text)
}

// directions are the characters that turn the direction of the text behind them (Unicode UAX 9,
// 2.1 to 2.4): with them a page or a file shows another text than it has.
const directions = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"

// written are directions as they are written out.
var written = func() *strings.Replacer {
	var pairs []string
	for _, mark := range directions {
		pairs = append(pairs, string(mark), fmt.Sprintf(`\u%04x`, mark))
	}
	return strings.NewReplacer(pairs...)
}()

// WriteDirections returns a text that is shown with the directions in it written out, as "\u202e": the
// words of an event, and what was stored before they were refused, may have some.
func WriteDirections(text string) string { return written.Replace(text) }

// hasControls reports whether a text has control characters other than tabs and
// line ends, or directions.
func hasControls(text string) bool {
	if strings.ContainsAny(text, directions) {
		return true
	}
	for i := range len(text) {
		if c := text[i]; c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0x7f {
			return true
		}
	}
	return false
}

// tooLong reports whether a text has more than max characters.
func tooLong(text string, max int) bool {
	return len(text) > max && utf8.RuneCountInString(text) > max
}

// text checks a text that may be empty.
func (v *Violations) text(at place, name, text string, max int) {
	switch {
	case tooLong(text, max):
		v.Add(at.field(name), CodeTooLong, "is longer than %d characters", max)
	case hasControls(text):
		v.Add(at.field(name), CodeInvalidCharacters, "has control characters, or marks that turn the text")
	}
}

// filled checks a text that must have more than spaces: an id, a code or a name, by which
// things are told apart. What is no Unicode text, as a lone surrogate, was read as U+FFFD:
// different ones would be the same.
func (v *Violations) filled(at place, name, text string, max int) {
	v.known(at, name, text, max)
	if strings.TrimSpace(text) == "" {
		v.Add(at.field(name), CodeEmpty, "is empty")
	}
}

// Filled checks a text of the value itself that must have more than spaces.
func (v *Violations) Filled(field, text string, max int) { v.filled(place{}, field, text, max) }

// Word checks a text of the value itself that must be one of a few.
func (v *Violations) Word(field, text string, allowed ...string) {
	v.word(place{}, field, text, allowed...)
}

// known checks an id that may be empty.
func (v *Violations) known(at place, name, text string, max int) {
	v.text(at, name, text, max)
	if strings.ContainsRune(text, utf8.RuneError) {
		v.Add(at.field(name), CodeInvalidCharacters, "has a character that is no Unicode text")
	}
}

// foldable checks a name or code of which something must be left after folding:
// of "\u200b" nothing is.
func (v *Violations) foldable(at place, name, text string, max int, fold func(string) string) {
	v.filled(at, name, text, max)
	if !tooLong(text, max) && fold(text) == "" {
		v.Add(at.field(name), CodeEmpty, "has no visible character")
	}
}

// CouponCode checks a coupon's code, as it is checked where a coupon is made.
func (v *Violations) CouponCode(field, code string) {
	v.foldable(place{}, field, code, MaxCoupon, fold.Code)
}

// word checks a text that must be one of a few.
func (v *Violations) word(at place, name, text string, allowed ...string) {
	for _, word := range allowed {
		if text == word {
			return
		}
	}
	v.Add(at.field(name), CodeInvalidValue, "must be one of %s", strings.Join(allowed, ", "))
}
