package upgrade

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/report"
)

// held is what a writer saw while the schema was migrated at a table of many rows.
type held struct {
	Rows           int
	Writes         int           // while it ran
	Longest, Alone time.Duration // a write took, beside the migration and before it
	Migration      time.Duration
	Before, After  time.Duration // reading the entries made by hand
	Problems       []string
}

// longestLock is how long no writer may wait for a lock. PostgreSQL ends a write that does.
const longestLock = "1s"

// fill makes entries of orders, and a few made by hand that are the oldest. Its indexes are made after the rows, as a restore does.
const fill = `
	insert into ledger_entry (company_id, order_id, entry, at, kind, influencer_id, cost_id, amount_minor, currency, payable_on, rule_rev,
		cause)
	select $1, case when n > 50 then 'o' || lpad(n::text, 9, '0') else E'\x01entry/' || n end, 1,
	timestamptz '2025-01-01' + n * interval '3 s', 'earned',
	'00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000002', 1000, 'BRL', '2025-02-01', 1, 'rule 1 settings'
	from generate_series(1, $2::int) n`

// Locks migrates beside a writer, at a table of so many rows.
func (s *stand) Locks(ctx context.Context, rows int) (o held, err error) {
	o.Rows = rows
	pool := s.db.Pool()
	type index struct{ name, text string }
	indexes, err := postgres.Collect(ctx, pool, func(row pgx.CollectableRow) (i index, err error) {
		return i, row.Scan(&i.name, &i.text)
	}, `select indexrelid::regclass::text, pg_get_indexdef(indexrelid) from pg_index
		where indrelid = 'ledger_entry'::regclass and not indisprimary`)
	if err != nil {
		return o, err
	}
	exec := func(statement string, args ...any) {
		if err == nil {
			_, err = pool.Exec(ctx, statement, args...)
		}
	}
	for _, i := range indexes {
		exec("drop index " + i.name)
	}
	exec(fill, s.company, rows)
	for _, i := range indexes {
		exec(i.text)
	}
	exec("vacuum analyze ledger_entry")
	if err != nil {
		return o, err
	}
	s.say("  %d rows", rows)
	if o.Before, err = s.readEntries(ctx); err != nil {
		return o, err
	}
	w := &writer{company: s.company}
	if w.conn, err = pgx.Connect(ctx, s.dsn); err != nil {
		return o, err
	}
	defer w.conn.Close(context.WithoutCancel(ctx))
	if _, err := w.conn.Exec(ctx, "set lock_timeout = '"+longestLock+"'"); err != nil {
		return o, err
	}
	_, o.Alone, err = w.write(ctx, func() bool { return w.number >= 500 })
	if err != nil {
		return o, err
	}
	migrated := make(chan error, 1)
	began := time.Now()
	go func() {
		err := s.migrate(ctx, s.now)
		o.Migration = time.Since(began)
		migrated <- err
	}()
	o.Writes, o.Longest, err = w.write(ctx, func() bool { return len(migrated) > 0 })
	err = errors.Join(err, <-migrated)
	var pg interface{ SQLState() string }
	if errors.As(err, &pg) && pg.SQLState() == "55P03" { // lock_not_available
		o.Problems = append(o.Problems, "a writer waited for a lock for "+longestLock)
		return o, nil
	}
	if err != nil {
		return o, err
	}
	state, err := s.db.Schema(ctx)
	if err != nil || state.Version == 0 || len(state.Pending()) > 0 {
		return o, fmt.Errorf("the schema is not migrated: %+v, %w", state, err)
	}
	o.After, err = s.readEntries(ctx)
	return o, err
}

// readEntries reads the entries made by hand, as a page of the dashboard does.
func (s *stand) readEntries(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	list, err := report.New(s.db).Ledger(ctx, s.company, began, commerce.LedgerFilter{Of: commerce.OfEntry}, commerce.LedgerCursor{}, 100)
	if err == nil && len(list) != 50 {
		err = fmt.Errorf("%d entries were read, want 50", len(list))
	}
	return time.Since(began), err
}

// writer writes as a processor does: new entries, and changes of those that are there.
type writer struct {
	conn    *pgx.Conn
	company string
	number  int
}

// write writes until done, once at least, and returns how often and how long the longest write took.
func (w *writer) write(ctx context.Context, done func() bool) (writes int, longest time.Duration, err error) {
	for {
		began := time.Now()
		if _, err := w.conn.Exec(ctx, `
			insert into ledger_entry (company_id, order_id, entry, at, kind, influencer_id, cost_id, amount_minor, currency,
				payable_on, rule_rev, cause)
			select company_id, $2, 1, now(), kind, influencer_id, cost_id, amount_minor, currency, payable_on, rule_rev,
				cause
			from ledger_entry where company_id = $1 and order_id = 'o000000100' and entry = 1`,
			w.company, fmt.Sprint("w", w.number)); err != nil {
			return writes, longest, err
		}
		if _, err := w.conn.Exec(ctx, `update ledger_entry set amount_minor = amount_minor + 1
			where company_id = $1 and order_id = $2 and entry = 1`, w.company, fmt.Sprintf("o%09d", 51+w.number)); err != nil {
			return writes, longest, err
		}
		longest = max(longest, time.Since(began))
		w.number++
		writes++
		if done() || !background.Sleep(ctx, time.Millisecond) {
			return writes, longest, ctx.Err()
		}
	}
}
