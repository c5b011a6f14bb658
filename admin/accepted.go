package admin

import (
	"sync"
	"time"
)

// maxAccepted bounds how many accepted orders are remembered. They take a few
// megabytes, and are more than wait to be processed at any time while the
// processor works.
const maxAccepted = 50_000

// acceptedOrders remembers the latest orders that this process accepted, so
// that the API can answer "not processed yet" for them. An order that is not
// remembered may still have been accepted.
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

// increasingClock returns times that always increase within this process. Two
// versions of an order that are sent one after the other keep that order, also
// where the system's clock stands still between them.
type increasingClock struct {
	now  func() time.Time
	mu   sync.Mutex
	last time.Time
}

func (s *increasingClock) next() time.Time {
	at := s.now().UTC().Truncate(time.Microsecond)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !at.After(s.last) {
		at = s.last.Add(time.Microsecond)
	}
	s.last = at
	return at
}
