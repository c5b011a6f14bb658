// Package caseload reads orders' cases group by group, so that the events of few
// visitors are in memory together, however many orders there are. It knows no rule.
package caseload

import (
	"context"
	"iter"

	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/facts"
)

// Reader reads cases. internal/postgres/cases.Tx is one, and describes the methods.
type Reader interface {
	Cases(ctx context.Context, companyID string, limits facts.Limits, orderIDs []string) ([]*facts.Case, error)
	Visitors(ctx context.Context, companyID string, limits facts.Limits, list []*facts.Case) (events int, err error)
}

// visitorsPerStep is of how many visitors the events are in memory together. One
// order's visitors always are. The number was chosen, not measured.
const visitorsPerStep = 200

// Each reads the cases of orders and calls f with each, ordered by order id. f may
// change the case and must not keep it. An unknown order is left out. It returns how
// many events of visitors were read.
func Each(ctx context.Context, r Reader, companyID string, limits facts.Limits, orderIDs []string, f func(c *facts.Case)) (events int, err error) {
	list, err := r.Cases(ctx, companyID, limits, orderIDs)
	if err != nil {
		return 0, err
	}
	for group := range inGroups(list) {
		for _, c := range group {
			c.Visitors = attribution.ReachedVisitors(c)
		}
		read, err := r.Visitors(ctx, companyID, limits, group)
		if err != nil {
			return events, err
		}
		events += read
		for _, c := range group {
			f(c)
			c.Visitors = nil // frees the memory of its events
		}
	}
	return events, nil
}

// inGroups cuts cases into groups whose keys lead to at most visitorsPerStep
// visitors together. A case with more is a group of its own.
func inGroups(list []*facts.Case) iter.Seq[[]*facts.Case] {
	return func(yield func([]*facts.Case) bool) {
		first, visitors := 0, 0
		for i, c := range list {
			n := 0
			for _, k := range c.Keys {
				n += len(k.Visitors)
			}
			if i > first && visitors+n > visitorsPerStep {
				if !yield(list[first:i]) {
					return
				}
				first, visitors = i, 0
			}
			visitors += n
		}
		if first < len(list) {
			yield(list[first:])
		}
	}
}
