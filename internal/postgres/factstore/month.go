package factstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
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

// month returns the first instant of a time's month, in UTC.
func month(t time.Time) time.Time {
	t = t.UTC()
	return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
}
