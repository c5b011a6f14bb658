package core

import "math/bits"

// plainTo is the index of the first byte from i on that a JSON string cannot
// hold as it is, or that may be part of a character that it must not hold:
// a quote, a backslash, a control character, or not ASCII. It is len(s) for none.
func plainTo(s string, i int) int {
	const (
		ones  = 0x0101010101010101
		highs = 0x8080808080808080
	)
	for ; i+8 <= len(s); i += 8 {
		// Eight bytes at once. The high bit of a byte is set where the byte is one
		// of those, and perhaps of bytes behind it: the first is right.
		b := s[i : i+8]
		w := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
			uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
		quote, backslash := w^ones*'"', w^ones*'\\'
		if found := (w | (w - ones*0x20) | (quote - ones) | (backslash - ones)) & highs; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= 0x80 {
			return i
		}
	}
	return len(s)
}
