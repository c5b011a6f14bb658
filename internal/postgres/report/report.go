// Package report has the SQL for what pages and reports read: sales by day, and
// one sale with its explanation and its ledger.
//
// What belongs here: statements that only read, but for the reports of signs, which are
// kept; and that keep the rules of docs/notes/tables.md.
package report

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/postgres"
)

// Reader reads reports; safe for concurrent use.
type Reader struct {
	db      *postgres.DB
	known   *remembered
	signing chan struct{} // full while a report of signs is being made
	wanted  chan struct{} // holds an element where RenewSigns has one to make
}

// New makes a reader of a database.
func New(db *postgres.DB) *Reader {
	return &Reader{db: db, known: newRemembered(), signing: make(chan struct{}, 1), wanted: make(chan struct{}, 1)}
}

// largeReads lets PostgreSQL, in this transaction, plan each statement for its own values: it
// would plan for any values what it has run some times, and a report of a year by the plan of
// a day takes many times as long. And it keeps the groups of a report's paths or items in memory.
const largeReads = `select set_config('plan_cache_mode', 'force_custom_plan', true), set_config('work_mem', '16MB', true)`

// snapshot runs f in one snapshot, for statements that may read much.
func (r *Reader) snapshot(ctx context.Context, f func(tx pgx.Tx) error) error {
	return r.db.Snapshot(ctx, largely(ctx, f))
}

// snapshotAfter is snapshot, on a connection by which ask asks something before; ask may be nil.
func (r *Reader) snapshotAfter(ctx context.Context, ask func(ctx context.Context, conn postgres.Querier) error,
	f func(tx pgx.Tx) error) error {
	if ask == nil {
		return r.snapshot(ctx, f)
	}
	return r.db.SnapshotAfter(ctx, lookTime, ask, largely(ctx, f))
}

func largely(ctx context.Context, f func(tx pgx.Tx) error) func(tx pgx.Tx) error {
	return func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, largeReads); err != nil {
			return err
		}
		return f(tx)
	}
}
