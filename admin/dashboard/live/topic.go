package live

import (
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
)

// overlap is how far behind a cursor catching up begins. Rows of one company
// are written by one processor in order, but a partition may move to a machine
// whose clock is behind; what comes twice is told apart by its processed_at.
const overlap = 5 * time.Second

// maxHinted bounds the orders named by hints between two messages; beyond it
// the topic catches up by its cursor.
const maxHinted = 500

// topicKey is what a page shows: one day of one company.
type topicKey struct {
	companyID string
	day       string // YYYY-MM-DD
}

// topic is the sockets that show one page. The hub's mutex guards it, but for
// cursor and seen, which belong to the goroutine that has it busy.
type topic struct {
	key     topicKey
	company commerce.Access
	sockets map[*socket]struct{}
	hinted  map[string]struct{} // orders to read again
	behind  bool                // hints may have been missed: compare by cursor
	busy    bool                // a goroutine is refreshing it
	restAt  time.Time           // not to be refreshed before
	cursor  commerce.Cursor
	seen    map[string]time.Time // processed_at of what was sent, within the overlap
}

func newTopic(key topicKey, company commerce.Access, cursor commerce.Cursor) *topic {
	return &topic{
		key: key, company: company, cursor: cursor,
		sockets: map[*socket]struct{}{}, hinted: map[string]struct{}{}, seen: map[string]time.Time{},
	}
}

// hint marks an order as changed.
func (t *topic) hint(orderID string) {
	if len(t.hinted) >= maxHinted {
		t.behind = true
		return
	}
	t.hinted[orderID] = struct{}{}
}

// due tells whether the topic has work and has rested.
func (t *topic) due(now time.Time) bool {
	return !t.busy && (t.behind || len(t.hinted) > 0) && !now.Before(t.restAt)
}

// news is those of the changed sales that were not sent yet.
func (t *topic) news(changed []commerce.Sale) (ids []string) {
	for _, s := range changed {
		if at, ok := t.seen[s.OrderID]; !ok || s.ProcessedAt.After(at) {
			ids = append(ids, s.OrderID)
		}
	}
	return ids
}

// sent notes what was sent, and forgets what lies before the overlap.
func (t *topic) sent(changed []commerce.Sale, cursor commerce.Cursor) {
	if t.cursor.Before(cursor) {
		t.cursor = cursor
	}
	for _, s := range changed {
		t.seen[s.OrderID] = s.ProcessedAt
	}
	edge := back(t.cursor).At
	for id, at := range t.seen {
		if at.Before(edge) {
			delete(t.seen, id)
		}
	}
}

// back is a cursor moved back by the overlap.
func back(c commerce.Cursor) commerce.Cursor {
	if c.IsZero() {
		return c
	}
	return commerce.Cursor{At: c.At.Add(-overlap)}
}
