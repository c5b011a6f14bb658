// Package uuidtext reads and writes UUIDs (RFC 9562) in their form of 36 characters. Pure.
package uuidtext

import (
	"encoding/binary"
	"encoding/hex"
)

// Length is how many characters a UUID has.
const Length = 36

// Is tells whether a text is a UUID of any version, in either case. Postgres does not read all
// other forms that libraries accept.
func Is(s string) bool {
	if len(s) != Length {
		return false
	}
	for i := range len(s) {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if s[i] != '-' {
				return false
			}
		} else if !isHex(s[i]) {
			return false
		}
	}
	return true
}

// Parse parses a UUID that is written in lower case.
func Parse[T string | []byte](text T) (id [16]byte, ok bool) {
	if len(text) != Length || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return id, false
	}
	for i, at := range [...]int{0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34} {
		high, low := hexDigit(text[at]), hexDigit(text[at+1])
		if high|low > 15 {
			return id, false
		}
		id[i] = high<<4 | low
	}
	return id, true
}

// hexDigit returns the value of a digit of lower case, and 255 for another character.
func hexDigit(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	}
	return 255
}

// Append appends a UUID as text, in lower case.
func Append(dst, id []byte) []byte {
	for i, part := range [...][]byte{id[:4], id[4:6], id[6:8], id[8:10], id[10:16]} {
		if i > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, part)
	}
	return dst
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }

// Time is the time in a UUID of version 7, Unix milliseconds.
func Time(id []byte) int64 {
	return int64(binary.BigEndian.Uint64(id) >> 16)
}
