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
	"github.com/tributary-io/tributary/internal/postgres/cases"
)

var eventRows = postgres.Rows[facts.Event]{
	postgres.Col("event_id", "uuid", func(e *facts.Event) [16]byte { return e.ID }),
	postgres.Col("at", "timestamptz", func(e *facts.Event) time.Time { return e.At }),
	postgres.Col("class", "smallint", func(e *facts.Event) int16 { return int16(e.Class()) }),
	postgres.Col("name", "text", func(e *facts.Event) string { return e.Event.Event }),
	postgres.Col("visitor", "bytea", (*facts.Event).PackedVisitor),
	postgres.Col("sources", "text", sourcesText),
	postgres.Col("record", "bytea", (*facts.Event).Packed),
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
	if inserted, done, err := t.insertByCopy(ctx, companyID, events); err != nil || done {
		return inserted, err
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
	select ` + cases.StoredColumns + `
	from ` + idRows.Unnest("c") + `
	join event_fact f on f.company_id = @company_id and f.event_id = c.event_id`

// StoredCopies returns the stored copies of events' ids, by event id.
func (t *Tx) StoredCopies(ctx context.Context, companyID string, events []facts.Event) (map[string]facts.Copy, error) {
	if len(events) == 0 { // as for most batches; to plan the statement takes longer than to run it
		return nil, nil
	}
	list, err := postgres.Collect(ctx, t.tx, cases.ScanEvent, storedCopies, idRows.Args(events, pgx.NamedArgs{"company_id": companyID}))
	if err != nil {
		return nil, fmt.Errorf("read stored copies of events: %w", err)
	}
	byID := make(map[string]facts.Copy, len(list))
	for _, e := range list {
		byID[e.EventID] = e.Copy()
	}
	return byID, nil
}

var deleteEvents = `
	delete from event_fact f using ` + idRows.Unnest("e") + ` where f.company_id = @company_id and f.event_id = e.event_id`

// DeleteEvents removes events.
func (t *Tx) DeleteEvents(ctx context.Context, companyID string, events []facts.Event) error {
	return idRows.Exec(ctx, t.tx, "remove events", deleteEvents, events, pgx.NamedArgs{"company_id": companyID})
}

// ReplaceEvents replaces the stored copies of events' ids.
func (t *Tx) ReplaceEvents(ctx context.Context, companyID string, events []facts.Event) error {
	if len(events) == 0 {
		return nil
	}
	if err := idRows.Exec(ctx, t.tx, "remove copies of events", deleteEvents, events, pgx.NamedArgs{"company_id": companyID}); err != nil {
		return err
	}
	_, err := t.InsertEvents(ctx, companyID, events)
	return err
}

var observationRows = postgres.Rows[facts.Observation]{
	postgres.Col("kind", "smallint", func(s *facts.Observation) int16 { return s.Kind.Code() }),
	postgres.Col("key", "bytea", func(s *facts.Observation) []byte { return s.Key.Pack() }),
	postgres.Col("slot", "int", func(s *facts.Observation) int32 { return s.Pack().Slot }),
	postgres.Col("visitor", "bytea", func(s *facts.Observation) []byte { return packed.ID(s.Visitor) }),
	postgres.Col("first_ms", "int", func(s *facts.Observation) int32 { return s.Pack().FirstMS }),
	postgres.Col("last_ms", "int", func(s *facts.Observation) int32 { return s.Pack().LastMS }),
	postgres.Col("first_hour", "int", func(s *facts.Observation) int32 { return s.Pack().FirstHour }),
	postgres.Col("last_hour", "int", func(s *facts.Observation) int32 { return s.Pack().LastHour }),
}

var widenObservations = `
	insert into observation as s (company_id, kind, key, slot, visitor, first_ms, last_ms, first_hour, last_hour)
	select @company_id, kind, key, slot, visitor, first_ms, last_ms, first_hour, last_hour
	from ` + observationRows.Unnest("n") + `
	on conflict (company_id, kind, key, slot, visitor) do update
		set first_ms = least(s.first_ms, excluded.first_ms), last_ms = greatest(s.last_ms, excluded.last_ms),
			first_hour = least(s.first_hour, excluded.first_hour), last_hour = greatest(s.last_hour, excluded.last_hour)
		where s.first_ms > excluded.first_ms or s.last_ms < excluded.last_ms
			or s.first_hour > excluded.first_hour or s.last_hour < excluded.last_hour`

// WidenObservations stores observations. A stored one gets the earlier first and the later
// last instants of both.
func (t *Tx) WidenObservations(ctx context.Context, companyID string, observations []facts.Observation) error {
	return observationRows.Exec(ctx, t.tx, "store observations", widenObservations, observations, pgx.NamedArgs{"company_id": companyID})
}

// EventsOfDay returns the events in which a visitor's day may have observations, at
// most limit of them, in no order.
func (t *Tx) EventsOfDay(ctx context.Context, companyID string, d facts.VisitorDay, limit int) ([]facts.Event, error) {
	from, to := d.Events()
	events, err := postgres.Collect(ctx, t.tx, cases.ScanEvent, `
		select `+cases.StoredColumns+` from event_fact f
		where f.company_id = @company_id and f.visitor = @visitor and f.at >= @day_start and f.at < @day_end
		limit @most`,
		pgx.NamedArgs{"company_id": companyID, "visitor": packed.ID(d.Visitor), "day_start": from, "day_end": to, "most": limit})
	return events, postgres.Wrapf(err, "read a visitor's day")
}

// The index observation_visitor finds the observations of a visitor, but for those with its own
// id: the primary key finds these. 4 is facts.KeyNetwork, 3 and 10 are facts.KeyVisitor
// and facts.KeyUser.
const (
	deleteObservations = `
		delete from observation
		where company_id = @company_id and visitor = @visitor and slot = @slot and kind <> 3 and kind <> 10 and (kind = 4) = @hour
		returning kind, key`
	deleteOwnObservations = `
		delete from observation
		where company_id = @company_id and kind in (3, 10) and key = @visitor and visitor = @visitor and slot = @slot
		returning kind, key`
)

// DeleteObservations deletes the observations of a visitor's day, and returns their keys.
func (t *Tx) DeleteObservations(ctx context.Context, companyID string, d facts.VisitorDay) (keys []facts.Key, err error) {
	visitor, slot := packed.ID(d.Visitor), facts.SlotOf(d.Day)
	keys, err = postgres.Collect(ctx, t.tx, cases.ScanKey, deleteObservations,
		pgx.NamedArgs{"company_id": companyID, "visitor": visitor, "slot": slot, "hour": d.Hour})
	if err != nil {
		return nil, fmt.Errorf("delete observations of a visitor's day: %w", err)
	}
	if d.Hour {
		return keys, nil
	}
	own, err := postgres.Collect(ctx, t.tx, cases.ScanKey, deleteOwnObservations,
		pgx.NamedArgs{"company_id": companyID, "visitor": visitor, "slot": slot})
	return append(keys, own...), postgres.Wrapf(err, "delete observations of a visitor's own id")
}
