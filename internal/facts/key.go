package facts

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"time"

	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/scrub"
)

// KeyKind says what a key names.
type KeyKind string

// Kinds of keys that join orders to visitors: proofs are secrets that a stranger cannot know;
// the others are claims that anybody can make (docs/attribution.md, "Proof").
const (
	KeyCart     KeyKind = "cart"     // proof: a token that cannot be guessed
	KeyCookie   KeyKind = "cookie"   // proof: the server's cookie, whose mac holds
	KeyVisitor  KeyKind = "visitor"  // proof: the SDK's cookie, a random UUID
	KeyCustomer KeyKind = "customer" // claim
	KeyEmail    KeyKind = "email"    // claim
	KeyPhone    KeyKind = "phone"    // claim
	KeyCartNo   KeyKind = "cart_no"  // claim: a cart token that can be guessed
	KeyUser     KeyKind = "user"     // claim: a visitor's id that can be guessed
	KeyNetwork  KeyKind = "network"  // proof: digest of a claimed key and a keyed network
	KeyVerified KeyKind = "verified" // proof: digest of a claimed key of which a backend says that the shopper is logged in
)

// Kinds of keys by which the orders that a changed rule or a new event concerns
// are found. They join nothing.
const (
	KeyCode       KeyKind = "code"       // RuleKey of the order's folded discount code, or of a part of it
	KeyReached    KeyKind = "reached"    // id of a visitor to whom the order's keys lead, but for one whose id is a key of the order
	KeyTouch      KeyKind = "touch"      // event id of a touch that a decision accepted
	KeyUTM        KeyKind = "utm"        // RuleKey of the folded utm_campaign of a touch of the order
	KeyLink       KeyKind = "link"       // RuleKey of the short code of a touch of the order
	KeyInfluencer KeyKind = "influencer" // id of the influencer of a touch or of the coupon
)

// keyRole is what a kind of keys is used for, as a set of bits.
type keyRole int

const (
	joins   keyRole = 1 << iota // orders to visitors
	proves                      // … and the payout joins by it
	buyer                       // two orders with the key are of one buyer
	visitor                     // an event's own visitor is seen with it
	ofOrder                     // it follows from the order alone, and is a row of its own
	derived                     // it follows from the outcome, and is a row of its own, since events look for it
	named                       // it follows from the outcome, and rules alone look for it: stored as NameDigest, all of an order together
)

// keyKinds are all kinds, with the number by which each is stored, which never changes, and
// its roles. Of those that join the strongest is first; a network and a verified key hold a
// claimed key, and come last, so that a touch is said to be matched by the claimed one.
var keyKinds = []struct {
	kind  KeyKind
	code  int16
	roles keyRole
}{
	{KeyCart, 1, joins | proves | ofOrder},
	{KeyCookie, 2, joins | proves | ofOrder},
	{KeyVisitor, 3, joins | proves | visitor | ofOrder},
	{KeyCustomer, 6, joins | buyer | ofOrder},
	{KeyEmail, 7, joins | buyer | ofOrder},
	{KeyPhone, 8, joins | buyer | ofOrder},
	{KeyCartNo, 9, joins | ofOrder},
	{KeyUser, 10, joins | visitor | ofOrder},
	{KeyNetwork, 4, joins | proves | ofOrder},
	{KeyVerified, 5, joins | proves},
	{KeyCode, 32, ofOrder},
	{KeyReached, 11, derived},
	{KeyTouch, 36, derived},
	{KeyUTM, 33, named},
	{KeyLink, 34, named},
	{KeyInfluencer, 35, named},
}

// Kinds by what they are used for, in the order of keyKinds.
var (
	JoinKinds    = kindsThat(joins)
	ProofKinds   = kindsThat(proves)
	BuyerKinds   = kindsThat(buyer)
	VisitorKinds = kindsThat(visitor)
	OrderKinds   = kindsThat(ofOrder)
	DerivedKinds = kindsThat(derived)
	NameKinds    = kindsThat(named)
)

func kindsThat(role keyRole) (kinds []KeyKind) {
	for _, k := range keyKinds {
		if k.roles&role != 0 {
			kinds = append(kinds, k.kind)
		}
	}
	return kinds
}

