package postgres_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/replay"
	"github.com/tributary-io/tributary/test/devtest"
)

// withFile are the migrations and one after them.
func withFile(t *testing.T, text string) fs.FS {
	t.Helper()
	files := fstest.MapFS{"9001_next.sql": {Data: []byte(text)}}
	dir := os.DirFS("migrations")
	names, err := fs.Glob(dir, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := fs.ReadFile(dir, name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: data}
	}
	return files
}

const (
	aColumn = "-- +goose Up\n-- +goose StatementBegin\nalter table orders add column later int;\n-- +goose StatementEnd\n"
	anIndex = "-- +goose NO TRANSACTION\n-- +goose Up\nset lock_timeout = 0;\ndrop index concurrently if exists later;\n" +
		"create index concurrently later on orders (company_id, total_minor);\nreset lock_timeout;\n"
)

// What waits for a lock makes all others wait that come after it. So a report that reads a table for long would stop the processor
// once a migration wants to change the table.
func TestAMigrationThatWaitsForAReaderStopsNoWriter(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"a column": aColumn, "an index": anIndex} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := devtest.Postgres(t)
			reader, writer := connect(t, dsn), connect(t, dsn)
			reading, err := reader.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := reading.Exec(t.Context(), `set transaction isolation level repeatable read; select from orders limit 1`); err != nil {
				t.Fatal(err)
			}
			migrated := make(chan error, 1)
			go func() { migrated <- postgres.MigrateFiles(t.Context(), dsn, "", withFile(t, text)) }()
			if _, err := writer.Exec(t.Context(), `set lock_timeout = '2s'`); err != nil {
				t.Fatal(err)
			}
			for end := time.Now().Add(4 * time.Second); time.Now().Before(end); {
				write(t, writer)
				background.Sleep(t.Context(), time.Millisecond)
			}
			select {
			case err := <-migrated:
				t.Fatal("the migration did not wait for the reader: nothing was tried:", err)
			default:
			}
			if err := reading.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := <-migrated; err != nil {
				t.Fatal(err)
			}
			if n := count(t, writer, `
				select (select count(*) from pg_attribute where attrelid = 'orders'::regclass and attname = 'later')
				+ (select count(*) from pg_index where indexrelid = to_regclass('later') and indisvalid)`); n != 1 {
				t.Error("the migration is not done")
			}
		})
	}
}

// write changes a table's rows, of which there are none. PostgreSQL ends it where it waits for a lock for longer than conn allows.
func write(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), `update orders set total_minor = 1 where company_id = 'c_none'`); err != nil {
		t.Fatal("a writer waits:", err)
	}
}

// An autovacuum gives way to who waits for deadlock_timeout.
func TestSomeTriesWaitUntilAnAutovacuumGivesWay(t *testing.T) {
	t.Parallel()
	milliseconds := count(t, connect(t, devtest.Postgres(t)), `select setting::int from pg_settings where name = 'deadlock_timeout'`)
	long := 0
	for n := range postgres.LockTries {
		switch timeout := postgres.LockTimeout(n + 1); {
		case timeout > time.Duration(milliseconds)*time.Millisecond && timeout < 2*time.Second:
			long++
		case timeout > time.Second/2:
			t.Errorf("try %d: %v", n+1, timeout)
		}
	}
	if long < 20 || long > postgres.LockTries/10 {
		t.Errorf("%d of %d tries wait for so long", long, postgres.LockTries)
	}
}

func count(t *testing.T, conn *pgx.Conn, query string) (n int) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// An index that is made concurrently and whose making was cut off is there, and no statement uses it. The next run makes it anew.
func TestAnIndexThatWasCutOffIsMadeAnew(t *testing.T) {
	t.Parallel()
	dsn := devtest.Postgres(t)
	conn := connect(t, dsn)
	if _, err := conn.Exec(t.Context(), `
		insert into orders (created_at, processed_at, total_minor, day, status, company_id, order_id, currency, body)
		select now(), now(), 1, now(), 0, 'c_1', n::text, 'BRL', '' from generate_series(1, 10) n`); err != nil {
		t.Fatal(err)
	}
	reader := connect(t, dsn)
	reading, err := reader.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reading.Exec(t.Context(), `update orders set total_minor = 2 where order_id = '1'`); err != nil {
		t.Fatal(err)
	}
	cut := make(chan error, 1)
	go func() { cut <- postgres.MigrateFiles(t.Context(), dsn, "", withFile(t, anIndex)) }()
	const invalid = `select count(*) from pg_index where indexrelid = to_regclass('later') and not indisvalid`
	for end := time.Now().Add(30 * time.Second); count(t, conn, invalid) == 0; {
		if time.Now().After(end) {
			t.Fatal("no index is begun")
		}
		background.Sleep(t.Context(), 10*time.Millisecond)
	}
	if count(t, conn, `select count(pg_terminate_backend(pid, 5000)) from pg_stat_activity
		where datname = current_database() and query like 'create index concurrently later%'`) != 1 {
		t.Fatal("nobody makes the index")
	}
	if err := <-cut; err == nil {
		t.Fatal("it was not cut off")
	}
	if err := reading.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if count(t, conn, invalid) != 1 {
		t.Fatal("the index that was cut off is gone: nothing is tried")
	}
	if err := postgres.MigrateFiles(t.Context(), dsn, "", withFile(t, anIndex)); err != nil {
		t.Fatal(err)
	}
	if count(t, conn, `select count(*) from pg_index where indexrelid = to_regclass('later') and indisvalid`) != 1 {
		t.Error("the index is not valid")
	}
}

// `tributary verify` makes a schema while it reads the live one in a transaction. An index that is made concurrently would wait for
// that transaction for ever, and so would who waits for a migration that makes one.
func TestASchemaIsMadeBesideAnOpenTransaction(t *testing.T) {
	t.Parallel()
	dsn := devtest.Postgres(t)
	db, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	conn := connect(t, dsn)
	if _, err := conn.Exec(t.Context(), `create schema beside; create table orders_beside ()`); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	migrated := make(chan error, 1)
	err = replay.InSnapshot(ctx, db, func(*replay.Snapshot) error {
		go func() { migrated <- postgres.MigrateFiles(ctx, dsn, "", withFile(t, anIndex)) }()
		for waiting := false; !waiting; background.Sleep(ctx, 10*time.Millisecond) {
			if err := conn.QueryRow(ctx, `select exists (select from pg_stat_activity where datname = current_database()
				and wait_event_type = 'Lock' and query like 'create index concurrently later%')`).Scan(&waiting); err != nil {
				return fmt.Errorf("no migration waits for the snapshot: nothing is tried: %w", err)
			}
		}
		return postgres.MigrateFiles(ctx, dsn, "beside", withFile(t, anIndex))
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-migrated; err != nil {
		t.Fatal(err)
	}
	for _, index := range []string{"beside.later", "public.later"} {
		if count(t, conn, `select count(*) from pg_index where indexrelid = to_regclass('`+index+`') and indisvalid`) != 1 {
			t.Error("no index", index)
		}
	}
}
