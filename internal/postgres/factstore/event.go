package factstore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/packed"
	"github.com/tributary-io/tributary/internal/postgres"
)

var eventRows = postgres.Rows[facts.Event]{
	postgres.Col("event_id", "uuid", func(e *facts.Event) [16]byte { return e.ID }),
	postgres.Col("at", "timestamptz", func(e *facts.Event) time.Time { return e.At }),
	postgres.Col("class", "smallint", func(e *facts.Event) int16 { return int16(e.Class()) }),
	postgres.Col("name", "text", func(e *facts.Event) string { return e.Event.Event }),
	postgres.Col("visitor", "bytea", (*facts.Event).PackedVisitor),
	postgres.Col("sources", "text", sourcesText),
	postgres.Col("record", "bytea", func(e *facts.Event) []byte { return packed.AppendRecord(nil, e.Raw, e.Came, e.Beside()) }),
}

// sourcesText returns facts.Event.Sources as the text of an array: an array of arrays has
// rows of one length.
func sourcesText(e *facts.Event) *string {
	list := e.Sources()
	if list == nil {
		return nil
	}
	parts := make([]string, len(list))
	for i, source := range list {
		parts[i] = "NULL"
		if source != nil {
			parts[i] = fmt.Sprintf(`"\\x%x"`, source)
		}
	}
	text := "{" + strings.Join(parts, ",") + "}"
	return &text
}

var insertEvents = `
	with stored as (
		insert into event_fact (company_id, at, event_id, class, name, visitor, sources, record)
		select @company_id, at, event_id, class, name, visitor, sources::bytea[], record
		from ` + eventRows.Unnest("e") + `
		on conflict (company_id, event_id) do nothing returning event_id)
	select coalesce(array_agg(event_id), '{}') from stored`

// InsertEvents stores the events whose ids are not stored yet, and returns which
// these are.
func (t *Tx) InsertEvents(ctx context.Context, companyID string, events []facts.Event) (inserted map[uuid.UUID]bool, err error) {
	if len(events) == 0 {
		return nil, nil
	}
	ids, err := postgres.One(ctx, t.tx, pgx.RowTo[[][16]byte], insertEvents, eventRows.Args(events, pgx.NamedArgs{"company_id": companyID}))
	if err != nil {
		return nil, fmt.Errorf("insert events: %w", err)
	}
	inserted = make(map[uuid.UUID]bool, len(ids))
	for _, id := range ids {
		inserted[id] = true
	}
	return inserted, nil
}

// idRows are the columns of an event's primary key.
var idRows = eventRows[:1]

var storedCopies = `
	select ` + storedColumns + `
	from ` + idRows.Unnest("c") + `
	join event_fact e on e.company_id = @company_id and e.event_id = c.event_id`

// storedColumns are those that scanStored reads.
const storedColumns = "e.company_id, e.event_id, e.name, e.visitor, e.at, e.record"

// scanStored reads a stored event, and parses its record again.
func scanStored(row pgx.CollectableRow) (facts.Event, error) {
	var s facts.StoredEvent
	if err := row.Scan(&s.CompanyID, (*[16]byte)(&s.EventID), &s.Name, &s.Visitor, &s.At, &s.Record); err != nil {
		return facts.Event{}, err
	}
	return s.Parse()
}

// StoredCopies returns the stored copies of events' ids, by event id.
func (t *Tx) StoredCopies(ctx context.Context, companyID string, events []facts.Event) (map[string]facts.Copy, error) {
	if len(events) == 0 { // as for most batches; to plan the statement takes longer than to run it
		return nil, nil
	}
	list, err := postgres.Collect(ctx, t.tx, scanStored, storedCopies, idRows.Args(events, pgx.NamedArgs{"company_id": companyID}))
	if err != nil {
		return nil, fmt.Errorf("read stored copies of events: %w", err)
	}
	byID := make(map[string]facts.Copy, len(list))
	for _, e := range list {
		byID[e.EventID] = e.Copy()
	}
	return byID, nil
}

var replaceEvents = `
	update event_fact f set at = e.at, class = e.class, name = e.name, visitor = e.visitor, sources = e.sources::bytea[], record = e.record
	from ` + eventRows.Unnest("e") + `
	where f.company_id = @company_id and f.event_id = e.event_id`

// ReplaceEvents replaces the stored copies of events' ids.
func (t *Tx) ReplaceEvents(ctx context.Context, companyID string, events []facts.Event) error {
	if len(events) == 0 {
		return nil
	}
	return t.exec(ctx, "replace events", replaceEvents, eventRows.Args(events, pgx.NamedArgs{"company_id": companyID}))
}

