package live

import (
	"time"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
)

// overlap is how far before a cursor the look for changes begins. One processor
// writes the rows of a company in order, but a partition may move to a machine
// whose clock is behind. An order that is found twice has the same processed_at.
const overlap = 5 * time.Second

// maxHinted bounds the orders that hints name between two messages. Where there
// are more, changes are looked for by the cursor.
const maxHinted = 500

// topicKey is what a page shows: one day of one company, in one language.
type topicKey struct {
	companyID string
	day       string // YYYY-MM-DD
	lang      string // RFC 5646 tag of the page's language
}

// topic is the sockets of one page. The hub's mutex guards it, except cursor and
// seen, which only the goroutine that refreshes it uses.
type topic struct {
	key     topicKey
	company account.Access
	sockets map[*socket]struct{}
	hinted  map[string]struct{} // orders to read again
	behind  bool                // hints may have been missed: look for changes by the cursor
	busy    bool                // a goroutine is refreshing it
	restAt  time.Time           // not to be refreshed before
	cursor  commerce.Cursor
	seen    map[string]time.Time // processed_at of what was sent, within the overlap
}

func newTopic(key topicKey, company account.Access, cursor commerce.Cursor) *topic {
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

// due reports whether the topic has work and has waited long enough.
func (t *topic) due(now time.Time) bool {
	return !t.busy && (t.behind || len(t.hinted) > 0) && !now.Before(t.restAt)
}

// news returns the ids of changed sales that were not sent yet.
func (t *topic) news(changed []commerce.Sale) (ids []string) {
	for _, s := range changed {
		if at, ok := t.seen[s.OrderID]; !ok || s.ProcessedAt.After(at) {
			ids = append(ids, s.OrderID)
		}
	}
	return ids
}

// sent remembers what was sent, and forgets what is before the overlap.
func (t *topic) sent(changed []commerce.Sale, cursor commerce.Cursor) {
	if t.cursor.Before(cursor) {
		t.cursor = cursor
	}
	for _, s := range changed {
		t.seen[s.OrderID] = s.ProcessedAt
	}
	edge := beforeOverlap(t.cursor).At
	for id, at := range t.seen {
		if at.Before(edge) {
			delete(t.seen, id)
		}
	}
}

// beforeOverlap returns a cursor moved back by the overlap.
func beforeOverlap(c commerce.Cursor) commerce.Cursor {
	if c.IsZero() {
		return c
	}
	return commerce.Cursor{At: c.At.Add(-overlap)}
}
