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

// flight is one request's events on their way to Kafka. ok is to be read once
// done is closed.
type flight struct {
	done chan struct{}
	ok   bool
}

// duplicates knows the events on their way and a bounded set of those
// acknowledged lately. Older repeats pass: the processor stores each id once.
type duplicates struct {
	seed   maphash.Seed
	shards [16]duplicateShard
}

type duplicateShard struct {
	mu      sync.Mutex
	flying  map[eventKey]*flight
	acked   map[eventKey]struct{}
	ring    []eventKey // the acknowledged, oldest at next once it is full
	next    int
	maxSize int
}

func newDuplicates(remember int) *duplicates {
	d := &duplicates{seed: maphash.MakeSeed()}
	for i := range d.shards {
		s := &d.shards[i]
		s.flying, s.acked, s.maxSize = map[eventKey]*flight{}, map[eventKey]struct{}{}, max(1, remember/len(d.shards))
	}
	return d
}

func (d *duplicates) shard(key eventKey) *duplicateShard {
	// The last bytes of a UUIDv7 are random.
	return &d.shards[maphash.Bytes(d.seed, key.id[8:])%uint64(len(d.shards))]
}

// claim takes an event for the caller's flight. If it is not the first: twin
// is the flight that has it, or nil when it is acknowledged already.
func (d *duplicates) claim(key eventKey, mine *flight) (first bool, twin *flight) {
	s := d.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, acked := s.acked[key]; acked {
		return false, nil
	}
	if twin := s.flying[key]; twin != nil {
		return false, twin
	}
	s.flying[key] = mine
	return true, nil
}

// land ends a flight: its events are acknowledged, or free to be sent again.
func (d *duplicates) land(mine *flight, keys []eventKey, ok bool) {
	for _, key := range keys {
		s := d.shard(key)
		s.mu.Lock()
		delete(s.flying, key)
		if ok {
			s.remember(key)
		}
		s.mu.Unlock()
	}
	mine.ok = ok
	close(mine.done)
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
