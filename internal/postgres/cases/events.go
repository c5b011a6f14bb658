package cases

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
)

// readEvents reads only the months of event_fact in which a visitor has events: the
// observations with the visitor's own id say between which ids these lie.
var readEvents = `
	select p.n, e.*
	from ` + requestRows.Unnest("p") + `
	cross join lateral (
		select ` + FirstID("min(s.first_hour)") + ` as first_id, ` + FirstID("max(s.last_hour) + 1") + ` as end_id
		from observation s
		where s.company_id = @company_id and s.kind = any(@own_kinds) and s.key = p.visitor and s.visitor = p.visitor
			and s.slot between p.events_day and p.last_day) m
	cross join lateral (
		select ` + StoredColumns + ` from event_fact f
		where f.company_id = @company_id and f.visitor = p.visitor and f.at between p.events_from and p.events_until
			and f.event_id >= m.first_id and f.event_id < m.end_id and f.class > 0
		order by f.at desc limit p.most + 1) e
	limit @most_rows`

// FirstID returns the SQL of facts.FirstID of an hour since 1970.
func FirstID(hour string) string {
	return `(lpad(to_hex((` + hour + `)::bigint * 3600000), 12, '0') || repeat('0', 20))::uuid`
}

// errOrder says that PostgreSQL has not returned the visitors in the order of the requests.
var errOrder = errors.New("the events of visitors are not in the order of the visitors")

// newestEvents reads the newest events of the group's visitors, of each one more than its
// most, until there are rows; 0: of all visitors. The visitors come one after the other,
// since each is looked up by itself.
func (t Tx) newestEvents(ctx context.Context, companyID string, g *group, rows int) error {
	var limit *int
	if rows > 0 {
		limit = &rows
	}
	found, err := t.tx.Query(ctx, readEvents,
		requestRows.Args(g.requests, pgx.NamedArgs{"company_id": companyID, "own_kinds": facts.Codes(facts.VisitorKinds), "most_rows": limit}))
	if err != nil {
		return err
	}
	read, last := 0, 0
	err = eachEvent(found, func(n int, e facts.Event) error {
		if n < last {
			return errOrder
		}
		read, last = read+1, n
		g.events[n] = append(g.events[n], e)
		return nil
	})
	if g.complete = len(g.requests); read == rows && rows > 0 {
		g.complete = last
	}
	return err
}

// newest returns the newest events, at most most, of those that were read, of which the newest
// come first and which may be one more. Where there are more, those of the instant at which
// they are cut are all left out: anybody can send any number of events of one instant, and to
// find some of them in a fixed order would be to read all.
func newest(events []facts.Event, most int) (kept []facts.Event, cut bool) {
	if len(events) <= most {
		return events, false
	}
	end := most
	for end > 0 && events[end-1].At.Equal(events[most].At) {
		end--
	}
	return events[:end:end], true
}

var readArrivals = `
	select p.n, e.*
	from ` + requestRows.Unnest("p") + `
	cross join lateral (
		select ` + StoredColumns + ` from event_fact f
		where f.company_id = @company_id and f.visitor = p.visitor and f.class = 2 and f.visitor is not null
			and f.at between p.events_from and p.events_until
		order by f.at desc limit p.most + 1) e`

// arrivals adds to each list the newest events that came by a campaign and are not after an
// instant. It returns how many it has read.
func (t Tx) arrivals(ctx context.Context, companyID string, requests []visitorRequest, lists [][]facts.Event) (read int, err error) {
	rows, err := t.tx.Query(ctx, readArrivals, requestRows.Args(requests, pgx.NamedArgs{"company_id": companyID}))
	if err != nil {
		return 0, err
	}
	found := make([][]facts.Event, len(requests))
	if err := eachEvent(rows, func(n int, e facts.Event) error {
		read, found[n] = read+1, append(found[n], e)
		return nil
	}); err != nil {
		return read, err
	}
	for n, events := range found {
		events, _ = newest(events, requests[n].most)
		lists[n] = slices.Concat(lists[n], events)
	}
	return read, nil
}

// EventsBetween returns the events of visitors between two instants, both inclusive, each
// visitor's newest first: at most most of them, and as many older ones that came by a
// campaign.
func (t Tx) EventsBetween(ctx context.Context, companyID string, visitors []string, from, to time.Time, most int) ([][]facts.Event, error) {
	g := &group{events: make([][]facts.Event, len(visitors))}
	for i, id := range visitors {
		g.requests = append(g.requests,
			visitorRequest{n: int32(i), visitor: id, lastDay: facts.SlotOf(facts.DayOf(to)), eventsFrom: from, eventsUntil: to, most: most})
	}
	if err := t.newestEvents(ctx, companyID, g, 0); err != nil {
		return nil, fmt.Errorf("read events of visitors: %w", err)
	}
	var older []visitorRequest
	var places []int
	var lists [][]facts.Event
	for i, events := range g.events {
		kept, cut := newest(events, most)
		if !cut {
			continue
		}
		r := g.requests[i]
		r.n, r.eventsUntil = int32(len(older)), events[most].At
		older, places, lists = append(older, r), append(places, i), append(lists, kept)
	}
	if len(older) == 0 {
		return g.events, nil
	}
	if _, err := t.arrivals(ctx, companyID, older, lists); err != nil {
		return nil, fmt.Errorf("read older events of visitors: %w", err)
	}
	for n, i := range places {
		g.events[i] = lists[n]
	}
	return g.events, nil
}

// eachEvent calls f with the event of each row: a number and StoredColumns.
func eachEvent(rows pgx.Rows, f func(n int, e facts.Event) error) error {
	var n int32
	var s facts.StoredEvent
	_, err := pgx.ForEachRow(rows, append([]any{&n}, Into(&s)...), func() error {
		e, err := s.Read()
		if err != nil {
			return fmt.Errorf("an event of a visitor: %w", err)
		}
		return f(int(n), e)
	})
	return err
}
