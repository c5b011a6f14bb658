package site

import (
	"fmt"
	"slices"
	"testing"
)

// A chart of few bars has the label of each below it, and one of many has some at equal
// distances, with both ends.
func TestLabelsBelowAChart(t *testing.T) {
	t.Parallel()
	f := func(n int, each bool, want ...string) {
		t.Helper()
		bars := make([]Bar, n)
		for i := range bars {
			bars[i].Label = fmt.Sprint(i + 1)
		}
		if c := NewChart("", "", "", bars); !slices.Equal(c.Ticks, want) || c.Each != each {
			t.Errorf("%d bars: %q, each: %t", n, c.Ticks, c.Each)
		}
	}
	f(0, false)
	f(1, true, "1")
	f(5, true, "1", "2", "3", "4", "5")
	f(6, false, "1", "2", "4", "5", "6")
	f(30, false, "1", "8", "16", "23", "30")
	f(365, false, "1", "92", "183", "274", "365")
}
