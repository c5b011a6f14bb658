package nonconverting

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
)

// Marks are the days of which facts of a transaction change non-converting paths that may have been
// counted for the last time. The zero value has none.
type Marks struct{ spans []facts.DaySpan }

// Event notes the days whose non-converting paths read an event of an instant.
func (m *Marks) Event(rules Rules, at, now time.Time) {
	if days, ok := rules.PathsReadingEvent(at, now); ok {
		m.spans = append(m.spans, days)
	}
}

// Order does the same for an order, which has the versions before and now has the versions after:
// where it came or moved, was cancelled or is not any more, or is joined by other keys.
func (m *Marks) Order(rules Rules, before, after []facts.StoredVersion, now time.Time) {
	if _, old := rules.PathsReadingOrder(after[0].Order.CreatedAt, now); !old && len(before) == 0 {
		return // a new order, as most are
	}
	is := facts.Fold(after)
	if len(before) > 0 {
		was := facts.Fold(before)
		cancelled := (was.Status == commerce.OrderCancelled) != (is.Status == commerce.OrderCancelled)
		if !cancelled && was.CreatedAt.Equal(is.CreatedAt) && slices.Equal(facts.OrderJoins(&was), facts.OrderJoins(&is)) {
			return
		}
		if days, ok := rules.PathsReadingOrder(was.CreatedAt, now); ok {
			m.spans = append(m.spans, days)
		}
	}
	if days, ok := rules.PathsReadingOrder(is.CreatedAt, now); ok {
		m.spans = append(m.spans, days)
	}
}

// Store stores what was noted. It must be called before outcomes are computed: a count
// that begins afterwards reads them.
func (m *Marks) Store(ctx context.Context, store Store, companyID string) error {
	if len(m.spans) == 0 {
		return nil
	}
	return store.Mark(ctx, companyID, merged(m.spans))
}

// merged returns spans of days that cover the same days, ordered, without two that touch.
func merged(spans []facts.DaySpan) (list []facts.DaySpan) {
	slices.SortFunc(spans, func(a, b facts.DaySpan) int { return cmp.Compare(a.From, b.From) })
	for _, s := range spans {
		if n := len(list); n > 0 && s.From <= list[n-1].To {
			list[n-1].To = max(list[n-1].To, s.To)
			continue
		}
		list = append(list, s)
	}
	return list
}
