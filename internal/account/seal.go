package account

import (
	"crypto/ecdh"
	"crypto/hpke"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// The purposes for which a connection's secrets are sealed: what is sealed for one cannot be opened as another.
const (
	SealCredentials = "credentials"
	SealAPIKey      = "api_key"
	SealInstall     = "install" // commerce.InstallBack.SealedCode
	SealNotice      = "notice"  // commerce.ShopNotice.Sealed
	SealWebhook     = "webhook" // commerce.SealedSecret.Sealed: ConnectionID is the endpoint
	SealNetwork     = "network" // likewise, of an account at a network
)

// ErrSealed refuses what was sealed to an unknown key, for something else, or was changed since.
var ErrSealed = errors.New("the sealed text cannot be opened: it is of another key, company, connection or purpose, or was changed")

// SealedFor is to what a sealed text is bound. All are needed.
type SealedFor struct{ CompanyID, ConnectionID, Purpose string }

// info is what both sides say of a sealed text: each part with its length, so that no two are alike.
func (f SealedFor) info(keyID string) ([]byte, error) {
	info := []byte("tributary connect 1")
	for _, part := range []string{keyID, f.CompanyID, f.ConnectionID, f.Purpose} {
		if part == "" {
			return nil, errors.New("seal: the key's id, company, connection and purpose are needed")
		}
		info = binary.BigEndian.AppendUint32(info, uint32(len(part)))
		info = append(info, part...)
	}
	return info, nil
}

// The cipher suite of RFC 9180.
func sealSuite() (hpke.KEM, hpke.KDF, hpke.AEAD) {
	return hpke.DHKEM(ecdh.X25519()), hpke.HKDFSHA256(), hpke.ChaCha20Poly1305()
}

// Seal encrypts a text to a public key (commerce.ConnectOffer): only the connect service, which has the private one, opens it.
// The sealed text is 48 bytes longer.
func Seal(publicKey []byte, keyID string, f SealedFor, plain []byte) ([]byte, error) {
	kem, kdf, aead := sealSuite()
	key, err := kem.NewPublicKey(publicKey)
	if err != nil {
		return nil, fmt.Errorf("seal: public key: %w", err)
	}
	if keyID != SealKeyID(publicKey) {
		return nil, errors.New("seal: the id is not the public key's")
	}
	info, err := f.info(keyID)
	if err != nil {
		return nil, err
	}
	return hpke.Seal(key, kdf, aead, info, plain)
}

// SealKeyID is the id of a public key.
func SealKeyID(publicKey []byte) string {
	sum := sha256.Sum256(publicKey)
	return hex.EncodeToString(sum[:8])
}

// SealKeys are the private keys of the connect service, the newest first.
type SealKeys struct{ keys []sealKey }

type sealKey struct {
	id      string
	private hpke.PrivateKey
}

// MaxSealKeys bounds the keys of a file.
const MaxSealKeys = 20

// sealFile is the file that keeps the keys.
type sealFile struct {
	Keys []sealFileKey `json:"keys"`
}

type sealFileKey struct {
	ID      string `json:"id"`
	Private string `json:"private"` // base64
}

// NewSealKeys makes a first key.
func NewSealKeys() (*SealKeys, error) { return (&SealKeys{}).Rotated() }

// Rotated returns the keys with a new one before them. ErrTooManySealKeys where there are MaxSealKeys already.
func (k *SealKeys) Rotated() (*SealKeys, error) {
	if len(k.keys) >= MaxSealKeys {
		return nil, ErrTooManySealKeys
	}
	kem, _, _ := sealSuite()
	private, err := kem.GenerateKey()
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	made := sealKey{SealKeyID(private.PublicKey().Bytes()), private}
	return &SealKeys{append([]sealKey{made}, k.keys...)}, nil
}

// ErrTooManySealKeys refuses a key beyond MaxSealKeys.
var ErrTooManySealKeys = fmt.Errorf("a key file holds at most %d keys: remove the oldest", MaxSealKeys)

// ParseSealKeys reads what Text wrote. An error names no secret.
func ParseSealKeys(text []byte) (*SealKeys, error) {
	var file sealFile
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, errors.New("is no key file: it is not the JSON that `tributary connect key create` writes")
	}
	if len(file.Keys) == 0 || len(file.Keys) > MaxSealKeys {
		return nil, fmt.Errorf("is no key file: it has %d keys, and needs 1 to %d", len(file.Keys), MaxSealKeys)
	}
	kem, _, _ := sealSuite()
	keys := &SealKeys{}
	for n, k := range file.Keys {
		raw, err := base64.StdEncoding.DecodeString(k.Private)
		if err != nil {
			return nil, fmt.Errorf("is no key file: key %d is not base64", n+1)
		}
		private, err := kem.NewPrivateKey(raw)
		if err != nil || k.ID != SealKeyID(private.PublicKey().Bytes()) {
			return nil, fmt.Errorf("is no key file: key %d is damaged", n+1)
		}
		keys.keys = append(keys.keys, sealKey{k.ID, private})
	}
	return keys, nil
}

// Text is the keys as a file keeps them: a secret.
func (k *SealKeys) Text() ([]byte, error) {
	var file sealFile
	for _, key := range k.keys {
		raw, err := key.private.Bytes()
		if err != nil {
			return nil, fmt.Errorf("write a key: %w", err)
		}
		file.Keys = append(file.Keys, sealFileKey{key.id, base64.StdEncoding.EncodeToString(raw)})
	}
	text, err := json.MarshalIndent(file, "", "  ")
	return append(text, '\n'), err
}

// Newest is the key to which new texts are sealed.
func (k *SealKeys) Newest() (id string, publicKey []byte) {
	return k.keys[0].id, k.keys[0].private.PublicKey().Bytes()
}

// IDs are the keys' ids, the newest first.
func (k *SealKeys) IDs() (ids []string) {
	for _, key := range k.keys {
		ids = append(ids, key.id)
	}
	return ids
}

// Seal is Seal to the newest key.
func (k *SealKeys) Seal(f SealedFor, plain []byte) (sealed []byte, keyID string, err error) {
	keyID, public := k.Newest()
	sealed, err = Seal(public, keyID, f, plain)
	return sealed, keyID, err
}

// Open decrypts what was sealed to a key of that id. ErrSealed where it cannot.
func (k *SealKeys) Open(keyID string, f SealedFor, sealed []byte) ([]byte, error) {
	n := slices.IndexFunc(k.keys, func(key sealKey) bool { return key.id == keyID })
	if n < 0 {
		return nil, fmt.Errorf("%w (there is no key %.16s)", ErrSealed, keyID)
	}
	info, err := f.info(keyID)
	if err != nil {
		return nil, err
	}
	_, kdf, aead := sealSuite()
	plain, err := hpke.Open(k.keys[n].private, kdf, aead, info, sealed)
	if err != nil {
		return nil, ErrSealed
	}
	return plain, nil
}
