package cases

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/packed"
	"github.com/tributary-io/tributary/internal/postgres"
)

// visitorRequest asks for one visitor.
type visitorRequest struct {
	n           int32 // index of the request
	visitor     string
	firstDay    int32     // of the order's interval, as facts.SlotOf has days
	lastDay     int32     // of the order's interval
	eventsFrom  time.Time // from when events are read: Limits.EventsBefore before the interval
	eventsUntil time.Time // until when events are read: createdAt + Limits.EventsAfter
	most        int       // events
}

var requestRows = postgres.Rows[visitorRequest]{
	postgres.Col("n", "int", func(v *visitorRequest) int32 { return v.n }),
	postgres.Col("visitor", "bytea", func(v *visitorRequest) []byte { return packed.ID(v.visitor) }),
	postgres.Col("first_day", "int", func(v *visitorRequest) int32 { return v.firstDay }),
	postgres.Col("last_day", "int", func(v *visitorRequest) int32 { return v.lastDay }),
	postgres.Col("events_day", "int", func(v *visitorRequest) int32 { return facts.SlotOf(facts.DayOf(v.eventsFrom)) }),
	postgres.Col("events_from", "timestamptz", func(v *visitorRequest) time.Time { return v.eventsFrom }),
	postgres.Col("events_until", "timestamptz", func(v *visitorRequest) time.Time { return v.eventsUntil }),
	postgres.Col("most", "int", func(v *visitorRequest) int32 { return int32(v.most) }),
}

// requestVisitor makes the request for a visitor of a case.
func requestVisitor(c *facts.Case, v *facts.Visitor, limits facts.Limits) visitorRequest {
	created := c.Order.CreatedAt
	from, to := created.Add(-limits.WindowAt(created)), created.Add(limits.ObservationsAfter)
	return visitorRequest{
		visitor: v.ID, firstDay: facts.SlotOf(facts.DayOf(from)), lastDay: facts.SlotOf(facts.DayOf(to)),
		eventsFrom: from.Add(-limits.EventsBefore), eventsUntil: created.Add(limits.EventsAfter), most: v.Most,
	}
}

// mostRows is how many events of visitors are in memory together, beside as many older
// ones. Those of one case always are. The number was chosen, not measured.
const mostRows = 4000

// Visitors reads the visitors whose ids the caller has put into the cases, of the first of
// these: how many keys of each kind they have, and their events up to the order. It
// returns of how many cases. A visitor is read once for all of them, so they share events.
// They have at most budget claimed events together, and of all events budget or mostRows, what is
// less. Where the first case alone has more than that, it is the only one; where it has more
// claimed ones than budget, there is none.
//
// Cases should come with the newest order first: of a visitor with more events than are
// read, the newest before one order are those before an order just before it, too.
func (t Tx) Visitors(ctx context.Context, companyID string, limits facts.Limits, list []*facts.Case,
	budget int) (cases int, read facts.Read, err error) {
	g := newGroup(list, limits)
	if len(g.requests) > 0 {
		if err := t.newestEvents(ctx, companyID, g, max(1, min(mostRows, budget))); err != nil {
			return 0, read, fmt.Errorf("read events of visitors: %w", err)
		}
		if !g.isRead(list[0]) {
			g = newGroup(list[:1], limits)
			if err := t.newestEvents(ctx, companyID, g, 0); err != nil {
				return 0, read, fmt.Errorf("read events of visitors: %w", err)
			}
		}
	}
	cases, read = g.choose(list, budget)
	if err := t.identities(ctx, companyID, limits, list[:cases]); err != nil {
		return 0, read, fmt.Errorf("count identities of visitors: %w", err)
	}
	older, err := t.give(ctx, companyID, g, list[:cases])
	if err != nil {
		return 0, read, fmt.Errorf("read older events of visitors: %w", err)
	}
	read.Add(older)
	return cases, read, nil
}

// group is the visitors of cases, each once.
type group struct {
	limits   facts.Limits
	requests []visitorRequest
	events   [][]facts.Event // of each request, newest first
	complete int             // so many requests have all of their events
	place    map[string]int  // of a visitor's request
}

// newGroup makes the requests: each has the bounds of the first case with its visitor.
func newGroup(list []*facts.Case, limits facts.Limits) *group {
	g := &group{limits: limits, place: map[string]int{}}
	for _, c := range list {
		for i := range c.Visitors {
			r := requestVisitor(c, &c.Visitors[i], limits)
			n, known := g.place[r.visitor]
			if !known {
				r.n = int32(len(g.requests))
				g.place[r.visitor], g.requests = len(g.requests), append(g.requests, r)
			} else if r.eventsFrom.Before(g.requests[n].eventsFrom) {
				g.requests[n].eventsFrom = r.eventsFrom
			}
		}
	}
	g.events = make([][]facts.Event, len(g.requests))
	return g
}

// of returns those of a visitor's events that were read and that a case counts, the newest
// first; some: these are all, or more than the case's Most.
func (g *group) of(r visitorRequest) (events []facts.Event, ok bool) {
	n := g.place[r.visitor]
	asked, all := g.requests[n], g.events[n]
	if n >= g.complete || r.eventsUntil.After(asked.eventsUntil) {
		return nil, false
	}
	first := slices.IndexFunc(all, func(e facts.Event) bool { return !e.At.After(r.eventsUntil) })
	if first < 0 {
		first = len(all)
	}
	events = all[first:]
	if end := slices.IndexFunc(events, func(e facts.Event) bool { return e.At.Before(r.eventsFrom) }); end >= 0 {
		return events[:end:end], true
	}
	return events, len(events) > r.most || len(all) <= asked.most
}