var sightingRows = postgres.Rows[facts.Sighting]{
	postgres.Col("kind", "text", func(s *facts.Sighting) facts.KeyKind { return s.Kind }),
	postgres.Col("key", "text", func(s *facts.Sighting) string { return s.Value }),
	postgres.Col("day", "timestamptz", func(s *facts.Sighting) time.Time { return s.Day }),
	postgres.Col("visitor", "text", func(s *facts.Sighting) string { return s.Visitor }),
	postgres.Col("first_at", "timestamptz", func(s *facts.Sighting) time.Time { return s.First }),
	postgres.Col("last_at", "timestamptz", func(s *facts.Sighting) time.Time { return s.Last }),
	postgres.Col("first_id", "timestamptz", func(s *facts.Sighting) time.Time { return s.FirstID }),
	postgres.Col("last_id", "timestamptz", func(s *facts.Sighting) time.Time { return s.LastID }),
}

// widenSightings leaves first_id and last_id null where they are: such a row is older
// than the columns, and its events may be stored in any month.
var widenSightings = `
	insert into sighting as s (company_id, kind, key, day, visitor, first_at, last_at, first_id, last_id)
	select @company_id, kind, key, day, visitor, first_at, last_at, first_id, last_id
	from ` + sightingRows.Unnest("n") + `
	on conflict (company_id, kind, key, day, visitor) do update
		set first_at = least(s.first_at, excluded.first_at), last_at = greatest(s.last_at, excluded.last_at),
			first_id = case when s.first_id is not null then least(s.first_id, excluded.first_id) end,
			last_id = case when s.last_id is not null then greatest(s.last_id, excluded.last_id) end
		where s.first_at > excluded.first_at or s.last_at < excluded.last_at
			or s.first_id > excluded.first_id or s.last_id < excluded.last_id`

// WidenSightings stores sightings. A stored one gets the earlier first and the later
// last instants of both.
func (t *Tx) WidenSightings(ctx context.Context, companyID string, sightings []facts.Sighting) error {
	if len(sightings) == 0 {
		return nil
	}
	return t.exec(ctx, "store sightings", widenSightings, sightingRows.Args(sightings, pgx.NamedArgs{"company_id": companyID}))
}

// EventsOfDay returns the events in which a visitor's day may have sightings, at
// most limit of them, in no order.
func (t *Tx) EventsOfDay(ctx context.Context, companyID string, d facts.VisitorDay, limit int) ([]facts.Event, error) {
	from, to := d.Events()
	events, err := postgres.Collect(ctx, t.tx, scanStored, `
		select `+storedColumns+` from event_fact e
		where e.company_id = @company_id and e.visitor = @visitor and e.at >= @day_start and e.at < @day_end
		limit @most`,
		pgx.NamedArgs{"company_id": companyID, "visitor": packed.ID(d.Visitor), "day_start": from, "day_end": to, "most": limit})
	if err != nil {
		return nil, fmt.Errorf("read a visitor's day: %w", err)
	}
	return events, nil
}

// DeleteSightings deletes the sightings of a visitor's day, and returns their keys.
func (t *Tx) DeleteSightings(ctx context.Context, companyID string, d facts.VisitorDay) ([]facts.Key, error) {
	keys, err := postgres.Collect(ctx, t.tx, func(row pgx.CollectableRow) (k facts.Key, err error) {
		return k, row.Scan(&k.Kind, &k.Value)
	}, `
		delete from sighting where company_id = @company_id and visitor = @visitor and day = @day and (kind = @network) = @hour
		returning kind, key`,
		pgx.NamedArgs{"company_id": companyID, "visitor": d.Visitor, "day": d.Day, "network": facts.KeyNetwork, "hour": d.Hour})
	if err != nil {
		return nil, fmt.Errorf("delete sightings of a visitor's day: %w", err)
	}
	return keys, nil
}

var countRows = postgres.Rows[facts.DeliveryCount]{
	postgres.Col("day", "date", func(c *facts.DeliveryCount) time.Time { return c.Day }),
	postgres.Col("outcome", "text", func(c *facts.DeliveryCount) string { return c.Outcome }),
	postgres.Col("events", "bigint", func(c *facts.DeliveryCount) int64 { return c.Events }),
}

var countDelivery = `
	insert into delivery as d (company_id, day, outcome, events)
	select @company_id, day, outcome, events from ` + countRows.Unnest("n") + `
	on conflict (company_id, day, outcome) do update set events = d.events + excluded.events`

// CountDelivery adds counts to the table delivery.
func (t *Tx) CountDelivery(ctx context.Context, companyID string, counts []facts.DeliveryCount) error {
	if len(counts) == 0 {
		return nil
	}
	return t.exec(ctx, "count delivery", countDelivery, countRows.Args(counts, pgx.NamedArgs{"company_id": companyID}))
}
