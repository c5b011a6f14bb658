package factstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tributary-io/tributary/internal/postgres"
)

// Months before and after now for which event_fact gets a partition. Imports go
// years back, and no shop has recorded events for longer than 20 years. Events of
// other months are stored in the default partition.
const (
	monthsBack    = 20 * 12
	monthsForward = 2
)

// makingMonths is the advisory lock of making partitions: two processors cannot make
// the same one at the same time. The number is arbitrary.
const makingMonths = 7_274_001

// MakeMonths makes the monthly partitions of event_fact for the given instants. It
// runs outside a batch's transaction, since it locks the table for a moment. A month
// that has rows in the default partition stays there. Every batch calls it, so a
// Store remembers the months that it has checked.
func (s *Store) MakeMonths(ctx context.Context, now time.Time, instants []time.Time) error {
	this := month(now)
	earliest, latest := this.AddDate(0, -monthsBack, 0), this.AddDate(0, monthsForward, 0)
	for _, instant := range instants {
		from := month(instant)
		if from.Before(earliest) || from.After(latest) {
			continue
		}
		if _, checked := s.months.Load(from); checked {
			continue
		}
		name := "event_fact_" + from.Format("2006_01")
		err := s.db.InTx(ctx, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock($1)`, makingMonths); err != nil {
				return err
			}
			// "create table if not exists" would lock the parent even where the table exists.
			var exists bool
			if err := tx.QueryRow(ctx, `select to_regclass($1) is not null`, name).Scan(&exists); err != nil || exists {
				return err
			}
			_, err := tx.Exec(ctx, `select make_event_month($1)`, from)
			return err
		})
		var pg *pgconn.PgError
		inDefault := errors.As(err, &pg) && pg.Code == "23514" // check_violation: the default partition has rows of it
		if err != nil && !inDefault {
			return fmt.Errorf("postgres: make partition %s: %w", name, err)
		}
		s.months.Store(from, nil)
	}
	return nil
}

// DropEmptyMonths drops the monthly partitions of event_fact before an instant that have
// no rows, of any company. It returns their names. A row that comes for such a month later
// is stored in the default partition.
func (s *Store) DropEmptyMonths(ctx context.Context, before time.Time) (dropped []string, err error) {
	names, err := postgres.Collect(ctx, s.db.Pool(), pgx.RowTo[string], `
		select c.relname::text from pg_catalog.pg_inherits i join pg_catalog.pg_class c on c.oid = i.inhrelid
		where i.inhparent = 'event_fact'::regclass order by c.relname`)
	if err != nil {
		return nil, fmt.Errorf("postgres: partitions of events: %w", postgres.Translate(err))
	}
	for _, name := range names {
		from, err := time.Parse("2006_01", strings.TrimPrefix(name, "event_fact_"))
		if err != nil || from.AddDate(0, 1, 0).After(before) {
			continue // the default partition, or a month that is not over
		}
		gone, err := s.dropIfEmpty(ctx, from)
		if err != nil {
			return dropped, fmt.Errorf("postgres: drop partition %s: %w", name, err)
		}
		if gone {
			dropped = append(dropped, name)
		}
	}
	return dropped, nil
}

// dropIfEmpty drops a month's partition without rows. Where others use the table, it waits a
// moment for it, and gives up: the next day will do.
func (s *Store) dropIfEmpty(ctx context.Context, month time.Time) (gone bool, err error) {
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock($1)`, makingMonths); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `select drop_event_month($1)`, month).Scan(&gone)
	})
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "55P03" { // lock_not_available
		return false, nil
	}
	return gone && err == nil, err
}

// month returns the first instant of a time's month, in UTC.
func month(t time.Time) time.Time {
	t = t.UTC()
	return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
}
