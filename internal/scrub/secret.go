package scrub

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/uuidtext"
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
	// minNovelUUID is how many of these 18 are left at least without what counts up or repeats
	// (novel). Of random digits fewer are left in one of 40 million.
	minNovelUUID = 11
	// minRun and minRepeat are how many characters novel takes for ones that count up or down,
	// and for ones that were there before.
	minRun, minRepeat = 6, 5
	// maxNovel is how many characters novel looks at: it compares each with all before.
	maxNovel = 128
)

// SecretUUID reports whether a text is a UUID that is made at random: of version 4 or 7
// (RFC 9562, 5.4 and 5.7), and not filled up from a number. The other versions are made of
// a name, or of a clock and a network card.
func SecretUUID(text string) bool {
	if !uuidtext.Is(text) || text[14] != '4' && text[14] != '7' || !strings.ContainsRune("89abAB", rune(text[19])) {
		return false
	}
	// Behind the version, and without the variant, all digits are random in both versions.
	var digits [18]byte
	copy(digits[copy(digits[:], text[15:18]):], text[20:23])
	copy(digits[6:], text[24:])
	for i := range digits {
		digits[i] |= 'a' - 'A' // lower case; digits stay
	}
	if isFilledUp(digits[:]) || !bytes.ContainsAny(digits[:], "0123456789") { // letters alone are words: one of 46 million
		return false
	}
	left := novel(digits[:])
	return len(left) >= minNovelUUID && distinct(left) >= minDistinctUUID
}

// isFilledUp reports whether the random digits of a UUID are those of a number, with zeros or
// another digit around it: six zeros at the beginning, of random digits one of 17 million, or
// eight equal ones anywhere, one of 24 million.
func isFilledUp(digits []byte) bool {
	run, last := 0, byte(0)
	for i, digit := range digits {
		if digit != last {
			run, last = 0, digit
		}
		if run++; run == 8 || run == 6 && i == 5 && digit == '0' {
			return true
		}
	}
	return false
}

// SecretToken reports whether a cart token is a secret that only the browser and the shop
// know. It is none where it is shorter than 16 characters, a UUID that is not SecretUUID, or
// where too few characters are left of it without what can be guessed: e-mails, words,
// numbers, times, a UUID that is not SecretUUID, a prefix with a counter, and what counts up or
// repeats; also where such a
// text is percent-encoded, in base64 or in hexadecimal digits. What looks random is taken for
// random: the hash of a number does.
func SecretToken(raw string) bool {
	token := identity.NormalID(raw)
	if utf8.RuneCountInString(token) < minToken {
		return false
	}
	if uuidtext.Is(token) {
		return SecretUUID(token)
	}
	token = withoutOtherUUIDs(plainOf(token))
	if strings.Contains(token, "@") {
		token = replaceFound(token, findEmail, func(string, span) string { return "/" })
	}
	var buffer [identity.MaxID]byte
	random := novel(appendRandom(buffer[:0], token))
	return bitsOf(random) >= minBits && distinct(random) >= minDistinct
}

// withoutOtherUUIDs returns a text without the UUIDs in it that are not SecretUUID.
func withoutOtherUUIDs(text string) string {
	const length, hyphen = 36, 8
	for i := strings.IndexByte(text, '-'); i >= 0 && i+length-hyphen <= len(text); {
		if begin := i - hyphen; begin >= 0 && uuidtext.Is(text[begin:begin+length]) && !SecretUUID(text[begin:begin+length]) {
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

// novel returns a text in its own memory, without the characters that count up or down from the
// ones before, and without those that were there before in the same order: "x23456789y" is "x2y".
// Of more than maxNovel characters the first are enough.
func novel(text []byte) []byte {
	text = text[:min(len(text), maxNovel)]
	left := text[:0]
	for i := 0; i < len(text); {
		left = append(left, text[i])
		i += max(1, countingAt(text[i:]))
	}
	var buffer [maxNovel]byte
	counted := append(buffer[:0], left...)
	left = left[:0]
	for i := 0; i < len(counted); {
		n := repeatedAt(counted, i)
		if n == 0 {
			left, n = append(left, counted[i]), 1
		}
		i += n
	}
	return left
}

// repeatedAt returns how many characters from i on a text has before i too, or 0 for fewer than minRepeat.
func repeatedAt(text []byte, i int) (most int) {
	for j := 0; j+minRepeat <= i && i+minRepeat <= len(text); j++ {
		n := 0
		for i+n < len(text) && j+n < i && text[j+n] == text[i+n] {
			n++
		}
		if n >= minRepeat {
			most = max(most, n)
		}
	}
	return most
}

// countingAt returns how many characters at the beginning of a text count up or down, decimal or
// hexadecimal, or 0 for fewer than minRun.
func countingAt(text []byte) int {
	follows := func(a, b byte) bool {
		return b == a+1 || a == '9' && (b == '0' || b|0x20 == 'a') || a|0x20 == 'f' && b == '0'
	}
	up, down := 1, 1
	for up < len(text) && follows(text[up-1], text[up]) {
		up++
	}
	for down < len(text) && follows(text[down], text[down-1]) {
		down++
	}
	if n := max(up, down); n >= minRun {
		return n
	}
	return 0
}

// withoutTimes returns a text without the numbers in it that are Unix times of the years 2015 to
// 2039, in seconds or in thousandths, millionths or billionths of them.
func withoutTimes(text string) string {
	const seconds = 10
	for i := 0; i < len(text); i++ {
		n := 0
		for i+n < len(text) && isDigit(text[i+n]) {
			n++
		}
		if n >= seconds && n < 20 && n%3 == 1 && text[i:i+seconds] >= "1420070400" && text[i:i+seconds] < "2208988800" {
			text, n = text[:i]+text[i+n:], 0
		}
		i += n
	}
	return text
}

// once returns the part of a text that repeats, once: "ab1ab1ab" is "ab1", as "ab1.ab1" is.
func once(text string) string {
	var buffer [identity.MaxID]int
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
	period := len(text) - n
	if n > 0 && (len(text)+1)%period == 0 && isSign(rune(text[period-1])) { // a sign stands between
		return text[:period-1]
	}
	if 2*period <= len(text) {
		return text[:period]
	}
	return text
}

func isSign(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// appendRandom appends the characters of a text that cannot be guessed by its shape. The
// text is cut where it has neither a letter nor a digit. None count of a part that is a
// number, a word, a word with a number, or a time. A character that follows itself counts
// once: a counter is filled up with zeros.
func appendRandom(dst []byte, text string) []byte {
	for text != "" {
		end := strings.IndexFunc(text, isSign)
		if end < 0 {
			end = len(text)
		}
		dst = appendPart(dst, withoutTimes(text[:end]))
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
