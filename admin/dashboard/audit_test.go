package dashboard

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/admin/dashboard/lang"
)

var writtenAction = regexp.MustCompile(`[aA]ction\b[^"\n]*[:=][^"\n]*"([a-z_]+\.[a-z_]+)"`)

// Whatever the audit log is told of has words on its page, and is of a kind that can be
// asked for.
func TestEveryActionOfTheAuditLogHasWords(t *testing.T) {
	t.Parallel()
	languages, err := lang.Load()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../internal/postgres/merchant/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var actions []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range writtenAction.FindAllStringSubmatch(string(text), -1) {
			actions = append(actions, found[1])
		}
	}
	for _, some := range []string{"influencer.create", "person.invite", "statement.pay", "statement.link"} {
		if !slices.Contains(actions, some) {
			t.Errorf("%s is not found among %v", some, actions)
		}
	}
	for _, action := range actions {
		if !slices.ContainsFunc(auditKinds, func(kind string) bool { return strings.HasPrefix(action, kind) }) {
			t.Errorf("%s is of no kind", action)
		}
		for _, l := range languages.All() {
			if !l.Has("audit.action." + action) {
				t.Errorf("%s has no words in %s", action, l.Tag)
			}
		}
	}
}
