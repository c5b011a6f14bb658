package facts

import (
	"cmp"
	"slices"

	"github.com/tributary-io/tributary/internal/wire"
)

// ByAPIKey reports whether a backend sent the event, not a browser.
func (e *Event) ByAPIKey() bool { return e.Trust == wire.TrustKey || e.Trust == wire.TrustImport }

// Network returns the keyed network that the event came from, and "" for a backend's:
// that is not the shopper's.
func (e *Event) Network() string {
	if e.ByAPIKey() {
		return ""
	}
	return e.NetKey
}

// Networks returns the keyed network by each hashing secret, as Network does.
func (e *Event) Networks() []string {
	var list []string
	if net := e.Network(); net != "" {
		list = append(list, net)
	}
	if f := e.Former; f != nil && f.NetKey != "" && !e.ByAPIKey() {
		list = append(list, f.NetKey)
	}
	return list
}

// Streams returns the keyed name of the event's stream by each hashing secret.
func (e *Event) Streams() []string {
	var list []string
	if e.Stream != "" {
		list = append(list, e.Stream)
	}
	if f := e.Former; f != nil && f.Stream != "" {
		list = append(list, f.Stream)
	}
	return list
}

// keyedVisitor returns the visitor of an event that a backend sends without one: a
// visitor of its own, named by the digest of the event's strongest key. It returns
// "" where the event has no key, and for events of strangers.
func (e *Event) keyedVisitor() string {
	if !e.ByAPIKey() {
		return ""
	}
	id := &e.Identity
	return visitorOf(id.CartKey, id.CustomerKey, id.EmailKey, id.PhoneKey, id.CartNoKey)
}

// visitorOf is the visitor that is named by the strongest of these keys.
func visitorOf(cart, customer, email, phone, cartNo string) string {
	for _, k := range []Key{{KeyCart, cart}, {KeyCustomer, customer}, {KeyEmail, email}, {KeyPhone, phone}, {KeyCartNo, cartNo}} {
		if k.Value != "" {
			return "key:" + digestOf(string(k.Kind)+":"+k.Value)
		}
	}
	return ""
}

// FormerVisitor returns how the former hashing secret names the event's visitor, where it does so in
// another way; else "".
func (e *Event) FormerVisitor() string {
	f := e.Former
	switch {
	case f == nil || e.Visitor == "":
		return ""
	case e.VisitorID != "" || e.CookieID != "":
		return f.UserKey
	}
	return visitorOf(f.CartKey, f.CustomerKey, f.EmailKey, f.PhoneKey, f.CartNoKey)
}

// appendClaimed appends the keys of the event that anybody could have sent.
func (e *Event) appendClaimed(keys []Key) []Key {
	id := &e.Identity
	keys = appendSet(keys, Key{KeyCustomer, id.CustomerKey}, Key{KeyEmail, id.EmailKey}, Key{KeyPhone, id.PhoneKey},
		Key{KeyCartNo, id.CartNoKey})
	if own := VisitorKey(e.Visitor); own.Kind == KeyUser {
		keys = append(keys, own)
	}
	if e.Former != nil {
		keys = appendFormer(keys, e.Former)
		if was := e.FormerVisitor(); was != e.Former.UserKey {
			keys = append(keys, Key{KeyUser, was})
		}
	}
	return keys
}

// appendFormer appends the keys by a former hashing secret that anybody could have sent.
func appendFormer(keys []Key, f *wire.Former) []Key {
	return appendSet(keys, Key{KeyCustomer, boundedID(f.CustomerKey)}, Key{KeyEmail, boundedID(f.EmailKey)},
		Key{KeyPhone, boundedID(f.PhoneKey)}, Key{KeyCartNo, boundedID(f.CartNoKey)}, Key{KeyUser, boundedID(f.UserKey)})
}

// appendSet appends those of the keys that have a value; it overwrites more.
func appendSet(keys []Key, more ...Key) []Key {
	return append(keys, slices.DeleteFunc(more, func(k Key) bool { return k.Value == "" })...)
}

// Keys returns the keys that the event's visitor was seen with: its own id among
// them, as a visitor or a user. It returns none for an event of a bot, and for one
// without a visitor.
func (e *Event) Keys() []Key { return e.AppendKeys(nil) }

