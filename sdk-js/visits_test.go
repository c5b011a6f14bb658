package sdkjs_test

import (
	"testing"

	"github.com/tributary-io/tributary/test/devtest"
	"github.com/tributary-io/tributary/test/prove/visits"
)

// The short form of `make prove`'s section: it makes 200 of each.
func TestVisitsThatAreLeftAtOnce(t *testing.T) {
	devtest.NeedsIntegration(t)
	dist := build(t)
	for _, kind := range visits.Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			o, err := visits.Do(t.Context(), kind, 20, dist, visits.InChromium(t.TempDir()))
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%+v", o)
			if !o.Good() {
				t.Errorf("%d of %d lost, %.3f copies of an event", o.Lost, o.Visits, o.Copies)
			}
		})
	}
}
