package identity

import (
	"strings"

	"github.com/tributary-io/tributary/internal/uuidtext"
	"github.com/tributary-io/tributary/internal/wire"
)

// VisitorID is the form in which a visitor's id is stored, and by which an
// order's userId joins it: the edge and the admin API both take it from here.
//
//   - A UUID stays, in lower case: it is random and names nobody.
//   - So does the UUID of a signed cookie (trb_vid); its mac is cut.
//   - Junk ("null", "0", "guest") gives "": it would join strangers.
//   - Anything else may be an e-mail, a phone or a customer id. It becomes a
//     keyed digest, which Keys makes of "visitor:" + id, so
//     that two visitors stay two and neither can be read. 46 bytes.
//
// A text that looks like a digest is hashed as well: no client can name the
// digest of another visitor.
func (k Keys) VisitorID(raw string) string { return k.stored(visitorID(k, raw)) }

func visitorID(_ Keys, raw string) (kind, text string) {
	if id, _, signed := wire.CutMAC(strings.TrimSpace(raw)); signed && uuidtext.Is(id) {
		raw = id
	}
	return idText("visitor:", raw)
}

// SessionID is VisitorID for a session's id.
func (k Keys) SessionID(raw string) string { return k.stored(sessionID(k, raw)) }

func sessionID(_ Keys, raw string) (kind, text string) { return idText("session:", raw) }

// EventID is VisitorID for an event's id that was refused, in a dead letter.
func (k Keys) EventID(raw string) string { return k.stored(idText("event:", raw)) }

// Stream is VisitorID for the name of a device's own numbering of its events.
// The browser SDK's twelve hexadecimal digits stay too, unless all of them are
// decimal: then they may be a phone number.
func (k Keys) Stream(raw string) string { return k.stored(streamID(k, raw)) }

func streamID(_ Keys, raw string) (kind, text string) {
	if sdkStream(raw) {
		return "", raw
	}
	return idText("stream:", raw)
}

// IdempotencyKey is the form in which a caller's Idempotency-Key is stored: it may
// be an e-mail or a phone. It is a keyed digest of the key letter by letter.
func (k Keys) IdempotencyKey(raw string) string { return k.hashed("idempotency:", raw) }

// Digest tells whether two dead letters hold the same original. It is keyed:
// of a plain hash, the phone number inside could be found by trying them all.
// The admin API tells by it whether two requests are the same.
func (k Keys) Digest(original []byte) string {
	if len(original) == 0 {
		return ""
	}
	r := k.Recent()
	defer r.Release()
	r.mac.Reset()
	r.mac.Write([]byte("digest:"))
	r.mac.Write(original) // it may be a megabyte, so it is not copied
	return string(r.appendSum(nil))
}

// idText is an id as it is stored, with an empty kind, or what its digest is made of.
func idText(kind, raw string) (kindOrNone, text string) {
	id := NormalID(raw)
	if uuidtext.Is(id) {
		return "", strings.ToLower(id)
	}
	return kind, id
}

// stored is the text itself where kind is empty, else its digest.
func (k Keys) stored(kind, text string) string {
	if kind == "" {
		return text
	}
	return k.hashed(kind, text)
}

// sdkStream tells whether a text is what sdk-js takes as its stream: the last
// twelve characters of a UUID.
func sdkStream(s string) bool {
	letters := 0
	for i := range len(s) {
		if !isHex(s[i]) {
			return false
		}
		if !isDigit(s[i]) {
			letters++
		}
	}
	return len(s) == 12 && letters > 0
}

func isHex(c byte) bool { return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
