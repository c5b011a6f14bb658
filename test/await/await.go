// Package await waits, in tests and rigs, for a state that no event announces: a row, a
// count, an answer over HTTP; and keeps what is written meanwhile.
//
// What may enter: waiting in tests, and what it reads. Where there is a channel or a callback, use
// that instead.
package await

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/background"
)

// Long is a bound that only something broken reaches, also on a busy machine.
const Long = time.Minute

// Until asks at once, and then after pauses that grow from shortestPause to longestPause.
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

// Poll calls ok until it returns true, for rigs, which have no test: after each pause, for bound at most. An error of ok ends it. The
// error says for what was waited.
func Poll(ctx context.Context, what string, pause, bound time.Duration, ok func() (bool, error)) error {
	waiting, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	for {
		done, err := ok()
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if done {
			return nil
		}
		if !background.Sleep(waiting, pause) {
			return fmt.Errorf("not within %v: %s: %w", bound, what, waiting.Err())
		}
	}
}
