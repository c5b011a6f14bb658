package commerce

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// FoldName returns a name as it is compared: NFKC, case and accents folded, inner
// spaces collapsed. "  ANA  prádo" and "Ana Prado" are one influencer.
func FoldName(name string) string {
	folded := cases.Fold().String(norm.NFKD.String(strip(name)))
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, folded)), " ")
}

// FoldCode returns a coupon code as it is compared: NFKC, invisible characters
// stripped, trimmed, upper case. Accents stay: they are part of a code.
func FoldCode(code string) string {
	return strings.ToUpper(norm.NFKC.String(strings.TrimSpace(strip(norm.NFKC.String(code)))))
}

// SplitCodes returns the codes of a discount code field that holds several.
func SplitCodes(field string) []string {
	return strings.FieldsFunc(field, func(r rune) bool { return r == ',' || r == ';' || r == '|' })
}

// strip drops format and control characters: zero-width spaces, joiners, BOM, soft hyphens.
func strip(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) || (unicode.IsControl(r) && !unicode.IsSpace(r)) {
			return -1
		}
		return r
	}, s)
}
