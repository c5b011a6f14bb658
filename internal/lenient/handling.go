package lenient

import "strings"

// Strict asks that what would be warned of is refused.
const Strict = "strict"

// Handling is the preference of a header's lines "Prefer" for how strictly a body is read
// (RFC 7240, section 4.4): "strict", "lenient", or "" where none is told. Of two the first counts.
func Handling(lines ...string) string {
	for _, line := range lines {
		for line != "" {
			end := unquotedComma(line)
			preference, _, _ := strings.Cut(line[:end], ";") // its parameters
			line = strings.TrimPrefix(line[end:], ",")
			name, value, _ := strings.Cut(preference, "=")
			value = strings.Trim(strings.TrimSpace(value), `"`)
			if strings.EqualFold(strings.TrimSpace(name), "handling") && (value == Strict || value == "lenient") {
				return value
			}
		}
	}
	return ""
}

// unquotedComma is where the first comma of a header is that is in no quoted text, or its end.
func unquotedComma(header string) int {
	quoted := false
	for i := 0; i < len(header); i++ {
		switch c := header[i]; {
		case quoted && c == '\\':
			i++ // the next one is escaped
		case c == '"':
			quoted = !quoted
		case c == ',' && !quoted:
			return i
		}
	}
	return len(header)
}
