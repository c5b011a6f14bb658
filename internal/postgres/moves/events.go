package moves

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/packed"
	"github.com/tributary-io/tributary/internal/wire"
)

// Migration 0015: an event's record is packed, not JSON with columns beside it.
// The files beside this one have both tables.

// setAsideEvents ends the names of the table and its partitions that are still to be
// moved.
const setAsideEvents = "_0014"

func packEvents(ctx context.Context, m *mover) error {
	return m.moveEvents(ctx, setAsideEvents, "0015_event_fact.sql", func(p partition, to string) move {
		return move{
			query: `select company_id, event_id::text, name, at, visitor, bot <> 'none', arrived, digest, body::text from ` + quoted(p.name),
			to:    to, columns: []string{"at", "event_id", "class", "company_id", "name", "visitor", "sources", "record"},
			row: packedEvent,
		}
	}, func(month time.Time) string { return facts.FirstID(month).String() })
}

// packedEvent reads a row of before 0015, and returns the one of now.
func packedEvent(rows pgx.Rows) ([]any, error) {
	var company, id, name, body string
	var at time.Time
	var visitor *string
	var program, arrived bool
	var digest []byte
	if err := rows.Scan(&company, &id, &name, &at, &visitor, &program, &arrived, &digest, &body); err != nil {
		return nil, err
	}
	record, err := edgeForm([]byte(body))
	if err != nil {
		return nil, fmt.Errorf("event %s: %w", id, err)
	}
	e, err := facts.ParseEvent(record)
	if err != nil {
		return nil, fmt.Errorf("event %s: %w", id, err)
	}
	// The columns stay what they were; the record's own are what they were made of.
	e.EventID, e.CompanyID, e.Event.Event, e.Visitor = id, company, name, ""
	if visitor != nil {
		e.Visitor = *visitor
	}
	class := facts.ClassPerson
	switch {
	case program:
		class = facts.ClassProgram
	case arrived:
		class = facts.ClassArrival
	}
	return []any{at, e.ID, int16(class), company, name, e.PackedVisitor(), e.Sources(), packed.AppendRecord(nil, record, digest, e.Beside())}, nil
}

// edgeForm returns a record with its members in the order in which the edge writes them,
// where that says the same: jsonb sorts them, and such a record packs into fewer bytes.
func edgeForm(stored []byte) ([]byte, error) {
	var e wire.Event
	var was, is any
	if err := json.Unmarshal(stored, &e); err != nil {
		return nil, err
	}
	var written bytes.Buffer
	encoder := json.NewEncoder(&written)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(&e); err != nil {
		return nil, err
	}
	form := bytes.TrimSuffix(written.Bytes(), []byte("\n"))
	for text, into := range map[*[]byte]*any{&stored: &was, &form: &is} {
		decoder := json.NewDecoder(bytes.NewReader(*text))
		decoder.UseNumber()
		if err := decoder.Decode(into); err != nil {
			return nil, err
		}
	}
	if reflect.DeepEqual(was, is) {
		return form, nil
	}
	var compact bytes.Buffer
	err := json.Compact(&compact, stored)
	return compact.Bytes(), err
}

// moveEvents moves the months of event_fact, oldest first. bound returns where a month
// begins, as the new table's partitions have it.
func (m *mover) moveEvents(ctx context.Context, suffix, definition string, moveOf func(p partition, to string) move, bound func(month time.Time) string) error {
	partitions, err := m.setAside(ctx, "event_fact", suffix, definition)
	if err != nil {
		return err
	}
	for _, p := range partitions {
		to := strings.TrimSuffix(p.name, suffix)
		t := moveOf(p, to)
		t.from = p.name
		if p.bound != "DEFAULT" {
			month, err := time.Parse("event_fact_2006_01", to)
			if err != nil {
				return fmt.Errorf("partition %s: %w", p.name, err)
			}
			t.make = []string{fmt.Sprintf(`create table %s (like event_fact including defaults)`, quoted(to))}
			t.finish = []string{fmt.Sprintf(`alter table event_fact attach partition %s for values from ('%s') to ('%s')`, quoted(to), bound(month), bound(month.AddDate(0, 1, 0)))}
		}
		t.finish = append(t.finish, "drop table "+quoted(p.name))
		if err := m.run(ctx, t); err != nil {
			return err
		}
	}
	return execAll(ctx, m.write, []string{"drop table " + quoted("event_fact"+suffix)})
}

// setAsidePacked ends the names of the tables of 0015 on the way back.
const setAsidePacked = "_0015"

func unpackEvents(ctx context.Context, m *mover) error {
	return m.moveEvents(ctx, setAsidePacked, "0014_event_fact.sql", func(p partition, to string) move {
		return move{
			query: `select company_id, event_id, name, visitor, at, record from ` + quoted(p.name),
			to:    to, columns: []string{"company_id", "id_time", "event_id", "name", "at", "received_at", "digest", "visitor", "bot", "via", "arrived", "body"},
			row: unpackedEvent,
		}
	}, func(month time.Time) string { return month.Format(time.RFC3339) })
}

// unpackedEvent reads a row of 0015, and returns the one of before.
func unpackedEvent(rows pgx.Rows) ([]any, error) {
	var s facts.StoredEvent
	var id [16]byte
	if err := rows.Scan(&s.CompanyID, &id, &s.Name, &s.Visitor, &s.At, &s.Record); err != nil {
		return nil, err
	}
	s.EventID = uuid.UUID(id)
	e, err := s.Parse()
	if err != nil {
		return nil, err
	}
	var visitor *string
	if e.Visitor != "" {
		visitor = &e.Visitor
	}
	bot := e.Bot
	if e.Human() {
		bot = wire.BotNone
	}
	return []any{
		e.CompanyID, e.IDTime, e.ID, e.Event.Event, e.At, e.ReceivedAt, e.Digest(), visitor, string(bot), string(e.Via),
		e.Class() == facts.ClassArrival, json.RawMessage(e.Raw),
	}, nil
}
