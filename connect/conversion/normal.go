package conversion

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"unicode"
)

// hashed is the SHA-256 of a normalised value in hexadecimal digits, as every network wants it; "" of "".
func hashed(normal string) string {
	if normal == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(normal))
	return hex.EncodeToString(sum[:])
}

// list is a value in a list of one; nil of "".
func list(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}

// address is an e-mail address as Meta's and Google's own libraries take it.
var address = regexp.MustCompile("^" + atom + `(\.` + atom + `)*@([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z0-9-]*[a-z0-9]$`)

const atom = "[a-z0-9!#$%&'*+/=?^_`{|}~-]+"

// email is an address trimmed and in lower case; "" of what is none.
func email(raw string) string {
	normal := strings.ToLower(strings.TrimSpace(raw))
	if !address.MatchString(normal) {
		return ""
	}
	return normal
}

// adsEmail is googleEmail, of Gmail without "+" and what is behind it in the name too (Data Manager, "Format user data").
func adsEmail(raw string) string {
	normal := googleEmail(raw)
	local, domain, _ := strings.Cut(normal, "@")
	if domain == "gmail.com" || domain == "googlemail.com" {
		local, _, _ = strings.Cut(local, "+")
		return local + "@" + domain
	}
	return normal
}

// googleEmail is email, without the dots that Gmail takes no notice of. Only Google leaves them out.
func googleEmail(raw string) string {
	normal := email(raw)
	local, domain, _ := strings.Cut(normal, "@")
	if domain == "gmail.com" || domain == "googlemail.com" {
		return strings.ReplaceAll(local, ".", "") + "@" + domain
	}
	return normal
}

// only keeps the characters of a text that are wanted.
func only(text string, wanted func(r rune) bool) string {
	return strings.Map(func(r rune) rune {
		if wanted(r) {
			return r
		}
		return -1
	}, text)
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

// metaPhone is a number's digits with the country code, without zeros before it.
func metaPhone(e164 string) string { return strings.TrimLeft(only(e164, isDigit), "0") }

// plusPhone is a number's digits with the country code, and "+" before it, as Google and TikTok take it.
func plusPhone(e164 string) string {
	if digits := only(e164, isDigit); digits != "" {
		return "+" + digits
	}
	return ""
}

// The rules of Meta for texts: its capi-param-builder has them for both sides, the pixel and this one.

// metaName is a name in lower case without spaces and punctuation of ASCII.
func metaName(raw string) string {
	return only(strings.ToLower(raw), func(r rune) bool {
		return !unicode.IsSpace(r) && (r > unicode.MaxASCII || !unicode.IsPunct(r) && !unicode.IsSymbol(r))
	})
}

// metaWord is the letters and digits of ASCII in lower case; "" where no letter is first. São Paulo is "sopaulo" there.
func metaWord(raw string) string {
	word := only(strings.ToLower(raw), func(r rune) bool { return isDigit(r) || r >= 'a' && r <= 'z' })
	if word == "" || isDigit(rune(word[0])) {
		return ""
	}
	return word
}

// metaCode is a code of two letters, of a state or a country; "" of anything else.
func metaCode(raw string) string {
	if word := metaWord(raw); len(word) == len("br") && len(strings.TrimSpace(raw)) == len(word) {
		return word
	}
	return ""
}

// metaZip is a postal code in lower case without spaces, to its first dash.
func metaZip(raw string) string {
	zip, _, _ := strings.Cut(only(strings.ToLower(raw), func(r rune) bool { return !unicode.IsSpace(r) }), "-")
	return zip
}

// metaID is an id in lower case without spaces.
func metaID(raw string) string {
	return only(strings.ToLower(raw), func(r rune) bool { return !unicode.IsSpace(r) })
}

// names divides a name after its first word, as shops do that have one field for it.
func names(full string) (given, family string) {
	words := strings.Fields(full)
	if len(words) == 0 {
		return "", ""
	}
	return words[0], strings.Join(words[1:], " ")
}
