package devtest

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/go-rod/rod"
	"github.com/go-rod/rod/lib/launcher"
	"github.com/go-rod/rod/lib/launcher/flags"
)

// Browser starts a headless Chromium with an empty profile, and with more switches,
// "name" or "name=value" each. It is closed when the test ends. The test fails, and is
// never skipped, if Chromium is not installed.
func Browser(t testing.TB, switches ...string) *rod.Browser {
	t.Helper()
	NeedsIntegration(t)
	start := launcher.New().Bin(chromium(t)).
		Leakless(false). // leakless runs a binary of its own; the cleanup below ends Chromium too
		NoSandbox(true). // Chromium refuses to sandbox as root
		UserDataDir(t.TempDir()).
		Set("headless", "new").
		Set("disable-gpu").Set("disable-quic").Set("no-first-run").
		Set("disable-background-networking").Set("disable-component-update").Set("disable-sync").
		Delete(flags.Flag("enable-automation")) // it shows a banner, which moves the page
	for _, one := range switches {
		name, value, given := strings.Cut(one, "=")
		if given {
			start.Set(flags.Flag(name), value)
		} else {
			start.Set(flags.Flag(name))
		}
	}
	control, err := start.Launch()
	if err != nil {
		t.Fatalf("devtest: start Chromium: %v", err)
	}
	t.Cleanup(start.Kill)
	// NoDefaultDevice: rod would send the user agent of an old Mac.
	browser := rod.New().ControlURL(control).NoDefaultDevice()
	if err := browser.Connect(); err != nil {
		t.Fatalf("devtest: connect to Chromium: %v", err)
	}
	t.Cleanup(func() { _ = browser.Close() })
	return browser
}

func chromium(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("devtest: no Chromium here: `make test` installs Debian's as root, else install it yourself")
	return ""
}
