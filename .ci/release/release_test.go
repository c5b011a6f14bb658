package main

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spdx/tools-golang/json"
)

const root = "../.."

// dist is where `make release` has put what is tested here.
func dist(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("TRIBUTARY_DIST")
	if dir == "" {
		t.Fatal("give $TRIBUTARY_DIST, the folder of a release; `make release` makes it and runs this")
	}
	return dir
}

func thisRelease(t *testing.T) release {
	t.Helper()
	r, err := newRelease(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// shell runs a command to its end and returns what it printed.
func shell(t *testing.T, command string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, command, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", command, strings.Join(args, " "), err, out)
	}
	return string(out)
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// unpacked is the folder of a platform's archive.
func unpacked(t *testing.T, b binary) string {
	t.Helper()
	dir, name := t.TempDir(), thisRelease(t).name(b)
	shell(t, "tar", "-x", "-z", "-f", filepath.Join(dist(t), name+".tar.gz"), "-C", dir)
	return filepath.Join(dir, name)
}

// A second folder, with a longer path, gives the same bytes of every file, and so does an empty cache for the
// platform that most people run.
func TestAnotherFolderGivesTheSameBytes(t *testing.T) {
	r := thisRelease(t)
	tree, out := filepath.Join(t.TempDir(), "a", "much", "longer", "path"), t.TempDir()
	if err := os.MkdirAll(tree, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := r.export(t.Context(), root, tree); err != nil {
		t.Fatal(err)
	}
	if err := r.make(t.Context(), tree, out); err != nil {
		t.Fatal(err)
	}
	first, second := read(t, filepath.Join(dist(t), "SHA256SUMS")), read(t, filepath.Join(out, "SHA256SUMS"))
	archived, installed, once := len(platforms)*2, 2*3, 2+3 // archives and SBOMs; deb, rpm, images; compose and chart, npm
	if first != second || strings.Count(first, "\n") != archived+installed+once {
		t.Errorf("made first:\n%smade then:\n%s", first, second)
	}
	all := platforms
	defer func() { platforms = all }()
	platforms = platforms[:1]
	t.Setenv("GOCACHE", t.TempDir())
	anew, err := r.binaries(t.Context(), tree, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if read(t, anew[0].path) != read(t, filepath.Join(tree, "bin", "linux_amd64", "tributary")) {
		t.Error("with an empty cache the program for linux/amd64 is another")
	}
}

func TestTheSumsAreRight(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sha256sum", "--strict", "-c", "SHA256SUMS")
	cmd.Dir = dist(t)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestTheProgramsAreStaticAndSayWhatTheyAre(t *testing.T) {
	r := thisRelease(t)
	for _, b := range platforms {
		dir := unpacked(t, b)
		program := filepath.Join(dir, "tributary")
		for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md", others} {
			if read(t, filepath.Join(dir, name)) == "" {
				t.Errorf("%s is empty", name)
			}
		}
		if b.os != "linux" {
			continue
		}
		file, err := elf.Open(program)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range file.Progs {
			if part.Type == elf.PT_INTERP || part.Type == elf.PT_DYNAMIC {
				t.Errorf("%s/%s is linked dynamically", b.os, b.arch)
			}
		}
		file.Close()
		run := []string{program, "--version"}
		if b.arch == "arm64" {
			run = append([]string{"qemu-aarch64-static"}, run...)
		}
		want := fmt.Sprintf("tributary version %s commit %s of %s go", r.version, r.commit[:12], r.date.Format(time.RFC3339))
		if got := shell(t, run[0], run[1:]...); !strings.HasPrefix(got, want) || !strings.Contains(got, b.os+"/"+b.arch) {
			t.Errorf("%s/%s --version: %q, want %q …", b.os, b.arch, got, want)
		}
	}
}

// The SBOM tells of the modules that the Go tool finds in the program, and of no other.
func TestTheSBOMTellsOfEveryModule(t *testing.T) {
	module := regexp.MustCompile(`(?m)^\tdep\t(\S+)\t(\S+)`)
	for _, b := range platforms {
		document, err := json.Read(bytes.NewReader([]byte(read(t, filepath.Join(dist(t), thisRelease(t).name(b)+".spdx.json")))))
		if err != nil {
			t.Fatal(err)
		}
		var told, want []string
		for _, p := range document.Packages[2:] { // after the program and Go's standard library
			told = append(told, p.PackageName+"@"+p.PackageVersion)
			if len(p.PackageChecksums) != 1 {
				t.Errorf("%s has no checksum", p.PackageName)
			}
			if p.PackageLicenseDeclared == "NOASSERTION" && byHand[p.PackageName] == "" {
				t.Errorf("%s has no license", p.PackageName)
			}
		}
		for _, m := range module.FindAllStringSubmatch(shell(t, "go", "version", "-m", filepath.Join(unpacked(t, b), "tributary")), -1) {
			want = append(want, m[1]+"@"+m[2])
		}
		if len(want) < 20 || !slices.Equal(told, want) {
			t.Errorf("%s/%s: the SBOM tells of\n%s\nin the program are\n%s", b.os, b.arch, strings.Join(told, "\n"), strings.Join(want, "\n"))
		}
		if len(document.Relationships) != len(document.Packages) {
			t.Errorf("%d relations of %d packages", len(document.Relationships), len(document.Packages))
		}
	}
}

// The npm packages have their modules, types and core alone, and the release's version.
func TestTheNPMPackagesAreWhole(t *testing.T) {
	for name, want := range map[string][]string{
		"sdk": {"LICENSE", "README.md", "dist/events.d.cts", "dist/server.cjs", "dist/server.d.cts", "dist/server.d.ts", "dist/server.mjs",
			"dist/tributary.cjs", "dist/tributary.d.cts", "dist/tributary.d.ts", "dist/tributary.mjs", "package.json"},
		"core-wasm": {"LICENSE", others, "core.wasm", "index.cjs", "index.d.cts", "index.d.ts", "index.mjs", "package.json"},
		"admin":     {"LICENSE", "index.d.ts", "index.mjs", "openapi.d.ts", "package.json"},
	} {
		file := found(t, "tributary-io-"+name+"-*.tgz")
		var got []string
		for _, path := range strings.Fields(shell(t, "tar", "-t", "-z", "-f", file)) {
			got = append(got, strings.TrimPrefix(path, "package/"))
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s has %q", file, got)
		}
		manifest := shell(t, "tar", "-x", "-z", "-O", "-f", file, "package/package.json")
		if !strings.Contains(manifest, `"version": "`+thisRelease(t).number()+`"`) || strings.Contains(manifest, `"private"`) {
			t.Errorf("%s: %s", file, manifest)
		}
	}
}
