package shop

import (
	"sync"
	"time"
)

// burstWindow is the time in which Stats.LongestBurst counts requests.
const burstWindow = time.Second

// Stats counts what a client did and what it met.
type Stats struct {
	Requests     int // to the API
	Writes       int // of these POST, PUT, PATCH and DELETE
	Beyond       int // beyond the platform's limit: 0 for a good client
	LongestBurst int // most requests within one second
	Unauthorized int // answered 401 or 403
	Paths        map[string]int
	Faults       map[string]int // faults of the seed, by name
	Notices      int            // attempts at notices
	Accepted     int            // of these answered as the platform wants
	Refused      int            // of these answered otherwise, or not at all
	Forged       int            // forged notices sent
	ForgedTaken  int            // forged notices that were answered as if they were true: must be 0
	Ended        int            // subscriptions that ended because of failures
}

// Bucket is a leaky bucket that runs in real time. A platform with a second limit makes its own.
type Bucket struct {
	mu    sync.Mutex
	limit Limit
	used  float64
	last  time.Time
}

// take puts cost into the bucket, or says how long to wait. A cost above the capacity is taken when the bucket is empty.
func (b *Bucket) take(cost float64, now time.Time) (Level, time.Duration, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if elapsed := now.Sub(b.last).Seconds(); elapsed > 0 {
		b.used = max(0, b.used-elapsed*b.limit.PerSecond)
		b.last = now
	}
	over := b.used + cost - max(b.limit.Capacity, cost)
	taken := over <= 0
	if taken {
		b.used += cost
	}
	level := Level{Limit: b.limit, Used: b.used, Empty: seconds(b.used / b.limit.PerSecond)}
	if taken {
		return level, 0, true
	}
	return level, seconds(over / b.limit.PerSecond), false
}

// giveBack takes from the bucket what a request asked for and did not use (may be negative).
func (b *Bucket) giveBack(cost float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used = max(0, b.used-cost)
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// NewBucket makes a bucket with a limit; the shop's LimitScale multiplies it.
func NewBucket(limit Limit, scale float64) *Bucket {
	return &Bucket{limit: Limit{limit.Capacity * scale, limit.PerSecond * scale}}
}

// Take puts cost into the shop's bucket. When it is too full it says how long to wait, and counts the request as
// beyond the limit. Handlers of platforms call it when the cost is known only after the request is read.
func (s *Shop) Take(cost float64) (Level, time.Duration, bool) { return s.TakeFrom(s.bucket, cost) }

// TakeFrom is Take with a bucket of the platform's own.
func (s *Shop) TakeFrom(bucket *Bucket, cost float64) (Level, time.Duration, bool) {
	level, wait, taken := bucket.take(cost, time.Now())
	if !taken {
		s.stat(func(stats *Stats) { stats.Beyond++ })
	}
	return level, wait, taken
}

// GiveBack returns what a request asked for and did not use.
func (s *Shop) GiveBack(cost float64) { s.bucket.giveBack(cost) }

// Level is how full the bucket is.
func (s *Shop) Level() Level {
	level, _, _ := s.bucket.take(0, time.Now())
	return level
}

// count notes a request.
func (s *Shop) count(method, path string) {
	now := time.Now()
	s.stat(func(stats *Stats) {
		stats.Requests++
		if method != "GET" && method != "HEAD" {
			stats.Writes++
		}
		if len(stats.Paths) < maxPaths {
			stats.Paths[method+" "+path]++
		}
		s.recent = append(s.recent, now)
		for now.Sub(s.recent[0]) >= burstWindow {
			s.recent = s.recent[1:]
		}
		stats.LongestBurst = max(stats.LongestBurst, len(s.recent))
	})
}

// maxPaths bounds the paths that Stats keeps.
const maxPaths = 10_000

func (s *Shop) stat(change func(*Stats)) {
	s.statMu.Lock()
	defer s.statMu.Unlock()
	change(&s.stats)
}
