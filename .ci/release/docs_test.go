package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The lines of docs/operations.md that make secrets make them for their owner alone, and a second time change none.
func TestTheDocumentedSecretsAreMadeOnceAndForTheirOwner(t *testing.T) {
	doc := read(t, filepath.Join(root, "docs", "operations.md"))
	_, compose, _ := strings.Cut(doc, "cd tributary_0.1.0_compose\n")
	compose, _, _ = strings.Cut(compose, "docker compose up")
	_, files, _ := strings.Cut(doc, "values.yaml)):\n\n```sh\n")
	files, _, _ = strings.Cut(files, "kubectl ")
	for commands, made := range map[string][]string{compose: {".env"}, files: {"hashing", "token"}} {
		dir, before := t.TempDir(), map[string]string{}
		run := func() error {
			cmd := exec.CommandContext(t.Context(), "bash", "-c", "umask 022\n"+commands)
			cmd.Dir = dir
			return cmd.Run()
		}
		if err := run(); err != nil {
			t.Fatalf("%v\n%s", err, commands)
		}
		for _, name := range made {
			info, err := os.Stat(filepath.Join(dir, name))
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Fatalf("%s: %v, %v", name, info, err)
			}
			if before[name] = read(t, filepath.Join(dir, name)); len(before[name]) < 40 {
				t.Errorf("%s has %q", name, before[name])
			}
		}
		if run() == nil {
			t.Errorf("a second run says nothing:\n%s", commands)
		}
		for _, name := range made {
			if read(t, filepath.Join(dir, name)) != before[name] {
				t.Errorf("a second run changes %s", name)
			}
		}
	}
}

// What is removed is a former release and nothing else.
func TestOnlyAFormerReleaseIsRemoved(t *testing.T) {
	home := t.TempDir()
	repository, other, former := filepath.Join(home, "repository"), filepath.Join(home, "other"), filepath.Join(home, "former")
	for _, path := range []string{filepath.Join(repository, "go.mod"), filepath.Join(other, "letters"), filepath.Join(former, "SHA256SUMS")} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for out, taken := range map[string]bool{home: false, repository: false, other: false, former: true,
		filepath.Join(repository, "dist"): true} {
		if err := emptied(repository, out); (err == nil) != taken {
			t.Errorf("%s: %v", out, err)
		}
	}
	for path, kept := range map[string]bool{filepath.Join(other, "letters"): true, filepath.Join(repository, "go.mod"): true,
		filepath.Join(former, "SHA256SUMS"): false} {
		if _, err := os.Stat(path); (err == nil) != kept {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestOnlyPlainVersionsAreReleased(t *testing.T) {
	for tag, taken := range map[string]bool{"v1.2.3": true, "v1.2.3-rc.1": false, "v1.2": false} {
		dir := t.TempDir()
		shell(t, "git", "init", "-q", dir)
		shell(t, "git", "-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "--allow-empty", "-m", "t")
		shell(t, "git", "-C", dir, "tag", tag)
		r, err := newRelease(t.Context(), dir)
		if (err == nil) != taken || taken && r.version != tag {
			t.Errorf("%s: %q, %v", tag, r.version, err)
		}
	}
}
