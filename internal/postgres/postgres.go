package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tributary-io/tributary/internal/commerce"
)

// DB is a pool of connections to one database; safe for concurrent use.
type DB struct {
	pool *pgxpool.Pool
}

// Option changes how Open connects.
type Option func(config *pgxpool.Config)

// WithTracer shows every statement that is sent to a tracer of pgx.
func WithTracer(tracer pgx.QueryTracer) Option {
	return func(config *pgxpool.Config) { config.ConnConfig.Tracer = tracer }
}

// WithSchema makes every connection see one schema alone. A connection that sees another,
// because a pooler in between drops the setting, is an error.
func WithSchema(schema string) Option {
	return func(config *pgxpool.Config) {
		seeOnly(config.ConnConfig, schema)
		config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
			var seen string
			if err := conn.QueryRow(ctx, `select coalesce(current_schema(), '')`).Scan(&seen); err != nil {
				return err
			}
			if seen != schema {
				return fmt.Errorf("the connection sees the schema %q, not %q: connect to PostgreSQL itself, without a pooler", seen, schema)
			}
			return nil
		}
	}
}

// seeOnly makes a connection see one schema alone.
func seeOnly(config *pgx.ConnConfig, schema string) {
	config.RuntimeParams["search_path"] = pgx.Identifier{schema}.Sanitize()
}

// Open makes a pool for a connection string (URL or keyword/value); nothing is
// dialled until first use. Close it when done.
func Open(ctx context.Context, dsn string, options ...Option) (*DB, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("postgres: connection string: %w", err)
	}
	var last atomic.Pointer[string] // the last password that was read after this; nil: none
	config.BeforeConnect = func(_ context.Context, to *pgx.ConnConfig) error {
		// A new password in PGPASSFILE is taken with the next connection. Where a file is missing or half written, the one before stays:
		// the server says whether it is still good.
		if again, err := pgx.ParseConfig(dsn); err == nil && again.Password != "" {
			last.Store(&again.Password)
		}
		if password := last.Load(); password != nil {
			to.Password = *password
		}
		return nil
	}
	for _, option := range options {
		option(config)
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("postgres: open: %w", err)
	}
	return &DB{pool: pool}, nil
}

// Close waits for connections in use and closes all.
func (db *DB) Close() { db.pool.Close() }

// Ping asks the server for an answer.
func (db *DB) Ping(ctx context.Context) error {
	return Translate(db.pool.Ping(ctx))
}

// Pool is the pool itself, for statements outside a transaction.
func (db *DB) Pool() *pgxpool.Pool { return db.pool }

// begin begins a transaction that the server ends if it waits for its client for half a
// minute. A process that is stopped, or whose machine is cut off, would otherwise keep
// its locks for as long as the connection lasts: the next owner of a partition would wait
// for it. Both statements go together, and poolers let them pass.
const begin = `begin; set local idle_in_transaction_session_timeout = '30s'`

// InTx runs f in one transaction: committed when f returns nil, else rolled
// back. f must not pause for half a minute between two statements. Where ctx carries a
// Transactor, that one runs f.
func (db *DB) InTx(ctx context.Context, f func(tx pgx.Tx) error) error {
	if t, ok := ctx.Value(transactorKey{}).(Transactor); ok {
		return Translate(t.InTx(ctx, f))
	}
	return Translate(pgx.BeginTxFunc(ctx, db.pool, pgx.TxOptions{BeginQuery: begin}, f))
}

// Snapshot runs f on one unchanging view of the data, read only.
func (db *DB) Snapshot(ctx context.Context, f func(tx pgx.Tx) error) error {
	return Translate(pgx.BeginTxFunc(ctx, db.pool, snapshot, f))
}

var snapshot = pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}

// SnapshotAfter is Snapshot, on a connection by which ask asks something before. Patience bounds the wait for a connection and for
// ask. Where ask fails, its error is returned and f is not called.
func (db *DB) SnapshotAfter(ctx context.Context, patience time.Duration, ask func(ctx context.Context, q Querier) error,
	f func(tx pgx.Tx) error) error {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := db.pool.Acquire(limited)
	if err != nil {
		return Translate(err)
	}
	defer conn.Release()
	if err := ask(limited, conn); err != nil {
		return Translate(err)
	}
	return Translate(pgx.BeginTxFunc(ctx, conn, snapshot, f))
}

