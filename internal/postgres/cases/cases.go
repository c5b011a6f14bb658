package cases

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/wire"
)

// Tx reads cases within a transaction.
type Tx struct {
	tx pgx.Tx
}

// In reads within a transaction of the caller's.
func In(tx pgx.Tx) Tx { return Tx{tx} }

// Cases reads orders, by id, and where their keys lead. An order that is not
// there is left out. Visitors are still to be read.
func (t Tx) Cases(ctx context.Context, companyID string, limits facts.Limits, orderIDs []string) ([]*facts.Case, error) {
	rows, err := t.tx.Query(ctx, `
		select order_id, body from orders where company_id = @company_id and order_id = any(@order_ids) order by order_id`,
		pgx.NamedArgs{"company_id": companyID, "order_ids": orderIDs})
	if err != nil {
		return nil, fmt.Errorf("read orders: %w", err)
	}
	var list []*facts.Case
	byID := map[string]*facts.Case{}
	var id string
	var body []byte
	if _, err := pgx.ForEachRow(rows, []any{&id, &body}, func() error {
		c := &facts.Case{}
		if err := json.Unmarshal(body, &c.Order); err != nil {
			return fmt.Errorf("order %s: %w", id, err)
		}
		list, byID[id] = append(list, c), c
		return nil
	}); err != nil {
		return nil, fmt.Errorf("read orders: %w", err)
	}
	if err := t.keys(ctx, companyID, limits, list, byID); err != nil {
		return nil, fmt.Errorf("read keys of orders: %w", err)
	}
	return list, nil
}

// interval is one order's.
type interval struct {
	orderID string
	from    time.Time // a window before
	to      time.Time // as long after as a sighting joins
}

var intervalRows = postgres.Rows[interval]{
	postgres.Col("order_id", "text", func(i *interval) string { return i.orderID }),
	postgres.Col("lo", "timestamptz", func(i *interval) time.Time { return i.from }),
	postgres.Col("hi", "timestamptz", func(i *interval) time.Time { return i.to }),
	postgres.Col("first_day", "date", func(i *interval) time.Time { return facts.DayOf(i.from) }),
	postgres.Col("last_day", "date", func(i *interval) time.Time { return facts.DayOf(i.to) }),
}

// A visitor has one row a key and day, so sightings of one more than the limit
// of visitors are among the first (limit + 1) × days rows, or there are fewer
// visitors and these are all rows: no more need to be read. The visitors of a
// key with too many orders are not read at all.
var readKeys = `
	select o.order_id, k.kind, k.key, c.orders, v.seen, v.visitors
	from ` + intervalRows.Unnest("o") + `
	cross join lateral (
		select kind, key from order_key where company_id = @company_id and order_id = o.order_id and kind = any(@join_kinds) offset 0) k
	cross join lateral (
		select count(*) as orders from (
			select 1 from order_key x
			where x.company_id = @company_id and x.kind = k.kind and x.key = k.key and x.created_at between o.lo and o.hi
			limit @most_orders) n) c
	cross join lateral (
		select count(distinct visitor) as seen,
			coalesce(array_agg(distinct visitor) filter (where first_at between o.lo and o.hi or last_at between o.lo and o.hi), '{}') as visitors
		from (
			select visitor, first_at, last_at from sighting s
			where s.company_id = @company_id and s.kind = k.kind and s.key = k.key and s.day between o.first_day and o.last_day
				and c.orders < @most_orders
			order by s.day limit @most_sightings) d) v
	order by o.order_id, k.kind, k.key`

func (t Tx) keys(ctx context.Context, companyID string, limits facts.Limits, list []*facts.Case, byID map[string]*facts.Case) error {
	intervals := make([]interval, len(list))
	for i, c := range list {
		intervals[i] = interval{c.Order.OrderID, c.Order.CreatedAt.Add(-limits.Window), c.Order.CreatedAt.Add(limits.SightingsAfter)}
	}
	rows, err := t.tx.Query(ctx, readKeys, intervalRows.Args(intervals, pgx.NamedArgs{
		"company_id": companyID, "join_kinds": facts.JoinKinds,
		"most_orders": limits.Orders + 1, "most_sightings": (limits.Visitors + 1) * days(limits),
	}))
	if err != nil {
		return err
	}
	var id string
	var k facts.KeyReach
	_, err = pgx.ForEachRow(rows, []any{&id, &k.Kind, &k.Value, &k.Orders, &k.DayVisitors, &k.Visitors}, func() error {
		read := k
		read.Visitors = slices.Clone(k.Visitors)
		slices.Sort(read.Visitors)
		byID[id].Keys = append(byID[id].Keys, read)
		return nil
	})
	return err
}

// days is how many UTC days an order's interval touches at most.
func days(limits facts.Limits) int {
	return int((limits.Window+limits.SightingsAfter)/(24*time.Hour)) + 2
}

// visit asks for one visitor of one case.
type visit struct {
	n       int32 // index of the request
	visitor string
	from    time.Time // a window before the order
	to      time.Time // as long after it as a sighting joins
	events  time.Time // from when events are read: a session's reach before the window
	until   time.Time // to when events are read
}

