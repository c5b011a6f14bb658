package background

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestTurnsAreBoundedAndAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var running, most, ended atomic.Int32
		limits := make(chan int, 9)
		done := make(chan struct{})
		go func() {
			defer close(done)
			Turns(ctx, 2, time.Second, make(chan struct{}, 1), func(limit int) []func() {
				limits <- limit
				turn := func() {
					most.Store(max(most.Load(), running.Add(1)))
					time.Sleep(10 * time.Second)
					running.Add(-1)
					ended.Add(1)
				}
				return []func(){turn, turn, turn}
			})
		}()
		time.Sleep(5 * time.Second)
		if n := len(limits); n != 1 || <-limits != 2 || most.Load() != 2 {
			t.Errorf("%d looks, %d at once", n, most.Load())
		}
		time.Sleep(6500 * time.Millisecond) // two have ended, and the third has begun: one is free, and it is looked at once
		if n := len(limits); n != 1 || <-limits != 1 || most.Load() != 2 {
			t.Errorf("%d looks, %d at once", n, most.Load())
		}
		cancel()
		<-done
		if running.Load() != 0 || ended.Load() != 6 {
			t.Errorf("%d run after the end, %d have ended", running.Load(), ended.Load())
		}
	})
}

func TestWakeLetsItLookSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		wake, looks := make(chan struct{}, 1), 0
		go func() {
			time.Sleep(10 * time.Millisecond) // before the first look
			Wake(wake)
			Wake(wake)
		}()
		Turns(ctx, 1, time.Minute, wake, func(int) []func() { looks++; return nil })
		if looks != 1 {
			t.Errorf("it looked %d times", looks)
		}
	})
}
