package factstore

import "testing"

// A company whose events come again is spared a COPY in vain for longer each time, and is
// copied again once they come but once. Others are copied all the while.
func TestAfterACopyInVainEventsAreInserted(t *testing.T) {
	t.Parallel()
	c := newCopying()
	inserted := func() (n int) {
		for !c.try("a", leastCopied) {
			n++
		}
		return n
	}
	for i, want := range []int{0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 256} {
		if got := inserted(); got != want {
			t.Errorf("after %d in vain %d batches are inserted, want %d", i, got, want)
		}
		c.tried("a", false)
		if !c.try("b", leastCopied) {
			t.Error("another company's events are inserted")
		}
		c.tried("b", true)
	}
	inserted()
	for range 20 {
		c.tried("a", true)
	}
	if len(c.rest) != 0 {
		t.Errorf("%d companies are remembered", len(c.rest))
	}
	if c.try("a", leastCopied-1) {
		t.Error("few events are copied")
	}
	for i := range 3 * maxResting {
		c.tried(string(rune(i)), false)
	}
	if len(c.rest) > maxResting {
		t.Errorf("%d companies are remembered, want at most %d", len(c.rest), maxResting)
	}
}
