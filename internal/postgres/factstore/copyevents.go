package factstore

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tributary-io/tributary/internal/facts"
)

// This file stores many events by COPY: it takes half the time of an insert. COPY has no
// "on conflict": where one of the ids is stored already, nothing of it stays, and the
// insert stores the events instead.

// leastCopied is how few events are not worth a COPY: it takes three statements more.
const leastCopied = 64

// copyEvents stores events none of whose ids is stored. It returns false, and stores
// none, where it cannot: an id is stored already, or the server refuses something else.
func (t *Tx) copyEvents(ctx context.Context, companyID string, events []facts.Event) (stored bool, err error) {
	within, err := t.tx.Begin(ctx) // a savepoint
	if err != nil {
		return false, err
	}
	if err = copyRows(ctx, within.Conn(), &eventCopy{companyID: companyID, events: events}); err == nil {
		return true, within.Commit(ctx)
	}
	// Whatever the server refused (Citus loses the SQLSTATE of a COPY), the insert finds out.
	var refused *pgconn.PgError
	if !errors.As(err, &refused) {
		return false, err
	}
	return false, within.Rollback(ctx)
}

// copying says of which companies events are copied. A COPY in vain costs as much as half
// an insert and leaves rows behind that have to be vacuumed. So after one the company's
// events are inserted for some batches: for twice as many after each further one. Safe for
// concurrent use.
type copying struct {
	mu   sync.Mutex
	rest map[string]*resting // by company
}

// resting is a company whose events were stored already when they came.
type resting struct {
	batches int // batches that are inserted before the next is copied
	next    int // how many they are after the next COPY in vain
}

const (
	longestRest = 256    // batches
	maxResting  = 10_000 // companies that are remembered; one more empties the memory
)

func newCopying() *copying { return &copying{rest: map[string]*resting{}} }

// try reports whether a company's batch of so many events is to be copied.
func (c *copying) try(companyID string, events int) bool {
	if c == nil || events < leastCopied {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.rest[companyID]
	if r == nil || r.batches == 0 {
		return true
	}
	r.batches--
	return false
}

// tried notes whether a COPY has stored its events.
func (c *copying) tried(companyID string, stored bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.rest[companyID]
	switch {
	case stored && r == nil:
	case stored:
		if r.next /= 2; r.next == 0 {
			delete(c.rest, companyID)
		}
	case r == nil:
		if len(c.rest) >= maxResting {
			clear(c.rest)
		}
		c.rest[companyID] = &resting{batches: 1, next: 2}
	default:
		r.batches, r.next = max(r.next, 1), min(2*max(r.next, 1), longestRest)
	}
}

// insertByCopy stores events by COPY where that is likely to succeed. It returns false
// where the events are to be inserted.
func (t *Tx) insertByCopy(ctx context.Context, companyID string, events []facts.Event) (inserted map[uuid.UUID]bool, done bool, err error) {
	if !t.copying.try(companyID, len(events)) {
		return nil, false, nil
	}
	stored, err := t.copyEvents(ctx, companyID, events)
	if err != nil {
		return nil, false, fmt.Errorf("copy events: %w", err)
	}
	if t.copying.tried(companyID, stored); !stored {
		return nil, false, nil
	}
	inserted = make(map[uuid.UUID]bool, len(events))
	for i := range events {
		inserted[events[i].ID] = true
	}
	return inserted, true, nil
}
