package facts

import (
	"crypto/sha256"
	"encoding/base64"
	"time"
)

// KeyKind says what a key names.
type KeyKind string

// Kinds of keys that join orders to visitors, strongest first.
const (
	KeyCart     KeyKind = "cart"
	KeyVisitor  KeyKind = "visitor"
	KeyCustomer KeyKind = "customer"
	KeyEmail    KeyKind = "email"
	KeyPhone    KeyKind = "phone"
)

// JoinKinds lists the kinds that join orders to visitors, strongest first.
var JoinKinds = []KeyKind{KeyCart, KeyVisitor, KeyCustomer, KeyEmail, KeyPhone}

// Kinds by which a change finds the orders it concerns; they join nothing.
const (
	KeyCode       KeyKind = "code"       // folded discount code, or a part of it
	KeyUTM        KeyKind = "utm"        // folded utm_campaign of a touch of the order
	KeyLink       KeyKind = "link"       // short code of a touch of the order
	KeyInfluencer KeyKind = "influencer" // whom the order's evidence names
	KeyReached    KeyKind = "reached"    // a visitor to whom the order's keys lead
)

// DerivedKinds are the kinds that an order's outcome writes; the others follow
// from the order alone.
var DerivedKinds = []KeyKind{KeyUTM, KeyLink, KeyInfluencer, KeyReached}

// Key is one key of an order or a visitor. Its value is short enough for an
// index, whatever it was made of.
type Key struct {
	Kind  KeyKind
	Value string
}

// RuleKey is the key of a text by which rules are found: a code, a campaign's
// name, a link's code. Shoppers and shops choose such texts, and folding can
// make them eighteen times as long, so the value is a digest of 22 characters.
func RuleKey(kind KeyKind, text string) Key { return Key{kind, digestOf(text)} }

// digestOf is the first 16 bytes of a text's SHA-256 as unpadded base64url.
func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// maxID is the longest id, in bytes, that is an index key as it is. An index
// row of Postgres holds 2,704 bytes, and the widest index has two ids.
const maxID = 512

// boundedID is the id itself, or a digest of one that no index could hold.
func boundedID(id string) string {
	if len(id) <= maxID {
		return id
	}
	return "d1:" + digestOf(id)
}

// Hub says why a key, or a visitor, joins nothing.
type Hub string

const (
	NoHub         Hub = ""
	HubOfOrders   Hub = "orders"     // too many orders share the key
	HubOfVisitors Hub = "visitors"   // too many visitors were seen with the key
	HubOfKeys     Hub = "identities" // the visitor was seen with too many keys of a kind
)

// OrderKey is a key under which an order is found.
type OrderKey struct {
	Key
	OrderID   string
	CreatedAt time.Time // the order's
	Hub       Hub       // why it joins nothing around this order, as last computed
}

// KeySpan asks for the orders of a key that were created within a span.
type KeySpan struct {
	Key
	From, To time.Time // inclusive
	Hubs     bool      // also where the key joined nothing when the order was computed
}
