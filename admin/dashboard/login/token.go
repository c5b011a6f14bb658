package login

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/tributary-io/tributary/admin/dashboard/site"
)

const (
	issuer   = "tributary"
	audience = "dashboard"
	// minSecret in bytes: HS256 needs a key of at least 256 bits (RFC 7518, 3.2).
	minSecret = 32
)

// signingKeys are derived from the token secret, one for each purpose: to sign
// access tokens, to sign the cookies of known devices, and to make the refresh
// token that follows another. kid names the secret and says nothing about it.
type signingKeys struct {
	kid     string
	byKid   map[string][]byte
	devices map[string][]byte // by kid: signs the cookies of known devices
	steps   map[string][]byte // by kid: signs who is in the second step of a log-in
	factors map[string][]byte // by kid: encrypts second factors
	refresh []byte
}

func newSigningKeys(current, previous []byte) (signingKeys, error) {
	keys := signingKeys{byKid: map[string][]byte{}, devices: map[string][]byte{}, steps: map[string][]byte{}, factors: map[string][]byte{}}
	add := func(secret []byte) (kid string, err error) {
		if len(secret) < minSecret {
			return "", fmt.Errorf("dashboard: a token secret has at least %d bytes", minSecret)
		}
		key, err := derive(secret, "tributary dashboard access v1")
		if err != nil {
			return "", err
		}
		id, err := derive(secret, "tributary dashboard kid v1")
		if err != nil {
			return "", err
		}
		kid = hex.EncodeToString(id[:8])
		keys.byKid[kid] = key
		if keys.devices[kid], err = derive(secret, "tributary dashboard device v1"); err != nil {
			return "", err
		}
		if keys.steps[kid], err = derive(secret, "tributary dashboard second step v1"); err != nil {
			return "", err
		}
		keys.factors[kid], err = derive(secret, "tributary dashboard second factor v1")
		return kid, err
	}
	if len(previous) > 0 {
		if _, err := add(previous); err != nil {
			return signingKeys{}, fmt.Errorf("%w (the previous one)", err)
		}
	}
	var err error
	if keys.kid, err = add(current); err != nil {
		return signingKeys{}, err
	}
	keys.refresh, err = derive(current, "tributary dashboard refresh v1")
	return keys, err
}

func derive(secret []byte, info string) ([]byte, error) {
	key, err := hkdf.Key(sha256.New, secret, nil, info, sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("dashboard: derive a key: %w", err)
	}
	return key, nil
}

type claims struct {
	Family string `json:"sid"`
	jwt.RegisteredClaims
}

func (k signingKeys) sign(a site.Access, now time.Time) (string, error) {
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, claims{
		Family: a.Family,
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: issuer, Audience: jwt.ClaimStrings{audience}, Subject: a.PersonID,
			IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(a.Until),
		},
	})
	token.Header["kid"] = k.kid
	signed, err := token.SignedString(k.byKid[k.kid])
	if err != nil {
		return "", fmt.Errorf("dashboard: sign a token: %w", err)
	}
	return signed, nil
}

// verify reads an access token that one of the keys signed and that is not expired.
func (k signingKeys) verify(text string, now time.Time) (site.Access, error) {
	var c claims
	_, err := jwt.ParseWithClaims(text, &c, func(t *jwt.Token) (any, error) {
		kid, _ := t.Header["kid"].(string)
		key := k.byKid[kid]
		if key == nil {
			return nil, errors.New("unknown kid")
		}
		return key, nil
	}, jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}), jwt.WithIssuer(issuer), jwt.WithAudience(audience),
		jwt.WithExpirationRequired(), jwt.WithTimeFunc(func() time.Time { return now }))
	if err != nil {
		return site.Access{}, fmt.Errorf("dashboard: access token: %w", err)
	}
	if c.Subject == "" || c.Family == "" {
		return site.Access{}, errors.New("dashboard: access token names nobody")
	}
	return site.Access{PersonID: c.Subject, Family: c.Family, Until: c.ExpiresAt.Time}, nil
}

// successor returns the refresh token that follows another. It is always the same
// one, so that several tabs that ask at the same time, perhaps different
// processes, get the same token.
func (k signingKeys) successor(token [32]byte) [32]byte {
	mac := hmac.New(sha256.New, k.refresh)
	mac.Write(token[:])
	return [32]byte(mac.Sum(nil))
}
