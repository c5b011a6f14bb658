// Package lenient holds what the edge and the admin API share where a body is read that is not
// as it should be: how strictly its sender wants it to be read, which known field an unknown
// one was meant to be, and the words of warnings.
package lenient

import "strings"

// What is wrong with a value that can be no key: it names nobody.
const (
	NoEmail     = "is no e-mail address"
	NoPhone     = "is no phone number"
	Placeholder = "tells nobody apart: it is a placeholder, or too long"
)

// NoNetworkID is what is wrong with how an advertising network is said to know the browser.
const NoNetworkID = "is not what a cookie of that network holds"

// IsIgnored is what a warning says of most wrong values, after what is wrong.
const IsIgnored = "it is ignored"

// UnknownField is what is said of a field that nobody reads. near is the known one that was
// probably meant, "" for none.
func UnknownField(near string) string {
	message := "is not known here and was not read"
	if near != "" {
		message += "; did you mean " + near + "?"
	}
	return message
}

// FieldKind is a JSON path without its indexes: the same for a field of each element of a list.
func FieldKind(field string) string {
	inside := false
	return strings.Map(func(r rune) rune {
		switch {
		case r == '[':
			inside = true
		case r == ']':
			inside = false
		case inside:
			return -1
		}
		return r
	}, field)
}
