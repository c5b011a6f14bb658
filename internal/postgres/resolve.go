package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

const (
	// casesAtOnce is how many orders are read and written in one step.
	casesAtOnce = 100
	// visitorsAtOnce and eventsOfVisitor bound a step's memory: some hundred
	// thousand events at the very most, a few thousand in a shop's day.
	visitorsAtOnce = 200
	// eventsOfVisitor are read for one order: the newest before it. A shopper
	// makes a few hundred in a window; more is a machine that nobody named a bot.
	eventsOfVisitor = 2000
)

// resolve computes the outcome of every order concerned and stores those that differ.
func (a *applying) resolve(ctx context.Context) error {
	ids := make([]string, 0, len(a.concerned))
	for id := range a.concerned {
		ids = append(ids, id)
	}
	// The batch's own orders first: theirs is the outcome somebody waits for.
	own := map[string]bool{}
	for _, v := range a.Orders {
		own[v.OrderID] = true
	}
	slices.SortFunc(ids, func(x, y string) int {
		switch {
		case own[x] && !own[y]:
			return -1
		case own[y] && !own[x]:
			return 1
		}
		return cmp.Compare(x, y)
	})
	if len(ids) > maxAtOnce {
		rest := ids[maxAtOnce:]
		causes := make([]string, len(rest))
		for i, id := range rest {
			causes[i] = a.concerned[id]
		}
		tag, err := a.tx.Exec(ctx, `
			insert into recompute (company_id, order_id, cause)
			select $1, order_id, cause from unnest($2::text[], $3::text[]) as r (order_id, cause) on conflict do nothing`, a.company, rest, causes)
		if err != nil {
			return fmt.Errorf("queue orders: %w", err)
		}
		a.applied.Queued += int(tag.RowsAffected())
		ids = ids[:maxAtOnce]
	}
	for chunk := range slices.Chunk(ids, casesAtOnce) {
		cases, err := a.cases(ctx, chunk)
		if err != nil {
			return fmt.Errorf("read cases: %w", err)
		}
		outcomes := make([]facts.Outcome, 0, len(cases))
		for group := range byVisitorsAtOnce(cases) {
			if err := a.visitorsOf(ctx, group); err != nil {
				return fmt.Errorf("read visitors: %w", err)
			}
			for _, c := range group {
				outcome, err := a.Decide(*c)
				if err != nil {
					return err
				}
				outcomes = append(outcomes, outcome)
				c.Visitors = nil // decided: its events may go
			}
		}
		if err := a.storeOutcomes(ctx, outcomes, cases); err != nil {
			return fmt.Errorf("store outcomes: %w", err)
		}
	}
	return nil
}

// byVisitorsAtOnce cuts cases into runs whose keys lead to at most
// visitorsAtOnce visitors, or to one case's own.
func byVisitorsAtOnce(cases []*facts.Case) iter.Seq[[]*facts.Case] {
	return func(yield func([]*facts.Case) bool) {
		first, visitors := 0, 0
		for i, c := range cases {
			n := 0
			for _, k := range c.Keys {
				n += len(k.Visitors)
			}
			if i > first && visitors+n > visitorsAtOnce {
				if !yield(cases[first:i]) {
					return
				}
				first, visitors = i, 0
			}
			visitors += n
		}
		if first < len(cases) {
			yield(cases[first:])
		}
	}
}

// cases reads orders and where their keys lead. An order that is not there
// (any more) is left out.
func (a *applying) cases(ctx context.Context, ids []string) ([]*facts.Case, error) {
	rows, err := a.tx.Query(ctx, `select order_id, body from orders where company_id = $1 and order_id = any($2) order by order_id`, a.company, ids)
	if err != nil {
		return nil, err
	}
	var list []*facts.Case
	byID := map[string]*facts.Case{}
	var orderIDs []string
	var from, to []time.Time
	var id string
	var body []byte
	if _, err := pgx.ForEachRow(rows, []any{&id, &body}, func() error {
		c := &facts.Case{Cause: a.concerned[id]}
		if err := json.Unmarshal(body, &c.Order); err != nil {
			return fmt.Errorf("order %s: %w", id, err)
		}
		list, byID[id] = append(list, c), c
		orderIDs = append(orderIDs, id)
		from, to = append(from, c.Order.CreatedAt.Add(-a.Rules.Window)), append(to, c.Order.CreatedAt.Add(facts.AfterOrder))
		return nil
	}); err != nil {
		return nil, err
	}
	if err := a.reachOfKeys(ctx, byID, orderIDs, from, to); err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	return list, nil
}

