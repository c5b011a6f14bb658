package report

import (
	"fmt"
	"testing"

	"github.com/tributary-io/tributary/internal/models"
)

// Weights are those of the tally each time, and so many are remembered at most.
func TestRememberedWeightsAreThoseOfTheirTally(t *testing.T) {
	t.Parallel()
	var known remembered
	for n := range 3 * maxRemembered / 500 {
		tally := models.NewTally(models.Shapley)
		var channels []int32
		for c := range int32(500) {
			channels = append(channels, c)
			tally.Add([]int32{c}, int64(n+1), int64(c), nil)
		}
		for range 2 {
			if got, want := known.weightsOf(tally, channels), tally.Weights(channels); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("tally %d: %v, want %v", n, got, want)
			}
		}
		if known.channels > maxRemembered || len(known.weights) != len(known.order) || known.channels != 500*len(known.order) {
			t.Fatalf("%d weights of %d channels are remembered, %d in order", len(known.weights), known.channels, len(known.order))
		}
	}
	if known.channels < maxRemembered-500 {
		t.Errorf("weights of %d channels are remembered, of %d", known.channels, maxRemembered)
	}
}
