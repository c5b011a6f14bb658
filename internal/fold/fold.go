// Package fold folds names and coupon codes to the form in which they are compared. The edge,
// the admin API, the rules and the store all compare by it. Pure.
package fold

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Name returns a name as it is compared: NFKC, case and accents folded, inner
// spaces collapsed. "  ANA  prádo" and "Ana Prado" are one influencer.
func Name(name string) string {
	folded := cases.Fold().String(norm.NFKD.String(strip(name)))
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, folded)), " ")
}

// Code returns a coupon code as it is compared: NFKC, invisible characters
// stripped, trimmed, upper case, and a sharp s as SS. Accents stay: they are part of a
// code.
func Code(code string) string {
	upper := strings.ToUpper(norm.NFKC.String(strings.TrimSpace(strip(norm.NFKC.String(code)))))
	return sharpS.Replace(upper)
}

// sharpS writes both cases of the sharp s as Unicode's full mapping to upper case does.
var sharpS = strings.NewReplacer("ß", "SS", "ẞ", "SS")

// SplitCodes returns the codes of a discount code field that holds several.
func SplitCodes(field string) []string {
	return strings.FieldsFunc(field, func(r rune) bool { return r == ',' || r == ';' || r == '|' })
}

// strip drops what nobody sees: format and control characters (zero-width spaces,
// joiners, BOM, soft hyphens), variation selectors, fillers and the other characters
// that Unicode says are ignorable (DerivedCoreProperties, Default_Ignorable_Code_Point),
// and the blank of Braille.
func strip(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point),
			unicode.IsControl(r) && !unicode.IsSpace(r), r == brailleBlank:
			return -1
		}
		return r
	}, s)
}

const brailleBlank = '\u2800'
