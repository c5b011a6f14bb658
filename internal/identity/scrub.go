package identity

import (
	"encoding/json"
	"regexp"
	"strings"
)

// What stands where a value was removed.
const (
	scrubbedEmail = "(email)"
	scrubbedPhone = "(phone)"
)

// at and plus are the signs as a URL may carry them: plain, percent-encoded,
// encoded twice (a URL inside a URL).
const (
	at   = `(?:@|%(?:25)*40)`
	plus = `(?:\+|%(?:25)*2[bB])`
	// gap is what people put between the groups of a number, at most three.
	gap = `(?:[ .()\-+]|%(?:25)*(?:20|28|29|2[dD])){0,3}`
)

var (
	// emailPattern stops a local part at what separates values in a URL. The
	// second group is the domain's last label: letters, as every TLD is.
	emailPattern = regexp.MustCompile(`(?:[\pL\pN._+\-!#$*'^{|}~]|%(?:25)*[0-9A-Fa-f]{2})+` + at + `([\pL\pN\-]+(?:\.[\pL\pN\-]+)*\.[\pL][\pL\pN\-]+)`)

	// phonePattern takes what only a phone number looks like: an international
	// prefix, or Brazil's groups with an area code or a hyphen. A bare row of
	// digits is more often the id of a product, order or campaign: it is a phone
	// only under a name that says so.
	phonePattern = regexp.MustCompile(`(?:` + plus + `|\btel:|wa\.me/)` + plus + `?[0-9](?:` + gap + `[0-9]){7,14}` +
		`|(?:\(|%28)0?[1-9][0-9](?:\)|%29)` + gap + `9?` + gap + `[2-9][0-9]{3}` + gap + `[0-9]{4}\b` +
		`|\b[1-9][0-9](?: |%20|\+)9?[2-9][0-9]{3}-[0-9]{4}\b`)

	phoneNames = `(?:tele)?(?:phone|fone|celular|whats_?app|mobile|msisdn|telefone|tel)(?:_?(?:number|numero|no))?`
	// phoneParameter is a query parameter whose name says that it is a phone.
	phoneParameter = regexp.MustCompile(`(?i)((?:^|[?&;#]|%26|%3F)(?:[a-z]+[_\-.])?` + phoneNames + `(?:=|%3D))([^&#;%]|%[013-9A-F][0-9A-F]|%2[0-57-9A-F])+`)
	phoneName      = regexp.MustCompile(`(?i)^(?:[a-z]+[_\-. ]?)?` + phoneNames + `$`)

	// retina is the "@2x." of an image's name, not an address.
	retina = regexp.MustCompile(`^[1-9]x\.(?i:png|jpe?g|webp|gif|svg|avif)$`)
)

// Scrub removes e-mail addresses and phone numbers from a text: a URL, a
// referrer, a title. Percent-encoded addresses go too. Text without either
// comes back as it is, without a copy.
func Scrub(text string) string {
	if mayHoldEmail(text) {
		text = emailPattern.ReplaceAllStringFunc(text, func(found string) string {
			if at := strings.LastIndexByte(found, '@'); at >= 0 && retina.MatchString(found[at+1:]) {
				return found
			}
			// An encoded "=" or "/" before the address belongs to the text around it.
			return found[:leading(found)] + scrubbedEmail
		})
	}
	if !mayHoldPhone(text) {
		return text
	}
	// The patterns cost microseconds, and most texts with many digits are ids:
	// without one of these none of the pattern's branches can match.
	if strings.ContainsAny(text, "+(%-:/") {
		text = phonePattern.ReplaceAllStringFunc(text, func(found string) string {
			for _, keep := range []string{"tel:", "wa.me/"} {
				if strings.HasPrefix(found, keep) {
					return keep + scrubbedPhone
				}
			}
			return scrubbedPhone
		})
	}
	if namesPhone(text) {
		text = phoneParameter.ReplaceAllString(text, "${1}"+scrubbedPhone)
	}
	return text
}

