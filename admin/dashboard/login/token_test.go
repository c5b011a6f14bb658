package login

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/tributary-io/tributary/admin/dashboard/site"
)

func TestAccessTokens(t *testing.T) {
	t.Parallel()
	secret := func(b byte) []byte { return bytes.Repeat([]byte{b}, minSecret) }
	keysOf := func(current, previous []byte) signingKeys {
		t.Helper()
		keys, err := newSigningKeys(current, previous)
		if err != nil {
			t.Fatal(err)
		}
		return keys
	}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	signed := func(keys signingKeys) string {
		t.Helper()
		text, err := keys.sign(site.Access{PersonID: "p", Family: "f", Until: now.Add(time.Minute)}, now)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	first, second, third := keysOf(secret(1), nil), keysOf(secret(2), secret(1)), keysOf(secret(3), secret(2))
	byFirst := signed(first)

	f := func(what string, keys signingKeys, text string, at time.Time, good bool) {
		t.Helper()
		a, err := keys.verify(text, at)
		if (err == nil) != good || (good && (a.PersonID != "p" || a.Family != "f" || !a.Until.Equal(now.Add(time.Minute)))) {
			t.Errorf("%s: %+v, %v; want good %t", what, a, err, good)
		}
	}
	f("its own key", first, byFirst, now, true)
	f("after one rotation of the secret", second, byFirst, now, true)
	f("after two", third, byFirst, now, false)
	f("the new key, where only the old is known", first, signed(second), now, false)
	f("expired", first, byFirst, now.Add(time.Minute+time.Second), false)
	f("changed", first, byFirst[:len(byFirst)-2]+"AA", now, false)
	f("nothing", first, "", now, false)

	forged := func(method jwt.SigningMethod, key any, change func(*claims)) string {
		t.Helper()
		c := claims{Family: "f", RegisteredClaims: jwt.RegisteredClaims{
			Issuer: issuer, Audience: jwt.ClaimStrings{audience}, Subject: "p", ExpiresAt: jwt.NewNumericDate(now.Add(time.Minute)),
		}}
		change(&c)
		token := jwt.NewWithClaims(method, c)
		token.Header["kid"] = first.kid
		text, err := token.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	key := first.byKid[first.kid]
	f("made by hand, all right", first, forged(jwt.SigningMethodHS256, key, func(*claims) {}), now, true)
	f("without a signature", first, forged(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, func(*claims) {}), now, false)
	f("another algorithm", first, forged(jwt.SigningMethodHS512, key, func(*claims) {}), now, false)
	f("for another audience", first, forged(jwt.SigningMethodHS256, key, func(c *claims) { c.Audience = jwt.ClaimStrings{"api"} }), now, false)
	f("without an end", first, forged(jwt.SigningMethodHS256, key, func(c *claims) { c.ExpiresAt = nil }), now, false)
	f("of nobody", first, forged(jwt.SigningMethodHS256, key, func(c *claims) { c.Subject = "" }), now, false)

	if _, err := newSigningKeys(secret(1)[:31], nil); err == nil {
		t.Error("a secret of 31 bytes is taken")
	}
}

func TestPasswordsOfAUsefulLength(t *testing.T) {
	t.Parallel()
	f := func(password string, want error) {
		t.Helper()
		if _, err := HashPassword(password); !errors.Is(err, want) {
			t.Errorf("%q of %d bytes: %v, want %v", password, len(password), err, want)
		}
	}
	of := func(bytesLong int) string { return strings.Repeat("xkcd9", bytesLong)[:bytesLong] }
	f(of(MinPasswordCharacters-1), ErrPasswordLength)
	f(of(MinPasswordCharacters), nil)
	f("ãéîõüçñšž", ErrPasswordLength) // 9 characters of 2 bytes
	f("ãéîõüçñšžđ", nil)
	f(of(MaxPasswordBytes), nil)
	f(of(MaxPasswordBytes+1), ErrPasswordLength)
}
