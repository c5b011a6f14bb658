package atomicfile_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/atomicfile"
)

// text writes a file's content.
func text(content string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, content)
		return err
	}
}

func TestAFileIsReplacedWhole(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state")
	for _, content := range []string{"a long first content", "short"} {
		if err := atomicfile.Write(path, text(content)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != content {
			t.Errorf("the file holds %q, %v; want %q", got, err, content)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v; want mode 0600", info.Mode(), err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("%d files are left, %v; want the one", len(files), err)
	}
}

func TestAFileThatCannotBeReplacedStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	if err := os.MkdirAll(filepath.Join(path, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{path, filepath.Join(path, "missing", "state")} {
		if err := atomicfile.Write(path, text("x")); err == nil || !strings.Contains(err.Error(), "write "+path) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) != 1 {
		t.Errorf("%d files are left, %v; want the one", len(files), err)
	}
}

func TestAContentThatBreaksOffReplacesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	if err := atomicfile.Write(path, text("whole")); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken off")
	err := atomicfile.Write(path, func(w io.Writer) error {
		if err := text("ha")(w); err != nil {
			return err
		}
		return broken
	})
	if got, _ := os.ReadFile(path); !errors.Is(err, broken) || string(got) != "whole" {
		t.Errorf("%v, and the file holds %q", err, got)
	}
}
