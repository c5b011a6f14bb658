//go:build browsers

// The browsers that are no Chromium: `make test-browsers`.

package sdkjs_test

import (
	"testing"

	"github.com/tributary-io/tributary/internal/prove/visits"
)

// openers are the browsers.
func openers(t *testing.T) map[string]visits.Opener {
	return map[string]visits.Opener{
		"Firefox":          visits.InFirefox(t.TempDir(), false),
		"Firefox, private": visits.InFirefox(t.TempDir(), true),
		"WebKitGTK":        visits.InWebKit,
	}
}

func TestVisitsInOtherBrowsers(t *testing.T) {
	dist := build(t, true)
	for name, open := range openers(t) {
		t.Run(name, func(t *testing.T) {
			for _, kind := range append(visits.Leaving(), visits.Offline()) {
				t.Run(kind.Name, func(t *testing.T) {
					o, err := visits.Do(t.Context(), kind, 50, dist, open)
					if err != nil {
						t.Fatal(err)
					}
					t.Logf("%+v", o)
					if !o.Good() {
						t.Errorf("%d of %d lost, %.3f copies of an event", o.Lost, o.Visits, o.Copies)
					}
				})
			}
		})
	}
}
