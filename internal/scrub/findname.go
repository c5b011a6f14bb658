package scrub

import "strings"

// parameter is a query parameter up to its value: text[begin:end] is its name, text[value:]
// begins with its value.
type parameter struct{ begin, end, value int }

// findParameter finds the first query parameter that begins at i or behind it; its
// value is 0 for none.
func findParameter(text string, i int) parameter {
	for ; i < len(text); i++ {
		if i == 0 {
			if p := parameterAt(text, 0); p.value > 0 {
				return p
			}
		}
		begin := behindSeparator(text, i)
		if begin == 0 {
			continue
		}
		if p := parameterAt(text, begin); p.value > 0 {
			return p
		}
	}
	return parameter{}
}

// behindSeparator is the index behind what a parameter follows.
func behindSeparator(text string, i int) int {
	switch text[i] {
	case '?', '&', ';', '#':
		return i + 1
	case '%':
		if value, _, end := escapedByte(text, i); end > 0 && (value == '&' || value == '?' || value == '#') {
			return end
		}
	}
	return 0
}

// parameterAt is the parameter whose name begins at i.
func parameterAt(text string, i int) parameter {
	end := i
	for end < len(text) {
		if nameSigns[text[end]] {
			end++
			continue
		}
		bracket := behindEscape(text, end, '[')
		if bracket == 0 {
			bracket = behindEscape(text, end, ']')
		}
		if bracket == 0 {
			break
		}
		end = bracket
	}
	value := behind(text, end, '=')
	if end == i || value == 0 {
		return parameter{}
	}
	return parameter{i, end, value}
}

// nameSigns are the signs of a parameter's name, besides escaped brackets.
var nameSigns = bytesOf("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.-[]")

// withoutBrackets is a name with a low line in the place of each escaped bracket:
// "customer%5Bid%5D".
func withoutBrackets(name string) string {
	var out strings.Builder
	for i := 0; i < len(name); {
		end := behindEscape(name, i, '[')
		if end == 0 {
			end = behindEscape(name, i, ']')
		}
		if end == 0 {
			out.WriteByte(name[i])
			i++
			continue
		}
		out.WriteByte('_')
		i = end
	}
	return out.String()
}

// valueEnd is where the value of a parameter ends that begins text, at most
// maxParameter.
func valueEnd(text string) int {
	text = text[:min(len(text), maxParameter)]
	for i := range len(text) {
		switch text[i] {
		case '&', '#', ';':
			return i
		case '%':
			if value, _, end := escapedByte(text, i); end > 0 && (value == '&' || value == '#' || value == ';') {
				return i
			}
		}
	}
	return len(text)
}