// NameDigest returns the number by which a key of NameKinds is stored: the first 8 bytes
// of a SHA-256. Two keys may have one number: then an order is computed in vain.
func NameDigest(companyID string, k Key) int64 {
	text := append([]byte(companyID), 0, byte(k.Kind.Code()))
	sum := sha256.Sum256(append(text, k.Pack()...))
	return int64(binary.BigEndian.Uint64(sum[:8]))
}

// KeyDigest returns the number by which the orders of a key are found, all but its last two
// bits, which are 0: NameDigest. Two keys may have one number, so the key is stored beside it.
// The SQL of postgres.KeyDigest computes the same.
func KeyDigest(companyID string, k Key) int64 { return NameDigest(companyID, k) &^ 3 }

// Key is one key of an order or a visitor. Its value has at most maxID bytes, so
// that an index can hold it.
type Key struct {
	Kind  KeyKind
	Value string
}

// RuleKey returns the key of a discount code, a campaign's name or a link's code.
// Shoppers and shops choose such texts, and folding can make one eighteen times as
// long (U+FDFA), so the value is a digest of 22 characters.
func RuleKey(kind KeyKind, text string) Key { return Key{kind, digestOf(text)} }

// digestOf returns the first 16 bytes of a text's SHA-256 as base64url without
// padding.
func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// heldBy returns the proof keys that hold a claimed key: with a keyed network where
// net is not empty, and as a verified one.
func heldBy(claimed Key, net string, verified bool) []Key {
	var keys []Key
	if net != "" {
		keys = append(keys, Key{KeyNetwork, digestOf(string(claimed.Kind) + ":" + claimed.Value + " " + net)})
	}
	if verified {
		// The digest says by which hashing secret the claimed key is made: a visitor's verified
		// keys are counted by one.
		sum := sha256.Sum256([]byte(string(claimed.Kind) + ":" + claimed.Value))
		keys = append(keys, Key{KeyVerified, base64.RawURLEncoding.EncodeToString(identity.WithMark(sum[:16], claimed.Value))})
	}
	return keys
}

// heldByAny returns what heldBy returns for each of several networks: a claimed key and a
// network that are made by two secrets are held by none.
func heldByAny(claimed Key, networks []string, verified bool) []Key {
	var keys []Key
	mark := identity.Mark(claimed.Value)
	for _, net := range networks {
		if of := identity.Mark(net); of == mark || of == "" || mark == "" {
			keys = append(keys, heldBy(claimed, net, false)...)
		}
	}
	return append(keys, heldBy(claimed, "", verified)...)
}

// VisitorKey returns the key of a visitor's id. Nobody else knows one that is made at random
// in the shopper's browser; any other may be guessed.
func VisitorKey(id string) Key {
	if IsSecretID(id) {
		return Key{KeyVisitor, id}
	}
	return Key{KeyUser, id}
}

// IsSecretID reports whether a visitor's id is one that a stranger cannot know: a UUID
// that is made at random.
func IsSecretID(id string) bool { return scrub.SecretUUID(id) }

// maxID is the longest id, in bytes, that is used as it is. A row of a Postgres
// B-tree index holds 2,704 bytes, and the widest index has two ids and an order id.
const maxID = 512

// boundedID returns the id itself, or "d1:" and a digest of one above maxID.
func boundedID(id string) string {
	if len(id) <= maxID {
		return id
	}
	return "d1:" + digestOf(id)
}

// Hub says why a key or a visitor is a hub and joins nothing.
type Hub string

const (
	NoHub         Hub = ""
	HubOfOrders   Hub = "orders"     // too many orders share the key
	HubOfVisitors Hub = "visitors"   // too many visitors were seen with the key
	HubOfKeys     Hub = "identities" // the visitor was seen with too many keys of a kind
	HubOfEvents   Hub = "events"     // the visitor made too many events; it is no hub by that
)

// OrderKey is a key by which an order is found.
type OrderKey struct {
	Key
	OrderID   string
	CreatedAt time.Time // the order's
	Hub       Hub       // why it joins nothing around this order, when the outcome was last computed
}

// KeySpan asks for the orders that have a key and were created in a span of time.
type KeySpan struct {
	Key
	Hub      Hub       // asks for those around which the key is this
	From, To time.Time // both inclusive
}
