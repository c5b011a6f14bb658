package processor

// This file keeps the sums that reports read, in the transaction in which orders change.

import (
	"context"
	"maps"
	"slices"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/rollup"
)

// summing is what a transaction knows of orders that it may have changed.
type summing struct {
	counted map[string]rollup.Counted // what was counted of orders before the transaction, by order id
	was, is map[string]*facts.Outcome // outcomes before the transaction and now, of orders whose outcome changed; nil: none
}

func newSumming() summing {
	return summing{counted: map[string]rollup.Counted{}, was: map[string]*facts.Outcome{}, is: map[string]*facts.Outcome{}}
}

// outcomes notes that outcomes were written.
func (s *summing) outcomes(written []facts.StoredOutcome) {
	for i := range written {
		o := &written[i]
		if _, known := s.is[o.OrderID]; !known {
			s.was[o.OrderID] = o.Was
		}
		// Not the whole outcome: its explanation is large.
		s.is[o.OrderID] = &facts.Outcome{OrderID: o.OrderID, Currency: o.Currency, Day: o.Day, Status: o.Status, TotalMinor: o.TotalMinor,
			Credits: o.Credits, Payout: o.Payout}
	}
}

// remember reads what is counted of orders that are about to change. It must be called
// before anything of them is written but their outcomes.
func (a *application) remember(ctx context.Context, orderIDs []string) error {
	ids := slices.DeleteFunc(slices.Clone(orderIDs), func(id string) bool { _, known := a.summed.counted[id]; return known })
	if len(ids) == 0 {
		return nil
	}
	counted, err := a.tx.CountedOrders(ctx, a.company, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		a.summed.counted[id] = counted[id]
	}
	return nil
}

// sum adds to the sums by day what the transaction has changed: it takes back what was
// counted of each order, and adds what is.
func (a *application) sum(ctx context.Context) error {
	ids := slices.Collect(maps.Keys(a.summed.is))
	for id := range a.summed.counted {
		if _, known := a.summed.is[id]; !known {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	now, err := a.tx.CountedOrders(ctx, a.company, ids)
	if err != nil {
		return err
	}
	var others []string // of which something else changed than the outcome
	for _, id := range ids {
		before, remembered := a.summed.counted[id]
		if _, written := a.summed.is[id]; !written && remembered && !before.Equal(now[id]) {
			others = append(others, id)
		}
	}
	stored, err := a.tx.Outcomes(ctx, a.company, others)
	if err != nil {
		return err
	}
	var sums rollup.Sums
	for _, id := range ids {
		before, remembered := a.summed.counted[id]
		if !remembered {
			before = now[id]
		}
		was, is := a.summed.was[id], a.summed.is[id]
		if is == nil {
			was, is = stored[id], stored[id]
		}
		a.done.changes(a.company, was, is)
		sums.Add(rollup.Order{Outcome: was, Counted: before}, -1)
		sums.Add(rollup.Order{Outcome: is, Counted: now[id]}, 1)
	}
	return a.tx.AddSums(ctx, a.company, &sums)
}

// changes notes the days of an order's outcomes before the transaction and now.
func (d *applied) changes(company string, outcomes ...*facts.Outcome) {
	for _, o := range outcomes {
		if o == nil {
			continue
		}
		if d.days == nil {
			d.days = map[companyDay]bool{}
		}
		d.days[companyDay{company, o.Day}] = true
	}
}
