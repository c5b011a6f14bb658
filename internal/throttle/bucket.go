package throttle

import (
	"sync"
	"time"
)

// Bucket is one token bucket, full at first. What is charged beyond what it has is owed, without a bound: it must flow in
// again first. Safe for concurrent use.
type Bucket struct {
	mu     sync.Mutex
	rate   rate
	tokens float64
	at     int64 // when it had them, Unix nanoseconds; 0: it was not used yet
}

// NewBucket makes a bucket that gets so many tokens a second, more than 0, up to burst.
func NewBucket(perSecond, burst float64) *Bucket {
	return &Bucket{rate: newRate(perSecond, burst), tokens: burst}
}

// Resize changes how fast it fills, and what it can hold. Tokens that are used up stay used up; what flows in from its last
// use on does so at the new rate.
func (b *Bucket) Resize(perSecond, burst float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rate = newRate(perSecond, burst)
}

// Take takes n tokens if it has them.
func (b *Bucket) Take(now time.Time, n float64) (taken bool) {
	b.with(now, func() {
		if taken = b.tokens >= n; taken {
			b.tokens -= n
		}
	})
	return taken
}

// Charge takes n tokens whether it has them or not, and returns how long until it owes nothing.
func (b *Bucket) Charge(now time.Time, n float64) (wait time.Duration) {
	b.with(now, func() {
		b.tokens -= n
		wait = b.rate.until(b.tokens, 0)
	})
	return wait
}

// Left is how many tokens it has, negative where it owes.
func (b *Bucket) Left(now time.Time) (left float64) {
	b.with(now, func() { left = b.tokens })
	return left
}

// with calls use with the tokens of now.
func (b *Bucket) with(now time.Time, use func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := now.UnixNano()
	if b.at == 0 {
		b.tokens = b.rate.burst
	} else {
		b.tokens = b.rate.filled(b.tokens, at-b.at)
	}
	b.at = at
	use()
}

// rate is how fast a bucket fills, and what it can hold.
type rate struct {
	every float64 // nanoseconds in which a token flows in
	burst float64
}

func newRate(perSecond, burst float64) rate {
	return rate{every: float64(time.Second) / perSecond, burst: burst}
}

// filled is what a bucket that had tokens holds so many nanoseconds later. A clock that went back fills nothing.
func (r rate) filled(tokens float64, later int64) float64 {
	return min(r.burst, tokens+float64(max(0, later))/r.every)
}

// until is how long until a bucket that has tokens holds as many as are wanted.
func (r rate) until(tokens, wanted float64) time.Duration {
	return time.Duration(max(0, wanted-tokens) * r.every)
}
