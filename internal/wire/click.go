package wire

import (
	"strings"

	"github.com/tributary-io/tributary/internal/uuidtext"
)

// Click is what a trb_click says, of a landing or of the short link's redirect.
type Click struct {
	ID       string `json:"id"`       // UUIDv7, of the LINK_CLICK's event too
	Code     string `json:"code"`     // the short link's
	Verified bool   `json:"verified"` // the signature is ours: a short link was opened

	// Of LINK_CLICK only.
	LinkID      string `json:"linkId,omitempty"`
	Destination string `json:"destination,omitempty"` // the URL redirected to
}

// Name is <code>.<UUIDv7>, "" where one is missing.
func (c *Click) Name() string {
	if c.ID == "" || c.Code == "" {
		return ""
	}
	return c.Code + "." + c.ID
}

// ClickName is a trb_click without its signature: <code>.<UUIDv7>. A text of
// another form stays as it is.
func ClickName(click string) string {
	name, _, signed := CutMAC(click)
	if !signed {
		return click
	}
	i := strings.LastIndexByte(name, '.')
	if i <= 0 || !uuidtext.Is(name[i+1:]) {
		return click
	}
	return name
}

// macLength is a version digit and twelve characters of base64url: 72 bits.
const macLength = 13

// CutMAC cuts <text>.<mac> in two. It looks at the mac's form alone; whether it
// is the text's, identity.Signer knows.
func CutMAC(signed string) (text, mac string, ok bool) {
	i := len(signed) - macLength
	if i < 2 || signed[i-1] != '.' {
		return "", "", false
	}
	text, mac = signed[:i-1], signed[i:]
	if mac[0] < '0' || mac[0] > '9' {
		return "", "", false
	}
	for _, c := range []byte(mac[1:]) {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-' || c == '_') {
			return "", "", false
		}
	}
	return text, mac, true
}
