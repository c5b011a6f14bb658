// Package await is how tests wait for what has no event to wait for: a row, a
// count, a state seen over HTTP.
//
// What may enter: waiting in tests. What has a channel or a callback is awaited
// by that.
package await

import (
	"testing"
	"time"
)

// Long is a bound that only something broken reaches, also on a busy machine.
const Long = time.Minute

// The first question comes at once, the next ones after these times.
const (
	shortestPause = 2 * time.Millisecond
	longestPause  = 100 * time.Millisecond
)

// Until calls ok until it returns true. When that takes longer than bound it
// fails the test with the text that failure returns. Both run in the test's
// goroutine, so they may end the test themselves.
func Until(t testing.TB, bound time.Duration, ok func() bool, failure func() string) {
	t.Helper()
	deadline := time.NewTimer(bound)
	defer deadline.Stop()
	for pause := shortestPause; !ok(); pause = min(2*pause, longestPause) {
		select {
		case <-time.After(pause):
		case <-deadline.C:
			t.Fatalf("not within %v: %s", bound, failure())
		}
	}
}
