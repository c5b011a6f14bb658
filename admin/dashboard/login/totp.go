package login

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // RFC 6238: what authenticator apps compute
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"
)

// Parameters of RFC 6238, the defaults of authenticator apps.
const (
	totpPeriod      = 30 * time.Second
	totpSecretBytes = 20        // RFC 4226, 4: the length of HMAC-SHA-1
	totpModulus     = 1_000_000 // 6 digits
	totpDrift       = 1         // steps before and after: a clock that is wrong, a person who is slow
	recoveryCodes   = 10
	recoveryBytes   = 16 // 128 bits: not guessed, so a plain hash keeps them
)

var base32Text = base32.StdEncoding.WithPadding(base32.NoPadding)

func totpStep(at time.Time) int64 { return at.Unix() / int64(totpPeriod/time.Second) }

// totpCode is the code of a step (RFC 4226, 5.3).
func totpCode(secret []byte, step int64) string {
	mac := hmac.New(sha1.New, secret)
	_ = binary.Write(mac, binary.BigEndian, step) // a hash takes all
	sum := mac.Sum(nil)
	at := sum[len(sum)-1] & 0x0f
	return fmt.Sprintf("%06d", (binary.BigEndian.Uint32(sum[at:at+4])&0x7fffffff)%totpModulus)
}

// totpStepOf returns the step whose code was typed, of those around an instant.
func totpStepOf(secret []byte, code string, at time.Time) (step int64, ok bool) {
	now := totpStep(at)
	for s := now - totpDrift; s <= now+totpDrift; s++ {
		if subtle.ConstantTimeCompare([]byte(totpCode(secret, s)), []byte(code)) == 1 {
			step, ok = s, true
		}
	}
	return step, ok
}

// totpURI is what authenticator apps read (Google's Key URI format).
func totpURI(secret []byte, email string) string {
	q := url.Values{"secret": {base32Text.EncodeToString(secret)}, "issuer": {"Tributary"}}
	return "otpauth://totp/Tributary:" + url.PathEscape(email) + "?" + q.Encode()
}

// inGroups writes a text in groups of four, so that people can type it.
func inGroups(text string) string {
	var groups []string
	for ; len(text) > 4; text = text[4:] {
		groups = append(groups, text[:4])
	}
	return strings.Join(append(groups, text), " ")
}

// typedCode is a code without what people type between its groups.
func typedCode(text string) string {
	return strings.ToUpper(strings.NewReplacer(" ", "", "-", "", "\u00a0", "").Replace(text))
}

// newRecoveryCodes makes the codes that replace a lost device, and their SHA-256.
func newRecoveryCodes(random io.Reader) (codes []string, hashes [][]byte, err error) {
	for range recoveryCodes {
		var raw [recoveryBytes]byte
		if _, err := io.ReadFull(random, raw[:]); err != nil {
			return nil, nil, fmt.Errorf("dashboard: make recovery codes: %w", err)
		}
		text := base32Text.EncodeToString(raw[:])
		codes, hashes = append(codes, inGroups(text)), append(hashes, hashRecovery(text))
	}
	return codes, hashes, nil
}

func hashRecovery(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

var errSealed = errors.New("dashboard: a second factor was sealed under another token secret, or for another person")

// seal encrypts a secret for a person: AES-256-GCM under a key of the token secret, whose kid stands before it.
func (k signingKeys) seal(secret []byte, personID string, random io.Reader) ([]byte, error) {
	aead, err := aeadOf(k.factors[k.kid])
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, aead.NonceSize())
	if _, err := io.ReadFull(random, nonce); err != nil {
		return nil, fmt.Errorf("dashboard: seal a second factor: %w", err)
	}
	return aead.Seal(append([]byte(k.kid), nonce...), nonce, secret, []byte(personID)), nil
}

// Seal implements site.Sealer. No person's id is such a label.
func (k signingKeys) Seal(text []byte, label string, random io.Reader) ([]byte, error) {
	return k.seal(text, "page "+label, random)
}

// Unseal implements site.Sealer.
func (k signingKeys) Unseal(sealed []byte, label string) ([]byte, error) {
	text, _, err := k.unseal(sealed, "page "+label)
	return text, err
}

// unseal is the other way round. stale says that the previous token secret sealed it.
func (k signingKeys) unseal(sealed []byte, personID string) (secret []byte, stale bool, err error) {
	if len(sealed) < len(k.kid) {
		return nil, false, errSealed
	}
	kid, rest := string(sealed[:len(k.kid)]), sealed[len(k.kid):]
	key := k.factors[kid]
	if key == nil {
		return nil, false, errSealed
	}
	aead, err := aeadOf(key)
	if err != nil {
		return nil, false, err
	}
	if len(rest) < aead.NonceSize() {
		return nil, false, errSealed
	}
	secret, err = aead.Open(nil, rest[:aead.NonceSize()], rest[aead.NonceSize():], []byte(personID))
	if err != nil {
		return nil, false, errSealed
	}
	return secret, kid != k.kid, nil
}

func aeadOf(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("dashboard: a second factor's key: %w", err)
	}
	return cipher.NewGCM(block)
}
