package scrub

import "strings"

// scrubbedNumber stands where a CPF, a CNPJ or the number of a card was removed.
const scrubbedNumber = "(number)"

// scrubDocuments removes the numbers of Brazil's documents (CPF, CNPJ) and of payment cards:
// in the groups in which they are written, where their check digits are right, and a
// card's as one row too. Behind the words CPF and CNPJ a row of as many digits goes
// whatever they are.
func scrubDocuments(text string) string {
	removed := func(string, span) string { return scrubbedNumber }
	if mayHoldPhone(text) {
		text = replaceFound(text, findDocument, removed)
	}
	if mayHoldCNPJ(text) {
		text = replaceFound(text, findCNPJ, removed)
	}
	return text
}

// findDocument finds a number of groups of digits.
func findDocument(text string, i int) span {
	for begins := wordBegins(text, i); i < len(text); {
		switch c := text[i]; {
		case isDigit(c):
			if begins {
				if end := documentEnd(text, i); end > 0 {
					return span{i, i, end}
				}
			}
			for i < len(text) && isDigit(text[i]) {
				i++
			}
			begins = false
		case c == '%':
			if _, _, end := escapedByte(text, i); end > 0 {
				i, begins = end, true
				continue
			}
			i, begins = i+1, true
		default:
			i, begins = i+1, !isWord(c)
		}
	}
	return span{}
}

// Bounds of what documentEnd reads.
const (
	mostDigits = 19 // of a card
	mostGroups = 5
)

// documentEnd is the index behind the number whose first digit is at i, the longest that is
// one; 0 for none.
func documentEnd(text string, i int) (end int) {
	labelled := behindLabel(text, i)
	digits, groups := make([]byte, 0, mostDigits), make([]byte, 0, mostGroups)
	for first := i; ; {
		begin := i
		for i < len(text) && isDigit(text[i]) {
			if len(digits) == mostDigits {
				return end
			}
			digits = append(digits, text[i]-'0')
			i++
		}
		groups = append(groups, byte(i-begin))
		fraction := len(groups) == 1 &&
			(first > 0 && (text[first-1] == '.' || text[first-1] == ',') || between(text, i, '.', '.') && digitsAt(text, i+1, 1))
		if wordEnds(text, i) && !fraction && isDocument(digits, string(groups), labelled) {
			end = i
		}
		next := behindGap(text, i)
		if len(groups) == mostGroups || !digitsAt(text, next, 1) {
			return end
		}
		i = next
	}
}

// behindGap is the index behind one sign that stands between the groups of a document's or a
// card's number, or i.
func behindGap(text string, i int) int {
	for _, sign := range []byte(".-/ +") {
		if next := behind(text, i, sign); next > 0 {
			return next
		}
	}
	return i
}

// behindLabel tells whether the word CPF or CNPJ stands just before a number.
func behindLabel(text string, i int) bool {
	const near = 24 // bytes: "CNPJ%20n.%C2%BA%3A%20"
	before := strings.ToLower(text[max(0, i-near):i])
	return strings.Contains(before, "cpf") || strings.Contains(before, "cnpj")
}

// isDocument tells whether digits in groups of such lengths are a document's or a card's number.
func isDocument(digits []byte, groups string, labelled bool) bool {
	switch groups {
	case "\x03\x03\x03\x02", "\x09\x02":
		return labelled || isCPF(digits)
	case "\x02\x03\x03\x04\x02", "\x08\x04\x02":
		return labelled || isCNPJ(digits)
	case "\x0b", "\x0e": // as many other things have
		return labelled
	case "\x04\x04\x04\x04", "\x04\x04\x04\x04\x03", "\x04\x06\x05", "\x04\x06\x04":
		return digits[0] >= 2 && digits[0] <= 6 && isLuhn(digits)
	case "\x10":
		return beginsCard(digits) && isLuhn(digits)
	case "\x0f":
		return digits[0] == 3 && (digits[1] == 4 || digits[1] == 7) && isLuhn(digits) // American Express
	}
	return false
}

