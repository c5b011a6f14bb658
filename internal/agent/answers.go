package agent

import (
	"strings"
	"sync"
)

// Answers remembers what was found out about user agents: there are few, and each comes
// often. Safe for concurrent use. The zero value is empty.
type Answers[T any] struct {
	mu    sync.Mutex
	known map[string]T
}

// maxKnown bounds the answers that are remembered. One more empties the memory.
const maxKnown = 4096

// Of returns what find says of a user agent, now or before. find is one function at all
// calls.
func (a *Answers[T]) Of(userAgent string, find func(userAgent string) T) T {
	a.mu.Lock()
	answer, found := a.known[userAgent]
	a.mu.Unlock()
	if found {
		return answer
	}
	answer = find(userAgent)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known == nil || len(a.known) >= maxKnown {
		a.known = map[string]T{}
	}
	a.known[strings.Clone(userAgent)] = answer
	return answer
}
