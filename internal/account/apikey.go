package account

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
)

// Types of API keys (docs/operations.md, "People and keys").
const (
	OwnPlatform = "own_platform"
	Integration = "integration"
)

// APIKey is an API key as it is stored, without its text.
type APIKey struct {
	KeyID       string
	CompanyID   string
	Environment string // of the company
	Country     string // of the company: phone numbers are read by it
	Name        string
	Type        string // OwnPlatform | Integration
	Hint        string // last four characters
	Scopes      []Scope
	CreatedAt   time.Time
	ExpiresAt   time.Time // zero: never
	RevokedAt   time.Time // zero: not revoked; in the future: rotated, and valid until then
	LastUsedAt  time.Time // zero: never
	ArchivedAt  time.Time // of the company; zero: it is not archived
}

// Has reports whether the key has a scope.
func (k APIKey) Has(scope Scope) bool { return slices.Contains(k.Scopes, scope) }

// HasAll reports whether the key has all of some scopes.
func (k APIKey) HasAll(scopes []Scope) bool {
	return !slices.ContainsFunc(scopes, func(scope Scope) bool { return !k.Has(scope) })
}

// ActiveAt reports whether the key is valid at t.
func (k APIKey) ActiveAt(t time.Time) bool {
	return (k.ExpiresAt.IsZero() || t.Before(k.ExpiresAt)) && (k.RevokedAt.IsZero() || t.Before(k.RevokedAt))
}

// NewAPIKey says which key to make. Its environment is the company's.
type NewAPIKey struct {
	CompanyID string
	Name      string
	Type      string // empty: OwnPlatform
	Scopes    []Scope
	ExpiresAt time.Time // zero: never
	Actor     string    // for the audit log
	Random    io.Reader
}

// MaxKeyName bounds the name of a key, in characters.
const MaxKeyName = 100

// MaxAPIKeys bounds the keys of a company that work: every edge keeps them all.
const MaxAPIKeys = 200

// ErrTooManyKeys refuses keys beyond MaxAPIKeys.
var ErrTooManyKeys = fmt.Errorf("%w: a company has at most %d API keys that work", commerce.ErrConflict, MaxAPIKeys)

// KeyTypes lists the types of keys.
var KeyTypes = []string{OwnPlatform, Integration}

// Check returns every rule that a new key breaks.
func (k NewAPIKey) Check() (bad commerce.Violations) {
	bad.Filled("name", k.Name, MaxKeyName)
	if k.Type != "" {
		bad.Word("type", k.Type, KeyTypes...)
	}
	if len(k.Scopes) == 0 {
		bad.Add("scopes", commerce.CodeTooFew, "needs at least one")
	}
	for _, scope := range k.Scopes {
		if !slices.Contains(Scopes, scope) {
			bad.Add("scopes", commerce.CodeInvalidValue, "has one that there is not")
			return bad
		}
	}
	if len(k.Scopes) > len(Scopes) {
		bad.Add("scopes", commerce.CodeInvalidValue, "has one twice")
	}
	return bad
}

// KeyRotation asks to replace a key by one of the same name, type, scopes and lifetime.
type KeyRotation struct {
	CompanyID string
	KeyID     string
	At        time.Time
	Grace     time.Duration // how long the old key still works
	Actor     string
	Random    io.Reader
}

// ErrKeyText says that a text cannot be one of our keys.
var ErrKeyText = errors.New("is not an API key")

var keyPrefixes = map[string]string{commerce.Live: "trb_live_", commerce.Sandbox: "trb_test_"}

const (
	keyRandomBytes = 20 // 160 bits: 32 characters
	keyBodyLength  = 32
	keySumLength   = 7 // CRC-32 in base32: a mistyped key is refused without a look-up
)

// NewKeyText makes the text of a key: prefix, 160 random bits, checksum. It is
// shown once; only KeyHash of it is stored.
func NewKeyText(random io.Reader, environment string) (string, error) {
	prefix, ok := keyPrefixes[environment]
	if !ok {
		return "", fmt.Errorf("make an API key: unknown environment %q", environment)
	}
	var raw [keyRandomBytes]byte
	if _, err := io.ReadFull(random, raw[:]); err != nil {
		return "", fmt.Errorf("make an API key: %w", err)
	}
	text := prefix + commerce.LowerBase32.EncodeToString(raw[:])
	return text + keySum(text), nil
}

// KeyEnvironment returns the environment that a key's text names, or ErrKeyText
// where its form or its checksum is wrong.
func KeyEnvironment(text string) (string, error) {
	for environment, prefix := range keyPrefixes {
		if !strings.HasPrefix(text, prefix) || len(text) != len(prefix)+keyBodyLength+keySumLength {
			continue
		}
		body := text[:len(prefix)+keyBodyLength]
		if text[len(body):] == keySum(body) {
			return environment, nil
		}
	}
	return "", ErrKeyText
}

// KeyHash is what is stored and looked up; wire.APIKeyHash is the same for edges. A fast hash is enough: the text has
// 160 random bits, so it cannot be guessed.
func KeyHash(text string) [sha256.Size]byte { return sha256.Sum256([]byte(text)) }

func keySum(text string) string {
	sum := crc32.ChecksumIEEE([]byte(text))
	return commerce.LowerBase32.EncodeToString([]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
}

// ParseScope reads a scope by its name.
func ParseScope(name string) (Scope, error) {
	if !slices.Contains(Scopes, Scope(name)) {
		return "", fmt.Errorf("unknown scope %q: there are %v", name, Scopes)
	}
	return Scope(name), nil
}
