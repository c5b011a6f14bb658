package background

import (
	"context"
	"time"
)

// Sleep waits for d. It returns false where ctx ended first.
func Sleep(ctx context.Context, d time.Duration) bool { return SleepOr(ctx, d, nil) }

// SleepOr is Sleep, and waits no longer once something comes from wake.
func SleepOr(ctx context.Context, d time.Duration, wake <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wake:
	case <-ctx.Done():
		return false
	}
	return true
}

// Every calls do at each interval, and when something comes from wake, until ctx ends.
func Every(ctx context.Context, interval time.Duration, wake <-chan struct{}, do func()) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-wake:
		}
		do()
	}
}