// namesPhone tells whether a parameter's name may say that it is a phone.
func namesPhone(text string) bool {
	lower := strings.ToLower(text)
	for _, part := range []string{"fone", "phone", "tel", "celular", "whats", "mobile", "msisdn"} {
		if strings.Contains(lower, part) {
			return true
		}
	}
	return false
}

// leading is the length of found up to the last encoded separator before the
// address: of "q%3Dana%40x.com" it is that of "q%3D".
func leading(found string) int {
	end := strings.LastIndexByte(found, '@')
	if end < 0 {
		end = strings.LastIndex(found, "40")
	}
	begin := 0
	for _, separator := range []string{"%3D", "%3d", "%2F", "%2f", "%26", "%20", "%3A", "%3a"} {
		if i := strings.LastIndex(found[:end], separator); i >= 0 {
			begin = max(begin, i+len(separator))
		}
	}
	return begin
}

func mayHoldEmail(text string) bool {
	return strings.IndexByte(text, '@') >= 0 || strings.Contains(text, "40") && strings.IndexByte(text, '%') >= 0
}

// mayHoldPhone tells whether eight digits stand in a row, with nothing but what
// may group them between: the cheap question before the patterns.
func mayHoldPhone(text string) bool {
	digits := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c >= '0' && c <= '9':
			if digits++; digits >= 8 {
				return true
			}
		case c == ' ' || c == '.' || c == '(' || c == ')' || c == '-' || c == '+' || c == '%':
		case (c == 'D' || c == 'd') && i > 1 && text[i-1] == '2': // the hyphen, %2D
		default:
			digits = 0
		}
	}
	return false
}

// ScrubJSON is Scrub for each string of a valid JSON text, names included; a
// number or text under a name that says "phone" goes whole. All else stays
// byte for byte. Text that is not valid JSON gives "".
func ScrubJSON(text string) string {
	if !mayHoldEmail(text) && !mayHoldPhone(text) && !strings.Contains(text, `\u`) {
		return text
	}
	if !json.Valid([]byte(text)) {
		return ""
	}
	var out strings.Builder
	copied, name := 0, ""
	replace := func(from, to int, with string) {
		out.WriteString(text[copied:from])
		out.WriteString(with)
		copied = to
	}
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"':
			end := stringEnd(text, i)
			value := unquote(text[i:end])
			isName := end < len(text) && followedByColon(text[end:])
			scrubbed := Scrub(value)
			if !isName && name != "" && mayHoldPhone(value) {
				scrubbed = scrubbedPhone
			}
			if scrubbed != value {
				replace(i, end, quote(scrubbed))
			}
			name = ""
			if isName && phoneName.MatchString(value) {
				name = value
			}
			i = end
		case c == '-' || c >= '0' && c <= '9':
			end := i + 1
			for end < len(text) && strings.IndexByte("0123456789.eE+-", text[end]) >= 0 {
				end++
			}
			if name != "" && mayHoldPhone(text[i:end]) {
				replace(i, end, quote(scrubbedPhone))
			}
			i = end
		case c == '}' || c == ',' || c == '{':
			name = "" // a list under such a name stays one: [ keeps it
			i++
		default:
			i++
		}
	}
	if copied == 0 {
		return text
	}
	out.WriteString(text[copied:])
	return out.String()
}

// stringEnd is the index after the closing quote of the string that begins at i.
func stringEnd(text string, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

func followedByColon(rest string) bool {
	return strings.HasPrefix(strings.TrimLeft(rest, " \t\r\n"), ":")
}

func unquote(literal string) string {
	if strings.IndexByte(literal, '\\') < 0 {
		return literal[1 : len(literal)-1]
	}
	var value string
	if json.Unmarshal([]byte(literal), &value) != nil {
		return ""
	}
	return value
}

func quote(value string) string {
	literal, err := json.Marshal(value)
	if err != nil {
		return `""` // a string always marshals
	}
	return string(literal)
}
