package scrub

import (
	"strings"

	"github.com/tributary-io/tributary/internal/uuidtext"
)

// What stands where a value was removed.
const (
	scrubbedEmail = "(email)"
	scrubbedPhone = "(phone)"
	scrubbedID    = "(id)"
)

// Text removes e-mail addresses, phone numbers and the numbers of documents and cards from a
// text: a URL, a referrer, a title. Percent-encoded and fullwidth ones go too, and so do the
// values of query parameters whose names say customer id or cart token. A date is
// no phone. Text without any of these comes back as it is, without a copy.
func Text(text string) string { return scrubFolded(text, scrubPlain) }

// Cut is Text for a text whose end may have been cut off: an address at its
// end goes without the rest of its domain too.
func Cut(text string) string {
	return scrubFolded(text, func(text string) string {
		text = scrubPlain(text)
		if !mayHoldEmail(text) {
			return text
		}
		return replaceFound(text, findCut, withoutEmail)
	})
}

// scrubFolded scrubs the folded form of a text. Where nothing is removed the
// text comes back as it was.
func scrubFolded(text string, scrub func(string) string) string {
	folded := fold(text)
	if scrubbed := scrub(folded); scrubbed != folded {
		return scrubbed
	}
	return text
}

func scrubPlain(text string) string {
	if mayHoldEmail(text) {
		text = replaceFound(text, findEmail, func(text string, s span) string {
			if found := text[s.begin:s.end]; isRetina(found[strings.LastIndexByte(found, '@')+1:]) {
				return ""
			}
			return withoutEmail(text, s)
		})
		text = replaceFound(text, findSpaced, func(string, span) string { return scrubbedEmail })
	}
	if mentionsID(text) {
		text = scrubParameters(text, namesID, isIDValue, scrubbedID)
		text = scrubCheckout(text)
	}
	text = scrubDocuments(text)
	if !mayHoldPhone(text) {
		return text
	}
	// Without one of these signs there is none of what findPhone knows.
	if strings.ContainsAny(text, " +(%-:/") {
		text = replaceFound(text, findPhone, func(text string, s span) string {
			if number := text[s.value:s.end]; isDate(number) || endsInYears(number) {
				return ""
			}
			return scrubbedPhone
		})
	}
	if !mentionsPhone(text) {
		return text
	}
	text = scrubParameters(text, NamesPhone, looksLikePhone, scrubbedPhone)
	return replaceFound(text, findLabelled, func(string, span) string { return scrubbedPhone })
}

// withoutEmail is what stands in the place of an address. An encoded "=" or "/"
// before it belongs to the text around it.
func withoutEmail(text string, s span) string {
	found := text[s.begin:s.end]
	return found[:leading(found)] + scrubbedEmail
}

// scrubParameters puts a text in the place of the values of query parameters
// whose names and values are of a kind.
func scrubParameters(text string, names, is func(string) bool, scrubbed string) string {
	if !strings.ContainsAny(text, "=%") {
		return text
	}
	var out strings.Builder
	copied := 0
	for p := findParameter(text, 0); p.value > 0; p = findParameter(text, p.value) {
		name := text[p.begin:p.end]
		if strings.Contains(name, "%") {
			name = withoutBrackets(name)
		}
		if !names(name) {
			continue
		}
		begin := p.value
		if begin < copied { // it stands in a value that is removed already
			continue
		}
		end := begin + valueEnd(text[begin:])
		if !is(text[begin:end]) {
			continue
		}
		out.WriteString(text[copied:begin])
		out.WriteString(scrubbed)
		copied = end
	}
	if copied == 0 {
		return text
	}
	out.WriteString(text[copied:])
	return out.String()
}

// maxParameter is how much of a parameter's value is removed, in bytes: as much
// as a phone number takes with every sign of it encoded twice.
const maxParameter = 128

// Strict is Text, and removes each row of ten to fifteen digits as well:
// for fields in which such a number has no meaning (a locale, a user agent) and
// for copies that are kept to look at only. A UUID, a date and Unix
// milliseconds stay.
func Strict(text string) string {
	if uuidtext.Is(text) {
		return text
	}
	return scrubFolded(text, func(text string) string { return scrubRows(scrubPlain(text)) })
}

// scrubRows removes rows of ten to fifteen digits.
func scrubRows(text string) string {
	if !mayHoldPhone(text) {
		return text
	}
	return replaceFound(text, findRow, func(text string, s span) string {
		row := text[s.begin:s.end]
		inHex := s.begin > 0 && isHex(text[s.begin-1]) || s.end < len(text) && isHex(text[s.end]) // a longer number, or part of an id
		if inHex || isDate(row) || unixMillis(row) {
			return ""
		}
		return scrubbedPhone
	})
}

// unixMillis tells whether a row of digits is a time between the years 2001 and
// 2033: thirteen digits that begin with 1, which no phone number has.
func unixMillis(row string) bool {
	return len(row) == 13 && row[0] == '1' && strings.Trim(row, "0123456789") == ""
}

func mayHoldEmail(text string) bool {
	if strings.Contains(text, "@") {
		return true
	}
	return strings.Contains(text, "%") && strings.Contains(text, "40")
}

// mayHoldPhone tells whether eight digits stand in a row, with nothing but what
// may group them between. It is a fast check before the slow patterns: such a row
// has a sign in every eighth place, so only those are looked at first.
func mayHoldPhone(text string) bool {
	for i := minDigits - 1; i < len(text); {
		if !inNumber[text[i]] {
			i += minDigits
			continue
		}
		begin, digits := i, 0
		for begin > 0 && inNumber[text[begin-1]] {
			begin--
		}
		for i = begin; i < len(text) && inNumber[text[i]]; i++ {
			if isDigit(text[i]) {
				if digits++; digits == minDigits {
					return true
				}
			}
		}
		i += minDigits
	}
	return false
}

// minDigits is how many digits the shortest phone number has that is removed.
const minDigits = 8

// inNumber are digits and what may stand between a number's groups; D is of the
// hyphen's escape, %2D.
var inNumber = func() (in [256]bool) {
	for _, c := range []byte("0123456789 .()-+%Dd") {
		in[c] = true
	}
	return in
}()

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }

func isLower(c byte) bool { return c >= 'a' && c <= 'z' }

func isHex(c byte) bool { return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }
