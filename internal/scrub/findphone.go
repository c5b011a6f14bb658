package scrub

import "strings"

// findPhone finds what only a phone number looks like: an international prefix,
// Brazil's groups with an area code or a hyphen, or North America's with an area code
// in brackets. A bare row of digits is more often the id of a product, order or
// campaign: it is a phone only under a name that says so. A word before the number
// stays ("tel:").
func findPhone(text string, i int) span {
	for ; i < len(text); i++ {
		if !beginsPhone[text[i]] {
			continue
		}
		if value, end := phoneAt(text, i); end > 0 {
			return span{i, value, end}
		}
	}
	return span{}
}

// beginsPhone are the bytes that a find of findPhone begins with.
var beginsPhone = bytesOf("+%(123456789tTsScCwW")

func bytesOf(list string) (in [256]bool) {
	for _, c := range []byte(list) {
		in[c] = true
	}
	return in
}

// phoneAt is the end of the phone number at i, and where its value begins.
func phoneAt(text string, i int) (value, end int) {
	switch c := text[i]; {
	case c == '+':
		return i, international(text, i+1)
	case c == '(':
		return i, areaInBrackets(text, i+1)
	case c == '%':
		value, level, next := escapedByte(text, i)
		if value == '+' && next > 0 {
			return i, international(text, next)
		}
		if value == '(' && level == 0 && next > 0 {
			return i, areaInBrackets(text, next)
		}
		return i, 0
	case isDigit(c):
		if !wordBegins(text, i) {
			return i, 0
		}
		return i, areaAndGroups(text, i)
	}
	if value = behindScheme(text, i); value > 0 {
		return value, international(text, value)
	}
	return i, 0
}

// behindScheme is the index behind what stands before a number in a link.
func behindScheme(text string, i int) int {
	if wordBegins(text, i) {
		for _, word := range []string{"tel", "sms", "smsto", "callto"} {
			if end := behindWord(text, i, word); end > 0 {
				if end = behind(text, end, ':'); end > 0 {
					return end
				}
			}
		}
	}
	if end := behindWord(text, i, "wa.me"); end > 0 {
		return behind(text, end, '/')
	}
	return 0
}

// international is the end of a number of eight to fifteen digits, whose plus may
// come (again).
func international(text string, i int) int {
	if plus := behind(text, i, '+'); plus > 0 {
		i = plus
	}
	return behindNumber(text, i, 7, 14)
}

// areaInBrackets is the end of a number whose opening bracket stands before i:
// "(11) 98765-4321", "(415) 555-2671".
func areaInBrackets(text string, i int) int {
	area := i
	if between(text, area, '0', '0') {
		area++
	}
	if between(text, area, '1', '9') && digitsAt(text, area+1, 1) {
		if end := closed(text, area+2); end > 0 {
			first := behindGaps(text, end, maxGap)
			if between(text, first, '9', '9') {
				if end := eightDigits(text, behindGaps(text, first+1, maxGap)); end > 0 {
					return end
				}
			}
			if end := eightDigits(text, behindGaps(text, first, maxGap)); end > 0 {
				return end
			}
		}
	}
	if between(text, i, '2', '9') && digitsAt(text, i+1, 2) {
		if end := closed(text, i+3); end > 0 {
			exchange := behindGaps(text, end, maxGap)
			if between(text, exchange, '2', '9') && digitsAt(text, exchange+1, 2) {
				return lastFour(text, behindGaps(text, exchange+3, maxGap))
			}
		}
	}
	return 0
}

// closed is the index behind a closing bracket.
func closed(text string, i int) int {
	if between(text, i, ')', ')') {
		return i + 1
	}
	if strings.HasPrefix(text[min(i, len(text)):], "%29") {
		return i + len("%29")
	}
	return 0
}

// eightDigits is the end of two groups of four, the first of which begins with 2 to 9.
func eightDigits(text string, i int) int {
	if !between(text, i, '2', '9') || !digitsAt(text, i+1, 3) {
		return 0
	}
	return lastFour(text, behindGaps(text, i+4, maxGap))
}

func lastFour(text string, i int) int {
	if !digitsAt(text, i, 4) || !wordEnds(text, i+4) {
		return 0
	}
	return i + 4
}

// areaAndGroups is the end of a number with its area code: "11 98765-4321",
// "11 98765 4321".
func areaAndGroups(text string, i int) int {
	if !digitsAt(text, i, 2) {
		return 0
	}
	group := behindSpace(text, i+2)
	if group == 0 {
		return 0
	}
	for begin := range 2 { // with the nine before the first group, and without
		begin = group + 1 - begin
		if begin == group+1 && !between(text, group, '9', '9') {
			continue
		}
		if between(text, begin, '2', '9') && digitsAt(text, begin+1, 3) && between(text, begin+4, '-', '-') {
			if end := lastFour(text, begin+5); end > 0 {
				return end
			}
		}
	}
	if between(text, group, '9', '9') && digitsAt(text, group+1, 4) {
		if last := behindSpace(text, group+5); last > 0 {
			return lastFour(text, last)
		}
	}
	return 0
}

