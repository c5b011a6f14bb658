package packed

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/tributary-io/tributary/internal/uuidtext"
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
	if id, ok := uuidtext.Parse(text); ok {
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
		return string(uuidtext.Append(nil, rest)), nil
	}
	for _, f := range digestForms {
		if f.form == form && len(rest) == f.bytes {
			return f.prefix + digits.EncodeToString(rest), nil
		}
	}
	return "", fmt.Errorf("%w: an id of form %d with %d bytes", ErrPacked, form, len(rest))
}
