package identity

import (
	"regexp"
	"strings"
)

// What stands where a value was removed.
const (
	scrubbedEmail = "(email)"
	scrubbedPhone = "(phone)"
	scrubbedID    = "(id)"
)

// The signs as a URL may carry them: plain, percent-encoded, or encoded twice
// (a URL inside a URL). Signs that need no escape have none after fold.
const (
	at    = `(?:@|%(?:25)*40)`
	plus  = `(?:\+|%(?:25)*2[bB])`
	slash = `(?:/|%(?:25)*2[fF])`
	colon = `(?::|%(?:25)*3[aA])`
	space = `(?: |%(?:25)*20|\+)`
	local = `(?:[\pL\pN._+\-!#$*'^{|}~]|%(?:25)*[0-9A-Fa-f]{2})+`
	// gap is what people put between the groups of a number, at most three.
	gap = `(?:[ .()\-+]|%(?:25)*(?:20|28|29|2[dD])){0,3}`
)

var (
	// emailPattern stops a local part at what separates values in a URL. The
	// second group is the domain's last label: letters, as every TLD is.
	emailPattern = pattern(local, at, `([\pL\pN\-]+(?:\.[\pL\pN\-]+)*\.[\pL][\pL\pN\-]+)`)
	atPattern    = regexp.MustCompile(at)
	// cutPattern is an address that a text ends in, whole or not.
	cutPattern = pattern(local, at, `[^\s&?=/#;,@]*$`)

	// phonePattern takes what only a phone number looks like: an international
	// prefix, Brazil's groups with an area code or a hyphen, or North America's with
	// an area code in brackets. A bare row of
	// digits is more often the id of a product, order or campaign: it is a phone
	// only under a name that says so. Its group is what stays.
	phonePattern = pattern(`(?:`, plus, `|((?i:\b(?:tel|sms|smsto|callto)`, colon, `|wa\.me`, slash, `)))`, plus, `?[0-9](?:`, gap, `[0-9]){7,14}`,
		`|(?:\(|%28)0?[1-9][0-9](?:\)|%29)`, gap, `9?`, gap, `[2-9][0-9]{3}`, gap, `[0-9]{4}\b`,
		`|(?:\(|%28)[2-9][0-9]{2}(?:\)|%29)`, gap, `[2-9][0-9]{2}`, gap, `[0-9]{4}\b`,
		`|\b[1-9][0-9]`, space, `(?:9?[2-9][0-9]{3}-|9[0-9]{4}`, space, `)[0-9]{4}\b`)

	// parameterPattern is a query parameter up to its value; the group is its name.
	parameterPattern = regexp.MustCompile(`(?i)(?:^|[?&;#]|%(?:25)*(?:26|3F|23))((?:[a-z0-9_.\-\[\]]|%(?:25)*5[BD])+)(?:=|%(?:25)*3D)`)
	// bracketPattern is a bracket in such a name: "customer%5Bid%5D".
	bracketPattern = regexp.MustCompile(`(?i)%(?:25)*5[BD]`)
	// separatorPattern ends a query parameter's value.
	separatorPattern = regexp.MustCompile(`[&#;]|%(?:25)*(?:26|23|3[bB])`)

	// labelledPattern is a bare number in prose after a word that says what it is.
	labelledPattern = pattern(`(?i)\b((?:(?:tele)?(?:phone|fone)s?|celular|whats ?app|tel|cel|mobile|contato|contact)\.?(?: ?: ?| ))[0-9](?:`, gap, `[0-9]){9,14}`)

	// rowPattern is a row of ten to fifteen digits, grouped or not: as long as a
	// phone with its area code (E.164 allows fifteen).
	rowPattern = pattern(plus, `?[0-9](?:[ )\-]{0,2}[0-9]){9,14}`)

	// retina is the "@2x." of an image's name, not an address.
	retina = regexp.MustCompile(`^[1-9]x\.(?i:png|jpe?g|webp|gif|svg|avif)$`)

	// datePattern is a day at the beginning of what looks like a number: year
	// first with separators or as eight digits, or day first with separators.
	datePattern = pattern(`^(?:19|20)[0-9]{2}([-. /])(?:0[1-9]|1[0-2])[-. /](?:0[1-9]|[12][0-9]|3[01])(?:[^0-9]|$)`,
		`|^(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])$`,
		`|^(?:0[1-9]|[12][0-9]|3[01])[-. /](?:0[1-9]|1[0-2])[-. /](?:19|20)[0-9]{2}(?:[^0-9]|$)`)
	// yearsPattern ends in two years ("2025-2026"), as a season's name does.
	yearsPattern = regexp.MustCompile(`(?:19|20)[0-9]{2}-(?:19|20)[0-9]{2}$`)
)

// pattern compiles a regular expression of several parts.
func pattern(parts ...string) *regexp.Regexp { return regexp.MustCompile(strings.Join(parts, "")) }

// Scrub removes e-mail addresses and phone numbers from a text: a URL, a
// referrer, a title. Percent-encoded and fullwidth ones go too, and so do the
// values of query parameters whose names say customer id or cart token. A date is
// no phone. Text without any of these comes back as it is, without a copy.
func Scrub(text string) string { return scrubFolded(text, scrubPlain) }

