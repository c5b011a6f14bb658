package moves

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/packed"
)

// Migration 0016: keys, kinds and visitors are packed, and order_key has one index less.
// The files beside this one have all four tables.

// moveTable moves a table's rows into its new form, which a file of definitions
// defines: the table without indexes, and after "-- then" what follows its rows.
func (m *mover) moveTable(ctx context.Context, table, definition, query string, columns []string, row func(rows pgx.Rows) ([]any, error)) error {
	t, err := moveOf(table, definition, query, columns, row)
	if err != nil {
		return err
	}
	return m.run(ctx, t)
}

func moveOf(table, definition, query string, columns []string, row func(rows pgx.Rows) ([]any, error)) (move, error) {
	text, err := definitions.ReadFile(definition)
	before, after, _ := strings.Cut(string(text), "-- then\n")
	return move{from: table, query: query, make: []string{before}, to: table + "_new", columns: columns, row: row, finish: []string{after}}, err
}

var (
	packedKeyColumns      = []string{"created_at", "kind", "hub", "company_id", "key", "order_id"}
	packedSightingColumns = []string{"slot", "first_ms", "last_ms", "first_hour", "last_hour", "kind", "company_id", "key", "visitor"}
)

func packKeys(ctx context.Context, m *mover) error {
	if err := m.moveTable(ctx, "order_key", "0016_order_key.sql", `select company_id, kind, key, created_at, order_id, hub from order_key`, packedKeyColumns, func(rows pgx.Rows) ([]any, error) {
		var company, key, order string
		var kind facts.KeyKind
		var hub facts.Hub
		var at time.Time
		err := rows.Scan(&company, &kind, &key, &at, &order, &hub)
		return []any{at, kind.Code(), hub.Code(), company, packed.ID(key), order}, err
	}); err != nil {
		return err
	}
	return m.moveTable(ctx, "sighting", "0016_sighting.sql", `select company_id, kind, key, visitor, day, first_at, last_at, first_id, last_id from sighting`, packedSightingColumns, func(rows pgx.Rows) ([]any, error) {
		var company string
		var s facts.Sighting
		var firstID, lastID *time.Time
		if err := rows.Scan(&company, &s.Kind, &s.Value, &s.Visitor, &s.Day, &s.First, &s.Last, &firstID, &lastID); err != nil {
			return nil, err
		}
		s.FirstID, s.LastID = facts.NoEarlierID, facts.NoLaterID // written before migration 0007, which did not know
		if firstID != nil && lastID != nil {
			s.FirstID, s.LastID = *firstID, *lastID
		}
		p := s.Pack()
		return []any{p.Slot, p.FirstMS, p.LastMS, p.FirstHour, p.LastHour, s.Kind.Code(), company, packed.ID(s.Value), packed.ID(s.Visitor)}, nil
	})
}

func unpackKeys(ctx context.Context, m *mover) error {
	if err := m.moveTable(ctx, "order_key", "0015_order_key.sql", `select company_id, kind, key, created_at, order_id, hub from order_key`,
		[]string{"company_id", "kind", "key", "created_at", "order_id", "hub"}, func(rows pgx.Rows) ([]any, error) {
			var company, order string
			var kind, hub int16
			var key []byte
			var at time.Time
			if err := rows.Scan(&company, &kind, &key, &at, &order, &hub); err != nil {
				return nil, err
			}
			k, err := facts.UnpackKey(kind, key)
			if err != nil {
				return nil, err
			}
			why, err := facts.HubOf(hub)
			return []any{company, string(k.Kind), k.Value, at, order, string(why)}, err
		}); err != nil {
		return err
	}
	return m.moveTable(ctx, "sighting", "0015_sighting.sql", `select company_id, kind, key, visitor, slot, first_ms, last_ms, first_hour, last_hour from sighting`,
		[]string{"company_id", "kind", "key", "visitor", "day", "first_at", "last_at", "first_id", "last_id"}, func(rows pgx.Rows) ([]any, error) {
			var company string
			var kind int16
			var key, by []byte
			var p facts.PackedSighting
			if err := rows.Scan(&company, &kind, &key, &by, &p.Slot, &p.FirstMS, &p.LastMS, &p.FirstHour, &p.LastHour); err != nil {
				return nil, err
			}
			k, err := facts.UnpackKey(kind, key)
			if err != nil {
				return nil, err
			}
			visitor, err := packed.Text(by)
			if err != nil {
				return nil, err
			}
			s := p.Unpack()
			return []any{company, string(k.Kind), k.Value, visitor, s.Day, s.First, s.Last, s.FirstID, s.LastID}, nil
		})
}
