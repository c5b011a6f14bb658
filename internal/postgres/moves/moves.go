package moves

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

//go:embed *.sql
var definitions embed.FS

// Migrations are those of this package, for goose.
func Migrations() []*goose.Migration {
	of := func(version int64, up, down func(ctx context.Context, m *mover) error) *goose.Migration {
		run := func(f func(ctx context.Context, m *mover) error) *goose.GoFunc {
			return &goose.GoFunc{RunDB: func(ctx context.Context, db *sql.DB) error { return withMover(ctx, db, f) }}
		}
		return goose.NewGoMigration(version, run(up), run(down))
	}
	return []*goose.Migration{
		of(15, packEvents, unpackEvents),
		of(16, packKeys, unpackKeys),
		of(29, packOrders, unpackOrders),
		of(51, shortExplanations, wholeExplanations),
	}
}

// mover moves rows between tables of one schema: one connection reads while the other
// one writes.
type mover struct{ read, write *pgx.Conn }

// withMover runs f with two connections.
func withMover(ctx context.Context, db *sql.DB, f func(ctx context.Context, m *mover) error) error {
	return withConn(ctx, db, func(read *pgx.Conn) error {
		return withConn(ctx, db, func(write *pgx.Conn) error { return f(ctx, &mover{read, write}) })
	})
}

func withConn(ctx context.Context, db *sql.DB, f func(conn *pgx.Conn) error) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Raw(func(driver any) error {
		c, ok := driver.(*stdlib.Conn)
		if !ok {
			return errors.New("not a connection of pgx")
		}
		return f(c.Conn())
	})
}

// move is a table whose rows go into another one.
type move struct {
	from, query string                             // the table, and the query that reads it
	make        []string                           // statements before: they make the new table, without indexes
	to          string                             // the new table
	columns     []string                           // that are written
	row         func(rows pgx.Rows) ([]any, error) // reads one row, and returns what is written
	finish      []string                           // statements after: they make the indexes, and drop the old table
}

// run moves the rows of tables in one transaction, without holding them in memory. No
// table is dropped before all rows are read.
func (m *mover) run(ctx context.Context, list ...move) error {
	return pgx.BeginFunc(ctx, m.write, func(tx pgx.Tx) error {
		for _, t := range list {
			if err := m.copyRows(ctx, tx, t); err != nil {
				return fmt.Errorf("move the rows of %s: %w", t.from, err)
			}
		}
		for _, t := range list {
			if err := execAll(ctx, tx, t.finish); err != nil {
				return fmt.Errorf("finish %s: %w", t.from, err)
			}
		}
		return nil
	})
}

// copyRows makes the new table, and copies the rows into it.
func (m *mover) copyRows(ctx context.Context, tx pgx.Tx, t move) error {
	if err := execAll(ctx, tx, t.make); err != nil {
		return err
	}
	rows, err := m.read.Query(ctx, t.query)
	if err != nil {
		return err
	}
	defer rows.Close() // else the old table is in use
	_, err = tx.CopyFrom(ctx, pgx.Identifier{t.to}, t.columns, pgx.CopyFromFunc(func() ([]any, error) {
		if !rows.Next() {
			return nil, rows.Err()
		}
		return t.row(rows)
	}))
	return err
}

// querier is a connection or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

func execAll(ctx context.Context, q querier, statements []string) error {
	for _, statement := range statements {
		if _, err := q.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%.60s: %w", statement, err)
		}
	}
	return nil
}

// partition is one partition of an old table.
type partition struct {
	name  string
	bound string // as CREATE TABLE has it: FOR VALUES …, or DEFAULT
}

// setAside renames a partitioned table and its partitions, and makes the new one by a
// file of definitions; unless a run before has done it. It returns the partitions
// whose rows are still to be moved.
func (m *mover) setAside(ctx context.Context, table, suffix, definition string) ([]partition, error) {
	old := table + suffix
	err := pgx.BeginFunc(ctx, m.write, func(tx pgx.Tx) error {
		var done bool
		if err := tx.QueryRow(ctx, `select to_regclass($1) is not null`, old).Scan(&done); err != nil || done {
			return err
		}
		partitions, err := partitionsOf(ctx, tx, table)
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `
			select c.relname from pg_index x join pg_class c on c.oid = x.indexrelid where x.indrelid = to_regclass($1) and not x.indisprimary`, table)
		if err != nil {
			return err
		}
		indexes, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		var statements []string
		for _, index := range indexes { // the rows are read without them
			statements = append(statements, "drop index "+quoted(index))
		}
		for _, p := range partitions {
			statements = append(statements, "alter table "+quoted(p.name)+" rename to "+quoted(p.name+suffix), "alter table "+quoted(p.name+suffix)+" rename constraint "+quoted(p.name+"_pkey")+" to "+quoted(p.name+suffix+"_pkey"))
		}
		statements = append(statements, "alter table "+quoted(table)+" rename to "+quoted(old), "alter table "+quoted(old)+" rename constraint "+quoted(table+"_pkey")+" to "+quoted(old+"_pkey"))
		text, err := definitions.ReadFile(definition)
		if err != nil {
			return err
		}
		return execAll(ctx, tx, append(statements, string(text)))
	})
	if err != nil {
		return nil, fmt.Errorf("set %s aside: %w", table, err)
	}
	return partitionsOf(ctx, m.write, old)
}

func partitionsOf(ctx context.Context, q querier, table string) ([]partition, error) {
	rows, err := q.Query(ctx, `
		select c.relname, pg_get_expr(c.relpartbound, c.oid) from pg_inherits i join pg_class c on c.oid = i.inhrelid
		where i.inhparent = to_regclass($1) order by c.relname`, table)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (p partition, err error) {
		return p, row.Scan(&p.name, &p.bound)
	})
}

func quoted(name string) string { return pgx.Identifier{name}.Sanitize() }
