package attribution

import (
	"cmp"
	"slices"

	"github.com/tributary-io/tributary/internal/facts"
)

// Buyer is what browsers did to which a proof key of an order leads.
type Buyer struct {
	Visitors []string      // their ids
	Proven   []facts.Event // that are proven to be the buyer's, the newest first
	Others   []facts.Event // of the same browsers, the newest first: anybody who learnt the id may have sent them
}

// KnownAfter is how long after an order its buyer's events may still come. What comes later is proven by what came before alone.
const KnownAfter = timelyAfter

// Buyer returns who made an order, by proof keys alone. Where the order was snapshotted, nobody is known.
func (x *Index) Buyer(c *facts.Case) (b Buyer) {
	order, j := x.orderOf(c), x.join(c)
	keys := proofKeys(j)
	for _, v := range j.visitors {
		if v.proof == "" {
			continue
		}
		b.Visitors = append(b.Visitors, v.ID)
		if len(v.ids) > 1 {
			b.Visitors = append(b.Visitors, v.ids[1:]...)
		}
		proven := map[string]bool{}
		for _, e := range provenEvents(order, v, keys) {
			proven[e.EventID], b.Proven = true, append(b.Proven, e)
		}
		for _, e := range v.Events {
			if !proven[e.EventID] {
				b.Others = append(b.Others, e)
			}
		}
	}
	for _, list := range [][]facts.Event{b.Proven, b.Others} {
		slices.SortFunc(list, func(a, b facts.Event) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.EventID, a.EventID)) })
	}
	return b
}