// isRead reports whether what was read is enough for a case.
func (g *group) isRead(c *facts.Case) bool {
	for i := range c.Visitors {
		if _, ok := g.of(requestVisitor(c, &c.Visitors[i], g.limits)); !ok {
			return false
		}
	}
	return true
}

// choose returns how many of the first cases have what they need, and at most budget
// claimed events together. It counts what was read for them.
func (g *group) choose(list []*facts.Case, budget int) (cases int, read facts.Read) {
	counted := map[string]bool{}
	for _, c := range list {
		var more facts.Read
		for i := range c.Visitors {
			v := &c.Visitors[i]
			if counted[v.ID] {
				continue
			}
			n := len(g.events[g.place[v.ID]])
			if more.Events += n; !v.Claimed {
				continue
			}
			if more.Claimed += n; n > v.Most {
				more.Claimed += v.Most + 1 // the older ones, which are read next
			}
		}
		if !g.isRead(c) || read.Claimed+more.Claimed > budget {
			break
		}
		for i := range c.Visitors {
			counted[c.Visitors[i].ID] = true
		}
		cases++
		read.Add(more)
	}
	return cases, read
}

// olderKey names the older events of a visitor with more than are read.
type olderKey struct {
	visitor string
	until   time.Time
	most    int
}

// give puts the events into cases. Of a visitor with more than Visitor.Most it reads the older
// ones that came by a campaign, too.
func (t Tx) give(ctx context.Context, companyID string, g *group, list []*facts.Case) (read facts.Read, err error) {
	cut := map[olderKey]int{}
	var older []visitorRequest
	var joined [][]facts.Event // of each: the newest ones, then the older ones
	each := func(f func(v *facts.Visitor, r visitorRequest, key olderKey)) {
		for _, c := range list {
			for i := range c.Visitors {
				v := &c.Visitors[i]
				r := requestVisitor(c, v, g.limits)
				events, _ := g.of(r)
				if v.Events, v.Cut = newest(events, v.Most); v.Cut {
					f(v, r, olderKey{v.ID, events[v.Most].At, v.Most})
				}
			}
		}
	}
	each(func(v *facts.Visitor, r visitorRequest, key olderKey) {
		if n, known := cut[key]; known {
			if r.eventsFrom.Before(older[n].eventsFrom) {
				older[n].eventsFrom = r.eventsFrom
			}
			return
		}
		r.n, r.eventsUntil = int32(len(older)), key.until
		cut[key], older, joined = len(older), append(older, r), append(joined, v.Events)
	})
	if len(older) == 0 {
		return read, nil
	}
	if read.Events, err = t.arrivals(ctx, companyID, older, joined); err != nil {
		return read, err
	}
	each(func(v *facts.Visitor, r visitorRequest, key olderKey) {
		all := joined[cut[key]]
		end := len(all)
		for end > 0 && all[end-1].At.Before(r.eventsFrom) { // of an order with a longer window
			end--
		}
		v.Events = all[:end:end]
	})
	return read, nil
}

// distinctKeys returns the SQL that counts a visitor's keys of one kind on the days of
// the interval. As in readKeys, (limit + 1) × days rows are enough to see that a
// limit is exceeded; twice as many, since two hashing secrets may have made them.
func distinctKeys(kind facts.KeyKind, most string) string {
	return postgres.CountByOneSecret(`
		select key from observation s
		where s.company_id = @company_id and s.visitor = p.visitor and s.kind = ` + strconv.Itoa(int(kind.Code())) +
		` and s.slot between p.first_day and p.last_day
		order by s.slot limit 2 * ` + most)
}

var countIdentities = `
	select p.n, ` + distinctKeys(facts.KeyCustomer, "@most_identities") + ` as customers, ` +
	distinctKeys(facts.KeyEmail, "@most_identities") + ` as emails,
		` + distinctKeys(facts.KeyPhone, "@most_identities") + ` as phones, ` + distinctKeys(facts.KeyCartNo, "@most_carts") + ` as cart_nos,
		` + distinctKeys(facts.KeyCart, "@most_carts") + ` as carts, ` + distinctKeys(facts.KeyVerified, "@most_carts") + ` as verified
	from ` + requestRows.Unnest("p")

// identities counts the keys of each kind of the cases' visitors.
func (t Tx) identities(ctx context.Context, companyID string, limits facts.Limits, list []*facts.Case) error {
	type onDays struct {
		visitor     string
		first, last int32
	}
	places := map[onDays]int{}
	var requests []visitorRequest
	var into [][]*facts.Visitor // of each request: those of several cases
	for _, c := range list {
		for i := range c.Visitors {
			r := requestVisitor(c, &c.Visitors[i], limits)
			n, known := places[onDays{r.visitor, r.firstDay, r.lastDay}]
			if !known {
				n, r.n = len(requests), int32(len(requests))
				places[onDays{r.visitor, r.firstDay, r.lastDay}], requests, into = n, append(requests, r), append(into, nil)
			}
			into[n] = append(into[n], &c.Visitors[i])
		}
	}
	if len(requests) == 0 {
		return nil
	}
	var n int32
	var v facts.Visitor
	return postgres.Each(ctx, t.tx, []any{&n, &v.Customers, &v.Emails, &v.Phones, &v.CartNos, &v.Carts, &v.Verified}, func() error {
		for _, to := range into[n] {
			to.Customers, to.Emails, to.Phones, to.CartNos, to.Carts, to.Verified = v.Customers, v.Emails, v.Phones, v.CartNos, v.Carts, v.Verified
		}
		return nil
	}, countIdentities, requestRows.Args(requests, pgx.NamedArgs{
		"company_id": companyID, "most_identities": (limits.Identities + 1) * days(limits), "most_carts": (limits.Carts + 1) * days(limits),
	}))
}
