package processor

// This file keeps the sums that reports read, in the transaction in which orders change.

import (
	"context"
	"maps"
	"slices"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/rollup"
	"github.com/tributary-io/tributary/internal/upkeep/books"
)

// summing is what a transaction knows of a company's orders that it may have changed.
type summing struct {
	store   Sums
	company string
	counted map[string]rollup.Counted // what was counted of orders before the transaction, by order id
	before  map[string]*facts.Outcome // outcomes before the transaction, of orders whose outcome changed; nil: none
	written map[string]*facts.Outcome // these orders' outcomes now
}

func newSumming(store Sums, company string) summing {
	return summing{
		store: store, company: company,
		counted: map[string]rollup.Counted{}, before: map[string]*facts.Outcome{}, written: map[string]*facts.Outcome{},
	}
}

// outcomes notes that outcomes were written.
func (s *summing) outcomes(written []facts.StoredOutcome) {
	for i := range written {
		o := &written[i]
		if _, known := s.written[o.OrderID]; !known {
			s.before[o.OrderID] = o.Before
		}
		// Not the whole outcome: its explanation is large.
		s.written[o.OrderID] = &facts.Outcome{OrderID: o.OrderID, Currency: o.Currency, Day: o.Day, Status: o.Status, TotalMinor: o.TotalMinor,
			Credits: o.Credits, Payout: o.Payout}
	}
}

// remember reads what is counted of orders that are about to change. It must be called
// before anything of them is written but their outcomes.
func (s *summing) remember(ctx context.Context, orderIDs []string) error {
	ids := slices.DeleteFunc(slices.Clone(orderIDs), func(id string) bool { _, known := s.counted[id]; return known })
	if len(ids) == 0 {
		return nil
	}
	counted, err := s.store.CountedOrders(ctx, s.company, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		s.counted[id] = counted[id]
	}
	return nil
}

// write adds to the sums by day what the transaction has changed: it takes back what was
// counted of each order, and adds what is. It returns the days of these orders.
func (s *summing) write(ctx context.Context) (days []books.Day, err error) {
	ids := slices.Collect(maps.Keys(s.written))
	for id := range s.counted {
		if _, known := s.written[id]; !known {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	slices.Sort(ids)
	now, err := s.store.CountedOrders(ctx, s.company, ids)
	if err != nil {
		return nil, err
	}
	var others []string // of which something else changed than the outcome
	for _, id := range ids {
		before, remembered := s.counted[id]
		if _, written := s.written[id]; !written && remembered && !before.Equal(now[id]) {
			others = append(others, id)
		}
	}
	stored, err := s.store.StoredOutcomes(ctx, s.company, others)
	if err != nil {
		return nil, err
	}
	var sums rollup.Sums
	for _, id := range ids {
		counted, remembered := s.counted[id]
		if !remembered {
			counted = now[id]
		}
		before, after := s.before[id], s.written[id]
		if after == nil {
			before, after = stored[id], stored[id]
		}
		for _, o := range []*facts.Outcome{before, after} {
			if o != nil {
				days = append(days, books.Day{CompanyID: s.company, Day: o.Day})
			}
		}
		sums.Add(rollup.Order{Outcome: before, Counted: counted}, -1)
		sums.Add(rollup.Order{Outcome: after, Counted: now[id]}, 1)
	}
	return days, s.store.AddSums(ctx, s.company, &sums)
}
