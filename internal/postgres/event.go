package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
)

// span is when a visitor was active, as far as a batch tells.
type span struct {
	from, to time.Time
	eventID  string // one of them, as the cause of what follows
}

// active widens a visitor's span.
func (a *applying) active(visitor, eventID string, at time.Time) {
	if visitor == "" {
		return
	}
	s, ok := a.visitors[visitor]
	if !ok {
		s = span{at, at, eventID}
	}
	if at.Before(s.from) {
		s.from = at
	}
	if at.After(s.to) {
		s.to = at
	}
	a.visitors[visitor] = s
}

// events stores events exactly once by id, their sightings and their counts.
func (a *applying) events(ctx context.Context, events []facts.Event) error {
	if len(events) == 0 {
		return nil
	}
	// Of copies within the batch the one that counts goes in; all are counted.
	byID := make(map[string]*facts.Event, len(events))
	var chosen []*facts.Event
	for i := range events {
		e := &events[i]
		old := byID[e.EventID]
		switch {
		case old == nil:
			byID[e.EventID] = e
			chosen = append(chosen, e)
		case e.Before(old):
			a.count(old.ReceivedAt, "duplicate", 1)
			*old = *e
		default:
			a.count(e.ReceivedAt, "duplicate", 1)
		}
	}
	a.applied.Duplicate += len(events) - len(chosen)
	slices.SortFunc(chosen, func(x, y *facts.Event) int { return cmp.Compare(x.EventID, y.EventID) })
	stored, err := a.insertEvents(ctx, chosen)
	if err != nil {
		return fmt.Errorf("insert events: %w", err)
	}
	var fresh, again []*facts.Event
	for _, e := range chosen {
		if stored[e.EventID] {
			a.count(e.ReceivedAt, "stored", 1)
			fresh = append(fresh, e)
		} else {
			again = append(again, e)
		}
	}
	a.applied.Stored += len(fresh)
	a.applied.Duplicate += len(again)
	for _, e := range fresh {
		if e.Human() {
			a.active(e.Visitor, e.EventID, e.At)
		}
	}
	if err := a.seen(ctx, fresh); err != nil {
		return fmt.Errorf("sightings: %w", err)
	}
	if err := a.copies(ctx, again); err != nil {
		return fmt.Errorf("copies of events: %w", err)
	}
	return nil
}

func (a *applying) insertEvents(ctx context.Context, events []*facts.Event) (map[string]bool, error) {
	n := len(events)
	idTimes, ids, names, ats, received := make([]time.Time, n), make([]string, n), make([]string, n), make([]time.Time, n), make([]time.Time, n)
	digests, visitors, bots, vias, bodies := make([][]byte, n), make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	for i, e := range events {
		idTimes[i], ids[i], names[i], ats[i], received[i] = e.IDTime, e.EventID, e.Event.Event, e.At, e.ReceivedAt
		digests[i], visitors[i], bots[i], vias[i], bodies[i] = e.Digest, e.Visitor, botOf(e), string(e.Via), string(e.Raw)
	}
	rows, err := a.tx.Query(ctx, `
		insert into event_fact (company_id, id_time, event_id, name, at, received_at, digest, visitor, bot, via, body)
		select $1, id_time, event_id::uuid, name, at, received_at, digest, nullif(visitor, ''), bot, via, body::jsonb
		from unnest($2::timestamptz[], $3::text[], $4::text[], $5::timestamptz[], $6::timestamptz[], $7::bytea[], $8::text[], $9::text[], $10::text[], $11::text[])
			as e (id_time, event_id, name, at, received_at, digest, visitor, bot, via, body)
		on conflict do nothing returning event_id::text`,
		a.company, idTimes, ids, names, ats, received, digests, visitors, bots, vias, bodies)
	if err != nil {
		return nil, err
	}
	stored := make(map[string]bool, n)
	var id string
	_, err = pgx.ForEachRow(rows, []any{&id}, func() error { stored[id] = true; return nil })
	return stored, err
}

func botOf(e *facts.Event) string { return string(cmp.Or(e.Bot, "none")) }

type sightingKey struct {
	kind, key, visitor string
	day                time.Time
}

