package identity

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"

	"github.com/tributary-io/tributary/internal/wire"
)

// Signed says what is signed: the signature of one thing is none of another.
type Signed string

const (
	SignedClick  Signed = "click:" // <short code>.<UUIDv7> of trb_click
	SignedCookie Signed = "vid:"   // the UUIDv7 of trb_vid
)

// Signer signs what a browser keeps for us: a text, a dot, and its mac, which is a
// version digit and the first 12 characters of base64url(HMAC-SHA-256(key, what is
// signed + text)). 72 bits are enough: a guess can be tried only by asking an edge.
// It proves that an edge of this installation made the text, and nothing of who
// shows it. Safe for concurrent use.
type Signer struct{ keys [][]byte } // the first one signs

// macVersion is the way of making a mac. A new one gets another digit.
const macVersion = "1"

// NewSigner signs with the secret of current. What the former secret signed is
// still taken; previous is nil where there is none.
func NewSigner(current, previous *Hasher) *Signer {
	s := &Signer{}
	for _, h := range []*Hasher{current, previous} {
		if h != nil {
			s.keys = append(s.keys, h.derive("tributary/k1/signature", sha256.Size))
		}
	}
	return s
}

// Sign returns text with its mac.
func (s *Signer) Sign(what Signed, text string) string {
	return text + "." + mac(s.keys[0], what, text)
}

// Verify returns the text that was signed. old says that the former secret signed
// it, ok that one of the two did.
func (s *Signer) Verify(what Signed, signed string) (text string, old, ok bool) {
	text, given, ok := wire.CutMAC(signed)
	if !ok {
		return "", false, false
	}
	for i, key := range s.keys {
		if hmac.Equal([]byte(given), []byte(mac(key, what, text))) {
			return text, i > 0, true
		}
	}
	return "", false, false
}

func mac(key []byte, what Signed, text string) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(what))
	h.Write([]byte(text))
	return macVersion + base64.RawURLEncoding.EncodeToString(h.Sum(nil))[:12]
}
