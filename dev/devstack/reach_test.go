package devstack

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestReachNeedsEveryDirectoryAbove(t *testing.T) {
	root, err := os.MkdirTemp("", "devstack-reach-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(root)
	f := func(mode os.FileMode, below string, want bool) {
		t.Helper()
		dir := filepath.Join(root, "dir")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(root, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		other := account{uid: nobodyUID - 1, gid: nobodyGID - 1, change: true}
		if got := other.canReach(filepath.Join(dir, below)); got != want {
			t.Errorf("through mode %o to %s: %t, want %t", mode, below, got, want)
		}
	}
	f(0o755, "data", true)
	f(0o711, "data", true)
	f(0o755, "not/yet/there", true)
	f(0o700, "data", false)
	f(0o750, "data", false)
	if ourselves := (account{uid: os.Geteuid()}); !ourselves.canReach(filepath.Join(root, "dir", "data")) {
		t.Error("an account that does not change is asked for permission")
	}
}

func TestUnpackingNeverLeavesItsDirectory(t *testing.T) {
	f := func(name string, members ...*tar.Header) {
		t.Helper()
		var archive bytes.Buffer
		w := tar.NewWriter(&archive)
		for _, h := range members {
			h.Mode = 0o644
			if err := w.WriteHeader(h); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		parent := t.TempDir()
		dir := filepath.Join(parent, "into")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := untar(tar.NewReader(&archive), dir); err == nil {
			t.Errorf("%s: unpacked without an error", name)
		}
		if left, _ := filepath.Glob(filepath.Join(parent, "*")); len(left) != 1 {
			t.Errorf("%s: left %v", name, left)
		}
	}
	f("dot-dot", &tar.Header{Name: "../outside", Typeflag: tar.TypeReg})
	f("through a link", &tar.Header{Name: "link", Typeflag: tar.TypeSymlink, Linkname: ".."},
		&tar.Header{Name: "link/outside", Typeflag: tar.TypeReg})
}