// beginsCard tells whether a card network's numbers of 16 digits begin as these do (ISO 7812):
// Visa, Mastercard, Elo, Hipercard, Discover, JCB, UnionPay.
func beginsCard(digits []byte) bool {
	first := 0
	for _, d := range digits[:4] {
		first = 10*first + int(d)
	}
	switch {
	case first/1000 == 4, first/100 >= 50 && first/100 <= 55, first >= 2221 && first <= 2720, first >= 3528 && first <= 3589:
		return true
	}
	return first/100 == 60 || first/100 == 62 || first/100 == 63 || first/100 == 64 || first/100 == 65
}

// isLuhn tells whether a card's last digit is right (ISO 7812-1).
func isLuhn(digits []byte) bool {
	sum := 0
	for i := range digits {
		d := int(digits[len(digits)-1-i])
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0
}

// isCPF tells whether the last two of eleven digits are right.
func isCPF(digits []byte) bool {
	return checked(digits[:9], 11) == digits[9] && checked(digits[:10], 11) == digits[10]
}

// isCNPJ tells whether the last two of fourteen are right. Since 2026 the others may be letters:
// each counts as its code less that of "0".
func isCNPJ(values []byte) bool {
	return checked(values[:12], 9) == values[12] && checked(values[:13], 9) == values[13]
}

// checked is the check digit of CPF and CNPJ: the sum of the values by weights that rise from 2
// at the last, up to most and then from 2 again, modulo 11.
func checked(values []byte, most int) byte {
	sum, weight := 0, 2
	for i := range values {
		sum += weight * int(values[len(values)-1-i])
		if weight++; weight > most {
			weight = 2
		}
	}
	if rest := sum % 11; rest >= 2 {
		return byte(11 - rest)
	}
	return 0
}

// mayHoldCNPJ tells whether a slash, four signs, a hyphen and two digits stand somewhere, as
// at the end of each CNPJ in its own form.
func mayHoldCNPJ(text string) bool { return nextCNPJ(text, 0) > 0 }

// nextCNPJ is the index of the next such hyphen; 0 for none.
func nextCNPJ(text string, i int) int {
	for i < len(text) {
		n := strings.IndexByte(text[i:], '-')
		if n < 0 {
			return 0
		}
		i += n
		if i >= len("/0001") && digitsAt(text, i+1, 2) && (text[i-5] == '/' || text[i-5]|0x20 == 'f') {
			return i
		}
		i++
	}
	return 0
}

// findCNPJ finds a CNPJ in its own form, which may have letters: "12.ABC.345/01DE-35".
func findCNPJ(text string, i int) span {
	for at := nextCNPJ(text, i); at > 0; at = nextCNPJ(text, at+1) {
		if begin := cnpjBegin(text, i, at); begin >= 0 {
			return span{begin, begin, at + len("-35")}
		}
	}
	return span{}
}

// cnpjBegin is where the CNPJ begins whose hyphen is at a place, from i on; -1 for none.
func cnpjBegin(text string, i, hyphen int) int {
	if !wordEnds(text, hyphen+len("-35")) {
		return -1
	}
	slash := hyphen - len("/0001")
	if text[slash] != '/' { // its escape ends here
		for slash--; slash > i && text[slash] != '%'; slash-- {
			if !isDigit(text[slash]) {
				return -1
			}
		}
		if behindEscape(text, slash, '/') != hyphen-len("0001") {
			return -1
		}
	}
	begin := slash - len("12.ABC.345")
	if begin < i || text[begin+2] != '.' || text[begin+6] != '.' || !wordBegins(text, begin) && !escapeEnds(text, begin) {
		return -1
	}
	values := make([]byte, 0, 14)
	for _, part := range []string{text[begin : begin+2], text[begin+3 : begin+6], text[begin+7 : slash], text[hyphen-4 : hyphen],
		text[hyphen+1 : hyphen+3]} {
		for _, c := range []byte(part) {
			if isLower(c) {
				c -= 'a' - 'A'
			}
			if !isDigit(c) && !isUpper(c) {
				return -1
			}
			values = append(values, c-'0')
		}
	}
	if !isCNPJ(values) {
		return -1
	}
	return begin
}

// escapeEnds tells whether an escape ends just before i.
func escapeEnds(text string, i int) bool {
	return i >= len("%20") && text[i-3] == '%' && hexPair(text, i-2)
}
