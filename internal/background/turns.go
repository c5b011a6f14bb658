package background

import (
	"context"
	"sync"
	"time"
)

// leastLook is how long Turns waits at least between two looks.
const leastLook = 50 * time.Millisecond

// Turns looks for work until ctx ends, and then waits for what runs. At each look it calls lease with how many turns may begin, and runs
// what lease returns, at most workers at once. It looks at each interval, and sooner where a turn has ended or Wake was called.
func Turns(ctx context.Context, workers int, every time.Duration, wake chan struct{}, lease func(limit int) []func()) {
	var running sync.WaitGroup
	defer running.Wait()
	free := make(chan struct{}, workers)
	for range workers {
		free <- struct{}{}
	}
	for nextLook(ctx, every, wake) {
		if len(free) == 0 {
			continue
		}
		for _, turn := range lease(len(free)) {
			<-free
			running.Go(func() {
				turn()
				free <- struct{}{}
				Wake(wake)
			})
		}
	}
}

// Wake lets Turns look for work soon. wake has room for one.
func Wake(wake chan struct{}) {
	select {
	case wake <- struct{}{}:
	default: // it will already
	}
}

// nextLook waits until it is time to look for work; false: ctx ended.
func nextLook(ctx context.Context, every time.Duration, wake <-chan struct{}) bool {
	usual := time.NewTimer(every)
	defer usual.Stop()
	if !Sleep(ctx, leastLook) {
		return false
	}
	select {
	case <-ctx.Done():
		return false
	case <-wake:
	case <-usual.C:
	}
	return true
}
