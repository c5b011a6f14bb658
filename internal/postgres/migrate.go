package postgres

import (
	"context"
	"embed"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

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

// Migrate brings the schema up to date, under an advisory lock: where several do so at once, one does it, and the
// others wait for it. Where the schema refuses this program, the error is ErrOldProgram; ErrFormer: see there.
func Migrate(ctx context.Context, dsn string) error {
	return MigrateSchema(ctx, dsn, "")
}

// MigrateSchema does what Migrate does in one schema, which must exist; "": in the one
// that the connection string says.
func MigrateSchema(ctx context.Context, dsn, schema string) error {
	var options []Option
	if schema != "" {
		options = append(options, WithSchema(schema))
	}
	db, err := Open(ctx, dsn, options...)
	if err != nil {
		return err
	}
	defer db.Close()
	return withMigrations(dsn, schema, func(provider *goose.Provider) error {
		state, err := db.Schema(ctx)
		if err != nil {
			return err
		}
		if err := state.Refusal(); err != nil {
			return err
		}
		if _, err := provider.Up(ctx); err != nil {
			return fmt.Errorf("postgres: migrate: %w", err)
		}
		return nil
	})
}

func withMigrations(dsn, schema string, f func(provider *goose.Provider) error) error {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return fmt.Errorf("postgres: connection string: %w", err)
	}
	if schema != "" {
		seeOnly(config, schema)
	}
	db := stdlib.OpenDB(*config)
	defer db.Close()
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return fmt.Errorf("postgres: migrations: %w", err)
	}
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockID(migrating),
		lock.WithLockTimeout(lockEvery, lockAsks), lock.WithUnlockTimeout(lockEvery, unlockAsks))
	if err != nil {
		return fmt.Errorf("postgres: migrations: %w", err)
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files,
		goose.WithTableName(versionTable), goose.WithSessionLocker(locker))
	if err != nil {
		return fmt.Errorf("postgres: migrations: %w", err)
	}
	return f(provider)
}
