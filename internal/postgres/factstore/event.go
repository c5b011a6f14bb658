package factstore

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/wire"
)

var eventRows = postgres.Rows[facts.Event]{
	postgres.Col("id_time", "timestamptz", func(e *facts.Event) time.Time { return e.IDTime }),
	postgres.Col("event_id", "uuid", func(e *facts.Event) string { return e.EventID }),
	postgres.Col("name", "text", func(e *facts.Event) string { return e.Event.Event }),
	postgres.Col("at", "timestamptz", func(e *facts.Event) time.Time { return e.At }),
	postgres.Col("received_at", "timestamptz", func(e *facts.Event) time.Time { return e.ReceivedAt }),
	postgres.Col("digest", "bytea", func(e *facts.Event) []byte { return e.Digest() }),
	postgres.Col("visitor", "text", func(e *facts.Event) *string { return postgres.NullIfEmpty(e.Visitor) }),
	postgres.Col("bot", "text", func(e *facts.Event) wire.Bot { return cmp.Or(e.Bot, wire.BotNone) }),
	postgres.Col("via", "text", func(e *facts.Event) wire.Via { return e.Via }),
	postgres.Col("arrived", "boolean", func(e *facts.Event) bool { return e.Arrived() }),
	postgres.Col("body", "jsonb", func(e *facts.Event) string { return string(e.Raw) }),
}

var insertEvents = `
	insert into event_fact (company_id, id_time, event_id, name, at, received_at, digest, visitor, bot, via, arrived, body)
	select @company_id, id_time, event_id, name, at, received_at, digest, visitor, bot, via, arrived, body
	from ` + eventRows.Unnest("e") + `
	on conflict (company_id, id_time, event_id) do nothing returning event_id`

// InsertEvents stores the events whose ids are not stored yet, and returns which
// these are.
func (t *Tx) InsertEvents(ctx context.Context, companyID string, events []facts.Event) (inserted map[string]bool, err error) {
	ids, err := t.texts(ctx, "insert events", insertEvents, eventRows.Args(events, pgx.NamedArgs{"company_id": companyID}))
	inserted = make(map[string]bool, len(ids))
	for _, id := range ids {
		inserted[id] = true
	}
	return inserted, err
}

// idRows are the columns of an event's primary key.
var idRows = eventRows[:2]

// The condition is facts.Event.Late's.
var storedCopies = `
	select e.event_id::text, coalesce(e.body->>'trust', ''), e.received_at, e.digest, coalesce(e.visitor, ''), e.at,
		coalesce(e.body->>'trust', '') not in ('', 'import') and e.received_at - e.at > interval '7 days'
	from ` + idRows.Unnest("c") + `
	join event_fact e on e.company_id = @company_id and e.id_time = c.id_time and e.event_id = c.event_id`

// StoredCopies returns the stored copies of events' ids, by event id.
func (t *Tx) StoredCopies(ctx context.Context, companyID string, events []facts.Event) (map[string]facts.Copy, error) {
	if len(events) == 0 { // as for most batches; to plan the statement takes longer than to run it
		return nil, nil
	}
	list, err := postgres.Collect(ctx, t.tx, func(row pgx.CollectableRow) (c facts.Copy, err error) {
		return c, row.Scan(&c.EventID, &c.Trust, &c.ReceivedAt, &c.Digest, &c.Visitor, &c.At, &c.Late)
	}, storedCopies, idRows.Args(events, pgx.NamedArgs{"company_id": companyID}))
	if err != nil {
		return nil, fmt.Errorf("read stored copies of events: %w", err)
	}
	byID := make(map[string]facts.Copy, len(list))
	for _, c := range list {
		byID[c.EventID] = c
	}
	return byID, nil
}

var replaceEvents = `
	update event_fact f set name = e.name, at = e.at, received_at = e.received_at, digest = e.digest, visitor = e.visitor,
		bot = e.bot, via = e.via, arrived = e.arrived, body = e.body
	from ` + eventRows.Unnest("e") + `
	where f.company_id = @company_id and f.id_time = e.id_time and f.event_id = e.event_id`

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
	bodies, err := t.texts(ctx, "read a visitor's day", `
		select body::text from event_fact
		where company_id = @company_id and visitor = @visitor and at >= @day_start and at < @day_end
		limit @most`,
		pgx.NamedArgs{"company_id": companyID, "visitor": d.Visitor, "day_start": from, "day_end": to, "most": limit})
	if err != nil {
		return nil, err
	}
	events := make([]facts.Event, len(bodies))
	for i, body := range bodies {
		if events[i], err = facts.ParseEvent(json.RawMessage(body)); err != nil {
			return nil, fmt.Errorf("stored event: %w", err)
		}
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
