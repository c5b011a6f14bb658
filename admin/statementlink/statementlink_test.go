package statementlink

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
)

var (
	now  = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	link = Link{CompanyID: "c_abc", StatementID: "019cd7a4-2e00-7000-8000-000000000001", InfluencerID: "019cd7a4-2e00-7000-8000-000000000002",
		Number: 3, Expires: now.Add(time.Hour)}
)

func signer(t testing.TB, secret, former string) *Signer {
	t.Helper()
	s, err := NewSigner([]byte(secret), []byte(former))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func token(t testing.TB, s *Signer, l Link) string {
	t.Helper()
	text, err := s.Token(l)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

var old, other = strings.Repeat("a", 32), strings.Repeat("b", 32)

func TestALinkIsReadAsItWasMadeUntilItExpires(t *testing.T) {
	s := signer(t, old, "")
	text := token(t, s, link)
	f := func(s *Signer, at time.Time, want error) {
		t.Helper()
		got, err := s.Read(text, at)
		if !errors.Is(err, want) || err == nil && got != link {
			t.Errorf("%s: %+v, %v; want %v", at, got, err, want)
		}
	}
	f(s, now, nil)
	f(s, link.Expires.Add(-time.Nanosecond), nil)
	f(s, link.Expires, ErrExpired)
	f(signer(t, other, ""), now, ErrRefused)
	f(signer(t, other, old), now, nil) // the secret was changed
	f(signer(t, other, old), link.Expires, ErrExpired)
}

// Every character that is changed, left out or added is seen.
func TestAnAlteredLinkIsRefused(t *testing.T) {
	s := signer(t, old, "")
	text := token(t, s, link)
	f := func(altered string) {
		t.Helper()
		if altered != text {
			if got, err := s.Read(altered, now); !errors.Is(err, ErrRefused) || got != (Link{}) {
				t.Errorf("%s: %+v, %v", altered, got, err)
			}
		}
	}
	for i := range text {
		f(text[:i])
		f(text[:i] + text[i+1:])
		for _, c := range "AQgw_-z9=" {
			f(text[:i] + string(c) + text[i+1:])
			f(text[:i] + string(c) + text[i:])
		}
	}
	f(text + "\n")
	f(strings.Repeat("A", 10_000))
	// The expiry of another link beside this one's signature.
	later := link
	later.Expires = later.Expires.Add(time.Hour)
	raw, err := encoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	longer, err := encoding.DecodeString(token(t, s, later))
	if err != nil {
		t.Fatal(err)
	}
	f(encoding.EncodeToString(append(bytes.Clone(longer[:len(longer)-32]), raw[len(raw)-32:]...)))
}

func TestAShortSecretIsRefused(t *testing.T) {
	for _, c := range [][2]string{{"short", ""}, {"", old}, {old, "short"}} {
		if s, err := NewSigner([]byte(c[0]), []byte(c[1])); err == nil {
			t.Errorf("%q: %v", c, s)
		}
	}
}

func FuzzRead(f *testing.F) {
	s := signer(f, old, "")
	f.Add(token(f, s, link))
	f.Fuzz(func(t *testing.T, text string) {
		l, err := s.Read(text, now)
		if err != nil {
			return
		}
		if again := token(t, s, l); again != text {
			t.Errorf("%q and %q say the same", text, again)
		}
	})
}
