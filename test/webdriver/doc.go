// Package webdriver drives, for tests, the browsers that rod cannot: Firefox over WebDriver
// BiDi (https://www.w3.org/TR/webdriver-bidi/), which it speaks itself, and WebKitGTK over
// WebDriver (https://www.w3.org/TR/webdriver2/) by WebKitWebDriver. Debian has both.
//
// What may enter: starting and ending a browser, and what a visitor of a page does: open a tab,
// go somewhere, run a script, go offline, close. No test and no page.
package webdriver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// ErrNotHere says that a browser or a tool of it is not installed.
var ErrNotHere = errors.New("not installed")

// Browser is a running browser with an empty profile. Close ends it and all of its processes,
// and returns when they are gone.
type Browser interface {
	// Tab opens a tab with an empty page.
	Tab(ctx context.Context) (*Tab, error)
	// Offline takes the network away from all pages, or gives it back. It returns
	// errors.ErrUnsupported where the browser cannot.
	Offline(ctx context.Context, offline bool) error
	Close() error
}

// Tab is a tab of a browser.
type Tab struct {
	driver tabDriver
}

// tabDriver is what differs between the two protocols.
type tabDriver interface {
	navigate(ctx context.Context, url string) error
	// run calls a JavaScript function and waits for what it promises, a text or undefined.
	run(ctx context.Context, function string) (text string, err error)
	close(ctx context.Context) error
}

// Navigate opens a URL and returns when the page has loaded.
func (t *Tab) Navigate(ctx context.Context, url string) error {
	return t.driver.navigate(ctx, url)
}

// Eval calls a JavaScript function with arguments, waits for what it promises, and stores that in
// into, as encoding/json does, unless into is nil or it is undefined.
func (t *Tab) Eval(ctx context.Context, into any, function string, args ...any) error {
	texts, err := json.Marshal(append([]any{}, args...))
	if err != nil {
		return fmt.Errorf("webdriver: arguments: %w", err)
	}
	answer, err := t.driver.run(ctx, fmt.Sprintf(`async () => JSON.stringify(await (%s)(...%s))`, function, texts))
	if err != nil {
		return fmt.Errorf("webdriver: %w", err)
	}
	if into == nil || answer == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(answer), into); err != nil {
		return fmt.Errorf("webdriver: the script's result: %w", err)
	}
	return nil
}

// Close closes the tab as a visitor does: the page is told that it is left.
func (t *Tab) Close(ctx context.Context) error { return t.driver.close(ctx) }