// Undone runs f in one transaction and rolls it back, whatever f returns: nothing that f
// writes stays, and nobody else sees it.
func (db *DB) Undone(ctx context.Context, f func(tx pgx.Tx) error) error {
	tx, err := db.pool.Begin(ctx)
	if err != nil {
		return Translate(err)
	}
	// Where ctx has ended, the rollback closes the connection, which rolls back too.
	defer func() { _ = tx.Rollback(ctx) }()
	return f(tx)
}

// Transactor runs functions in a transaction that it keeps open across calls,
// and commits it by its own rule.
type Transactor interface {
	InTx(ctx context.Context, f func(tx pgx.Tx) error) error
}

// Savepoints runs each function in a savepoint of a transaction.
func Savepoints(tx pgx.Tx) Transactor { return savepoints{tx} }

type savepoints struct{ tx pgx.Tx }

// InTx implements Transactor.
func (s savepoints) InTx(ctx context.Context, f func(tx pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, s.tx, f)
}

type transactorKey struct{}

// WithTransactor makes every InTx below ctx run in t's transaction.
func WithTransactor(ctx context.Context, t Transactor) context.Context {
	return context.WithValue(ctx, transactorKey{}, t)
}

// WithoutTransactor makes every InTx below ctx run in a transaction of its own, also where ctx carries a Transactor.
func WithoutTransactor(ctx context.Context) context.Context {
	return context.WithValue(ctx, transactorKey{}, nil)
}

type undoneKey struct{}

// WithUndone says of all below ctx that it is rolled back, whatever comes of it.
func WithUndone(ctx context.Context) context.Context {
	return context.WithValue(ctx, undoneKey{}, true)
}

// IsUndone reports whether WithUndone said so.
func IsUndone(ctx context.Context) bool { return ctx.Value(undoneKey{}) != nil }

// Querier is what a transaction, a connection and a pool have in common.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// Collect reads all rows of a query.
func Collect[T any](ctx context.Context, q Querier, scan pgx.RowToFunc[T], sql string, args ...any) ([]T, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scan)
}

// Each reads each row of a query into the same places, and calls f after each.
func Each(ctx context.Context, q Querier, into []any, f func() error, sql string, args ...any) error {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	_, err = pgx.ForEachRow(rows, into, f)
	return err
}

// Map reads a query's rows, which have two columns: the second by the first.
func Map[K comparable, V any](ctx context.Context, q Querier, sql string, args ...any) (map[K]V, error) {
	values := map[K]V{}
	var key K
	var value V
	err := Each(ctx, q, []any{&key, &value}, func() error { values[key] = value; return nil }, sql, args...)
	return values, err
}

// ZeroIfNull scans a timestamp that may be null into t; null is the zero time.
func ZeroIfNull(t *time.Time) pgtype.TimestamptzScanner { return &nullTime{t} }

type nullTime struct{ t *time.Time }

// ScanTimestamptz implements pgtype.TimestamptzScanner.
func (n *nullTime) ScanTimestamptz(v pgtype.Timestamptz) error {
	*n.t = time.Time{}
	if v.Valid {
		*n.t = v.Time
	}
	return nil
}

// Translate turns a driver's error into one of internal/commerce's kinds,
// keeping the driver's error in the chain for logs.
func Translate(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("%w: %w", commerce.ErrNotFound, err)
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		switch {
		case pg.Code == "23505" || pg.Code == "23P01": // unique_violation, exclusion_violation
			return fmt.Errorf("%w: %w", commerce.ErrConflict, err)
		case strings.HasPrefix(pg.Code, "08"), strings.HasPrefix(pg.Code, "53"), strings.HasPrefix(pg.Code, "57P"):
			return fmt.Errorf("%w: %w", commerce.ErrUnavailable, err) // connection, resources, shutdown
		// lock_not_available: where a lock_timeout is set; a transaction that waited for us for too long
		case pg.Code == "55P03", pg.Code == "25P03":
			return fmt.Errorf("%w: %w", commerce.ErrUnavailable, err)
		}
		return err
	}
	var connect *pgconn.ConnectError
	var network net.Error
	// A server that was killed leaves a half answer: an unexpected end.
	cut := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	if cut || errors.As(err, &connect) || errors.As(err, &network) || pgconn.SafeToRetry(err) {
		return fmt.Errorf("%w: %w", commerce.ErrUnavailable, err)
	}
	return err
}
