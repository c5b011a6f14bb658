package house_test

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// sources lists the Go files of the repository, whatever they are built for.
func sources(t *testing.T) (found []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, entry os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && notOurs(path):
			return filepath.SkipDir
		case !entry.IsDir() && filepath.Ext(path) == ".go":
			found = append(found, filepath.ToSlash(path))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 500 {
		t.Fatalf("only %d Go files", len(found))
	}
	return found
}

// fileImports lists what a Go file imports.
func fileImports(t *testing.T, path string) (paths []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range file.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, name)
	}
	return paths
}

// Benchmarks, proofs and test servers are imported by each other and by tests.
// Of the product only the binary has `tributary dev` inside.
func TestTheProductImportsNothingOfTest(t *testing.T) {
	atRoot(t)
	for _, source := range sources(t) {
		if strings.HasSuffix(source, "_test.go") || strings.HasPrefix(source, "test/") {
			continue
		}
		for _, path := range fileImports(t, source) {
			switch {
			case inside(path, "test"):
				t.Errorf("%s imports %s: what is below test is for tests", source, path)
			case inside(path, "dev") && !strings.HasPrefix(source, "dev/") && !strings.HasPrefix(source, "cmd/tributary/"):
				t.Errorf("%s imports %s: what production runs knows nothing of `tributary dev`", source, path)
			}
		}
	}
}

func TestTheRootHasNoGoFile(t *testing.T) {
	atRoot(t)
	for _, source := range sources(t) {
		if !strings.Contains(source, "/") {
			t.Errorf("%s: a package has a directory, and rules of the house are in test/house", source)
		}
	}
}
