package site

import (
	"testing"

	"github.com/tributary-io/tributary/internal/account"
)

// Who is no person has words in the audit log, not the word that is stored.
func TestWhoIsNoPersonHasWords(t *testing.T) {
	t.Parallel()
	languages, err := LoadTexts()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range languages.All() {
		for _, actor := range []string{"cli", "mail", "processor", "admin", "connect"} {
			if words := ActorWords(l, account.AuditEntry{Actor: actor}); words == actor {
				t.Errorf("%s: %s", l.Tag, words)
			}
		}
	}
}
