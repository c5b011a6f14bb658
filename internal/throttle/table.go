package throttle

import (
	"sync"
	"time"
)

// Table is a table of token buckets of one size, for keys that a stranger can
// make at will: its memory is bounded and holds no pointer. Each key may lie in
// one of a few places. A new key takes the fullest of them: a full bucket is the
// same as a new one, so as long as one is full nothing is forgotten. Safe for
// concurrent use.
type Table struct {
	rate

	// fresh says what a new key gets where no place is full: a full bucket, or
	// what is left in the one it takes. With the latter, many keys together
	// get no more than all places do.
	fresh bool

	shards [tableShards]tableShard
}

type tableShard struct {
	mu   sync.Mutex
	sets [tableSets][tableWays]bucket
}

// 64 × 32 × 8 places of 24 bytes are 384 KiB.
const (
	tableShards = 64
	tableSets   = 32
	tableWays   = 8
)

// bucket is one key's. The zero value is a place that nobody has.
type bucket struct {
	key    uint64 // its lowest bits are marks
	at     int64  // when it held tokens, Unix nanoseconds
	tokens float64
}

// Marks of a bucket. They take the place of bits of the key.
const (
	held     = 1 << iota // by a key
	refusing             // the last attempt was refused
	marks    = held | refusing
)

// NewTable makes a table whose buckets get so many tokens a second, up to burst.
func NewTable(perSecond, burst float64, fresh bool) *Table {
	return &Table{rate: newRate(perSecond, burst), fresh: fresh}
}

// holds is what a bucket holds now.
func (t *Table) holds(it *bucket, now int64) float64 {
	if it.key == 0 {
		return t.burst
	}
	return t.filled(it.tokens, now-it.at)
}

// place is the shard and the set in which a key may lie.
func (t *Table) place(key uint64) (*tableShard, *[tableWays]bucket) {
	shard := &t.shards[key>>58%tableShards]
	return shard, &shard.sets[key>>32%tableSets]
}

// with calls use with a key's bucket, which has the tokens of now.
func (t *Table) with(key uint64, now time.Time, use func(it *bucket)) {
	key = key&^marks | held
	at := now.UnixNano()
	shard, set := t.place(key)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	for i := range set {
		if set[i].key&^refusing == key {
			set[i].tokens, set[i].at = t.holds(&set[i], at), at
			use(&set[i])
			return
		}
	}
	place, most := 0, -t.burst-1
	for i := range set {
		if tokens := t.holds(&set[i], at); tokens > most {
			place, most = i, tokens
		}
	}
	if t.fresh {
		most = t.burst
	}
	set[place] = bucket{key: key, at: at, tokens: most}
	use(&set[place])
}

// whereHeld calls use with a key's bucket as it was left, where it has one.
func (t *Table) whereHeld(key uint64, use func(it *bucket)) {
	key = key&^marks | held
	shard, set := t.place(key)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	for i := range set {
		if set[i].key&^refusing == key {
			use(&set[i])
			return
		}
	}
}

// Take takes n tokens if the key has them.
func (t *Table) Take(key uint64, now time.Time, n float64) (taken bool) {
	t.with(key, now, func(it *bucket) {
		if taken = it.tokens >= n; taken {
			it.tokens -= n
		}
	})
	return taken
}

// Charge takes n tokens whether the key has them or not: what it then owes, at
// most a whole bucket, must flow in again first.
func (t *Table) Charge(key uint64, now time.Time, n float64) {
	t.with(key, now, func(it *bucket) { it.tokens = max(it.tokens-n, -t.burst) })
}

// Wait is how long the key has to wait for a token, 0 for one that has any part of
// one.
func (t *Table) Wait(key uint64, now time.Time) (wait time.Duration) {
	t.with(key, now, func(it *bucket) {
		if it.tokens <= 0 {
			wait = t.untilOne(it)
		}
	})
	return wait
}

// untilOne is how long until a bucket holds a whole token.
func (t *Table) untilOne(it *bucket) time.Duration {
	return t.until(it.tokens, 1)
}
