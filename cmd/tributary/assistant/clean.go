package assistant

import (
	"fmt"
	"strings"
	"unicode"
)

// longest is how many characters of a text are given.
const longest = 300

// cutMark ends a text that was cut.
const cutMark = "…[cut]"

// clean is a text of a store's data as it is given: at most longest characters of it, those that no one sees
// (control, bidirectional, zero-width and other invisible ones) written as [U+202E]. What only joins or
// colours emoji is removed.
func clean(text string) string {
	var out strings.Builder
	given := 0
	for _, r := range text {
		if joinsEmoji(r) {
			continue
		}
		if given == longest {
			out.WriteString(cutMark)
			break
		}
		given++
		if seen(r) {
			out.WriteRune(r)
		} else {
			fmt.Fprintf(&out, "[U+%04X]", r)
		}
	}
	return out.String()
}

// joinsEmoji reports whether a character is the zero-width joiner, or says that the one before is text or emoji.
func joinsEmoji(r rune) bool { return r == '\u200D' || r == '\uFE0E' || r == '\uFE0F' }

// seen reports whether a person sees a character, or the space that it takes.
func seen(r rune) bool {
	return unicode.IsGraphic(r) && !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
