package admin

import (
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// rateClass says which of a key's two buckets a route takes tokens from.
type rateClass int

const (
	ruleRate rateClass = iota
	ingestRate
)

// limits holds a token bucket for each key and class. A bucket that is full
// again is dropped: a new one is full too.
type limits struct {
	rates [2]Rate

	mu      sync.Mutex
	buckets map[bucketKey]*rate.Limiter
}

type bucketKey struct {
	keyID string
	class rateClass
}

func newLimits(rules, ingest Rate) *limits {
	return &limits{rates: [2]Rate{ruleRate: rules, ingestRate: ingest}, buckets: map[bucketKey]*rate.Limiter{}}
}

// take takes one token, and sets the headers that say how many are left. For an
// empty bucket it returns a problem that says when to retry.
func (l *limits) take(header http.Header, keyID string, class rateClass, now time.Time) error {
	r := l.rates[class]
	l.mu.Lock()
	key := bucketKey{keyID, class}
	bucket := l.buckets[key]
	if bucket == nil {
		bucket = rate.NewLimiter(rate.Limit(r.PerSecond), r.Burst)
		l.buckets[key] = bucket
	}
	l.mu.Unlock()
	allowed := bucket.AllowN(now, 1)
	left := max(0, bucket.TokensAt(now))
	untilFull := time.Duration((float64(r.Burst) - left) / float64(r.PerSecond) * float64(time.Second))
	header.Set("RateLimit-Limit", strconv.Itoa(r.Burst))
	header.Set("RateLimit-Remaining", strconv.Itoa(int(math.Floor(left))))
	header.Set("RateLimit-Reset", strconv.Itoa(int(math.Ceil(untilFull.Seconds()))))
	if allowed {
		return nil
	}
	return &problem{status: http.StatusTooManyRequests, code: codeRateLimit,
		message:    "too many requests with this key; come back after Retry-After seconds",
		retryAfter: time.Duration((1 - left) / float64(r.PerSecond) * float64(time.Second))}
}

// forget drops the buckets that are full.
func (l *limits) forget(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, bucket := range l.buckets {
		if bucket.TokensAt(now) >= float64(l.rates[key.class].Burst) {
			delete(l.buckets, key)
		}
	}
}
