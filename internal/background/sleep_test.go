package background

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestSleepEndsWithItsTimeOrItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := func(d, until time.Duration, want bool, after time.Duration) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), until)
			defer cancel()
			began := time.Now()
			if got := Sleep(ctx, d); got != want || time.Since(began) != after {
				t.Errorf("%v, with %v to go: %t after %v; want %t after %v", d, until, got, time.Since(began), want, after)
			}
		}
		f(time.Minute, time.Hour, true, time.Minute)
		f(time.Hour, time.Minute, false, time.Minute)
		f(0, time.Hour, true, 0)
	})
}
