package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/tributary-io/tributary/internal/background"
)

// A file of a transaction is one statement to goose, which would look for the end of a statement in each line, and send each by
// itself. What later files may have: rules_test.go.
//
//go:embed migrations/*.sql
var migrations embed.FS

// versionTable has the numbers of the migrations that the schema has. formerTable is its name in databases of before 0.1.0.
const (
	versionTable = "schema_migration"
	formerTable  = "goose_db_version"
)

// migrating is the advisory lock of migrations in a database. The number is arbitrary.
const migrating = 7_274_002

// Those that wait for the lock ask for it every second, for a day at most: a migration of a large table takes hours.
const (
	lockEvery  = 1 // seconds
	lockAsks   = 24 * 60 * 60
	unlockAsks = 10
)

// A migration waits for a lock for lockTimeout, since who comes after it waits as long. Then it is undone and tried again after
// lockPause, in which they go on, lockTries times at most: ten minutes or more. Each longEvery-th try waits for longTimeout: only to who
// waits for PostgreSQL's deadlock_timeout (1 s) does an autovacuum give way.
const (
	lockTimeout = 500 * time.Millisecond
	longTimeout = 1500 * time.Millisecond
	longEvery   = 10
	lockPause   = time.Second
	lockTries   = 400
)

// timeoutOf is how long the n-th try (from 1 on) waits for a lock.
func timeoutOf(n int) time.Duration {
	if n%longEvery == 0 {
		return longTimeout
	}
	return lockTimeout
}

// ErrHeld is that a table was in use for so long that no migration came in between.
var ErrHeld = errors.New("other transactions hold what the migration changes, as long reports, backups or an autovacuum against " +
	"wraparound do: nothing of it is done; wait for them, or end them (pg_stat_activity has them), and run `tributary migrate` again")

// Migrate brings the schema up to date, under an advisory lock: where several do so at once, one does it, and the
// others wait for it. What writes meanwhile waits for less than two seconds (docs/adr/0040). Where the schema refuses this
// program, the error is ErrOldProgram; ErrFormer, ErrHeld: see there.
func Migrate(ctx context.Context, dsn string) error {
	return MigrateSchema(ctx, dsn, "")
}

// MigrateSchema does what Migrate does in one schema, which must exist and which nobody else migrates: it takes no lock. For an
// index that is made concurrently waits who has the lock, and the index for the snapshot in which a schema is made to verify.
func MigrateSchema(ctx context.Context, dsn, schema string) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return fmt.Errorf("postgres: migrations: %w", err)
	}
	return migrate(ctx, dsn, schema, files)
}

// migrate does what MigrateSchema does, with the migrations of a directory; schema "": what Migrate does.
func migrate(ctx context.Context, dsn, schema string, files fs.FS) error {
	var options []Option
	if schema != "" {
		options = append(options, WithSchema(schema))
	}
	db, err := Open(ctx, dsn, options...)
	if err != nil {
		return err
	}
	defer db.Close()
	state, err := db.Schema(ctx)
	if err == nil {
		err = state.Refusal()
	}
	if err != nil {
		return err
	}
	if state.Version == 0 {
		files = inEmpty{files}
	}
	for n := range lockTries {
		if err = up(ctx, dsn, schema, files, timeoutOf(n+1)); !isHeld(err) {
			return err
		}
		if !background.Sleep(ctx, lockPause) {
			return ctx.Err()
		}
	}
	return fmt.Errorf("%w: %w", ErrHeld, err)
}

// isHeld reports whether a statement got no lock in time.
func isHeld(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "55P03" // lock_not_available
}

// up applies the migrations that the schema has not got, on a connection of its own: one that failed may have settings of a
// migration.
func up(ctx context.Context, dsn, schema string, files fs.FS, timeout time.Duration) error {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return fmt.Errorf("postgres: connection string: %w", err)
	}
	if schema != "" {
		seeOnly(config, schema)
	}
	config.RuntimeParams["lock_timeout"] = strconv.FormatInt(timeout.Milliseconds(), 10)
	db := stdlib.OpenDB(*config)
	defer db.Close()
	options := []goose.ProviderOption{goose.WithTableName(versionTable)}
	if schema == "" {
		locker, err := lock.NewPostgresSessionLocker(lock.WithLockID(migrating),
			lock.WithLockTimeout(lockEvery, lockAsks), lock.WithUnlockTimeout(lockEvery, unlockAsks))
		if err != nil {
			return fmt.Errorf("postgres: migrations: %w", err)
		}
		options = append(options, goose.WithSessionLocker(locker))
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files, options...)
	if err != nil {
		return fmt.Errorf("postgres: migrations: %w", err)
	}
	_, err = provider.Up(ctx)
	return Wrapf(err, "postgres: migrate")
}

// inEmpty are migrations for a schema that has no tables yet. Their indexes are not made concurrently: that waits for every
// transaction of the database that began before, and so for ever for the one that a replay reads in (internal/postgres/replay).
type inEmpty struct{ fs.FS }

// Open implements fs.FS.
func (e inEmpty) Open(name string) (fs.File, error) {
	file, err := e.FS.Open(name)
	if err != nil || path.Ext(name) != ".sql" {
		return file, err
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return changedFile{file, strings.NewReader(strings.ReplaceAll(string(text), " concurrently", ""))}, nil
}

// changedFile is a file with another text.
type changedFile struct {
	fs.File
	text io.Reader
}

// Read implements fs.File.
func (f changedFile) Read(p []byte) (int, error) { return f.text.Read(p) }
