// Package sleep waits for a time, as long as somebody wants what comes after it.
package sleep

import (
	"context"
	"time"
)

// For waits for d. It returns false where ctx ended first.
func For(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
