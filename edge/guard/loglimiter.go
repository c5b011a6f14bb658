package guard

import (
	"sync"
	"time"
)

// LogLimiter allows one line a second and counts those left out.
type LogLimiter struct {
	mu      sync.Mutex
	last    time.Time
	leftOut int
}

// Allow tells whether a line may be written now, and how many were left out
// since the last one.
func (l *LogLimiter) Allow(now time.Time) (leftOut int, allowed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.last) < time.Second {
		l.leftOut++
		return 0, false
	}
	leftOut, l.leftOut, l.last = l.leftOut, 0, now
	return leftOut, true
}