// behindSpace is the index behind a space, as URLs write it too.
func behindSpace(text string, i int) int {
	if between(text, i, '+', '+') {
		return i + 1
	}
	return behind(text, i, ' ')
}

// findRow finds a row of ten to fifteen digits, grouped or not: as long as a phone
// with its area code (E.164 allows fifteen).
func findRow(text string, i int) span {
	for i < len(text) {
		digit := i
		switch c := text[i]; {
		case c == '+':
			digit++
		case c == '%':
			if digit = behindEscape(text, i, '+'); digit == 0 {
				i++
				continue
			}
		case !isDigit(c):
			i++
			continue
		}
		if !digitsAt(text, digit, 1) {
			i++
			continue
		}
		n, end := 1, digit+1
		for n < 15 {
			next := end
			for next < end+2 && next < len(text) && (text[next] == ' ' || text[next] == ')' || text[next] == '-') {
				next++
			}
			if !digitsAt(text, next, 1) {
				break
			}
			n, end = n+1, next+1
		}
		if n >= 10 {
			return span{i, i, end}
		}
		if digit > i {
			i++ // without the plus
			continue
		}
		i = end // a row that begins at one of its later digits is shorter still
	}
	return span{}
}

// labels are words before a bare number that say what it is.
var labels = []string{
	"telephones", "telephone", "telefones", "telefone", "phones", "phone", "fones", "fone", "celular", "whatsapp", "whats app",
	"tel", "cel", "mobile", "contato", "contact",
}

// beginsLabel are the letters that labels begin with.
var beginsLabel = bytesOf("tTpPfFcCwWmM")

// findLabelled finds a bare number in prose after one of labels, which stays.
func findLabelled(text string, i int) span {
	for ; i < len(text); i++ {
		if !beginsLabel[text[i]] || !wordBegins(text, i) {
			continue
		}
		for _, label := range labels {
			end := behindWord(text, i, label)
			if end == 0 {
				continue
			}
			value := behindLabelsSigns(text, end)
			if value == 0 {
				continue
			}
			if end = behindNumber(text, value, 9, 14); end > 0 {
				return span{i, value, end}
			}
		}
	}
	return span{}
}

// behindLabelsSigns is the index behind a dot and a colon with spaces, or one space,
// that stand between a label and its number.
func behindLabelsSigns(text string, i int) int {
	if between(text, i, '.', '.') {
		i++
	}
	colon := i
	if between(text, colon, ' ', ' ') {
		colon++
	}
	if between(text, colon, ':', ':') {
		colon++
		if between(text, colon, ' ', ' ') {
			colon++
		}
		return colon
	}
	if colon > i {
		return colon
	}
	return 0
}

// isDate tells whether a number is a day, with or without a time behind it: year
// first with separators or as eight digits, or day first with separators.
func isDate(number string) bool {
	number = strings.TrimPrefix(number, "+")
	number = strings.TrimPrefix(strings.TrimPrefix(number, "%2B"), "%2b")
	if len(number) == 8 && isYear(number, 0) && isMonth(number, 4) && isDay(number, 6) {
		return true
	}
	ends := len(number) == 10 || len(number) > 10 && !isDigit(number[10])
	return ends && (isYear(number, 0) && isDateSign(number, 4) && isMonth(number, 5) && isDateSign(number, 7) && isDay(number, 8) ||
		isDay(number, 0) && isDateSign(number, 2) && isMonth(number, 3) && isDateSign(number, 5) && isYear(number, 6))
}

// isYear tells whether a year of 1900 to 2099 stands at i.
func isYear(text string, i int) bool {
	return digitsAt(text, i, 4) && (text[i:i+2] == "19" || text[i:i+2] == "20")
}

func isMonth(text string, i int) bool {
	return digitsAt(text, i, 2) && text[i:i+2] >= "01" && text[i:i+2] <= "12"
}

func isDay(text string, i int) bool {
	return digitsAt(text, i, 2) && text[i:i+2] >= "01" && text[i:i+2] <= "31"
}

func isDateSign(text string, i int) bool {
	return i < len(text) && strings.IndexByte("-. /", text[i]) >= 0
}

// endsInYears tells whether a text ends in two years ("2025-2026"), as a season's
// name does.
func endsInYears(text string) bool {
	i := len(text) - len("2025-2026")
	return i >= 0 && isYear(text, i) && text[i+4] == '-' && isYear(text, i+5)
}