// AppendKeys appends what Keys returns.
func (e *Event) AppendKeys(keys []Key) []Key {
	if e.Visitor == "" || !e.Human() {
		return keys
	}
	if e.Identity.CartKey != "" {
		keys = append(keys, Key{KeyCart, e.Identity.CartKey})
	}
	if e.Former != nil && e.Former.CartKey != "" {
		keys = append(keys, Key{KeyCart, e.Former.CartKey})
	}
	if e.CookieID != "" {
		keys = append(keys, Key{KeyCookie, e.CookieID})
	}
	if own := VisitorKey(e.Visitor); own.Kind == KeyVisitor {
		keys = append(keys, own)
	}
	begin := len(keys)
	keys = e.appendClaimed(keys)
	verified := e.ByAPIKey() && e.Identity.Verified
	if e.Former == nil {
		for _, k := range keys[begin:] {
			keys = append(keys, heldBy(k, e.Network(), verified)...)
		}
		return keys
	}
	networks := e.Networks()
	for _, k := range keys[begin:] {
		keys = append(keys, heldByAny(k, networks, verified)...)
	}
	return keys
}

// Verified returns the keys of the event of which a backend says that the shopper is
// logged in: those that a key of KeyVerified holds.
func (e *Event) Verified() []Key {
	if !e.ByAPIKey() || !e.Identity.Verified || e.Visitor == "" || !e.Human() {
		return nil
	}
	return e.appendClaimed(nil)
}

// OrderJoin is a key that joins an order to visitors.
type OrderJoin struct {
	Key
	// Stored is the key by which the orders that have it are found. It is the key itself,
	// and of KeyVerified the claimed key that it holds: the same orders have both.
	Stored Key
	Holds  KeyKind // the kind of the claimed key that a network or a verified key holds; empty for others
}

// OrderJoins returns the keys that join an order to visitors, by every hashing secret.
func OrderJoins(o *wire.Order) []OrderJoin {
	var keys, claimed []Key
	var networks []string
	add := func(to *[]Key, kind KeyKind, value string) {
		if value != "" {
			*to = append(*to, Key{kind, boundedID(value)})
		}
	}
	add(&keys, KeyCart, o.CartKey.Or(""))
	own := VisitorKey(boundedID(o.VisitorID.Or("")))
	switch {
	case o.UserIDMAC == wire.MACValid:
		own.Kind = KeyCookie
	case o.UserIDMAC == wire.MACInvalid:
		own.Kind = KeyUser // somebody made it up
	}
	if own.Kind != KeyUser {
		add(&keys, own.Kind, own.Value)
	}
	add(&claimed, KeyCustomer, o.CustomerKey.Or(""))
	add(&claimed, KeyEmail, o.EmailKey.Or(""))
	add(&claimed, KeyPhone, o.PhoneKey.Or(""))
	add(&claimed, KeyCartNo, o.CartNoKey.Or(""))
	if own.Kind == KeyUser {
		add(&claimed, KeyUser, own.Value)
	}
	if net := o.NetKey.Or(""); net != "" {
		networks = append(networks, boundedID(net))
	}
	for i := range o.Former {
		f := &o.Former[i]
		add(&keys, KeyCart, f.CartKey)
		claimed = appendFormer(claimed, f)
		if f.NetKey != "" {
			networks = append(networks, boundedID(f.NetKey))
		}
	}
	joins := make([]OrderJoin, 0, len(keys)+3*len(claimed))
	for _, k := range append(keys, claimed...) {
		joins = append(joins, OrderJoin{k, k, ""})
	}
	for _, k := range claimed {
		for _, held := range heldByAny(k, networks, true) {
			stored := held
			if held.Kind == KeyVerified {
				stored = k
			}
			joins = append(joins, OrderJoin{held, stored, k.Kind})
		}
	}
	return joins
}

// Proof says by what a touch is known to be the buyer's (docs/attribution.md,
// "Proof"): a kind of ProofKinds, or one of these.
type Proof string

const (
	ProofOrder    Proof = "order"    // the order's own UTM values
	ProofAccepted Proof = "accepted" // a decision of the merchant's
	ProofRefused  Proof = "refused"  // a decision of the merchant's: it counts for no payout
	ProofClaimed  Proof = "claimed"  // nothing proves it
	ProofAssigned Proof = "assigned" // no evidence: the merchant gave the order to the influencer
)

// Stronger reports whether a proof key's kind stands before another in ProofKinds.
// Every kind stands before "".
func (k KeyKind) Stronger(other KeyKind) bool {
	place := func(kind KeyKind) int {
		for i, known := range ProofKinds {
			if known == kind {
				return i
			}
		}
		return len(ProofKinds)
	}
	return cmp.Less(place(k), place(other))
}
