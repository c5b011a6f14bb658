package report

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/fraud"
	"github.com/tributary-io/tributary/internal/packed"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/cases"
	"github.com/tributary-io/tributary/sdk/core"
)

// This file reads what the events of influencers' visits tell of orders
// (fraud.Visit): of each order one event, by its id.

const (
	// Of a visitor who told who it is, page views count from pagesBefore before the
	// order to pagesAfter after it: as long as attribution looks by default.
	pagesBefore = 30 * 24 * time.Hour
	pagesAfter  = 24 * time.Hour

	// mostVisitorEvents is how many of the visitor's events are looked at, the newest:
	// anybody may send any number.
	mostVisitorEvents = 200

	// How many visits of one report are read, those of the newest orders, so that it keeps
	// to its time: one takes about 0.05 ms on two cores, page views about 0.3 ms.
	mostVisits     = 20_000
	mostIdentities = 2_000 // of them by identity alone, whose page views are read
)

// visitBudget is how many visits may still be read for a report.
type visitBudget struct{ visits, identities int }

// take returns the ids of the visits to read of the next older sales, newest first.
func (b *visitBudget) take(sales []fraud.Sale) (ids []uuid.UUID) {
	for i := range sales {
		id, err := uuid.Parse(sales[i].Last.EventID)
		identity := sales[i].Last.ByIdentity
		if err != nil || b.visits == 0 || identity && b.identities == 0 {
			continue
		}
		b.visits--
		if identity {
			b.identities--
		}
		ids = append(ids, id)
	}
	return ids
}

// readVisits reads events by their ids: in each month's table by its key.
var readVisits = `
	select ` + cases.StoredColumns + ` from unnest(@ids::uuid[]) as i (id)
	join event_fact f on f.company_id = @company_id and f.event_id = i.id and f.visitor is not null and f.class > 0`

// pagesRequest asks whether one visitor looked at a page.
type pagesRequest struct {
	n        int32 // index of the sale
	visitor  string
	from, to time.Time
}

var pagesRows = postgres.Rows[pagesRequest]{
	postgres.Col("n", "int", func(p *pagesRequest) int32 { return p.n }),
	postgres.Col("visitor", "bytea", func(p *pagesRequest) []byte { return packed.ID(p.visitor) }),
	postgres.Col("first_day", "int", func(p *pagesRequest) int32 { return facts.SlotOf(facts.DayOf(p.from)) }),
	postgres.Col("last_day", "int", func(p *pagesRequest) int32 { return facts.SlotOf(facts.DayOf(p.to)) }),
	postgres.Col("events_from", "timestamptz", func(p *pagesRequest) time.Time { return p.from }),
	postgres.Col("events_until", "timestamptz", func(p *pagesRequest) time.Time { return p.to }),
}

// pageViewers returns those of the requests whose visitors looked at a page. As events of
// orders are read, it reads only the months in which a visitor has events.
var pageViewers = `
	select p.n
	from ` + pagesRows.Unnest("p") + `
	cross join lateral (
		select ` + cases.FirstID("min(s.first_hour)") + ` as first_id, ` + cases.FirstID("max(s.last_hour) + 1") + ` as end_id
		from observation s
		where s.company_id = @company_id and s.kind = any(@own_kinds) and s.key = p.visitor and s.visitor = p.visitor
			and s.slot between p.first_day and p.last_day) m
	where exists (
		select 1 from (
			select f.name from event_fact f
			where f.company_id = @company_id and f.visitor = p.visitor and f.at between p.events_from and p.events_until
				and f.event_id >= m.first_id and f.event_id < m.end_id and f.class > 0
			order by f.at desc, f.event_id desc limit @most_events) e
		where e.name = any(@pages))`

// visits reads the visits of sales into them. Where the event is removed by age, or the
// touch is the order's own, or the budget is used up, there is none.
func visits(ctx context.Context, tx pgx.Tx, companyID string, sales []fraud.Sale, budget *visitBudget) error {
	ids := budget.take(sales)
	if len(ids) == 0 {
		return nil
	}
	events := make(map[string]facts.Event, len(ids))
	var stored facts.StoredEvent
	if err := postgres.Each(ctx, tx, cases.Into(&stored), func() error {
		e, err := stored.Read()
		events[stored.EventID.String()] = e
		return err
	}, readVisits, pgx.NamedArgs{"company_id": companyID, "ids": ids}); err != nil {
		return fmt.Errorf("read visits: %w", err)
	}
	viewed, err := pagesOf(ctx, tx, companyID, sales, events)
	if err != nil {
		return fmt.Errorf("read page views: %w", err)
	}
	for i := range sales {
		if e, known := events[sales[i].Last.EventID]; known {
			sales[i].Visit = fraud.NewVisit(&sales[i], &e, viewed[int32(i)])
		}
	}
	return nil
}

// pagesOf returns the sales, by index, whose visitor told the buyer's identity and looked
// at a page.
func pagesOf(ctx context.Context, tx pgx.Tx, companyID string, sales []fraud.Sale, events map[string]facts.Event) (map[int32]bool, error) {
	var requests []pagesRequest
	for i := range sales {
		s := &sales[i]
		if e, known := events[s.Last.EventID]; known && s.Last.ByIdentity {
			requests = append(requests, pagesRequest{n: int32(i), visitor: e.Visitor, from: s.At.Add(-pagesBefore), to: s.At.Add(pagesAfter)})
		}
	}
	if len(requests) == 0 {
		return nil, nil
	}
	own := facts.Codes([]facts.KeyKind{facts.KeyVisitor, facts.KeyUser})
	list, err := postgres.Collect(ctx, tx, pgx.RowTo[int32], pageViewers, pagesRows.Args(requests, pgx.NamedArgs{
		"company_id": companyID, "own_kinds": own, "most_events": mostVisitorEvents, "pages": []string{core.PageView, core.ProductView},
	}))
	viewed := make(map[int32]bool, len(list))
	for _, n := range list {
		viewed[n] = true
	}
	return viewed, err
}
