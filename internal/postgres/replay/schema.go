package replay

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/postgres"
)

// Schema is a fresh schema beside the live one, in the same database. DB sees this
// schema only.
type Schema struct {
	DB   *postgres.DB
	Name string
	live *postgres.DB
}

// prefix begins the name of every schema of a replay.
const prefix = "replay_"

// dropTimeout bounds the removal of a schema, which also runs after a stop.
const dropTimeout = time.Minute

// Create makes a schema of its own name, with all tables and no rows. dsn is the
// connection string of live. Where it fails, nothing is left. Remove the schema with
// Drop, or keep it with Close.
func Create(ctx context.Context, live *postgres.DB, dsn string, now time.Time, options ...postgres.Option) (s *Schema, err error) {
	s = &Schema{Name: prefix + now.UTC().Format("20060102_150405_") + randomName(), live: live}
	if _, err := live.Pool().Exec(ctx, "create schema "+pgx.Identifier{s.Name}.Sanitize()); err != nil {
		err = fmt.Errorf("postgres: create schema %s (the role needs CREATE on the database): %w", s.Name, postgres.Translate(err))
		if ctx.Err() != nil { // stopped: the server may have made it all the same
			err = errors.Join(err, s.Drop(ctx))
		}
		return nil, err
	}
	if s.DB, err = postgres.Open(ctx, dsn, append(options, postgres.WithSchema(s.Name))...); err == nil {
		err = s.DB.Ping(ctx) // first: a connection that sees another schema must not write
	}
	if err == nil {
		err = postgres.MigrateSchema(ctx, dsn, s.Name)
	}
	if err != nil {
		return nil, errors.Join(err, s.Drop(ctx))
	}
	return s, nil
}

// randomName returns some letters and digits, so that two runs of one second have two
// schemas.
func randomName() string {
	var b [3]byte
	_, _ = rand.Read(b[:]) // never fails
	return fmt.Sprintf("%x", b)
}

// Close closes the connections and keeps the schema.
func (s *Schema) Close() {
	if s.DB != nil {
		s.DB.Close()
	}
}

// Drop closes the connections and removes the schema with all that is in it, also
// where ctx has ended.
func (s *Schema) Drop(ctx context.Context) error {
	s.Close()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTimeout)
	defer cancel()
	_, err := s.live.Pool().Exec(ctx, "drop schema if exists "+pgx.Identifier{s.Name}.Sanitize()+" cascade")
	return postgres.Wrapf(postgres.Translate(err), "postgres: drop schema %s", s.Name)
}

// LeftOver returns the names of schemas that earlier replays have kept, or left because
// they were killed; at most 100.
func LeftOver(ctx context.Context, live *postgres.DB) ([]string, error) {
	names, err := postgres.Collect(ctx, live.Pool(), pgx.RowTo[string],
		`select nspname::text from pg_catalog.pg_namespace where starts_with(nspname, $1) order by nspname limit 100`, prefix)
	return names, postgres.Wrapf(postgres.Translate(err), "postgres: schemas of replays")
}
