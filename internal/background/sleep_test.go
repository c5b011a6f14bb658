package background

import (
	"context"
	"slices"
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

func TestEveryCallsAtEachIntervalAndWhenWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Second)
		defer cancel()
		wake, began := make(chan struct{}, 1), time.Now()
		go func() {
			if SleepOr(ctx, 90*time.Second, make(chan struct{})) {
				Wake(wake)
			}
		}()
		var calls []time.Duration
		Every(ctx, time.Minute, wake, func() { calls = append(calls, time.Since(began)) })
		if want := []time.Duration{time.Minute, 90 * time.Second, 2 * time.Minute}; !slices.Equal(calls, want) {
			t.Errorf("called after %v, want %v", calls, want)
		}
		Wake(wake)
		if began = time.Now(); !SleepOr(t.Context(), time.Hour, wake) || time.Since(began) != 0 {
			t.Errorf("slept for %v after it was woken", time.Since(began))
		}
	})
}
