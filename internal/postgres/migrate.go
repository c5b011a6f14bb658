package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/tributary-io/tributary/internal/postgres/moves"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrating is the advisory lock of migrations in a database. The number is arbitrary.
const migrating = 7_274_002

// Those that wait for the lock ask for it every second, for a day at most: a migration that moves rows takes hours.
const (
	lockEvery  = 1 // seconds
	lockAsks   = 24 * 60 * 60
	unlockAsks = 10
)

// Migrate brings the schema up to date, under an advisory lock: where several do so at once, one does it, and the
// others wait for it. Where the schema refuses this program, the error is ErrOldProgram.
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
		if err := state.Problem(); errors.Is(err, ErrOldProgram) {
			return err
		}
		if _, err := provider.Up(ctx); err != nil {
			return fmt.Errorf("postgres: migrate: %w", err)
		}
		return nil
	})
}

// MigrateBack takes the schema of a database back to a version that it had, with what it
// stores.
func MigrateBack(ctx context.Context, dsn string, version int64) error {
	return withMigrations(dsn, "", func(provider *goose.Provider) error {
		if _, err := provider.DownTo(ctx, version); err != nil {
			return fmt.Errorf("postgres: migrate back: %w", err)
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
		goose.WithGoMigrations(moves.Migrations()...), goose.WithSessionLocker(locker))
	if err != nil {
		return fmt.Errorf("postgres: migrations: %w", err)
	}
	return f(provider)
}
