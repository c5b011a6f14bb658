package commerce

import (
	"crypto/rand"
	"strings"
	"testing"
)

func TestKeyTextNamesItsEnvironmentAndKnowsATypingError(t *testing.T) {
	t.Parallel()
	f := func(environment, prefix string) {
		t.Helper()
		text, err := NewKeyText(rand.Reader, environment)
		if err != nil || !strings.HasPrefix(text, prefix) {
			t.Fatalf("%q %v", text, err)
		}
		if got, err := KeyEnvironment(text); got != environment || err != nil {
			t.Errorf("%q is of %q, %v", text, got, err)
		}
		for i := range text {
			other := byte('b')
			if text[i] == 'b' {
				other = 'c'
			}
			if _, err := KeyEnvironment(text[:i] + string(other) + text[i+1:]); err == nil {
				t.Errorf("an error at %d is not seen", i)
			}
		}
		for _, wrong := range []string{"", text[1:], text + "a", strings.ToUpper(text)} {
			if _, err := KeyEnvironment(wrong); err == nil {
				t.Errorf("%q is taken for a key", wrong)
			}
		}
	}
	f(Live, "trb_live_")
	f(Sandbox, "trb_test_")
	if _, err := NewKeyText(rand.Reader, "staging"); err == nil {
		t.Error("a key of an unknown environment was made")
	}
}

func TestShortCodesAreUnambiguous(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 1000 {
		code, err := NewShortCode(rand.Reader)
		if err != nil || len(code) != CodeLength || strings.Trim(code, codeAlphabet) != "" || seen[code] {
			t.Fatalf("%q %v", code, err)
		}
		seen[code] = true
	}
	if strings.ContainsAny(codeAlphabet, "01oilu") {
		t.Error("the alphabet has letters that are mistaken for one another")
	}
}