// seen stores under which keys the visitors of events were seen.
func (a *applying) seen(ctx context.Context, events []*facts.Event) error {
	extents := map[sightingKey]span{}
	for _, e := range events {
		day := e.At.UTC().Truncate(24 * time.Hour)
		for _, k := range e.Keys() {
			id := sightingKey{k.Kind, k.Value, e.Visitor, day}
			s, ok := extents[id]
			if !ok {
				s = span{from: e.At, to: e.At}
			}
			if e.At.Before(s.from) {
				s.from = e.At
			}
			if e.At.After(s.to) {
				s.to = e.At
			}
			extents[id] = s
		}
	}
	n := len(extents)
	kinds, keys, visitors := make([]string, 0, n), make([]string, 0, n), make([]string, 0, n)
	days, first, last := make([]time.Time, 0, n), make([]time.Time, 0, n), make([]time.Time, 0, n)
	for id, s := range extents {
		kinds, keys, visitors = append(kinds, id.kind), append(keys, id.key), append(visitors, id.visitor)
		days, first, last = append(days, id.day), append(first, s.from), append(last, s.to)
	}
	_, err := a.tx.Exec(ctx, `
		insert into sighting (company_id, kind, key, visitor, day, first_at, last_at)
		select $1, kind, key, visitor, day, first_at, last_at
		from unnest($2::text[], $3::text[], $4::text[], $5::date[], $6::timestamptz[], $7::timestamptz[]) as s (kind, key, visitor, day, first_at, last_at)
		on conflict (company_id, kind, key, visitor, day) do update
			set first_at = least(sighting.first_at, excluded.first_at), last_at = greatest(sighting.last_at, excluded.last_at)
			where sighting.first_at > excluded.first_at or sighting.last_at < excluded.last_at`,
		a.company, kinds, keys, visitors, days, first, last)
	return err
}

// copies looks at events whose id is already stored: where the new copy is the
// one that counts, it takes the old one's place, and the sightings of the
// visitors' days are derived anew.
func (a *applying) copies(ctx context.Context, events []*facts.Event) error {
	type day struct {
		visitor string
		day     time.Time
	}
	again := map[day]bool{}
	for _, e := range events {
		old := facts.Event{}
		var visitor *string
		var bot string
		err := a.tx.QueryRow(ctx, `
			select received_at, digest, visitor, at, bot from event_fact where company_id = $1 and id_time = $2 and event_id = $3::text::uuid`,
			a.company, e.IDTime, e.EventID).Scan(&old.ReceivedAt, &old.Digest, &visitor, &old.At, &bot)
		if err != nil {
			return err
		}
		if !e.Before(&old) {
			a.count(e.ReceivedAt, "duplicate", 1)
			continue
		}
		a.count(old.ReceivedAt, "stored", -1)
		a.count(old.ReceivedAt, "duplicate", 1)
		a.count(e.ReceivedAt, "stored", 1)
		_, err = a.tx.Exec(ctx, `
			update event_fact set name = $4, at = $5, received_at = $6, digest = $7, visitor = nullif($8, ''), bot = $9, via = $10, body = $11
			where company_id = $1 and id_time = $2 and event_id = $3::text::uuid`,
			a.company, e.IDTime, e.EventID, e.Event.Event, e.At, e.ReceivedAt, e.Digest, e.Visitor, botOf(e), e.Via, string(e.Raw))
		if err != nil {
			return err
		}
		if visitor != nil {
			a.active(*visitor, e.EventID, old.At)
			again[day{*visitor, old.At.UTC().Truncate(24 * time.Hour)}] = true
		}
		if e.Visitor != "" {
			a.active(e.Visitor, e.EventID, e.At)
			again[day{e.Visitor, e.At.UTC().Truncate(24 * time.Hour)}] = true
		}
	}
	for d := range again {
		if err := a.seeAgain(ctx, d.visitor, d.day); err != nil {
			return err
		}
	}
	return nil
}

// seeAgain derives one visitor's sightings of one day from the stored events.
func (a *applying) seeAgain(ctx context.Context, visitor string, day time.Time) error {
	// Orders of keys that now fall away are concerned too: the keys are noted first.
	rows, err := a.tx.Query(ctx, `delete from sighting where company_id = $1 and visitor = $2 and day = $3 returning kind, key`, a.company, visitor, day)
	if err != nil {
		return err
	}
	var k facts.Key
	if _, err := pgx.ForEachRow(rows, []any{&k.Kind, &k.Value}, func() error {
		a.lostKeys = append(a.lostKeys, k)
		return nil
	}); err != nil {
		return err
	}
	bodies, err := Collect(ctx, a.tx, pgx.RowTo[string], `
		select body::text from event_fact where company_id = $1 and visitor = $2 and at >= $3 and at < $4`,
		a.company, visitor, day, day.Add(24*time.Hour))
	if err != nil {
		return err
	}
	var events []*facts.Event
	for _, body := range bodies {
		e, err := facts.ParseEvent(json.RawMessage(body))
		if err != nil {
			return fmt.Errorf("stored event: %w", err)
		}
		events = append(events, &e)
	}
	return a.seen(ctx, events)
}
