package identity

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// What can prove that two visits are one shopper's is told by its shape here, for events
// and orders alike (docs/attribution.md, "Proof"): a random number is, whatever somebody
// can work out from what they know of a shopper or a shop is not.

const (
	// minToken is how many characters a cart token has at least that cannot be guessed: 16
	// hexadecimal digits are 64 random bits.
	minToken = 16
	// minBits is how many random bits are left at least without words, numbers and times: a
	// million guesses a second for twelve days.
	minBits = 40
	// minDistinct is how many different characters are among these. Of 16 random hexadecimal
	// digits fewer are different in one of 28,000.
	minDistinct = 6
	// minDistinctUUID is the same for the last 18 random digits of a UUID: one of 38 million.
	minDistinctUUID = 5
)

// SecretUUID reports whether a text is a UUID that is made at random: of version 4 or 7
// (RFC 9562, 5.4 and 5.7), and not filled up from a number. The other versions are made of
// a name, or of a clock and a network card.
func SecretUUID(text string) bool {
	if !isUUID(text) || text[14] != '4' && text[14] != '7' || !strings.ContainsRune("89abAB", rune(text[19])) {
		return false
	}
	// Behind the version, and without the variant, all digits are random in both versions.
	var digits [18]byte
	copy(digits[copy(digits[:], text[15:18]):], text[20:23])
	copy(digits[6:], text[24:])
	for i := range digits {
		digits[i] |= 'a' - 'A' // lower case; digits stay
	}
	return distinct(digits[:]) >= minDistinctUUID && !isFilledUp(digits[:])
}

// isFilledUp reports whether the random digits of a UUID are those of a number, with zeros or
// another digit around it: six zeros at the beginning, of random digits one of 17 million, or
// eight equal ones anywhere, one of 24 million.
func isFilledUp(digits []byte) bool {
	run := 0
	for i := range digits {
		if i > 0 && digits[i] != digits[i-1] {
			run = 0
		}
		if run++; run == 8 || run == 6 && i == 5 && digits[i] == '0' {
			return true
		}
	}
	return false
}

// SecretToken reports whether a cart token is a secret that only the browser and the shop
// know. It is none where it is shorter than 16 characters, a UUID that is not SecretUUID, or
// where too few characters are left of it without what can be guessed: e-mails, words,
// numbers, times, a UUID that is not SecretUUID, and a prefix with a counter; also where such a
// text is percent-encoded, in base64 or in hexadecimal digits. What looks random is taken for
// random: the hash of a number does.
func SecretToken(raw string) bool {
	token := NormalID(raw)
	if utf8.RuneCountInString(token) < minToken {
		return false
	}
	if isUUID(token) {
		return SecretUUID(token)
	}
	token = withoutOtherUUIDs(plainOf(token))
	if strings.Contains(token, "@") {
		token = replaceFound(token, findEmail, func(string, span) string { return "/" })
	}
	var buffer [maxID]byte
	random := appendRandom(buffer[:0], once(token))
	return bitsOf(random) >= minBits && distinct(random) >= minDistinct
}

// withoutOtherUUIDs returns a text without the UUIDs in it that are not SecretUUID.
func withoutOtherUUIDs(text string) string {
	const length, hyphen = 36, 8
	for i := strings.IndexByte(text, '-'); i >= 0 && i+length-hyphen <= len(text); {
		if begin := i - hyphen; begin >= 0 && isUUID(text[begin:begin+length]) && !SecretUUID(text[begin:begin+length]) {
			text = text[:begin] + "/" + text[begin+length:]
			i = begin
		}
		next := strings.IndexByte(text[i+1:], '-')
		if next < 0 {
			break
		}
		i += 1 + next
	}
	return text
}

// once returns the part of a text that repeats, once: "ab1ab1ab" is "ab1".
func once(text string) string {
	var buffer [maxID]int
	borders := buffer[:0] // of each beginning: how long its longest proper beginning is that it ends in
	n := 0
	for i := range len(text) {
		for n > 0 && text[i] != text[n] {
			n = borders[n-1]
		}
		if i > 0 && text[i] == text[n] {
			n++
		}
		borders = append(borders, n)
	}
	if period := len(text) - n; 2*period <= len(text) {
		return text[:period]
	}
	return text
}

// appendRandom appends the characters of a text that cannot be guessed by its shape. The
// text is cut where it has neither a letter nor a digit. None count of a part that is a
// number, a word, a word with a number, or a time. A character that follows itself counts
// once: a counter is filled up with zeros.
func appendRandom(dst []byte, text string) []byte {
	isSign := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	for text != "" {
		end := strings.IndexFunc(text, isSign)
		if end < 0 {
			end = len(text)
		}
		dst = appendPart(dst, text[:end])
		text = strings.TrimLeftFunc(text[end:], isSign)
	}
	return dst
}

// appendPart is appendRandom of one part.
func appendPart(dst []byte, part string) []byte {
	begin := len(dst)
	changes := 0 // from letters to digits and back
	ofTime := true
	var before rune
	for i, r := range part {
		if i > 0 && unicode.IsDigit(r) != unicode.IsDigit(before) {
			changes++
		}
		if r != before {
			dst = utf8.AppendRune(dst, r)
		}
		ofTime = ofTime && (unicode.IsDigit(r) || strings.ContainsRune("DHMSTWYZdhmstwyz", r))
		before = r
	}
	switch {
	case changes <= 1 && isWordlike(part), ofTime && strings.ContainsAny(part, "HMSTWYZhmstwyz"): // 20261123T205938Z, 2026W47, 20h59m
		return dst[:begin]
	case changes == 1: // the number stands before or behind
		return append(dst[:begin], strings.TrimFunc(part, unicode.IsDigit)...)
	}
	return dst
}

// isWordlike reports whether the letters of a text are written as words and names of
// variables are: in one case, or each word with a capital. No letters are.
func isWordlike(text string) bool {
	small, capitals, camel := 0, 0, true
	run := 2 // letters of lower case since the last capital; the first word may have none
	for _, r := range text {
		switch {
		case unicode.IsUpper(r):
			camel = camel && run >= 2
			capitals, run = capitals+1, 0
		case unicode.IsLetter(r):
			small, run = small+1, run+1
		}
	}
	return small == 0 || capitals == 0 || camel && run >= 2
}

// bitsOf returns how many bits random characters have: 4 each of hexadecimal digits, 5 of
// letters of one case and digits, else 6.
func bitsOf(random []byte) int {
	small, capital, beyond := false, false, false
	for _, c := range random {
		small, capital = small || isLower(c), capital || isUpper(c)
		beyond = beyond || !isHex(c)
	}
	switch {
	case small && capital:
		return 6 * len(random)
	case beyond:
		return 5 * len(random)
	}
	return 4 * len(random)
}

// distinct returns how many different bytes a text has.
func distinct(text []byte) (n int) {
	var seen [256]bool
	for _, c := range text {
		if !seen[c] {
			seen[c], n = true, n+1
		}
	}
	return n
}
