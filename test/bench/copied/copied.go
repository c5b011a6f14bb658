// Package copied measures what a processor left in a database, and how the same rows
// get into the same tables by COPY. test/bench/processor is made of it.
//
// What may enter: statements that measure. The product sends none of them.
package copied

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"
)

// Database is a connection that measures one database. Close it when done.
type Database struct {
	conn *pgx.Conn
	name string
}

// Open connects to a database.
func Open(ctx context.Context, dsn string) (*Database, error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return nil, err
	}
	return &Database{conn, conn.Config().Database}, nil
}

// Close ends the connection.
func (d *Database) Close(ctx context.Context) error { return d.conn.Close(ctx) }

// Progress is how far a processor is.
type Progress struct {
	Records int64 // applied, of both topics
	Queued  int64 // orders that wait to be computed
}

// Progress reads how far the processor is.
func (d *Database) Progress(ctx context.Context) (p Progress, err error) {
	return p, d.conn.QueryRow(ctx,
		`select (select coalesce(sum(next), 0)::bigint from consumer_offset), (select count(*) from recompute) + (select count(*) from `+
			`recompute_span)`).Scan(&p.Records, &p.Queued)
}

// Attributed counts orders with an influencer who is paid for them, and the touches
// among which the model linear divides all orders.
func (d *Database) Attributed(ctx context.Context) (orders, touches int, err error) {
	return orders, touches, d.conn.QueryRow(ctx, `
		select (select count(*) from payout where influencer_id is not null),
		(select count(*) from credit where linear_minor is not null and position > 0)`).Scan(&orders, &touches)
}

// Checkpoint writes all that is in memory to disk, so that what is measured next does
// not pay for what was before.
func (d *Database) Checkpoint(ctx context.Context) error {
	_, err := d.conn.Exec(ctx, "checkpoint")
	return err
}

// Empty lists the tables without rows. A partitioned table counts as one.
func (d *Database) Empty(ctx context.Context) (tables []string, err error) {
	rows, err := d.conn.Query(ctx, `
		select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
		order by relname`)
	if err != nil {
		return nil, err
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	for _, table := range all {
		var filled bool
		if err := d.conn.QueryRow(ctx, "select exists (select 1 from "+quote(table)+")").Scan(&filled); err != nil {
			return nil, err
		}
		if !filled {
			tables = append(tables, table)
		}
	}
	return tables, nil
}

func quote(table string) string { return pgx.Identifier{table}.Sanitize() }

// Sizes are tables' bytes on disk, with their indexes, TOAST and partitions, by
// table. A partitioned table itself has none.
func (d *Database) Sizes(ctx context.Context, tables []string) (map[string]int64, error) {
	sizes := map[string]int64{}
	for _, table := range tables {
		var bytes int64
		if err := d.conn.QueryRow(ctx, `
			select pg_total_relation_size($1::text::regclass)
				+ coalesce((select sum(pg_total_relation_size(relid)) from pg_partition_tree($1::text::regclass) where isleaf), 0)::bigint`,
			quote(table)).Scan(&bytes); err != nil {
			return nil, err
		}
		sizes[table] = bytes
	}
	return sizes, nil
}

// Save writes each table's rows to a file of its own in dir, as COPY's binary format.
func (d *Database) Save(ctx context.Context, dir string, tables []string) error {
	for _, table := range tables {
		if err := d.save(ctx, filepath.Join(dir, table), table); err != nil {
			return fmt.Errorf("save %s: %w", table, err)
		}
	}
	return nil
}

func (d *Database) save(ctx context.Context, path, table string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := d.conn.PgConn().CopyTo(ctx, file, "copy (select * from "+quote(table)+") to stdout (format binary)"); err != nil {
		return err
	}
	return file.Close()
}

// Clone makes a database that is the same but for the rows of the tables, which are
// empty in it, and connects to it. server is a connection to another database; nobody
// may be connected to the one that is cloned.
func Clone(ctx context.Context, server *Database, of, name, dsn string, tables []string) (*Database, error) {
	if _, err := server.conn.Exec(ctx, "create database "+quote(name)+" template "+quote(of)); err != nil {
		return nil, err
	}
	clone, err := Open(ctx, dsn)
	if err != nil {
		return nil, err
	}
	if len(tables) == 0 {
		return clone, nil
	}
	if err := clone.Truncate(ctx, tables...); err != nil {
		_ = clone.Close(ctx)
		return nil, err
	}
	return clone, nil
}

// Load copies what Save wrote into the tables, one after the other.
func (d *Database) Load(ctx context.Context, dir string, tables []string) error {
	for _, table := range tables {
		if err := d.load(ctx, filepath.Join(dir, table), table); err != nil {
			return fmt.Errorf("load %s: %w", table, err)
		}
	}
	return nil
}

func (d *Database) load(ctx context.Context, path, table string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = d.conn.PgConn().CopyFrom(ctx, file, "copy "+quote(table)+" from stdin (format binary)")
	return err
}

// CountStatements begins to count statements of the whole server anew. It needs
// shared_preload_libraries = pg_stat_statements.
func (d *Database) CountStatements(ctx context.Context) error {
	_, err := d.conn.Exec(ctx, "create extension if not exists pg_stat_statements; select pg_stat_statements_reset()")
	return err
}

// Statement is what one kind of statement cost.
type Statement struct {
	Text    string
	Calls   int64
	Rows    int64
	Exec    float64 // milliseconds
	Plan    float64 // milliseconds; needs pg_stat_statements.track_planning
	WAL     int64   // bytes
	Touched int64   // pages of 8 KiB, in memory or read
}

// Statements lists the dearest statements of a database since CountStatements.
func (d *Database) Statements(ctx context.Context, database string, most int) ([]Statement, error) {
	rows, err := d.conn.Query(ctx, `
		select regexp_replace(s.query, '\s+', ' ', 'g'), s.calls, s.rows, s.total_exec_time, s.total_plan_time, s.wal_bytes::bigint,
		s.shared_blks_hit + s.shared_blks_read
		from pg_stat_statements s join pg_database b on b.oid = s.dbid and b.datname = $1
		order by s.total_exec_time + s.total_plan_time desc limit $2`, database, most)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Statement])
}

// IndexUse is how often an index was read, and its bytes.
type IndexUse struct {
	Name  string
	Scans int64
	Bytes int64
}

// Indexes lists how often each index of the tables was read, with its bytes; the
// indexes of a table's partitions are counted together.
func (d *Database) Indexes(ctx context.Context) ([]IndexUse, error) {
	rows, err := d.conn.Query(ctx, `
		select coalesce(p.relname, c.relname)::text as name, sum(s.idx_scan)::bigint, sum(pg_relation_size(s.indexrelid))::bigint as bytes
		from pg_stat_user_indexes s join pg_class c on c.oid = s.indexrelid
		left join pg_inherits i on i.inhrelid = c.oid left join pg_class p on p.oid = i.inhparent
		group by 1 having sum(pg_relation_size(s.indexrelid)) > 65536 order by bytes desc`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[IndexUse])
}
