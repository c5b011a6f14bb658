// Package house_test holds the rules that no single package can: which package
// may import which (docs/architecture.md, "Packages"), and that pages, comments
// and the event's schema agree with the code.
//
// What may enter: rules over the whole repository. Paths are relative to the
// module's root: the tests run there.
package house_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestMain(m *testing.M) {
	if err := toRoot(); err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// toRoot makes the module's root the working directory.
func toRoot() error {
	root := filepath.Join("..", "..")
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		return fmt.Errorf("the module's root: %w", err)
	}
	return os.Chdir(root)
}
