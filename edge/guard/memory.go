package guard

import "sync"

// FreeBody is how many bytes of a body are read before any are taken: fasthttp reads as
// many before the handler is called.
const FreeBody = 8 << 10

// Memory is what request bodies take while they arrive and are handled, beyond FreeBody of each. Safe for concurrent use.
type Memory struct {
	most       int // bytes of all together
	mostOfEach int // … of one principal

	mu         sync.Mutex
	all        int
	principals map[uint64]int // bytes of each, none of 0
}

// shares is how many principals it takes to use up all.
const shares = 8

// NewMemory has room for one body of the largest size at least.
func NewMemory(most, largest int) *Memory {
	return &Memory{most: max(most, largest), mostOfEach: max(most/shares, largest), principals: map[uint64]int{}}
}

// Take takes n bytes if they are left, for all and for the principal.
func (b *Memory) Take(principal uint64, n int) (taken bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all+n > b.most || b.principals[principal]+n > b.mostOfEach {
		return false
	}
	b.all += n
	b.principals[principal] += n
	return true
}

// Give gives n bytes back that Take has taken.
func (b *Memory) Give(principal uint64, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all -= n
	if b.principals[principal] -= n; b.principals[principal] == 0 {
		delete(b.principals, principal)
	}
}

// Held is how many bytes are taken.
func (b *Memory) Held() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all
}