var visitRows = postgres.Rows[visit]{
	postgres.Col("n", "int", func(v *visit) int32 { return v.n }),
	postgres.Col("visitor", "text", func(v *visit) string { return v.visitor }),
	postgres.Col("first_day", "date", func(v *visit) time.Time { return facts.DayOf(v.from) }),
	postgres.Col("last_day", "date", func(v *visit) time.Time { return facts.DayOf(v.to) }),
	postgres.Col("events_day", "date", func(v *visit) time.Time { return facts.DayOf(v.events) }),
	postgres.Col("events_from", "timestamptz", func(v *visit) time.Time { return v.events }),
	postgres.Col("events_until", "timestamptz", func(v *visit) time.Time { return v.until }),
}

// Visitors fills in the visitors that the caller has put into the cases by id:
// how many identities each has, and its human events up to the order. It
// returns how many events were read.
func (t Tx) Visitors(ctx context.Context, companyID string, limits facts.Limits, list []*facts.Case) (events int, err error) {
	var visits []visit
	var visitors []*facts.Visitor
	for _, c := range list {
		created := c.Order.CreatedAt
		for i := range c.Visitors {
			visits = append(visits, visit{
				n: int32(len(visits)), visitor: c.Visitors[i].ID, from: created.Add(-limits.Window), to: created.Add(limits.SightingsAfter),
				events: created.Add(-limits.Window - limits.EventsBefore), until: created.Add(limits.EventsAfter),
			})
			visitors = append(visitors, &c.Visitors[i])
		}
	}
	if len(visits) == 0 {
		return 0, nil
	}
	if err := t.identities(ctx, companyID, limits, visits, visitors); err != nil {
		return 0, fmt.Errorf("count identities of visitors: %w", err)
	}
	if err := t.events(ctx, companyID, limits, visits, visitors); err != nil {
		return 0, fmt.Errorf("read events of visitors: %w", err)
	}
	for _, v := range visitors {
		events += len(v.Events)
	}
	return events, nil
}

// distinctKeys counts a visitor's keys of a kind, up to one more than a limit,
// on the days of the interval. As in readKeys, (limit + 1) × days rows suffice.
func distinctKeys(kind facts.KeyKind, most string) string {
	return `(select count(distinct key) from (
		select key from sighting s
		where s.company_id = @company_id and s.visitor = p.visitor and s.kind = '` + string(kind) + `' and s.day between p.first_day and p.last_day
		order by s.day limit ` + most + `) d)`
}

var countIdentities = `
	select p.n, ` + distinctKeys(facts.KeyCustomer, "@most_identities") + ` as customers, ` + distinctKeys(facts.KeyEmail, "@most_identities") + ` as emails,
		` + distinctKeys(facts.KeyPhone, "@most_identities") + ` as phones, ` + distinctKeys(facts.KeyCart, "@most_carts") + ` as carts
	from ` + visitRows.Unnest("p")

func (t Tx) identities(ctx context.Context, companyID string, limits facts.Limits, visits []visit, into []*facts.Visitor) error {
	rows, err := t.tx.Query(ctx, countIdentities, visitRows.Args(visits, pgx.NamedArgs{
		"company_id": companyID, "most_identities": (limits.Identities + 1) * days(limits), "most_carts": (limits.Carts + 1) * days(limits),
	}))
	if err != nil {
		return err
	}
	var n int32
	var v facts.Visitor
	_, err = pgx.ForEachRow(rows, []any{&n, &v.Customers, &v.Emails, &v.Phones, &v.Carts}, func() error {
		v.ID = into[n].ID
		*into[n] = v
		return nil
	})
	return err
}

// The sightings of a visitor by its own id tell between which id times its
// events lie, so that only those months of event_fact are looked at. Rows that
// were stored before sightings told so (null) leave the range open.
var readEvents = `
	select p.n, e.event_id::text, e.name, e.at, e.body->'context', e.body->'click'
	from ` + visitRows.Unnest("p") + `
	cross join lateral (
		select coalesce(min(coalesce(s.first_id, '-infinity')), 'infinity') as first_id, coalesce(max(coalesce(s.last_id, 'infinity')), '-infinity') as last_id
		from sighting s
		where s.company_id = @company_id and s.kind = 'visitor' and s.key = p.visitor and s.visitor = p.visitor
			and s.day between p.events_day and p.last_day) m
	cross join lateral (
		select event_id, name, at, body from event_fact f
		where f.company_id = @company_id and f.visitor = p.visitor and f.at between p.events_from and p.events_until
			and f.id_time between m.first_id and m.last_id and f.bot = 'none'
		order by f.at desc, f.event_id desc limit @most_events) e`

func (t Tx) events(ctx context.Context, companyID string, limits facts.Limits, visits []visit, into []*facts.Visitor) error {
	rows, err := t.tx.Query(ctx, readEvents, visitRows.Args(visits, pgx.NamedArgs{"company_id": companyID, "most_events": limits.Events}))
	if err != nil {
		return err
	}
	var n int32
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
		into[n].Events = append(into[n].Events, read)
		return nil
	})
	return err
}

func unmarshal(text []byte, into any) error {
	if len(text) == 0 {
		return nil
	}
	return json.Unmarshal(text, into)
}
