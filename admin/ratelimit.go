package admin

import (
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/tributary-io/tributary/internal/throttle"
)

// rateClass says which of a key's buckets a route takes tokens from.
type rateClass int

const (
	ruleRate rateClass = iota
	ingestRate
	bulkRate
)

// ingests reports whether routes of the class take orders and products, which are on Kafka before the answer.
func (c rateClass) ingests() bool { return c == ingestRate || c == bulkRate }

// limits holds a token bucket for each key and class.
type limits struct {
	rates   [3]Rate
	buckets [3]*throttle.Buckets // by the key's id
}

func newLimits(c Config) *limits {
	l := &limits{rates: [3]Rate{ruleRate: c.RuleRate, ingestRate: c.IngestRate, bulkRate: c.BulkRate}}
	for class, r := range l.rates {
		l.buckets[class] = throttle.PerSecond(float64(r.PerSecond), r.Burst)
	}
	return l
}

// take takes one token, and sets the headers that say how many are left. For an
// empty bucket it returns a problem that says when to retry.
func (l *limits) take(header http.Header, keyID string, class rateClass, now time.Time) error {
	r, buckets := l.rates[class], l.buckets[class]
	got := buckets.Take(keyID, now)
	left := buckets.Left(keyID, now)
	untilFull := time.Duration((float64(r.Burst) - left) / float64(r.PerSecond) * float64(time.Second))
	header.Set("RateLimit-Limit", strconv.Itoa(r.Burst))
	header.Set("RateLimit-Remaining", strconv.Itoa(int(math.Floor(left))))
	header.Set("RateLimit-Reset", strconv.Itoa(int(math.Ceil(untilFull.Seconds()))))
	if got.OK {
		return nil
	}
	return &problem{status: http.StatusTooManyRequests, code: codeRateLimit,
		message:    "too many requests with this key; come back after Retry-After seconds",
		retryAfter: got.Wait}
}
