package upgrade

import (
	"errors"
	"testing"

	"github.com/tributary-io/tributary/test/prove"
)

// The commit and the tag are one version, where the clone has the tag.
func TestTheFormerVersionIsThatOfTheTag(t *testing.T) {
	commit, err := formerVersion(t.Context())
	if errors.Is(err, prove.ErrNotHere) {
		t.Log(err) // a shallow clone has neither
		return
	}
	if err != nil || commit != formerCommit {
		t.Errorf("%s, %v", commit, err)
	}
	// It is the version before: it does not have all migrations of now.
	files, err := git(t.Context(), "ls-tree", "-r", "--name-only", formerCommit, "--", ":/internal/postgres/migrations")
	if err != nil || files == "" {
		t.Fatal(files, err)
	}
	now, err := git(t.Context(), "ls-files", "--", ":/internal/postgres/migrations")
	if err != nil || now == files {
		t.Errorf("%v: no migration came after %s: %s", err, formerTag, now)
	}
}
