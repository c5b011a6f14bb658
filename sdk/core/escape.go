package core

import (
	"strings"
	"unicode/utf8"
)

// escape returns the length of the escape that text begins with, 0 for none, and
// whether it must be replaced (U+0000, a lone surrogate).
func escape(text string) (n int, replace bool) {
	if len(text) < 2 {
		return 0, false
	}
	switch text[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2, false
	case 'u':
		r, n := unicodeEscape(text)
		// An \ufffd that was sent need not be replaced, but replacing it changes nothing.
		return n, r == utf8.RuneError
	}
	return 0, false
}

// unicodeEscape decodes \uXXXX, or a pair of them that is one character. n is 0
// when it is malformed. A character that is not allowed becomes U+FFFD.
func unicodeEscape(text string) (r rune, n int) {
	r, ok := hex4(text)
	switch {
	case !ok:
		return 0, 0
	case r == 0:
		return utf8.RuneError, 6
	case r >= 0xD800 && r < 0xDC00:
		if low, ok := hex4(text[6:]); ok && low >= 0xDC00 && low < 0xE000 {
			return (r-0xD800)<<10 + (low - 0xDC00) + 0x10000, 12
		}
		return utf8.RuneError, 6
	case r >= 0xDC00 && r < 0xE000:
		return utf8.RuneError, 6
	}
	return r, 6
}

func hex4(text string) (r rune, ok bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	for i := 2; i < 6; i++ {
		d := unhex(text[i])
		if d < 0 {
			return 0, false
		}
		r = r<<4 | rune(d)
	}
	return r, true
}

// unhex is the value of a hexadecimal digit, -1 for any other byte.
func unhex(c byte) int { return int(hexValues[c]) - 1 }

// hexValues has one more than the value, 0 for what is no digit.
var hexValues = [256]uint8{
	'0': 1, '1': 2, '2': 3, '3': 4, '4': 5, '5': 6, '6': 7, '7': 8, '8': 9, '9': 10,
	'a': 11, 'b': 12, 'c': 13, 'd': 14, 'e': 15, 'f': 16, 'A': 11, 'B': 12, 'C': 13, 'D': 14, 'E': 15, 'F': 16,
}

// unescape decodes what is between the quotes of a checked string.
func unescape(raw string) string {
	b := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); {
		if raw[i] != '\\' {
			b = append(b, raw[i])
			i++
			continue
		}
		n := 2
		switch c := raw[i+1]; c {
		case 'b':
			b = append(b, '\b')
		case 'f':
			b = append(b, '\f')
		case 'n':
			b = append(b, '\n')
		case 'r':
			b = append(b, '\r')
		case 't':
			b = append(b, '\t')
		case 'u':
			var r rune
			r, n = unicodeEscape(raw[i:])
			b = utf8.AppendRune(b, r)
		default:
			b = append(b, c)
		}
		i += n
	}
	return strings.ToValidUTF8(string(b), string(utf8.RuneError))
}
