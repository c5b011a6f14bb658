package site

import (
	"context"
	"fmt"
	"sync"
)

// Turns bounds how many requests do at the same time what takes much memory or work: in
// all, and of one person, so that others have their turn too. Safe for concurrent use.
type Turns struct {
	what string // is done: "files are made"
	all  chan struct{}
	each int

	mu     sync.Mutex
	people map[string]*personsTurns // of those who have a turn or wait for one
}

type personsTurns struct {
	turns    chan struct{}
	requests int // that have a turn or wait for one
}

// NewTurns makes turns: `all` at once, `each` of one person.
func NewTurns(what string, all, each int) *Turns {
	return &Turns{what: what, all: make(chan struct{}, all), each: each, people: map[string]*personsTurns{}}
}

// Requests counts those of a person that have a turn or wait for one.
func (t *Turns) Requests(personID string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.people[personID]; p != nil {
		return p.requests
	}
	return 0
}

// Take waits for a turn of a person. The caller calls end when the work is done.
func (t *Turns) Take(ctx context.Context, personID string) (end func(), err error) {
	t.mu.Lock()
	p := t.people[personID]
	if p == nil {
		p = &personsTurns{turns: make(chan struct{}, t.each)}
		t.people[personID] = p
	}
	p.requests++
	t.mu.Unlock()
	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if p.requests--; p.requests == 0 {
			delete(t.people, personID)
		}
	}
	busy := func() error {
		leave()
		return fmt.Errorf("dashboard: other %s: %w", t.what, ctx.Err())
	}
	select {
	case p.turns <- struct{}{}:
	case <-ctx.Done():
		return nil, busy()
	}
	select {
	case t.all <- struct{}{}:
	case <-ctx.Done():
		<-p.turns
		return nil, busy()
	}
	return func() {
		<-t.all
		<-p.turns
		leave()
	}, nil
}
