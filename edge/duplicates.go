package edge

import (
	"encoding/hex"
	"hash/maphash"
	"sync"
)

// eventKey names one event of one company.
type eventKey struct {
	company string
	id      [16]byte // the UUID's bytes
}

// uuidBytes reads a UUID that core has found valid.
func uuidBytes(text string) (id [16]byte) {
	if len(text) == 36 {
		packed := [32]byte{}
		n := 0
		for i := 0; i < len(text) && n < len(packed); i++ {
			if text[i] != '-' {
				packed[n] = text[i]
				n++
			}
		}
		_, _ = hex.Decode(id[:], packed[:]) // valid by contract
	}
	return id
}

// attempt is one request's try to store its events. ok may be read once done
// is closed.
type attempt struct {
	done chan struct{}
	ok   bool
}

func newAttempt() *attempt { return &attempt{done: make(chan struct{})} }

// duplicates knows the events that requests are storing now, and a bounded set
// of those acknowledged lately. An older repeat is not recognised here: the
// processor stores each id once.
type duplicates struct {
	seed   maphash.Seed
	shards [16]duplicateShard
}

type duplicateShard struct {
	mu      sync.Mutex
	pending map[eventKey]*attempt
	acked   map[eventKey]struct{}
	ring    []eventKey // the acknowledged, oldest at next once it is full
	next    int
	maxSize int
}

func newDuplicates(remember int) *duplicates {
	d := &duplicates{seed: maphash.MakeSeed()}
	for i := range d.shards {
		s := &d.shards[i]
		s.pending, s.acked, s.maxSize = map[eventKey]*attempt{}, map[eventKey]struct{}{}, max(1, remember/len(d.shards))
	}
	return d
}

func (d *duplicates) shard(key eventKey) *duplicateShard {
	// The last bytes of a UUIDv7 are random.
	return &d.shards[maphash.Bytes(d.seed, key.id[8:])%uint64(len(d.shards))]
}

// claim takes an event for an attempt. If it is not the first to do so, other
// is the attempt that has it, or nil when the event is acknowledged already.
func (d *duplicates) claim(key eventKey, by *attempt) (first bool, other *attempt) {
	s := d.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, acked := s.acked[key]; acked {
		return false, nil
	}
	if other := s.pending[key]; other != nil {
		return false, other
	}
	s.pending[key] = by
	return true, nil
}

// finish ends an attempt: its events are acknowledged, or may be claimed again.
func (d *duplicates) finish(a *attempt, keys []eventKey, ok bool) {
	for _, key := range keys {
		s := d.shard(key)
		s.mu.Lock()
		delete(s.pending, key)
		if ok {
			s.remember(key)
		}
		s.mu.Unlock()
	}
	a.ok = ok
	close(a.done)
}

func (s *duplicateShard) remember(key eventKey) {
	if len(s.ring) < s.maxSize {
		s.ring = append(s.ring, key)
	} else {
		delete(s.acked, s.ring[s.next])
		s.ring[s.next] = key
		s.next = (s.next + 1) % s.maxSize
	}
	s.acked[key] = struct{}{}
}
