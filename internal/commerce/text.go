package commerce

import (
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
)

// MaxID bounds an id that a store gives (an order's, an item's), in characters.
const MaxID = 255

// IsID tells whether a text can be an id that a store gives. Postgres cannot
// even be asked for some of those that cannot.
func IsID(text string) bool {
	return text != "" && len(text) <= utf8.UTFMax*MaxID && utf8.ValidString(text) && utf8.RuneCountInString(text) <= MaxID &&
		!HasControls(text)
}

// IsUUID takes the plain form of 36 characters only: Postgres does not read
// every form that other libraries do.
func IsUUID(text string) bool { return len(text) == 36 && uuid.Validate(text) == nil }

// HasControls tells whether a text has control characters other than tabs and
// line ends.
func HasControls(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0x7f })
}
