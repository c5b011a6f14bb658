// Package house_test holds the rules that no single package can: which package
// may import which (docs/notes/packages.md), and that pages, comments
// and the event's schema agree with the code.
//
// What may enter: rules over the whole repository. Each begins with atRoot.
package house_test

import (
	"os"
	"path/filepath"
	"testing"
)

// atRoot makes the module's root the working directory of a test, for its paths. Not
// TestMain does: what is opened after a change of directory there, `go test` does not
// know, and it would show a result of before a page was changed.
func atRoot(t *testing.T) {
	t.Helper()
	root := filepath.Join("..", "..")
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatalf("the module's root: %v", err)
	}
	t.Chdir(root)
}
