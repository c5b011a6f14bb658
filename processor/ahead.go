package processor

// This file computes what follows from events alone, while the store works: for the next
// batch, while the one before is applied.

import (
	"slices"

	"github.com/tributary-io/tributary/internal/agent"
	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/upkeep/delivery"
)

// following is what follows from events that were not stored before.
type following struct {
	observations []facts.Observation
	shoppers     []facts.Shopper
	clicks       []facts.Clicks
	concerned    []facts.KeySpan // keys of the orders that the events may concern
	arrivals     *delivery.Arrivals
}

// followingFrom computes what follows from events. It reads nothing but the rules.
func followingFrom(index *attribution.Index, agents *agent.Known, fresh []facts.Event) *following {
	f := &following{observations: facts.Observations(fresh), concerned: index.ConcernedByEvents(fresh), arrivals: delivery.NewArrivals()}
	f.shoppers, f.clicks = index.Traffic(fresh)
	for i := range fresh {
		f.arrivals.Add(&fresh[i], sourceOf(index, agents, &fresh[i]))
	}
	return f
}

// prepared is what was computed of a company's events while the batch before theirs was
// applied. It is valid where the rules are still the same and no event was left out.
type prepared struct {
	index   *attribution.Index
	chosen  []facts.Event
	others  []facts.Copy
	follows *following // nil: it is not computed yet
}

// gathered are the records of a batch.
type gathered struct {
	records []record
	bytes   int
	grouped *grouped // nil: it is made with the batch
}

func (g *gathered) add(r *record) { g.records, g.bytes = append(g.records, *r), g.bytes+len(r.Value) }

// take adds records that wait, while there is room.
func (g *gathered) take(from <-chan *record, maxRecords, maxBytes int) {
	g.records = slices.Grow(g.records, max(0, min(len(from), maxRecords-len(g.records))))
	for len(g.records) < maxRecords && g.bytes < maxBytes {
		select {
		case r := <-from:
			g.add(r)
		default:
			return
		}
	}
}

// gather returns records that wait, at most limit. Where both topics have some, commerce comes
// first and takes at most half of the records and of the bytes, so that neither topic keeps
// the other waiting. Orders that were sent in bulk take what is left, and no more than maxBulk. into has those that are gathered already.
func (o *owner) gather(into gathered, limit int) gathered {
	into.take(o.commerce, max(1, limit/2), o.config.BatchBytes/2)
	into.take(o.events, limit, o.config.BatchBytes)
	into.take(o.bulk, min(limit, len(into.records)+maxBulk), o.config.BatchBytes)
	return into
}

// prepareNext begins to gather the records of the next batch, and to compute what needs no
// store: the loop is about to wait for the store. Only the loop calls it.
func (o *owner) prepareNext() {
	if o.preparing != nil || len(o.leftOver) > 0 {
		return
	}
	preparing, limit := make(chan gathered, 1), o.batchLimit
	o.preparing = preparing
	go func() { // the loop waits for it: takePrepared
		g := o.gather(gathered{}, limit)
		if len(g.records) > 0 {
			g.grouped = o.group(g.records)
			for id, c := range g.grouped.companies {
				c.prepare(o.knownRules(id), &o.agents)
			}
		}
		preparing <- g
	}()
}

// prepare computes what follows from the company's events by its rules.
func (c *companyBatch) prepare(index *attribution.Index, agents *agent.Known) {
	if index == nil || len(c.events) == 0 {
		return
	}
	c.prepared = &prepared{index: index}
	c.prepared.chosen, c.prepared.others = facts.ChooseCopies(c.events)
	c.prepared.follows = followingFrom(index, agents, c.prepared.chosen)
}

// takePrepared waits for what prepareNext has begun, and returns it. Where a batch may not
// have so many records any more, the others are left for the next one.
func (o *owner) takePrepared() (g gathered) {
	if o.preparing != nil {
		g = <-o.preparing
		o.preparing = nil
	} else {
		for i := range o.leftOver {
			g.add(&o.leftOver[i])
		}
		o.leftOver = nil
	}
	if len(g.records) > o.batchLimit {
		g, o.leftOver = gathered{records: g.records[:o.batchLimit]}, g.records[o.batchLimit:]
		for i := range g.records {
			g.bytes += len(g.records[i].Value)
		}
	}
	return g
}

// groupOf returns records' facts by company. What was prepared is used once: an attempt to
// apply it may change it.
func (o *owner) groupOf(records []record) *grouped {
	g := o.grouped
	o.grouped = nil
	if g != nil && len(g.records) == len(records) && &g.records[0] == &records[0] {
		return g
	}
	return o.group(records)
}

// sourceOf is where an event comes from.
func sourceOf(index *attribution.Index, agents *agent.Known, e *facts.Event) delivery.Source {
	return delivery.Source{Origin: index.OriginOf(e.Context.Page.URL), Agent: agents.Family(e.Context.UserAgent)}
}
