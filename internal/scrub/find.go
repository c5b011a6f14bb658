package scrub

import "strings"

// What is removed from texts is found by functions that go over each byte a bounded
// number of times: anybody may send any text, so regular expressions cost too much.
// find_test.go has the expressions that say what each function finds.

// span is what was found: text[begin:end], of which text[begin:value] stays.
type span struct{ begin, value, end int }

// replaceFound puts what with returns in the place of each find; where that is
// "", the find stays. find gives the first at i or behind it, with an end of 0 for
// none.
func replaceFound(text string, find func(text string, i int) span, with func(text string, s span) string) string {
	var out strings.Builder
	copied := 0
	for s := find(text, 0); s.end > 0; s = find(text, s.end) {
		scrubbed := with(text, s)
		if scrubbed == "" {
			continue
		}
		out.WriteString(text[copied:s.value])
		out.WriteString(scrubbed)
		copied = s.end
	}
	if copied == 0 {
		return text
	}
	out.WriteString(text[copied:])
	return out.String()
}

// signs of URLs may stand as they are, percent-encoded, or encoded again (a URL
// inside a URL).

// behind is the index behind the sign c at i, plain or escaped; 0 for another.
func behind(text string, i int, c byte) int {
	if i >= len(text) {
		return 0
	}
	if text[i] == c {
		return i + 1
	}
	return behindEscape(text, i, c)
}

// behindEscape is behind for an escaped sign alone.
func behindEscape(text string, i int, c byte) int {
	if i < len(text) && text[i] == '%' {
		if value, _, end := escapedByte(text, i); end > 0 && value == c {
			return end
		}
	}
	return 0
}

// behindGaps is the index behind up to most signs of what people put between the
// groups of a number.
func behindGaps(text string, i, most int) int {
	for ; most > 0 && i < len(text); most-- {
		switch text[i] {
		case ' ', '.', '(', ')', '-', '+':
			i++
			continue
		case '%':
			if value, _, end := escapedByte(text, i); end > 0 && (value == ' ' || value == '(' || value == ')' || value == '-') {
				i = end
				continue
			}
		}
		return i
	}
	return i
}

// behindNumber is the index behind a digit at i and, with gaps between them, at
// least and at most so many more; 0 for fewer.
func behindNumber(text string, i, least, most int) int {
	if !digitsAt(text, i, 1) {
		return 0
	}
	n, end := 0, i+1
	for n < most {
		next := behindGaps(text, end, maxGap)
		if !digitsAt(text, next, 1) {
			break
		}
		n, end = n+1, next+1
	}
	if n < least {
		return 0
	}
	return end
}

// maxGap is how many signs stand between two digits of a number at most.
const maxGap = 3

// digitsAt tells whether n digits stand at i.
func digitsAt(text string, i, n int) bool {
	if i+n > len(text) {
		return false
	}
	for _, c := range []byte(text[i : i+n]) {
		if !isDigit(c) {
			return false
		}
	}
	return true
}

// between tells whether a byte from low to high stands at i.
func between(text string, i int, low, high byte) bool {
	return i < len(text) && text[i] >= low && text[i] <= high
}

// wordBegins tells whether a word may begin at i: no letter, digit or underscore of
// ASCII stands before it. wordEnds is the same for its end.
func wordBegins(text string, i int) bool { return i == 0 || !isWord(text[i-1]) }

func wordEnds(text string, i int) bool { return i == len(text) || !isWord(text[i]) }

func isWord(c byte) bool { return isDigit(c) || isUpper(c) || isLower(c) || c == '_' }

// behindWord is the index behind a word at i, which is given in lower case; 0 for
// another.
func behindWord(text string, i int, word string) int {
	if i+len(word) > len(text) {
		return 0
	}
	for j := range len(word) {
		c := text[i+j]
		if isUpper(c) {
			c += 'a' - 'A'
		}
		if c != word[j] {
			return 0
		}
	}
	return i + len(word)
}
