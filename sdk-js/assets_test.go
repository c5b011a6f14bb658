package sdkjs_test

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	sdkjs "github.com/tributary-io/tributary/sdk-js"
	"github.com/tributary-io/tributary/sdk/core"
	"github.com/tributary-io/tributary/test/devtest"
)

func TestAssetsAreThereWithoutABuild(t *testing.T) {
	if _, err := fs.Stat(sdkjs.Assets(), ".gitkeep"); err != nil {
		t.Error(err)
	}
}

// scriptBudget is what tributary.js may take, in bytes (gzip): every page of a shop
// downloads it before anything else.
const scriptBudget = 2 << 10

func TestTheScriptKeepsItsBudget(t *testing.T) {
	t.Parallel()
	dist := build(t)
	script := read(t, dist, "tributary.js")
	if n := gzipped(t, script); n > scriptBudget {
		t.Errorf("tributary.js is %d bytes gzip, at most %d", n, scriptBudget)
	} else {
		t.Logf("tributary.js: %d bytes, %d gzip", len(script), n)
	}
	more := read(t, dist, "tributary-more.*.js")
	t.Logf("tributary-more: %d bytes, %d gzip", len(more), gzipped(t, more))
	for _, text := range []string{script, more} {
		if strings.Contains(text, "sourceMappingURL") {
			t.Error("a script points at a source map that is not shipped")
		}
	}
	for _, name := range core.ClickIDs() {
		if !strings.Contains(more, name) {
			t.Errorf("the script does not keep the click id %s", name)
		}
	}
	for _, pattern := range []string{"tributary.????????.js", "worker.*.js", "core.*.wasm", "core.*.wasm.br", "tributary.mjs.gz",
		"tributary.d.cts", "tributary-overlay.*.js", "manifest.json"} {
		read(t, dist, pattern)
	}
}

// read reads the one file of a build that a pattern names.
func read(t *testing.T, dist, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dist, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %v %v, want one file", pattern, found, err)
	}
	text, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func gzipped(t *testing.T, text string) int {
	t.Helper()
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Len()
}

// packageBudget is what the npm package may take unpacked, in bytes. The core is in a package of its own.
const packageBudget = 63_000

func TestTheNpmPackageKeepsItsBudget(t *testing.T) {
	t.Parallel()
	size := 0
	err := filepath.WalkDir(filepath.Join(packages(t), "node_modules", "@tributary-io", "sdk"),
		func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			info, err := entry.Info()
			if err == nil {
				size += int(info.Size())
			}
			return err
		})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the npm package is %d bytes unpacked", size)
	if size > packageBudget {
		t.Errorf("the npm package is %d bytes unpacked, at most %d", size, packageBudget)
	}
}

// The core is loaded after the page is idle, but on a shopper's data plan. The builder compresses it as it is shipped, in a
// process of its own: under the race detector the same takes eight times as long.
func TestTheCoreKeepsItsBudget(t *testing.T) {
	devtest.NeedsIntegration(t) // it compresses for seconds
	t.Parallel()
	const budget = 480_000 // bytes, brotli (docs/adr/0004)
	dist := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "go", "run", "./build", "-root", "..", "-out", dist).CombinedOutput(); err != nil {
		t.Fatalf("build the SDK: %v\n%s", err, out)
	}
	if err := devtest.Sources(".."); err != nil {
		t.Fatal(err)
	}
	size := len(read(t, dist, "core.*.wasm.br"))
	t.Logf("the core is %d bytes brotli", size)
	if size > budget {
		t.Errorf("the core is %d bytes brotli, at most %d", size, budget)
	}
}
