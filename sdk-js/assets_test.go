package sdkjs_test

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	sdkjs "github.com/tributary-io/tributary/sdk-js"
	"github.com/tributary-io/tributary/sdk/core"
)

func TestAssetsAreThereWithoutABuild(t *testing.T) {
	if _, err := fs.Stat(sdkjs.Assets(), ".gitkeep"); err != nil {
		t.Error(err)
	}
}

// build builds the SDK into a directory of the test's: compressing little when
// quick, else as it is shipped.
func build(t *testing.T, quick bool) (dist string) {
	t.Helper()
	dist = t.TempDir()
	if out, err := exec.Command("go", "run", "./build", "-root", "..", "-quick="+strconv.FormatBool(quick), "-out", dist).CombinedOutput(); err != nil {
		t.Fatalf("build the SDK: %v\n%s", err, out)
	}
	return dist
}

// What every page of a shop downloads before anything else stays small. The
// aim is 2 KiB with the rest loaded later; this holds the whole script until then.
func TestTheScriptStaysSmall(t *testing.T) {
	t.Parallel()
	dist := build(t, true)
	script, err := os.ReadFile(filepath.Join(dist, "tributary.js"))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if _, err := w.Write(script); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("tributary.js: %d bytes, %d gzip", len(script), b.Len())
	if b.Len() > 5<<10 {
		t.Errorf("tributary.js is %d bytes gzip, at most 5 KiB", b.Len())
	}
	if strings.Contains(string(script), "sourceMappingURL") {
		t.Error("the script points at a source map that is not shipped")
	}
	for _, name := range core.ClickIDs() {
		if !strings.Contains(string(script), name) {
			t.Errorf("the script does not keep the click id %s", name)
		}
	}
	for _, pattern := range []string{"tributary.*.js", "worker.*.js", "core.*.wasm", "core.*.wasm.br", "tributary.mjs.gz", "tributary.d.cts", "manifest.json"} {
		if found, err := filepath.Glob(filepath.Join(dist, pattern)); err != nil || len(found) != 1 {
			t.Errorf("%s: %v %v, want one file", pattern, found, err)
		}
	}
}

// The core is loaded after the page is idle, but on a shopper's data plan.
func TestTheCoreKeepsItsBudget(t *testing.T) {
	t.Parallel()
	const budget = 480_000 // bytes, brotli (docs/adr/0004)
	files, err := filepath.Glob(filepath.Join(build(t, false), "core.*.wasm.br"))
	if err != nil || len(files) != 1 {
		t.Fatalf("compressed cores: %v %v, want one", files, err)
	}
	info, err := os.Stat(files[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the core is %d bytes brotli", info.Size())
	if info.Size() > budget {
		t.Errorf("the core is %d bytes brotli, at most %d", info.Size(), budget)
	}
}
