// Package statementlink makes and reads signed links that show an influencer one
// statement without a log-in.
//
// What belongs here: the form of a link's token and its signature. No I/O: whether a link
// was revoked is looked up by its number (internal/postgres/merchant, LinkNumber).
package statementlink

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/internal/commerce"
)

// Path is where the dashboard serves a link: Path and the token.
const Path = "/dashboard/statement/"

// Life is for how long a link shows an influencer their own statement, where the dashboard makes it or a mail has it.
const Life = 90 * 24 * time.Hour

// For how many days a link works, where nothing else is said, and at most.
const (
	Days     = 30
	MostDays = 365
)

// Link says what a link shows, and until when.
type Link struct {
	CompanyID    string
	StatementID  string // UUID
	InfluencerID string // UUID
	Number       int64  // how often the statement's links were revoked when it was made
	Expires      time.Time
}

// Errors of Read. The text of a token that is refused says nothing about why.
var (
	ErrRefused = errors.New("the link was not made here, or was altered")
	ErrExpired = errors.New("the link has expired")
)

// Signer signs links with a key of the installation; safe for concurrent use.
type Signer struct{ keys [][]byte } // the first one signs

// minSecret is the least length of the token secret, in bytes: that of the signature.
const minSecret = sha256.Size

// NewSigner takes the installation's token secret, and the former one, or nil: links that
// it signed still work.
func NewSigner(secret, former []byte) (*Signer, error) {
	s := &Signer{}
	for _, one := range [][]byte{secret, former} {
		if len(one) == 0 && len(s.keys) > 0 {
			break // there is no former one
		}
		if len(one) < minSecret {
			return nil, fmt.Errorf("statementlink: the token secret has at least %d bytes", minSecret)
		}
		key, err := hkdf.Key(sha256.New, one, nil, "tributary statement link v1", sha256.Size)
		if err != nil {
			return nil, fmt.Errorf("statementlink: derive a key: %w", err)
		}
		s.keys = append(s.keys, key)
	}
	return s, nil
}

// A token is base64url of: version, statement, influencer, number, expiry in Unix
// seconds, company, and the HMAC-SHA-256 of all of these.
const (
	version  = 1
	fixed    = 1 + 16 + 16 + 8 + 8
	maxToken = 512 // characters
)

// encoding refuses bits that say nothing, so that a token has one text.
var encoding = base64.RawURLEncoding.Strict()

// Token returns the link's token, which is safe in a URL.
func (s *Signer) Token(l Link) (string, error) {
	statement, err := uuid.Parse(l.StatementID)
	if err != nil {
		return "", fmt.Errorf("statementlink: statement: %w", err)
	}
	influencer, err := uuid.Parse(l.InfluencerID)
	if err != nil {
		return "", fmt.Errorf("statementlink: influencer: %w", err)
	}
	body := append([]byte{version}, statement[:]...)
	body = append(body, influencer[:]...)
	body = binary.BigEndian.AppendUint64(body, uint64(l.Number))
	body = binary.BigEndian.AppendUint64(body, uint64(l.Expires.Unix()))
	body = append(body, l.CompanyID...)
	return encoding.EncodeToString(sign(s.keys[0], body)), nil
}

// sign appends the signature to a body.
func sign(key, body []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write(body)
	return mac.Sum(body[:len(body):len(body)])
}

// Read returns what a token says, where its signature holds: ErrRefused, or ErrExpired
// from its expiry on.
func (s *Signer) Read(token string, now time.Time) (Link, error) {
	if len(token) > maxToken || strings.ContainsAny(token, "\r\n") { // the decoder leaves line ends out
		return Link{}, ErrRefused
	}
	raw, err := encoding.DecodeString(token)
	if err != nil || len(raw) < fixed+sha256.Size || raw[0] != version {
		return Link{}, ErrRefused
	}
	body, holds := raw[:len(raw)-sha256.Size], false
	for _, key := range s.keys {
		holds = hmac.Equal(sign(key, body), raw) || holds
	}
	l := Link{
		StatementID: uuid.UUID(body[1:17]).String(), InfluencerID: uuid.UUID(body[17:33]).String(),
		Number: int64(binary.BigEndian.Uint64(body[33:])), Expires: time.Unix(int64(binary.BigEndian.Uint64(body[41:])), 0).UTC(),
		CompanyID: string(body[fixed:]),
	}
	if !holds || !commerce.IsID(l.CompanyID) {
		return Link{}, ErrRefused
	}
	if !now.Before(l.Expires) {
		return Link{}, ErrExpired
	}
	return l, nil
}
