package packed

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Forms of a packed id: its first byte. They never change.
const (
	idText   = 0 // the id's own bytes follow
	idUUID   = 1 // 16 bytes: a UUID, written in lower case
	idKeyed  = 2 // 32 bytes: "k1:" and base64url, a keyed hash (internal/identity)
	idDigest = 3 // 16 bytes: base64url, a digest of internal/facts
	idNamed  = 4 // 16 bytes: "key:" and base64url
	idLong   = 5 // 16 bytes: "d1:" and base64url
)

// digestForms are the forms that are a prefix and the base64url of so many bytes.
var digestForms = [...]struct {
	form   byte
	prefix string
	bytes  int
}{{idKeyed, "k1:", 32}, {idDigest, "", 16}, {idNamed, "key:", 16}, {idLong, "d1:", 16}}

// digits is base64url without padding that has one text for each value only.
var digits = base64.RawURLEncoding.Strict()

// ID packs an id: equal ids have equal bytes, and different ids different ones. A UUID
// takes 17 bytes instead of 36, a keyed hash 33 instead of 46.
func ID(text string) []byte {
	if id, ok := parseUUID(text); ok {
		return append([]byte{idUUID}, id[:]...)
	}
	for _, f := range digestForms {
		if len(text) != len(f.prefix)+digits.EncodedLen(f.bytes) || !strings.HasPrefix(text, f.prefix) {
			continue
		}
		packed := make([]byte, 1+f.bytes)
		if _, err := digits.Decode(packed[1:], []byte(text[len(f.prefix):])); err == nil {
			packed[0] = f.form
			return packed
		}
	}
	return append([]byte{idText}, text...)
}

// ErrPacked means that bytes are not what this package writes.
var ErrPacked = errors.New("not a packed form")

// Text returns the id that ID packed. Other bytes are ErrPacked.
func Text(packed []byte) (string, error) {
	if len(packed) == 0 {
		return "", fmt.Errorf("%w: an id without bytes", ErrPacked)
	}
	form, rest := packed[0], packed[1:]
	if form == idText {
		return string(rest), nil
	}
	if form == idUUID && len(rest) == 16 {
		return string(appendUUID(nil, rest)), nil
	}
	for _, f := range digestForms {
		if f.form == form && len(rest) == f.bytes {
			return f.prefix + digits.EncodeToString(rest), nil
		}
	}
	return "", fmt.Errorf("%w: an id of form %d with %d bytes", ErrPacked, form, len(rest))
}

// uuidLength is how many characters a UUID has.
const uuidLength = 36

// parseUUID parses a UUID that is written in lower case.
func parseUUID[T string | []byte](text T) (id [16]byte, ok bool) {
	if len(text) != uuidLength || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
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

func appendUUID(dst, id []byte) []byte {
	for i, part := range [...][]byte{id[:4], id[4:6], id[6:8], id[8:10], id[10:16]} {
		if i > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, part)
	}
	return dst
}
