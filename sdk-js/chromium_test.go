package sdkjs_test

import (
	"testing"

	"github.com/go-rod/rod"

	"github.com/tributary-io/tributary/test/devtest"
)

// inChromium returns a function that runs a case in one Chromium. Each case has its own
// edge, shop origin and browser context.
func inChromium(t *testing.T) (run func(name string, test func(*testing.T, *edge, *rod.Browser))) {
	t.Helper()
	dist := build(t, true)
	browser := devtest.Browser(t)
	return func(name string, test func(*testing.T, *edge, *rod.Browser)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			context := browser.MustIncognito()
			defer context.MustClose()
			test(t, newEdge(t, dist), context)
		})
	}
}