// reachOfKeys reads which visitors were seen with the orders' keys, and how
// many orders share them, each in the order's interval and up to its limit.
// Visitors of a key with too many orders are not looked at: it joins nothing,
// and the outcome must not depend on them.
func (a *applying) reachOfKeys(ctx context.Context, byID map[string]*facts.Case, orderIDs []string, from, to []time.Time) error {
	rows, err := a.tx.Query(ctx, `
		select o.order_id, k.kind, k.key, c.orders,
			case when c.orders < $6::int then array(select distinct s.visitor from sighting s
				where s.company_id = $1 and s.kind = k.kind and s.key = k.key
					and s.day between (o.lo at time zone 'UTC')::date and (o.hi at time zone 'UTC')::date
					and (s.first_at between o.lo and o.hi or s.last_at between o.lo and o.hi)
				limit $7::int) else '{}' end
		from unnest($2::text[], $3::timestamptz[], $4::timestamptz[]) as o (order_id, lo, hi)
		cross join lateral (select kind, key from order_key where company_id = $1 and order_id = o.order_id and kind = any($5) offset 0) k
		cross join lateral (select count(*) as orders from (
			select 1 from order_key x where x.company_id = $1 and x.kind = k.kind and x.key = k.key and x.created_at between o.lo and o.hi limit $6::int) n) c
		order by o.order_id, k.kind, k.key`,
		a.company, orderIDs, from, to, facts.JoinKinds, facts.HubOrders+1, facts.HubVisitors+1)
	if err != nil {
		return err
	}
	var id string
	var k facts.KeyReach
	_, err = pgx.ForEachRow(rows, []any{&id, &k.Kind, &k.Value, &k.Orders, &k.Visitors}, func() error {
		reach := k
		reach.Visitors = slices.Clone(k.Visitors)
		slices.Sort(reach.Visitors)
		byID[id].Keys = append(byID[id].Keys, reach)
		return nil
	})
	return err
}

// visitorsOf reads the visitors that the cases' keys lead to: how many
// identities each has, and what it did up to the order.
func (a *applying) visitorsOf(ctx context.Context, cases []*facts.Case) error {
	var orders []int32 // index of the case
	var visitors []string
	var from, to, until []time.Time
	type place struct{ order, visitor int }
	var places []place
	for i, c := range cases {
		seen := map[string]bool{}
		for _, k := range c.Keys {
			if len(k.Visitors) > facts.HubVisitors || k.Orders > facts.HubOrders {
				continue // a hub joins nothing
			}
			for _, v := range k.Visitors {
				if seen[v] {
					continue
				}
				seen[v] = true
				places = append(places, place{i, len(c.Visitors)})
				c.Visitors = append(c.Visitors, facts.Visitor{ID: v})
				orders, visitors = append(orders, int32(len(orders))), append(visitors, v)
				from = append(from, c.Order.CreatedAt.Add(-a.Rules.Window))
				to, until = append(to, c.Order.CreatedAt.Add(facts.AfterOrder)), append(until, c.Order.CreatedAt.Add(facts.Simultaneous))
			}
		}
	}
	if len(places) == 0 {
		return nil
	}
	visitor := func(n int32) *facts.Visitor { p := places[n]; return &cases[p.order].Visitors[p.visitor] }
	rows, err := a.tx.Query(ctx, `
		select p.n,
			(select count(*) from (select distinct s.key `+identities+` and s.kind = 'customer' limit $6::int) c),
			(select count(*) from (select distinct s.key `+identities+` and s.kind = 'email' limit $6::int) c)
		from unnest($2::int[], $3::text[], $4::timestamptz[], $5::timestamptz[]) as p (n, visitor, lo, hi)`,
		a.company, orders, visitors, from, to, facts.HubIdentities+1)
	if err != nil {
		return err
	}
	var n int32
	var customers, emails int
	if _, err := pgx.ForEachRow(rows, []any{&n, &customers, &emails}, func() error {
		visitor(n).Customers, visitor(n).Emails = customers, emails
		return nil
	}); err != nil {
		return err
	}
	rows, err = a.tx.Query(ctx, `
		select p.n, e.event_id, e.name, e.at, e.context, e.click
		from unnest($2::int[], $3::text[], $4::timestamptz[], $5::timestamptz[]) as p (n, visitor, lo, hi)
		join lateral (
			select event_id::text, name, at, body->'context' as context, body->'click' as click from event_fact
			where company_id = $1 and visitor = p.visitor and at between p.lo and p.hi and bot = 'none'
			order by at desc, event_id desc limit `+fmt.Sprint(eventsOfVisitor)+`) e on true`,
		a.company, orders, visitors, reaching(from), until)
	if err != nil {
		return err
	}
	var e facts.Event
	var where, click []byte
	_, err = pgx.ForEachRow(rows, []any{&n, &e.EventID, &e.Event.Event, &e.At, &where, &click}, func() error {
		read := e
		if err := unmarshal(where, &read.Context); err != nil {
			return fmt.Errorf("event %s: %w", e.EventID, err)
		}
		if click != nil {
			read.Click = new(wire.Click)
			if err := unmarshal(click, read.Click); err != nil {
				return fmt.Errorf("event %s: %w", e.EventID, err)
			}
		}
		v := visitor(n)
		v.Events = append(v.Events, read)
		return nil
	})
	return err
}

const identities = `
	from sighting s where s.company_id = $1 and s.visitor = p.visitor
		and (s.first_at between p.lo and p.hi or s.last_at between p.lo and p.hi)`

// reaching is from when events are read so that the first session is cut right.
func reaching(from []time.Time) []time.Time {
	out := make([]time.Time, len(from))
	for i, t := range from {
		out[i] = t.Add(-facts.SessionReach)
	}
	return out
}

func unmarshal(text []byte, into any) error {
	if len(text) == 0 {
		return nil
	}
	return json.Unmarshal(text, into)
}
