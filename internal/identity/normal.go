package identity

import (
	"strings"
	"unicode/utf8"

	"github.com/nyaruka/phonenumbers"
)

// Bounds of what is normalised at all, in bytes; longer is junk.
const (
	maxEmail = 254 // RFC 5321, 4.5.3.1.3, less the angle brackets
	maxPhone = 64
	MaxID    = 512
)

// NormalEmail is an address trimmed and lower-cased, or "" for junk.
func NormalEmail(raw string) string {
	email := strings.ToLower(strings.TrimSpace(raw))
	local, domain, found := strings.Cut(email, "@")
	if !found || local == "" || len(email) > maxEmail || strings.ContainsAny(email, " \t\r\n,;<>\"") {
		return ""
	}
	domain = strings.TrimSuffix(domain, ".")
	if strings.Contains(domain, "@") || !strings.Contains(strings.Trim(domain, "."), ".") || junk(local) && junk(domain) {
		return ""
	}
	return email[:len(local)+len("@")+len(domain)] // less the dot
}

// NormalPhone is a number in E.164, read in country (ISO 3166-1 alpha-2) when
// it has no country code of its own, or "" for junk. A country code may have "+",
// "00" or nothing before it; without "+" the number counts as that country's where
// it is none of the store's country and a valid one there.
func NormalPhone(raw, country string) string {
	raw = strings.TrimSpace(raw)
	if junk(raw) || len(raw) > maxPhone {
		return ""
	}
	country = strings.ToUpper(country)
	if number := brazilianMobile(raw, country); number != "" {
		return number
	}
	if number := internationalNumber(raw); number != "" {
		return number
	}
	return parsedPhone(raw, country)
}

// parsedPhone reads a number by the library's metadata, which costs some ten
// microseconds.
func parsedPhone(raw, country string) string {
	number, err := phonenumbers.Parse(raw, country)
	if raw[0] != '+' && (err != nil || !phonenumbers.IsValidNumber(number)) {
		full, fullErr := phonenumbers.Parse("+"+strings.TrimPrefix(raw, "00"), country)
		if fullErr == nil && phonenumbers.IsValidNumber(full) {
			number, err = full, nil
		}
	}
	if err != nil {
		return ""
	}
	number.Extension = nil // an extension of a number does not make another shopper
	possible := phonenumbers.IsPossibleNumberWithReason(number) == phonenumbers.IS_POSSIBLE
	if number.GetCountryCode() == brazil {
		number.NationalNumber = ninthDigit(number.GetNationalNumber())
		possible = phonenumbers.IsValidNumber(number) // a check of the length alone would take nine digits without an area
	}
	if !possible || number.GetNationalNumber() == 0 {
		return ""
	}
	return phonenumbers.Format(number, phonenumbers.E164)
}

const brazil = 55

// ninthDigit gives an old Brazilian mobile number, two digits of area and
// eight that begin with 6 to 9, the 9 that Anatel put before it (Resolução
// 553/2010, complete since 2016). Landlines begin with 2 to 5 and stay.
func ninthDigit(national uint64) *uint64 {
	const eight = 100_000_000
	area, line := national/eight, national%eight
	if area >= 11 && area <= 99 && line >= 60_000_000 {
		national = (area*10+9)*eight + line
	}
	return &national
}

// NormalID is a customer id or cart token trimmed, or "" for junk. Case stays:
// it may be part of the id. What is no Unicode text was read as U+FFFD, so different
// ids with it look the same: they are junk.
func NormalID(raw string) string {
	id := strings.TrimSpace(raw)
	if junk(id) || len(id) > MaxID || strings.ContainsRune(id, utf8.RuneError) {
		return ""
	}
	return id
}

// junk tells whether a value is what a page sends when it knows nothing: empty,
// the text of a JavaScript null, or only zeros ("0", "0.0", the nil UUID).
func junk(s string) bool {
	if len(s) <= len("[object object]") && (s == "" || s[0] == '[' || s[0] >= 'A') {
		switch strings.ToLower(s) {
		case "null", "undefined", "nil", "none", "nan", "n/a", "false", "true", "unknown", "anonymous", "guest", "[object object]":
			return true
		}
	}
	for i := range len(s) {
		switch s[i] {
		case '0', '+', '-', '.', '(', ')', '_', '/', ' ':
		default:
			return false
		}
	}
	return true
}
