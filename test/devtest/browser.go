package devtest

import (
	"errors"
	"fmt"
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
	browser, end, err := StartBrowser(t.TempDir(), switches...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end)
	return browser
}

// StartBrowser is Browser for several tests: with a profile in dir, until end is called.
func StartBrowser(dir string, switches ...string) (browser *rod.Browser, end func(), err error) {
	program, err := chromium()
	if err != nil {
		return nil, nil, err
	}
	start := launcher.New().Bin(program).
		Leakless(false). // leakless runs a binary of its own; end ends Chromium too
		NoSandbox(true). // Chromium refuses to sandbox as root
		UserDataDir(dir).
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
		return nil, nil, fmt.Errorf("devtest: start Chromium: %w", err)
	}
	// NoDefaultDevice: rod would send the user agent of an old Mac.
	browser = rod.New().ControlURL(control).NoDefaultDevice()
	if err := browser.Connect(); err != nil {
		start.Kill()
		return nil, nil, fmt.Errorf("devtest: connect to Chromium: %w", err)
	}
	return browser, func() {
		_ = browser.Close()
		start.Kill()
	}, nil
}

func chromium() (string, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("devtest: no Chromium here: `make test` installs Debian's as root, else install it yourself")
}
