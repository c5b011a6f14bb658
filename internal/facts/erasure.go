package facts

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"slices"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/wire"
)

// InOrder reports whether an order has one of the keys.
func InOrder(o *wire.Order, keys []Key) bool {
	has := PersonKeys(o)
	for _, kind := range []KeyKind{KeyVisitor, KeyCookie, KeyUser} {
		has = append(has, Key{kind, o.VisitorID.Or("")})
	}
	for i := range o.Former {
		has = append(has, Key{KeyUser, o.Former[i].UserKey})
	}
	return slices.ContainsFunc(keys, func(k Key) bool { return k.Value != "" && slices.Contains(has, k) })
}

// ErasurePhase is what an erasure does next. The numbers are stored and never change.
type ErasurePhase int16

const (
	EraseFindOrders     ErasurePhase = 0 // orders that have the person's keys
	EraseFindVisitors   ErasurePhase = 1 // visitors that were seen with them
	EraseSnapshotOrders ErasurePhase = 2 // the orders that what is removed could change
	EraseVisitors       ErasurePhase = 3 // their events, observations and days
	EraseUnread         ErasurePhase = 4 // events that no visitor has: late ones, and bots'
	EraseOrders         ErasurePhase = 5 // what the orders have of the person
	EraseFindVersions   ErasurePhase = 6 // second: orders that had the person's keys in an earlier version
	EraseWaits          ErasurePhase = 7 // before all others: until its record, and so all orders before it, are applied
)

// ErasedDigest returns what is kept of a key of an erased person: the first 16 bytes of a
// SHA-256, by which the same key is recognised and from which it cannot be found.
func ErasedDigest(companyID string, k Key) []byte {
	sum := sha256.Sum256([]byte("erased\x00" + companyID + "\x00" + string(k.Kind) + "\x00" + k.Value))
	return sum[:16]
}

// ErasureKeys returns the keys by which an event may belong to an erased person: also those
// of an event of a bot, and of a late one.
func (e *Event) ErasureKeys() []Key {
	id := &e.Identity
	keys := appendSet(nil, Key{KeyCustomer, id.CustomerKey}, Key{KeyEmail, id.EmailKey}, Key{KeyPhone, id.PhoneKey},
		Key{KeyCart, id.CartKey}, Key{KeyCartNo, id.CartNoKey}, Key{KeyCookie, e.CookieID})
	if f := e.Former; f != nil {
		keys = appendFormer(appendSet(keys, Key{KeyCart, f.CartKey}), f)
	}
	for _, visitor := range []string{e.VisitorID, e.Visitor} {
		if visitor == "" {
			continue
		}
		keys = append(keys, VisitorKey(visitor))
	}
	return keys
}

// PersonKeys returns the keys of an order that name its person. A browser's id is none: others may
// use that browser.
func PersonKeys(o *wire.Order) (keys []Key) {
	keys = appendSet(keys, Key{KeyCustomer, o.CustomerKey.Or("")}, Key{KeyEmail, o.EmailKey.Or("")}, Key{KeyPhone, o.PhoneKey.Or("")},
		Key{KeyCart, o.CartKey.Or("")}, Key{KeyCartNo, o.CartNoKey.Or("")})
	for i := range o.Former {
		f := &o.Former[i]
		keys = appendSet(keys, Key{KeyCustomer, f.CustomerKey}, Key{KeyEmail, f.EmailKey}, Key{KeyPhone, f.PhoneKey},
			Key{KeyCart, f.CartKey}, Key{KeyCartNo, f.CartNoKey})
	}
	return keys
}

// Surrogates stand for the keys of an erased order: random, of the same form, and equal
// where the keys were equal and of one erasure.
type Surrogates struct {
	Email, Phone, Customer, Cart, CartNo, Visitor, Net string

	Former []wire.Former `json:",omitempty"` // of the keys by former hashing secrets
}

// places returns where the surrogates are, in the order of keyedFields.
func (s *Surrogates) places() []*string {
	return []*string{&s.Email, &s.Phone, &s.Customer, &s.Cart, &s.CartNo, &s.Net, &s.Visitor}
}

// surrogateKinds are what surrogates are made of beside the keys, in the order of keyedFields.
var surrogateKinds = [...]string{"email", "phone", "customer", "cart", "cart_no", "net", "visitor"}

// Salt is what the surrogates of one erasure are made of. They cannot be made again once it is gone.
type Salt []byte

// Erase replaces the keys of an order by surrogates, and returns them.
func (salt Salt) Erase(o *wire.Order) (s Surrogates) {
	for i, to := range s.places() {
		if key := keyedFields[i].current(o); key.Valid && key.Value != "" {
			*to = salt.surrogate(surrogateKinds[i], key.Value)
			key.Value = *to
		}
	}
	for _, f := range o.Former {
		for i, field := range keyedFields {
			if key := field.former(&f); *key != "" {
				*key = salt.surrogate(surrogateKinds[i], *key)
			}
		}
		s.Former = append(s.Former, f)
	}
	o.Former, o.Personal = s.Former, nil
	return s
}

// surrogate returns what stands for a key of the person.
func (salt Salt) surrogate(kind, value string) string {
	mac := hmac.New(sha256.New, salt)
	mac.Write([]byte(kind + "\x00" + value))
	sum := mac.Sum(nil)
	switch {
	case kind == "visitor" && IsSecretID(value):
		id := uuid.UUID(sum[:16])
		id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80 // a random UUID (version 4)
		return id.String()
	case kind == "visitor":
		return "d1:" + base64.RawURLEncoding.EncodeToString(sum[:16])
	}
	return "k1:" + base64.RawURLEncoding.EncodeToString(identity.WithMark(sum, value))
}

// Visitor returns what stands for a visitor's id in its days.
func (salt Salt) Visitor(id string) string { return salt.surrogate("visitor", id) }

// Replace replaces the keys of a version of an erased order that comes later: by the
// surrogates, and by null where the order had no such key.
func (s *Surrogates) Replace(o *wire.Order) {
	places := s.places()
	for i, field := range keyedFields {
		if key := field.current(o); key.Valid {
			*key = wire.Null[string]()
			if is := s.ofField(i, *places[i], key.Value); is != "" {
				*key = wire.Some(is)
			}
		}
	}
	former := slices.Clone(o.Former)
	for n := range former {
		for i, field := range keyedFields {
			if key := field.former(&former[n]); *key != "" {
				*key = s.ofField(i, "", *key)
			}
		}
	}
	o.Former, o.Personal = former, nil
}

// ofField returns the surrogate that stands for a field's key: that of the secret that made the
// key, else the current one.
func (s *Surrogates) ofField(i int, current, key string) string {
	mark := identity.Mark(key)
	if identity.Mark(current) == mark {
		return current
	}
	for n := range s.Former {
		if is := *keyedFields[i].former(&s.Former[n]); is != "" && identity.Mark(is) == mark {
			return is
		}
	}
	return current
}

// Erased returns the version of an erased order with surrogates in place of its keys and
// without its personal part. Its ContentHash stays: the same version is recognised by it.
func (v OrderVersion) Erased(s *Surrogates) OrderVersion {
	s.Replace(&v.Order)
	v.Personal, v.PersonalDigest = nil, nil
	return v
}
