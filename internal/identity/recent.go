package identity

import (
	"encoding/base64"
	"hash"
)

// Recent makes the keys of a request's events. The events of one request are
// mostly of one visitor: the last key of each kind is kept and not made again.
// Release it afterwards. Not safe for concurrent use.
type Recent struct {
	keys Keys
	mark [markLength]byte
	mac  hash.Hash // with the company's pepper; half of its work depends on the pepper alone, and is not done again after a reset
	text []byte    // what is hashed, then the hash
	last [kinds]struct {
		raw string
		key []byte
	}
	former *Recent
}

// The kinds of keys that a Recent keeps.
const (
	kindEmail = iota
	kindPhone
	kindCustomer
	kindCart
	kindVisitor
	kindSession
	kindStream
	kinds
)

// Recent makes a Recent of the company's keys, or takes one that was released.
func (k Keys) Recent() *Recent {
	r := k.recents.Get().(*Recent)
	r.keys = k
	if k.former != nil {
		r.former = k.former.Recent()
	}
	return r
}

// Former makes the keys by the former secret; nil where there is none.
func (r *Recent) Former() *Recent { return r.former }

// Release gives the Recent back. It forgets whom its request was of.
func (r *Recent) Release() {
	for i := range r.last {
		r.last[i].raw, r.last[i].key = "", r.last[i].key[:0]
	}
	if r.former != nil {
		r.former.Release()
		r.former = nil
	}
	r.keys.recents.Put(r)
}

// Email is Keys.Email. As of each method, the key is good until the next call of the
// same method, and until Release.
func (r *Recent) Email(raw string) []byte {
	return r.key(kindEmail, raw, func(k Keys, raw string) (string, string) { return "email:", NormalEmail(raw) })
}

// Phone is Keys.Phone.
func (r *Recent) Phone(raw string) []byte {
	return r.key(kindPhone, raw, func(k Keys, raw string) (string, string) { return "phone:", NormalPhone(raw, k.country) })
}

// Customer is Keys.Customer.
func (r *Recent) Customer(raw string) []byte {
	return r.key(kindCustomer, raw, func(k Keys, raw string) (string, string) { return "customer:", NormalID(raw) })
}

// Cart is Keys.Cart.
func (r *Recent) Cart(raw string) []byte {
	return r.key(kindCart, raw, func(k Keys, raw string) (string, string) { return "cart:", NormalID(raw) })
}

// VisitorID is Keys.VisitorID.
func (r *Recent) VisitorID(raw string) []byte { return r.key(kindVisitor, raw, visitorID) }

// SessionID is Keys.SessionID.
func (r *Recent) SessionID(raw string) []byte { return r.key(kindSession, raw, sessionID) }

// Stream is Keys.Stream.
func (r *Recent) Stream(raw string) []byte { return r.key(kindStream, raw, streamID) }

// key is the key of what normal makes of raw: a hash, or, with an empty kind, the
// text itself.
func (r *Recent) key(of int, raw string, normal func(Keys, string) (kind, text string)) []byte {
	last := &r.last[of]
	if last.raw != raw { // nothing gives no key, as in a new Recent
		kind, text := normal(r.keys, raw)
		last.raw = raw
		if kind == "" {
			last.key = append(last.key[:0], text...)
		} else {
			last.key = r.append(last.key[:0], kind, text)
		}
	}
	return last.key
}

// append appends the key of a normalised value, nothing for "".
func (r *Recent) append(dst []byte, kind, normal string) []byte {
	if normal == "" {
		return dst
	}
	r.text = append(append(r.text[:0], kind...), normal...)
	r.mac.Reset()
	r.mac.Write(r.text)
	return r.appendSum(dst)
}

// appendSum appends what the mac has come to, with the secret's mark.
func (r *Recent) appendSum(dst []byte) []byte {
	r.text = r.mac.Sum(r.text[:0])
	copy(r.text[len(r.text)-markLength:], r.mark[:])
	return base64.RawURLEncoding.AppendEncode(append(dst, version...), r.text)
}
