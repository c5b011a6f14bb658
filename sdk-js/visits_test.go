package sdkjs_test

import (
	"testing"

	"github.com/tributary-io/tributary/test/devtest"
	"github.com/tributary-io/tributary/test/prove/visits"
)

// visitsOfAKind are few, of which one may be sent again: `make prove`, section visits, makes 200, and wants at most 1.05 copies of an
// event.
const visitsOfAKind, copiesOfAKind = 6, 1.0

func TestVisitsThatAreLeftAtOnce(t *testing.T) {
	devtest.NeedsIntegration(t)
	dist := build(t)
	for _, kind := range visits.Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			o, err := visits.Do(t.Context(), kind, visitsOfAKind, dist, visits.InChromium(t.TempDir()))
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%+v", o)
			if again := (o.Copies - 1) * visitsOfAKind; o.Lost != 0 || again > copiesOfAKind+.01 {
				t.Errorf("%d of %d lost, %.3f copies of an event", o.Lost, o.Visits, o.Copies)
			}
		})
	}
}
