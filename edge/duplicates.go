package edge

import (
	"encoding/binary"
	"hash/maphash"
	"sync"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/internal/wire"
)

// uuidBytes reads a UUID that core has found valid.
func uuidBytes(text string) uuid.UUID {
	id, _ := uuid.Parse(text) // valid by contract
	return id
}

// attempt is one request's try to store its events.
type attempt struct {
	mu     sync.Mutex
	ended  chan struct{} // made for the first that waits
	over   bool
	stored bool
}

// done is closed once the attempt has ended.
func (a *attempt) done() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended == nil {
		a.ended = make(chan struct{})
		if a.over {
			close(a.ended)
		}
	}
	return a.ended
}

// succeeded tells, once the attempt has ended, whether its events are stored.
func (a *attempt) succeeded() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stored
}

func (a *attempt) end(stored bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over, a.stored = true, stored
	if a.ended != nil {
		close(a.ended)
	}
}

// duplicates knows the events that requests are storing now, and a bounded set
// of those acknowledged lately. An older repeat is not recognised here: the
// processor stores each id once.
type duplicates struct {
	seed   maphash.Seed
	shards [16]duplicateShard
}

// fingerprint stands for one event of one company as senders of one trust send it:
// 64 bits of a hash that nobody outside can aim at, and the id's random ones. It
// holds no pointer, so that the garbage collector need not look at the set.
type fingerprint [2]uint64

type duplicateShard struct {
	mu      sync.Mutex
	pending map[fingerprint]*attempt
	acked   []bucket
}

// bucket holds the last of the acknowledged events that fall into it.
type bucket struct {
	first, second [8]uint64 // the halves of their fingerprints, the newest first
}

// holds looks at the first halves, which lie in one line of the processor's cache.
func (b *bucket) holds(id fingerprint) bool {
	for i, first := range b.first {
		if first == id[0] && b.second[i] == id[1] {
			return true
		}
	}
	return false
}

// put takes the place of the oldest.
func (b *bucket) put(id fingerprint) {
	copy(b.first[1:], b.first[:])
	copy(b.second[1:], b.second[:])
	b.first[0], b.second[0] = id[0], id[1]
}

// newDuplicates makes a set that forgets one of twenty events after remember
// others, and nearly none after half of them: there are two places for each.
func newDuplicates(remember int) *duplicates {
	d := &duplicates{seed: maphash.MakeSeed()}
	for i := range d.shards {
		s := &d.shards[i]
		s.pending = map[fingerprint]*attempt{}
		s.acked = make([]bucket, 1+2*remember/len(d.shards)/len(bucket{}.first))
	}
	return d
}

// sender stands for the senders of one trust to one company: a stranger who sends an
// id first must not make a backend's copy a duplicate.
func (d *duplicates) sender(company string, trust wire.Trust) uint64 {
	return maphash.Comparable(d.seed, struct {
		company string
		trust   wire.Trust
	}{company, trust})
}

func (d *duplicates) fingerprint(sender uint64, id uuid.UUID) fingerprint {
	return fingerprint{maphash.Comparable(d.seed, struct {
		sender uint64
		id     uuid.UUID
	}{sender, id}), binary.BigEndian.Uint64(id[8:])}
}

func (d *duplicates) shard(of fingerprint) *duplicateShard {
	return &d.shards[of[0]%uint64(len(d.shards))]
}

func (s *duplicateShard) bucket(of fingerprint) *bucket {
	return &s.acked[of[0]>>8%uint64(len(s.acked))]
}

// claim takes an event for an attempt. If it is not the first to do so, other
// is the attempt that has it, or nil when the event is acknowledged already.
func (d *duplicates) claim(id fingerprint, by *attempt) (first bool, other *attempt) {
	s := d.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bucket(id).holds(id) {
		return false, nil
	}
	if other := s.pending[id]; other != nil {
		return false, other
	}
	s.pending[id] = by
	return true, nil
}

// acknowledged tells whether an event was acknowledged lately.
func (d *duplicates) acknowledged(id fingerprint) bool {
	s := d.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bucket(id).holds(id)
}

// finish ends an attempt: its events are acknowledged, or may be claimed again.
func (d *duplicates) finish(a *attempt, ids []fingerprint, ok bool) {
	for _, id := range ids {
		s := d.shard(id)
		s.mu.Lock()
		delete(s.pending, id)
		if ok {
			s.bucket(id).put(id)
		}
		s.mu.Unlock()
	}
	a.end(ok)
}
