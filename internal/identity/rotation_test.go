package identity

import (
	"errors"
	"testing"
)

// rotating returns the hasher of a secret that takes the place of a former one.
func rotating(t *testing.T, current, former byte) *Hasher {
	t.Helper()
	h, err := newHasher(t, current).Rotating(newHasher(t, former))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestRotatingHasherMakesTheKeysOfBothSecrets(t *testing.T) {
	h := rotating(t, 8, 7)
	keys := h.Company("co_1", "BR")
	former, rotates := keys.Former()
	if !rotates || former.Email("ana@example.com") != pinnedEmail ||
		keys.Email("ana@example.com") != newHasher(t, 8).Company("co_1", "BR").Email("ana@example.com") {
		t.Error("the keys are not those of the two secrets")
	}
	r := keys.Recent()
	if string(r.Former().Email("ana@example.com")) != pinnedEmail {
		t.Error("a request has no former keys")
	}
	r.Release()
	if again := newHasher(t, 8).Company("co_1", "BR"); again.Recent().Former() != nil {
		t.Error("a request has former keys, and no secret is being rotated")
	}
	if _, rotates := former.Former(); rotates {
		t.Error("the former keys have former ones")
	}
	if _, err := newHasher(t, 7).Rotating(newHasher(t, 7)); !errors.Is(err, ErrSameMark) {
		t.Errorf("a secret follows itself: %v", err)
	}
}

func TestCheckFitsWhereOneSecretIsHeldByBoth(t *testing.T) {
	first, second, third := newHasher(t, 6), newHasher(t, 7), newHasher(t, 8)
	f := func(h, other *Hasher, want bool) {
		t.Helper()
		if got := h.Fits("co_1", other.Check("co_1"), other.FormerCheck("co_1")); got != want {
			t.Errorf("it fits: %v", got)
		}
		if h.Fits("co_2", other.Check("co_1"), other.FormerCheck("co_1")) {
			t.Error("the check of another company fits")
		}
	}
	toSecond, toThird := rotating(t, 7, 6), rotating(t, 8, 7)
	f(first, first, true)
	f(first, toSecond, true)
	f(toSecond, first, true)
	f(toSecond, toSecond, true)
	f(toSecond, second, true)
	f(second, toSecond, true)
	f(toSecond, toThird, true)
	f(first, second, false)
	f(second, first, false)
	f(first, toThird, false)
	f(third, toSecond, false)
	if first.Fits("co_1", "", "") || toSecond.Fits("co_1", "", "") {
		t.Error("no check fits")
	}
}

func TestMarkTellsSecretsApart(t *testing.T) {
	of := func(fill byte, company, raw string) string {
		return Mark(newHasher(t, fill).Company(company, "BR").Customer(raw))
	}
	if of(7, "co_1", "a") == "" || of(7, "co_1", "a") != of(7, "co_2", "b") || of(7, "co_1", "a") == of(8, "co_1", "a") {
		t.Error("the mark is not the secret's")
	}
	keys := newHasher(t, 7).Company("co_1", "BR")
	if Mark(keys.Digest([]byte("text"))) != of(7, "co_1", "a") || Mark(string(keys.Recent().VisitorID("a"))) != of(7, "co_1", "a") {
		t.Error("a digest has another mark")
	}
	for _, text := range []string{"", "k1:", "018f3f5e-7b2a-7c3d-8e4f-0123456789ab", "k2" + pinnedEmail[2:], pinnedEmail + "A", pinnedCheck} {
		if Mark(text) != "" {
			t.Errorf("%q has a mark", text)
		}
	}
	if a, b := WithMark(make([]byte, 16), pinnedEmail), WithMark(make([]byte, 16), "no key"); string(a[14:]) == string(b[14:]) ||
		string(b) != string(make([]byte, 16)) {
		t.Errorf("%x and %x", a, b)
	}
}
