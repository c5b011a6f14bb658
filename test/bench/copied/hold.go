package copied

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Truncate removes all rows of tables, of at least one.
func (d *Database) Truncate(ctx context.Context, tables ...string) error {
	quoted := make([]string, len(tables))
	for i, table := range tables {
		quoted[i] = quote(table)
	}
	_, err := d.conn.Exec(ctx, "truncate "+strings.Join(quoted, ", "))
	return err
}

// Hold locks a table so that others can read and not write it, until release is called.
// A transaction that writes it waits, with all that it has done before.
func (d *Database) Hold(ctx context.Context, table string) (release func() error, err error) {
	return d.lock(ctx, table, "share")
}

// Bar locks a table so that others can neither read nor write it, until release is called.
func (d *Database) Bar(ctx context.Context, table string) (release func() error, err error) {
	return d.lock(ctx, table, "access exclusive")
}

func (d *Database) lock(ctx context.Context, table, mode string) (release func() error, err error) {
	tx, err := d.conn.Begin(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := tx.Exec(ctx, "lock table "+quote(table)+" in "+mode+" mode"); err != nil {
		_ = tx.Rollback(ctx)
		return nil, err
	}
	return func() error { return tx.Rollback(context.WithoutCancel(ctx)) }, nil
}

// Waiting is how many connections of this database wait for a lock now. Ask another
// Database than the one that holds it.
func Waiting(ctx context.Context, dsn string) (n int, err error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	return n, conn.QueryRow(ctx, `
		select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`).Scan(&n)
}

// Sessions is how many connections of programs this database has beside this one.
func (d *Database) Sessions(ctx context.Context) (n int, err error) {
	return n, d.conn.QueryRow(ctx, `
		select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
			and backend_type = 'client backend'`).Scan(&n)
}

// WaitingOnceCredited returns how many orders wait to be computed, once an order has an
// influencer who is named for it, and -1 until then.
func (d *Database) WaitingOnceCredited(ctx context.Context, orderID string) (queued int64, err error) {
	return queued, d.conn.QueryRow(ctx, `
		select case when exists (select 1 from payout where order_id = $1 and influencer_id is not null) then (select count(*) from recompute)
		else -1 end`, orderID).Scan(&queued)
}

// Stored is how many events and orders are stored.
func (d *Database) Stored(ctx context.Context) (events, orders int64, err error) {
	return events, orders,
		d.conn.QueryRow(ctx, `select (select count(*) from event_fact), (select count(*) from orders)`).Scan(&events, &orders)
}
