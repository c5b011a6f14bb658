package visits

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/test/webdriver"
)

// Opener starts a browser.
type Opener func(ctx context.Context) (browser, error)

type browser interface {
	tab(ctx context.Context) (tab, error)
	// offline takes the network away or gives it back, or returns errors.ErrUnsupported.
	offline(ctx context.Context, offline bool) error
	// end kills it, and returns when it is gone.
	end()
}

// tab is what a visit needs of a tab.
type tab interface {
	navigate(ctx context.Context, url string) error
	// eval calls a JavaScript function and waits for what it promises.
	eval(ctx context.Context, function string) error
	// leave runs a script, goes to a URL in the same task, and returns when that has loaded.
	leave(ctx context.Context, script, url string) error
	close(ctx context.Context) error
}

// InFirefox starts a headless Firefox with a new profile below dir.
func InFirefox(dir string, private bool) Opener {
	return func(ctx context.Context) (browser, error) {
		profile, err := os.MkdirTemp(dir, "firefox-")
		if err != nil {
			return nil, err
		}
		b, err := webdriver.Firefox(ctx, profile, private)
		return driven{b}, err
	}
}

// InWebKit starts a WebKitGTK.
func InWebKit(ctx context.Context) (browser, error) {
	b, err := webdriver.WebKit(ctx)
	return driven{b}, err
}

// driven is a browser that package webdriver drives.
type driven struct{ browser webdriver.Browser }

func (d driven) tab(ctx context.Context) (tab, error) {
	t, err := d.browser.Tab(ctx)
	return drivenTab{t}, err
}

func (d driven) offline(ctx context.Context, offline bool) error {
	return d.browser.Offline(ctx, offline)
}

func (d driven) end() { _ = d.browser.Close() } // nothing is left to do

type drivenTab struct{ tab *webdriver.Tab }

func (t drivenTab) navigate(ctx context.Context, url string) error { return t.tab.Navigate(ctx, url) }
func (t drivenTab) close(ctx context.Context) error                { return t.tab.Close(ctx) }

func (t drivenTab) eval(ctx context.Context, function string) error {
	return t.tab.Eval(ctx, nil, function)
}

func (t drivenTab) leave(ctx context.Context, script, url string) error {
	if err := t.tab.Eval(ctx, nil, `(url) => { `+script+`; location.href = url }`, url); err != nil {
		return err
	}
	for {
		// A script that runs while the page changes fails: it is run again.
		there := false
		err := t.tab.Eval(ctx, &there, `(url) => location.href == url && document.readyState == "complete"`, url)
		if there {
			return nil
		}
		if !background.Sleep(ctx, 10*time.Millisecond) {
			return fmt.Errorf("%s does not load: %w (%w)", url, ctx.Err(), err)
		}
	}
}
