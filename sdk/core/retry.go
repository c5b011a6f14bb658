package core

// Backoff is how long to wait before the attempt-th retry (from 1), in
// milliseconds: full jitter over an exponential from base, bounded by most.
// random is in [0, 1).
func Backoff(attempt int, base, most int64, random float64) int64 {
	ceiling := base
	for i := 1; i < attempt && ceiling < most; i++ {
		ceiling *= 2
	}
	return int64(random * float64(min(ceiling, most)))
}
