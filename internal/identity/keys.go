package identity

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"sync"
)

// MinSecret is the least length of the hashing secret, in bytes: the length of
// the hash, so that the secret is not easier to guess than the hash.
const MinSecret = 32

// version is the prefix of every key. A new way of making keys gets a new one.
const version = "k1:"

// Hasher derives each company's pepper from the installation's hashing secret.
// Safe for concurrent use.
type Hasher struct {
	secret []byte
	mark   [markLength]byte
	former *Hasher // nil: the secret is not being rotated
}

// NewHasher takes the hashing secret, at least MinSecret bytes.
func NewHasher(secret []byte) (*Hasher, error) {
	if len(secret) < MinSecret {
		return nil, fmt.Errorf("identity: the hashing secret has %d bytes, at least %d are needed", len(secret), MinSecret)
	}
	h := &Hasher{secret: append([]byte(nil), secret...)}
	copy(h.mark[:], h.derive("tributary/k1/mark", markLength))
	return h, nil
}

// ErrSameMark says that two secrets cannot follow each other: their keys could not be told apart.
var ErrSameMark = errors.New("identity: the former secret and the current one are the same, or have the same mark: make another " +
	"current one")

// Rotating is the hasher while its secret takes the place of a former one: its Keys have
// those of the former secret beside them.
func (h *Hasher) Rotating(former *Hasher) (*Hasher, error) {
	if h.mark == former.mark {
		return nil, ErrSameMark
	}
	return &Hasher{secret: h.secret, mark: h.mark, former: former}, nil
}

// Rotates reports whether keys by a former secret are made too.
func (h *Hasher) Rotates() bool { return h.former != nil }

// Company makes the keys of one company. Country (ISO 3166-1 alpha-2) is where
// a phone number without a country code belongs; the pepper does not depend on it.
func (h *Hasher) Company(companyID, country string) Keys {
	pepper := h.derive("tributary/k1/pepper/"+companyID, sha256.Size)
	k := Keys{country: country, recents: &sync.Pool{New: func() any { return &Recent{mac: hmac.New(sha256.New, pepper), mark: h.mark} }}}
	if h.former != nil {
		former := h.former.Company(companyID, country)
		k.former = &former
	}
	return k
}

// Check is a short text that only a holder of the same secret can make. An edge
// compares it with the directory's keyCheck and refuses the company's events when
// they differ: its keys would never join. No pepper can be found from it.
func (h *Hasher) Check(companyID string) string {
	return version + base64.RawURLEncoding.EncodeToString(h.derive("tributary/k1/check/"+companyID, 16))
}

// FormerCheck is Check of the former secret, "" where there is none.
func (h *Hasher) FormerCheck(companyID string) string {
	if h.former == nil {
		return ""
	}
	return h.former.Check(companyID)
}

// Fits reports whether one of a company's checks is that of the current or the former
// secret: then each of the two makes keys that the other's join.
func (h *Hasher) Fits(companyID string, checks ...string) bool {
	for _, check := range checks {
		if check != "" && (check == h.Check(companyID) || check == h.FormerCheck(companyID)) {
			return true
		}
	}
	return false
}

// derive is HKDF-SHA-256 (RFC 5869) of the secret. The labels are fixed texts
// that no other label begins with, so no two uses share a key.
func (h *Hasher) derive(label string, length int) []byte {
	key, err := hkdf.Key(sha256.New, h.secret, nil, label, length)
	if err != nil {
		// Only a length above 255 hashes, or a short key under FIPS 140, fails; both are excluded above.
		panic(errors.Join(errors.New("identity: hkdf"), err))
	}
	return key
}

// Keys makes one company's hashed keys: "k1:" + base64url(the first 30 bytes of
// HMAC-SHA-256(pepper, kind + ":" + normalised), and the secret's mark), or "" for
// junk, which joins nothing. Safe for concurrent use.
type Keys struct {
	country string
	recents *sync.Pool // of *Recent
	former  *Keys
}

// Former returns the keys by the former secret while a rotation lasts, else false.
func (k Keys) Former() (Keys, bool) {
	if k.former == nil {
		return Keys{}, false
	}
	return *k.former, true
}

// Email is the key of an e-mail address.
func (k Keys) Email(raw string) string { return k.hashed("email:", NormalEmail(raw)) }

// Phone is the key of a phone number.
func (k Keys) Phone(raw string) string { return k.hashed("phone:", NormalPhone(raw, k.country)) }

// Customer is the key of the merchant's customer id.
func (k Keys) Customer(raw string) string { return k.hashed("customer:", NormalID(raw)) }

// Cart is the key of a cart token, whether it is a secret or not.
func (k Keys) Cart(raw string) string { return k.hashed("cart:", NormalID(raw)) }

// Network is the key of the network that an address is in.
func (k Keys) Network(address netip.Addr) string {
	network, ok := Network(address)
	if !ok {
		return ""
	}
	return k.hashed("network:", network.String())
}

// Network is the network that an address is in, /24 of IPv4 and /48 of IPv6: it
// tells a region, and no person. ok is false for no address.
func Network(address netip.Addr) (network netip.Prefix, ok bool) {
	address = address.Unmap().WithZone("")
	bits := 48
	if address.Is4() {
		bits = 24
	}
	network, err := address.Prefix(bits)
	return network, err == nil && address.IsValid()
}

// hashed is the key of a normalised value, "" for none.
func (k Keys) hashed(kind, normal string) string {
	if normal == "" {
		return ""
	}
	r := k.Recent()
	defer r.Release()
	return string(r.append(nil, kind, normal))
}

// markLength is how many bytes at a key's end say by which secret it is made.
const markLength = 2

// Mark returns the end of a key that says by which secret it is made, "" for a text that is
// no key. It tells nothing else of the secret.
func Mark(key string) string {
	const length, mark = len(version) + 43, 3 // 30 bytes before it are 40 characters
	if len(key) != length || key[:len(version)] != version {
		return ""
	}
	return key[length-mark:]
}

// WithMark returns the bytes of a hash with the mark of a key at their end; without one where
// the key has none.
func WithMark(sum []byte, key string) []byte {
	var mark [markLength]byte
	if text := Mark(key); text != "" {
		_, _ = base64.RawURLEncoding.Decode(mark[:], []byte(text)) // another text would be no mark of ours: it is then a part of one
	}
	return append(sum[:len(sum)-markLength], mark[:]...)
}
