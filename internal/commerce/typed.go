package commerce

import "strings"

// TypedDecimal reads a decimal as people type it, with a comma or a point before
// the decimals.
func TypedDecimal(text string) string {
	text = strings.Map(func(r rune) rune {
		if r == ' ' || r == '\u00a0' {
			return -1
		}
		return r
	}, text)
	comma, point := strings.LastIndex(text, ","), strings.LastIndex(text, ".")
	if comma > point { // 1.234,5 and 1234,5
		return strings.ReplaceAll(strings.ReplaceAll(text, ".", ""), ",", ".")
	}
	return strings.ReplaceAll(text, ",", "") // 1,234.5 and 1234.5
}
