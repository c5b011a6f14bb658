package dashboard

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/admin/dashboard/lang"
)

// Every action that is written into the audit log has words, and a kind to filter by.
func TestEveryActionHasWords(t *testing.T) {
	t.Parallel()
	l, err := lang.Load()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../internal/postgres/merchant/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, kind := range auditKinds {
		kinds = append(kinds, strings.TrimSuffix(kind, "."))
	}
	action, found := regexp.MustCompile(`"((?:`+strings.Join(kinds, "|")+`)\.[a-z_]+)"`), 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range action.FindAllStringSubmatch(string(body), -1) {
			found++
			for _, p := range l.All() {
				if !p.Has("audit.action." + match[1]) {
					t.Errorf("%s has no text for the action %s of %s", p.Tag, match[1], filepath.Base(file))
				}
			}
		}
	}
	if found < 15 {
		t.Errorf("only %d actions found", found)
	}
}
