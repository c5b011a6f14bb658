package edge

import (
	"sync"
	"time"
)

// buckets is a table of token buckets of one size, for keys that a stranger can
// make at will: its memory is bounded and holds no pointer. Each key may lie in
// one of a few places. A new key takes the fullest of them: a full bucket is the
// same as a new one, so as long as one is full nothing is forgotten. Safe for
// concurrent use.
type buckets struct {
	perSecond float64
	burst     float64

	// fresh says what a new key gets where no place is full: a full bucket, or
	// what is left in the one it takes. With the latter, many keys together
	// get no more than all places do.
	fresh bool

	shards [bucketShards]bucketShard
}

type bucketShard struct {
	mu   sync.Mutex
	sets [bucketSets][bucketWays]tokenBucket
}

// 64 × 32 × 8 places of 24 bytes are 384 KiB.
const (
	bucketShards = 64
	bucketSets   = 32
	bucketWays   = 8
)

// tokenBucket is one key's. The zero value is a place that nobody has.
type tokenBucket struct {
	key    uint64
	at     int64 // when it held tokens, Unix nanoseconds
	tokens float64
}

func newBuckets(perSecond, burst float64, fresh bool) *buckets {
	return &buckets{perSecond: perSecond, burst: burst, fresh: fresh}
}

// filled is what a bucket holds now. A clock that went back fills nothing.
func (b *buckets) filled(bucket *tokenBucket, now int64) float64 {
	if bucket.key == 0 {
		return b.burst
	}
	return min(b.burst, bucket.tokens+float64(max(0, now-bucket.at))*b.perSecond/1e9)
}

// with calls use with the tokens that a key has now, and keeps what it returns.
func (b *buckets) with(key uint64, now time.Time, use func(tokens float64) (left float64)) {
	key |= 1 // 0 is a free place
	at := now.UnixNano()
	shard := &b.shards[key>>58%bucketShards]
	shard.mu.Lock()
	defer shard.mu.Unlock()
	set := &shard.sets[key>>32%bucketSets]
	for i := range set {
		if set[i].key == key {
			set[i].tokens = use(b.filled(&set[i], at))
			set[i].at = at
			return
		}
	}
	place, most := 0, -b.burst-1
	for i := range set {
		if tokens := b.filled(&set[i], at); tokens > most {
			place, most = i, tokens
		}
	}
	if b.fresh {
		most = b.burst
	}
	set[place] = tokenBucket{key: key, at: at, tokens: use(most)}
}

// take takes n tokens if the key has them.
func (b *buckets) take(key uint64, now time.Time, n float64) (taken bool) {
	b.with(key, now, func(tokens float64) float64 {
		if taken = tokens >= n; taken {
			tokens -= n
		}
		return tokens
	})
	return taken
}

// charge takes n tokens whether the key has them or not: what it then owes, at
// most a whole bucket, must flow in again first.
func (b *buckets) charge(key uint64, now time.Time, n float64) {
	b.with(key, now, func(tokens float64) float64 { return max(tokens-n, -b.burst) })
}

// wait is how long the key has to wait for a token, 0 for one that has any part of
// one.
func (b *buckets) wait(key uint64, now time.Time) (wait time.Duration) {
	b.with(key, now, func(tokens float64) float64 {
		if tokens <= 0 {
			wait = time.Duration((1 - tokens) / b.perSecond * float64(time.Second))
		}
		return tokens
	})
	return wait
}
