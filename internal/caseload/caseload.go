// Package caseload reads orders' cases group by group, so that the events of few
// visitors are in memory together, however many orders there are. It knows no rule.
package caseload

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/facts"
)

// Reader reads cases. internal/postgres/cases.Tx is one, and describes the methods.
type Reader interface {
	Cases(ctx context.Context, companyID string, limits facts.Limits, orderIDs []string) ([]*facts.Case, error)
	Visitors(ctx context.Context, companyID string, limits facts.Limits, list []*facts.Case, budget int) (cases int,
		read facts.Read, err error)
	Proven(ctx context.Context, companyID string, limits facts.Limits, c *facts.Case) (read int, err error)
}

// View is one unchanging view of a company's facts and rules. internal/postgres/cases.Tx is one, and describes the methods.
type View interface {
	Reader
	Rules(ctx context.Context, companyID string) (*facts.Rules, error)
	EventsBetween(ctx context.Context, companyID string, visitors []string, from, to time.Time, most int) ([][]facts.Event, error)
}

// visitorsPerStep is how many visitors are asked for together. One order's visitors
// always are. The number was chosen, not measured.
const visitorsPerStep = 200

// Each reads the cases of orders and calls f with each, the newest order first, until f
// returns false, or the next order may have more than what is left of the claimed events that
// may be read. attribution.ClaimedEvents are enough for one order. f may change the case but
// for its visitors' events, which cases share, and must not keep it. An unknown order is left
// out. It returns the ids of the orders that are left, and what was read.
func Each(ctx context.Context, r Reader, companyID string, limits facts.Limits, orderIDs []string, claimed int,
	f func(c *facts.Case) bool) (left []string, read facts.Read, err error) {
	list, err := r.Cases(ctx, companyID, limits, orderIDs)
	if err != nil {
		return nil, read, err
	}
	slices.SortFunc(list, func(a, b *facts.Case) int {
		return cmp.Or(b.Order.CreatedAt.Compare(a.Order.CreatedAt), cmp.Compare(a.Order.OrderID, b.Order.OrderID))
	})
	for len(list) > 0 {
		group := nextGroup(list)
		n, more, err := r.Visitors(ctx, companyID, limits, group, claimed-read.Claimed)
		if err != nil {
			return nil, read, err
		}
		read.Add(more)
		for _, c := range group[:n] {
			proven, err := r.Proven(ctx, companyID, limits, c)
			if err != nil {
				return nil, read, err
			}
			read.Events += proven
			goOn := f(c)
			c.Visitors = nil // frees the memory of its events
			if list = list[1:]; !goOn {
				return idsOf(list), read, nil
			}
		}
		for _, c := range group[n:] {
			c.Visitors = nil
		}
		if n == 0 || read.Claimed > claimed/2 { // the next order may have as many
			break
		}
	}
	return idsOf(list), read, nil
}

func idsOf(list []*facts.Case) []string {
	ids := make([]string, len(list))
	for i, c := range list {
		ids[i] = c.Order.OrderID
	}
	return ids
}

// nextGroup returns the first cases, whose keys lead to at most visitorsPerStep visitors
// together, with these visitors' ids. A case with more is a group of its own.
func nextGroup(list []*facts.Case) []*facts.Case {
	seen := map[string]bool{}
	for i, c := range list {
		c.Visitors = attribution.ReachedVisitors(c)
		for _, v := range c.Visitors {
			seen[v.ID] = true
		}
		if i > 0 && len(seen) > visitorsPerStep {
			c.Visitors = nil
			return list[:i]
		}
	}
	return list
}
