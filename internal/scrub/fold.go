package scrub

import (
	"strings"
	"unicode/utf8"
)

// fold writes a text as its plainest form that a URL or mail program takes for
// the same: without escapes of signs that need none ("%61na%2Eb%31"; RFC 3986,
// 6.2.2.2), and with the fullwidth forms of ASCII, escaped or not, as their plain
// signs ("ana＠x．com"), and those of pages and scripts ("ana&#64;x.com", "ana\u0040x.com").
// Escapes inside of escapes are read at every level.
func fold(text string) string { return foldFullwidth(foldEscapes(foldReferences(text))) }

// foldReferences writes the signs of addresses and numbers plain that are written as HTML's
// references by number, or as a script's escapes.
func foldReferences(text string) string {
	if !strings.ContainsAny(text, `#\%`) {
		return text
	}
	var out strings.Builder
	copied := 0
	for i := 0; i < len(text); i++ {
		if c := text[i]; c != '&' && c != '\\' && c != '%' {
			continue
		}
		sign, end := referenceAt(text, i)
		if end == 0 || !unreserved(sign) && sign != '@' && sign != '+' {
			continue
		}
		out.WriteString(text[copied:i])
		out.WriteByte(sign)
		copied, i = end, end-1
	}
	if copied == 0 {
		return text
	}
	out.WriteString(text[copied:])
	return out.String()
}

// referenceAt reads "&#64;", "&#x40;", "\u0040" or "\x40" at i, whose signs may be escaped; end is 0
// where none is.
func referenceAt(text string, i int) (sign byte, end int) {
	base, most := 16, 0
	digits := behind(text, i, '\\')
	switch {
	case digits > 0 && between(text, digits, 'u', 'u'):
		digits, most = digits+1, 4
	case digits > 0 && between(text, digits, 'x', 'x'):
		digits, most = digits+1, 2
	default:
		if digits = behind(text, i, '&'); digits > 0 {
			digits = behind(text, digits, '#')
		}
		if digits == 0 {
			return 0, 0
		}
		if most = 7; between(text, digits, 'x', 'x') || between(text, digits, 'X', 'X') {
			digits++
		} else {
			base = 10
		}
	}
	value, end := 0, digits
	for ; end < len(text) && end-digits < most && value < utf8.RuneSelf; end++ {
		if c := text[end]; !isHex(c) || base == 10 && !isDigit(c) {
			break
		}
		value = base*value + int(hexValue(text[end]))
	}
	if end == digits || value >= utf8.RuneSelf || most < 7 && end-digits < most {
		return 0, 0
	}
	if semicolon := behind(text, end, ';'); most == 7 && semicolon > 0 {
		end = semicolon
	}
	return byte(value), end
}

// foldFullwidth writes the fullwidth forms of ASCII (U+FF01 to U+FF5E), the
// small @ and the ideographic full stops as their plain signs.
func foldFullwidth(text string) string {
	if !strings.Contains(text, "\xEF") && !strings.Contains(text, "。") { // U+FF01 to U+FF5E, ﹫ and ｡ begin with 0xEF
		return text
	}
	return strings.Map(func(r rune) rune {
		if r >= '！' && r <= '～' {
			return r - '！' + '!'
		}
		switch r {
		case '﹫':
			return '@'
		case '。', '｡':
			return '.'
		}
		return r
	}, text)
}

func foldEscapes(text string) string {
	if !strings.Contains(text, "%") {
		return text
	}
	var out strings.Builder
	copied := 0
	for i := 0; i < len(text); {
		sign, level, end := escapedSign(text, i)
		if end == 0 {
			i++
			continue
		}
		if unreserved(sign) {
			out.WriteString(text[copied:i])
			out.WriteByte(sign)
			copied = end
		} else if end-i > len("%00")+2*level { // a fullwidth sign
			out.WriteString(text[copied:i])
			out.WriteString("%" + strings.Repeat("25", level) + string(hexDigits[sign>>4]) + string(hexDigits[sign&15]))
			copied = end
		}
		i = end
	}
	if copied == 0 {
		return text
	}
	out.WriteString(text[copied:])
	return out.String()
}

const hexDigits = "0123456789ABCDEF"

// unreserved tells whether a sign needs no escape in a URL (RFC 3986, 2.3).
func unreserved(c byte) bool {
	return isDigit(c) || isUpper(c) || isLower(c) || c == '-' || c == '.' || c == '_' || c == '~'
}

// escapedSign reads the escape at i: "%2E", "%252E" or the three bytes of a
// fullwidth sign, for which it returns the plain one. level is how often it was
// escaped again; end is 0 where no escape is.
func escapedSign(text string, i int) (sign byte, level, end int) {
	first, level, end := escapedByte(text, i)
	if first != 0xEF {
		return first, level, end
	}
	second, level2, end2 := escapedByte(text, end)
	third, level3, end3 := escapedByte(text, end2)
	if level2 != level || level3 != level {
		return first, level, end
	}
	// Where one is no escape it is 0 here, which gives no such rune.
	if r, _ := utf8.DecodeRune([]byte{first, second, third}); r >= '！' && r <= '～' {
		return byte(r - '！' + '!'), level, end3
	}
	return first, level, end
}

// escapedByte reads one escape at i, which may be escaped again.
func escapedByte(text string, i int) (value byte, level, end int) {
	if i >= len(text) || text[i] != '%' {
		return 0, 0, 0
	}
	i++
	for ; strings.HasPrefix(text[i:], "25") && hexPair(text, i+2); i += 2 {
		level++
	}
	if !hexPair(text, i) {
		return 0, 0, 0
	}
	return hexValue(text[i])<<4 | hexValue(text[i+1]), level, i + 2
}

func hexPair(text string, i int) bool { return i+2 <= len(text) && isHex(text[i]) && isHex(text[i+1]) }

// hexValue is the value of a hexadecimal digit.
func hexValue(c byte) byte {
	if isDigit(c) {
		return c - '0'
	}
	return c&7 + 9
}
