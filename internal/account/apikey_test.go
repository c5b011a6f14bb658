package account

import (
	"crypto/rand"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/commerce"
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
	f(commerce.Live, "trb_live_")
	f(commerce.Sandbox, "trb_test_")
	if _, err := NewKeyText(rand.Reader, "staging"); err == nil {
		t.Error("a key of an unknown environment was made")
	}
}
