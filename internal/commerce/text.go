package commerce

import (
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
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
	MaxURL        = 2048 // what browsers and Kafka records take without thought
)

// IsID tells whether a text can be an id that a store gives. Postgres cannot
// even be asked for some of those that cannot.
func IsID(text string) bool {
	return text != "" && utf8.ValidString(text) && !tooLong(text, MaxID) && !hasControls(text)
}

// IsUUID takes the plain form of 36 characters only: Postgres does not read
// every form that other libraries do.
func IsUUID(text string) bool { return len(text) == 36 && uuid.Validate(text) == nil }

// hasControls tells whether a text has control characters other than tabs and
// line ends.
func hasControls(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0x7f {
			return true
		}
	}
	return false
}

// tooLong tells whether a text has more than max characters.
func tooLong(text string, max int) bool {
	return len(text) > max && utf8.RuneCountInString(text) > max
}

// text checks a text that may be empty.
func (v *Violations) text(at place, name, text string, max int) {
	switch {
	case tooLong(text, max):
		v.Add(at.field(name), CodeTooLong, "is longer than %d characters", max)
	case hasControls(text):
		v.Add(at.field(name), CodeInvalidCharacters, "has control characters")
	}
}

// filled checks a text that is more than space.
func (v *Violations) filled(at place, name, text string, max int) {
	v.text(at, name, text, max)
	if strings.TrimSpace(text) == "" {
		v.Add(at.field(name), CodeEmpty, "is empty")
	}
}

// foldable checks a name or code that is still one after folding: "\u200b" is not.
func (v *Violations) foldable(at place, name, text string, max int, fold func(string) string) {
	v.filled(at, name, text, max)
	if !tooLong(text, max) && fold(text) == "" {
		v.Add(at.field(name), CodeEmpty, "has no visible character")
	}
}

// word checks a text that is one of a few; an empty one is for the caller.
func (v *Violations) word(at place, name, text string, allowed ...string) {
	for _, word := range allowed {
		if text == word {
			return
		}
	}
	v.Add(at.field(name), CodeInvalidValue, "must be one of %s", strings.Join(allowed, ", "))
}
