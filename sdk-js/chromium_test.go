package sdkjs_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/go-rod/rod"

	"github.com/tributary-io/tributary/test/devtest"
)

// TestMain ends what the tests share.
func TestMain(m *testing.M) {
	status := m.Run()
	endBrowser()
	_ = os.RemoveAll(shared)
	os.Exit(status)
}

// shared is the directory of what the tests share; empty: there is nothing. endBrowser ends their Chromium.
var (
	shared     string
	endBrowser = func() {}
)

// built builds the SDK and the npm packages, once for all tests, compressing little: dist and node_modules/@tributary-io in
// the directory that it returns, which no test changes.
var built = sync.OnceValues(func() (dir string, err error) {
	if shared, err = os.MkdirTemp("", "tributary-sdk-"); err != nil {
		return "", err
	}
	dir = filepath.Join(shared, "sdk")
	out, err := exec.Command("go", "run", "./build", "-root", "..", "-quick", "-out", filepath.Join(dir, "dist"), "-npm",
		filepath.Join(dir, "node_modules", "@tributary-io")).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the SDK: %w\n%s", err, out)
	}
	return dir, devtest.Sources("..")
})

// build gives the files of the built SDK.
func build(t *testing.T) (dist string) {
	t.Helper()
	dir, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "dist")
}

// browser is the Chromium that the tests share.
var browser = sync.OnceValues(func() (b *rod.Browser, err error) {
	if _, err = built(); err == nil { // it makes the directory
		b, endBrowser, err = devtest.StartBrowser(filepath.Join(shared, "chromium"))
	}
	return b, err
})

// inChromium returns a function that runs a case in Chromium. Each case has its own
// edge, shop origin and browser context.
func inChromium(t *testing.T) (run func(name string, test func(*testing.T, *edge, *rod.Browser))) {
	t.Helper()
	devtest.NeedsIntegration(t)
	dist := build(t)
	browser, err := browser()
	if err != nil {
		t.Fatal(err)
	}
	return func(name string, test func(*testing.T, *edge, *rod.Browser)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			context := browser.MustIncognito()
			defer context.MustClose()
			test(t, newEdge(t, dist), context)
		})
	}
}
