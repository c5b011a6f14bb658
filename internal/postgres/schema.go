package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// The ways in which a schema and this program do not fit together.
var (
	ErrFormer = errors.New("this database was made by a version before 0.1.0, which is not carried over: " +
		"make a new database (`create database NAME`), give it as --postgres, and run `tributary migrate`")
	ErrOldSchema  = errors.New("PostgreSQL's schema is older than this program: run `tributary migrate`")
	ErrOldProgram = errors.New("this program is too old for PostgreSQL's schema")
)

// SchemaState is what a database says of its schema, beside what this program knows. A version is a migration's number.
type SchemaState struct {
	Migrations []Migration // in their order; those of newer programs too
	Former     bool        // it is of a version before 0.1.0
	Version    int64       // of the newest migration that the schema has; 0: none
	Known      int64       // of the newest migration that this program has
	Oldest     int64       // a program that knows no migration of at least this version must not use the schema; 0: it names none
}

// Migration is one change of the schema.
type Migration struct {
	Version int64
	Name    string // of its file, without the number; "" where this program does not know it
	Applied bool
}

// Problem is nil where this program may use the schema; ErrOldSchema, or a refusal.
func (s SchemaState) Problem() error {
	if err := s.Refusal(); err != nil {
		return err
	}
	if len(s.Pending()) > 0 {
		return ErrOldSchema
	}
	return nil
}

// Refusal is nil where this program may migrate the schema; ErrFormer, or an error that is ErrOldProgram and has both versions.
func (s SchemaState) Refusal() error {
	switch {
	case s.Former:
		return ErrFormer
	case s.Oldest > s.Known:
		return fmt.Errorf("%w: the schema is of version %d and takes programs of version %d and later, and this one is of %d: start the "+
			"newer program",
			ErrOldProgram, s.Version, s.Oldest, s.Known)
	}
	return nil
}

// Pending are the migrations that the schema has not got.
func (s SchemaState) Pending() (pending []Migration) {
	for _, m := range s.Migrations {
		if !m.Applied {
			pending = append(pending, m)
		}
	}
	return pending
}

// known are this program's migrations: their names, by version.
func known() map[int64]string {
	names := map[int64]string{}
	files, _ := migrations.ReadDir("migrations") // embedded: it is there
	for _, f := range files {
		number, name, _ := strings.Cut(strings.TrimSuffix(f.Name(), ".sql"), "_")
		if version, err := strconv.ParseInt(number, 10, 64); err == nil {
			names[version] = name
		}
	}
	return names
}

// Schema asks the database for its schema, and changes nothing. ErrPrivileges is in the error where the role may not read it.
func (db *DB) Schema(ctx context.Context) (s SchemaState, err error) {
	names := known()
	has := func(table string) (bool, error) {
		found, err := Collect(ctx, db.pool, pgx.RowTo[bool], `select to_regclass($1) is not null`, table)
		return err == nil && found[0], err
	}
	applied := map[int64]bool{}
	migrated, err := has(versionTable)
	if err == nil && migrated {
		var versions []int64
		versions, err = Collect(ctx, db.pool, pgx.RowTo[int64],
			`select distinct version_id from schema_migration where is_applied and version_id > 0`)
		for _, version := range versions {
			applied[version] = true
		}
	}
	if err == nil && !migrated {
		s.Former, err = has(formerTable)
	}
	says := false
	if err == nil {
		says, err = has("oldest_program")
	}
	if err == nil && says {
		var oldest []int64
		oldest, err = Collect(ctx, db.pool, pgx.RowTo[int64], `select schema_version from oldest_program`)
		s.Oldest = slices.Max(append(oldest, 0))
	}
	if isDenied(err) {
		return SchemaState{}, lacks(db.pool.Config().ConnConfig.User, "select on schema_migration or oldest_program")
	}
	if err != nil {
		return SchemaState{}, Translate(fmt.Errorf("postgres: schema: %w", err))
	}
	all := maps.Clone(names)
	for version := range applied {
		all[version] = names[version]
		s.Version = max(s.Version, version)
	}
	for _, version := range slices.Sorted(maps.Keys(all)) {
		if names[version] != "" {
			s.Known = version
		}
		s.Migrations = append(s.Migrations, Migration{Version: version, Name: all[version], Applied: applied[version]})
	}
	return s, nil
}
