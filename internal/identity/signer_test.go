package identity

import (
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/uuidtext"
	"github.com/tributary-io/tributary/internal/wire"
)

const (
	signedUUID = "0199f3a0-0000-7000-8000-00000000000a"
	signedName = "Ab12Cd." + signedUUID
)

func TestNobodyElseCanSign(t *testing.T) {
	current, former := NewSigner(newHasher(t, 8), newHasher(t, 7)), NewSigner(newHasher(t, 7), nil)
	stranger := NewSigner(newHasher(t, 9), nil)
	f := func(name string, what Signed, signed string, want, wantOld bool) {
		t.Helper()
		text, old, ok := current.Verify(what, signed)
		if ok != want || old != wantOld || ok && !strings.HasPrefix(signed, text+".") || !ok && text != "" {
			t.Errorf("%s: %q of %q, old %t, verified %t; want %t %t", name, text, signed, old, ok, wantOld, want)
		}
	}
	click, cookie := current.Sign(SignedClick, signedName), current.Sign(SignedCookie, signedUUID)
	f("our click", SignedClick, click, true, false)
	f("our cookie", SignedCookie, cookie, true, false)
	f("a click of the former secret", SignedClick, former.Sign(SignedClick, signedName), true, true)
	f("a cookie of the former secret", SignedCookie, former.Sign(SignedCookie, signedUUID), true, true)
	f("another's secret", SignedClick, stranger.Sign(SignedClick, signedName), false, false)
	f("a cookie's mac on a click", SignedClick, cookie, false, false)
	f("a click's mac on a cookie", SignedCookie, signedUUID+click[len(signedName):], false, false)
	f("another code", SignedClick, "Xb"+click[2:], false, false)
	f("no mac", SignedClick, signedName, false, false)
	f("no uuid", SignedCookie, signedUUID, false, false)
	f("nothing", SignedCookie, "", false, false)
	f("a version of the future", SignedCookie, strings.Replace(cookie, ".1", ".2", 1), false, false)
	f("more behind it", SignedCookie, cookie+"A", false, false)
	f("the mac twice", SignedCookie, cookie+cookie[len(signedUUID):], false, false)
	if len(click) != len(signedName)+14 || len(cookie) != len(signedUUID)+14 {
		t.Errorf("signed %q %q", click, cookie)
	}
	// An installation that takes no former secret takes no old one.
	if _, _, ok := former.Verify(SignedClick, click); ok {
		t.Error("the former signer knows the current secret")
	}
}

func TestAnOrdersSignedUserIDIsTheCookiesVisitor(t *testing.T) {
	h := newHasher(t, 7)
	keys, signer := h.Company("co_1", "BR"), NewSigner(h, nil)
	cookie := signer.Sign(SignedCookie, signedUUID)
	f := func(raw, want string) {
		t.Helper()
		if got := keys.VisitorID(raw); got != want {
			t.Errorf("%q is the visitor %q, want %q", raw, got, want)
		}
	}
	f(signedUUID, signedUUID)
	f(cookie, signedUUID)
	f(" "+strings.ToUpper(signedUUID)+cookie[36:]+" ", signedUUID)
	f(signedUUID+".1aaaaaaaaaaaa", signedUUID) // whose cookie it is, not whether it is proven
	if got := keys.VisitorID("ana@example.1aaaaaaaaaaaa"); !strings.HasPrefix(got, "k1:") {
		t.Errorf("a text with a mac's end is kept: %q", got)
	}
}

// FuzzSignatures: what is verified is what we sign, to the byte, whatever a
// browser sends; and neither form is mistaken for the other.
func FuzzSignatures(f *testing.F) {
	h, err := NewHasher([]byte(strings.Repeat("s", MinSecret)))
	if err != nil {
		f.Fatal(err)
	}
	former, err := NewHasher([]byte(strings.Repeat("p", MinSecret)))
	if err != nil {
		f.Fatal(err)
	}
	signer, old, keys := NewSigner(h, former), NewSigner(former, nil), h.Company("co_1", "BR")
	f.Add(signer.Sign(SignedClick, signedName))
	f.Add(old.Sign(SignedCookie, signedUUID))
	f.Fuzz(func(t *testing.T, text string) {
		for _, what := range []Signed{SignedClick, SignedCookie} {
			inner, isOld, ok := signer.Verify(what, text)
			by := signer
			if isOld {
				by = old
			}
			if ok && by.Sign(what, inner) != text {
				t.Errorf("%s%q is verified, and we would have signed %q", what, text, by.Sign(what, inner))
			}
			signed := signer.Sign(what, text)
			if got, isOld, ok := signer.Verify(what, signed); text != "" && (got != text || isOld || !ok) {
				t.Errorf("%s%q: signed %q, read %q", what, text, signed, got)
			}
			for _, other := range []Signed{SignedClick, SignedCookie} {
				if _, _, ok := signer.Verify(other, signed); other != what && ok {
					t.Errorf("%q is signed as %s and verified as %s", signed, what, other)
				}
			}
		}
		name := wire.ClickName(text)
		if !strings.HasPrefix(text, name) || len(text)-len(name) != 0 && len(text)-len(name) != 14 ||
			wire.ClickName(name) != name && len(name) < len(text)-14 {
			t.Errorf("%q has the name %q", text, name)
		}
		if inner, _, ok := wire.CutMAC(text); ok && uuidtext.Is(inner) && keys.VisitorID(text) != keys.VisitorID(inner) {
			t.Errorf("%q is another visitor than %q", text, inner)
		}
	})
}
