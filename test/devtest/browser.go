package devtest

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-rod/rod"
	"github.com/go-rod/rod/lib/launcher"
	"github.com/go-rod/rod/lib/launcher/flags"

	"github.com/tributary-io/tributary/dev/child"
	"github.com/tributary-io/tributary/test/await"
)

// Browser starts a headless Chromium with an empty profile, and with more switches,
// "name" or "name=value" each. It is closed when the test ends. The test fails, and is
// never skipped, if Chromium is not installed.
func Browser(t testing.TB, switches ...string) *rod.Browser {
	t.Helper()
	return browser(t, chromiums, switches)
}

// Shell is Browser without the windows of one, where Debian's chromium-headless-shell is installed: the same engine for a third less
// processor time. For our own pages; the SDK and shops are tested in whole browsers.
func Shell(t testing.TB) *rod.Browser {
	t.Helper()
	return browser(t, append([]string{"/usr/lib/chromium/chromium-headless-shell"}, chromiums...), nil)
}

func browser(t testing.TB, programs, switches []string) *rod.Browser {
	t.Helper()
	NeedsIntegration(t)
	browser, end, err := start(programs, t.TempDir(), switches)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end)
	return browser
}

// StartBrowser is Browser for several tests: with a profile in dir, until end is called, or this process ends.
func StartBrowser(dir string, switches ...string) (browser *rod.Browser, end func(), err error) {
	return start(chromiums, dir, switches)
}

// chromiums are the programs that are looked for.
var chromiums = []string{"chromium", "chromium-browser", "google-chrome"}

// start starts the first of the programs that is there.
func start(programs []string, dir string, switches []string) (browser *rod.Browser, end func(), err error) {
	program := ""
	for _, name := range programs {
		if program, err = exec.LookPath(name); err == nil {
			break
		}
	}
	if program == "" {
		return nil, nil, errors.New("devtest: no Chromium here: `make test` installs Debian's as root, else install it yourself")
	}
	options := launcher.New().
		NoSandbox(true). // Chromium refuses to sandbox as root
		UserDataDir(dir).
		Set("headless", "new").
		Set("disable-gpu").Set("disable-quic").Set("no-first-run").
		Set("disable-background-networking").Set("disable-component-update").Set("disable-sync").
		Delete(flags.Flag("enable-automation")) // it shows a banner, which moves the page
	for _, one := range switches {
		name, value, given := strings.Cut(one, "=")
		if given {
			options.Set(flags.Flag(name), value)
		} else {
			options.Set(flags.Flag(name))
		}
	}
	process, control, err := launch(program, options.FormatArgs())
	if err != nil {
		return nil, nil, fmt.Errorf("devtest: start Chromium: %w", err)
	}
	kill := func() { process.Stop(endPatience, syscall.SIGTERM, syscall.SIGKILL) }
	// NoDefaultDevice: rod would send the user agent of an old Mac.
	browser = rod.New().ControlURL(control).NoDefaultDevice()
	if err := browser.Connect(); err != nil {
		kill()
		return nil, nil, fmt.Errorf("devtest: connect to Chromium: %w", err)
	}
	return browser, func() {
		_ = browser.Close()
		kill()
	}, nil
}

const endPatience = 10 * time.Second

// launch starts a program, and returns where it is controlled. rod's launcher would leave it behind where a test is killed.
func launch(program string, args []string) (process *child.Process, control string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), await.Long)
	defer cancel()
	parser := launcher.NewURLParser().Context(ctx)
	cmd := exec.Command(program, args...) // package child ends it
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = parser, parser, endPatience
	if process, err = child.Start(cmd, syscall.SIGKILL); err != nil {
		return nil, "", err
	}
	select {
	case url := <-parser.URL:
		control, err = launcher.ResolveURL(url)
	case <-process.Done():
		err = parser.Err()
	case <-ctx.Done():
		err = parser.Err()
	}
	if err != nil {
		process.Stop(endPatience, syscall.SIGKILL)
	}
	return process, control, err
}
