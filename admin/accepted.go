package admin

import (
	"sync"
	"time"
)

// maxAccepted bounds the memory of accepted orders: a few megabytes, and more
// orders than are ever between acceptance and processing while all is well.
const maxAccepted = 50_000

// acceptedOrders remembers the latest orders that this process accepted, so
// that "not processed yet" can be told from "never seen". A hint, not a truth.
type acceptedOrders struct {
	mu    sync.Mutex
	ring  []orderRef
	next  int
	known map[orderRef]int // how many times it is in the ring
}

type orderRef struct{ companyID, orderID string }

func newAcceptedOrders(size int) *acceptedOrders {
	return &acceptedOrders{ring: make([]orderRef, size), known: map[orderRef]int{}}
}

func (a *acceptedOrders) add(companyID, orderID string) {
	ref := orderRef{companyID, orderID}
	a.mu.Lock()
	defer a.mu.Unlock()
	if old := a.ring[a.next]; old != (orderRef{}) {
		if a.known[old]--; a.known[old] == 0 {
			delete(a.known, old)
		}
	}
	a.ring[a.next] = ref
	a.next = (a.next + 1) % len(a.ring)
	a.known[ref]++
}

func (a *acceptedOrders) has(companyID, orderID string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.known[orderRef{companyID, orderID}] > 0
}

// stamper gives acceptance times that never repeat or go back within this
// process: two versions of an order sent one after the other keep their order
// even where the clock does not move between them.
type stamper struct {
	now  func() time.Time
	mu   sync.Mutex
	last time.Time
}

func (s *stamper) next() time.Time {
	at := s.now().UTC().Truncate(time.Microsecond)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !at.After(s.last) {
		at = s.last.Add(time.Microsecond)
	}
	s.last = at
	return at
}