// ScrubCut is Scrub for a text whose end may have been cut off: an address at its
// end goes without the rest of its domain too.
func ScrubCut(text string) string {
	return scrubFolded(text, func(text string) string {
		text = scrubPlain(text)
		if !mayHoldEmail(text) {
			return text
		}
		return cutPattern.ReplaceAllStringFunc(text, func(found string) string { return found[:leading(found)] + scrubbedEmail })
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
		text = emailPattern.ReplaceAllStringFunc(text, func(found string) string {
			if retina.MatchString(found[strings.LastIndexByte(found, '@')+1:]) {
				return found
			}
			// An encoded "=" or "/" before the address belongs to the text around it.
			return found[:leading(found)] + scrubbedEmail
		})
	}
	if mentionsID(text) {
		text = scrubParameters(text, namesID, isIDValue, scrubbedID)
	}
	if !mayHoldPhone(text) {
		return text
	}
	// The patterns cost microseconds, and most texts with many digits are ids.
	// Without one of these signs no part of the pattern can match.
	if strings.ContainsAny(text, " +(%-:/") {
		text = replaceMatches(text, phonePattern, func(m []string) string {
			number := m[0][len(m[1]):]
			if isDate(number) || yearsPattern.MatchString(number) {
				return m[0]
			}
			return m[1] + scrubbedPhone
		})
	}
	if !mentionsPhone(text) {
		return text
	}
	text = scrubParameters(text, NamesPhone, looksLikePhone, scrubbedPhone)
	return replaceMatches(text, labelledPattern, func(m []string) string { return m[1] + scrubbedPhone })
}

// scrubParameters puts a text in the place of the values of query parameters
// whose names and values are of a kind.
func scrubParameters(text string, names, is func(string) bool, scrubbed string) string {
	if !strings.ContainsAny(text, "=%") {
		return text
	}
	var out strings.Builder
	copied := 0
	for _, m := range parameterPattern.FindAllStringSubmatchIndex(text, -1) {
		begin := m[1]
		name := text[m[2]:m[3]]
		if strings.Contains(name, "%") {
			name = bracketPattern.ReplaceAllString(name, "_")
		}
		if !names(name) {
			continue
		}
		end := min(len(text), begin+maxParameter)
		if separator := separatorPattern.FindStringIndex(text[begin:end]); separator != nil {
			end = begin + separator[0]
		}
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

// ScrubStrict is Scrub, and removes each row of ten to fifteen digits as well:
// for fields in which such a number has no meaning (a locale, a user agent) and
// for copies that are kept to look at only. A UUID, a date and Unix
// milliseconds stay.
func ScrubStrict(text string) string {
	if isUUID(text) {
		return text
	}
	return scrubFolded(text, func(text string) string { return scrubRows(scrubPlain(text)) })
}

// scrubRows removes rows of ten to fifteen digits.
func scrubRows(text string) string {
	if !mayHoldPhone(text) {
		return text
	}
	var out strings.Builder
	copied := 0
	for _, m := range rowPattern.FindAllStringIndex(text, -1) {
		begin, end := m[0], m[1]
		row := text[begin:end]
		inHex := begin > 0 && isHex(text[begin-1]) || end < len(text) && isHex(text[end]) // a longer number, or part of an id
		if inHex || isDate(row) || unixMillis(row) {
			continue
		}
		out.WriteString(text[copied:begin])
		out.WriteString(scrubbedPhone)
		copied = end
	}
	if copied == 0 {
		return text
	}
	out.WriteString(text[copied:])
	return out.String()
}

// replaceMatches puts what replace returns in each match's place; it gets the
// match and its groups.
func replaceMatches(text string, of *regexp.Regexp, replace func(groups []string) string) string {
	matches := of.FindAllStringSubmatchIndex(text, -1)
	if len(matches) == 0 {
		return text
	}
	var out strings.Builder
	copied := 0
	groups := make([]string, len(matches[0])/2)
	for _, m := range matches {
		for i := range groups {
			groups[i] = ""
			if m[2*i] >= 0 {
				groups[i] = text[m[2*i]:m[2*i+1]]
			}
		}
		out.WriteString(text[copied:m[0]])
		out.WriteString(replace(groups))
		copied = m[1]
	}
	out.WriteString(text[copied:])
	return out.String()
}

// isDate tells whether a number is a day, with or without a time behind it.
func isDate(number string) bool {
	number = strings.TrimPrefix(number, "+")
	number = strings.TrimPrefix(strings.TrimPrefix(number, "%2B"), "%2b")
	return datePattern.MatchString(number)
}

// unixMillis tells whether a row of digits is a time between the years 2001 and
// 2033: thirteen digits that begin with 1, which no phone number has.
func unixMillis(row string) bool {
	return len(row) == 13 && row[0] == '1' && strings.Trim(row, "0123456789") == ""
}

// leading is the length of found up to the last encoded separator before the
// address: of "q%3Dana%40x.com" it is that of "q%3D".
func leading(found string) int {
	signs := atPattern.FindAllStringIndex(found, -1)
	end := signs[len(signs)-1][0]
	begin := 0
	for _, separator := range []string{"%3D", "%3d", "%2F", "%2f", "%26", "%20", "%3A", "%3a"} {
		if i := strings.LastIndex(found[:end], separator); i >= 0 {
			begin = max(begin, i+len(separator))
		}
	}
	return begin
}

// MayHold tells whether Scrub may find something in a text. It is a fast check.
func MayHold(text string) bool {
	return mayHoldEmail(text) || mayHoldPhone(text) || strings.Contains(text, "\xEF")
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
