package login

import (
	"bytes"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/account"
)

// RFC 6238, appendix B, for SHA-1: the last six of its eight digits.
func TestCodesAreThoseOfTheStandard(t *testing.T) {
	t.Parallel()
	secret := []byte("12345678901234567890")
	for seconds, want := range map[int64]string{59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924",
		2000000000: "279037", 20000000000: "353130"} {
		at := time.Unix(seconds, 0)
		if got := totpCode(secret, totpStep(at)); got != want {
			t.Errorf("at %d: %s, want %s", seconds, got, want)
		}
		for late, good := range map[time.Duration]bool{-60: false, -30: true, 0: true, 30: true, 60: false} {
			if seconds == 59 && late == -60 { // before 1970 there are no steps
				continue
			}
			step, ok := totpStepOf(secret, want, at.Add(late*time.Second))
			if ok != good || ok && step != totpStep(at) {
				t.Errorf("at %d, %d s later: step %d, %t, want %t", seconds, late, step, ok, good)
			}
		}
	}
	if got, want := totpURI(secret, "ana@loja.example"),
		"otpauth://totp/Tributary:ana@loja.example?issuer=Tributary&secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestASecretIsSealedForOnePerson(t *testing.T) {
	t.Parallel()
	keysOf := func(current, previous byte) signingKeys {
		t.Helper()
		keys, err := newSigningKeys(bytes.Repeat([]byte{current}, minSecret), bytes.Repeat([]byte{previous}, minSecret))
		if err != nil {
			t.Fatal(err)
		}
		return keys
	}
	secret := []byte("12345678901234567890")
	sealed, err := keysOf(1, 9).seal(secret, "p", rand.Reader)
	if err != nil || bytes.Contains(sealed, secret[:8]) {
		t.Fatalf("%q, %v", sealed, err)
	}
	f := func(what string, keys signingKeys, sealed []byte, person string, stale bool, want error) {
		t.Helper()
		got, old, err := keys.unseal(sealed, person)
		if !errors.Is(err, want) || err == nil && (!bytes.Equal(got, secret) || old != stale) {
			t.Errorf("%s: %q, stale %t, %v", what, got, old, err)
		}
	}
	f("the same", keysOf(1, 9), sealed, "p", false, nil)
	f("after a rotation", keysOf(2, 1), sealed, "p", true, nil)
	f("after two", keysOf(3, 2), sealed, "p", false, errSealed)
	f("somebody else", keysOf(1, 9), sealed, "q", false, errSealed)
	for n := range sealed {
		f("cut", keysOf(1, 9), sealed[:n], "p", false, errSealed)
		f("changed", keysOf(1, 9), append(append(bytes.Clone(sealed[:n]), sealed[n]^1), sealed[n+1:]...), "p", false, errSealed)
	}
}

func TestGuessesAtCodesAreBounded(t *testing.T) {
	t.Parallel()
	a, now := newAttempts(), time.Unix(1_800_000_000, 0)
	good := 0
	for n := range 100 { // each from a network of its own
		if a.allowCode("p", string(rune('a'+n)), "", now).OK {
			good++
		}
	}
	if good != codeBurst {
		t.Errorf("%d guesses from many networks, want %d", good, codeBurst)
	}
	if !a.allowCode("p", "x", "device", now).OK {
		t.Error("a known device is kept out by guesses from elsewhere")
	}
	if !a.allowCode("q", "y", "", now).OK {
		t.Error("somebody else is kept out")
	}
}

// The step between password and code is of one person, one password, five minutes.
func TestTheSecondStepIsSigned(t *testing.T) {
	t.Parallel()
	keys, err := newSigningKeys(bytes.Repeat([]byte{1}, minSecret), nil)
	if err != nil {
		t.Fatal(err)
	}
	p := account.Person{ID: "0195b2c0-0000-7000-8000-000000000000", PasswordHash: "hash"}
	until := time.Unix(1_800_000_000, 0)
	first := keys.signStep(p, until)
	other := p
	other.PasswordHash = "another"
	if keys.signStep(other, until) == first || keys.signStep(p, until.Add(time.Second)) == first {
		t.Error("the signature says not what it is for")
	}
}
