package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// forServices are the functions that change the schema for services, with the rights of its owner.
var forServices = []string{"make_event_month(date)", "drop_event_month(date)"}

// ErrPrivileges is that a role may not do what a service does; the error that wraps it has the role and what it lacks.
var ErrPrivileges = errors.New("privileges are missing")

// Grant gives a role, which must exist, what services and commands need, and no right to change the schema: to read and write
// the rows of all tables, also of those that later migrations of this connection's role make. It may be called again.
func (db *DB) Grant(ctx context.Context, role string) error {
	var schema string
	var there bool
	err := db.pool.QueryRow(ctx, `select coalesce(current_schema(), ''), exists (select 1 from pg_roles where rolname = $1)`,
		role).Scan(&schema, &there)
	if err != nil {
		return fmt.Errorf("postgres: grant: %w", Translate(err))
	}
	if !there {
		return fmt.Errorf("there is no role %s in PostgreSQL: make it first: create role %s login", role, role)
	}
	to, in := " to "+pgx.Identifier{role}.Sanitize(), " in schema "+pgx.Identifier{schema}.Sanitize()
	return db.InTx(ctx, func(tx pgx.Tx) error {
		for _, statement := range []string{
			"grant usage on schema " + pgx.Identifier{schema}.Sanitize() + to,
			"grant select, insert, update, delete on all tables" + in + to,
			"revoke insert, update, delete on schema_migration, oldest_program from" + strings.TrimPrefix(to, " to"),
			"grant usage on all sequences" + in + to,
			"grant execute on function " + strings.Join(forServices, ", ") + to,
			"alter default privileges" + in + " grant select, insert, update, delete on tables" + to,
			"alter default privileges" + in + " grant usage on sequences" + to,
		} {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return fmt.Errorf("postgres: %s: %w", statement, err)
			}
		}
		return nil
	})
}

// shownPrivileges is how many missing privileges an error names.
const shownPrivileges = 3

// Privileges returns an error where the connection's role lacks something of what Grant gives. ErrPrivileges
// is in it then.
func (db *DB) Privileges(ctx context.Context) error {
	var missing []string
	var role string
	err := db.pool.QueryRow(ctx, `
		with ours as (select oid, relname, relkind from pg_class where relnamespace = current_schema()::regnamespace and not relispartition),
		missing (what) as (
			select p || ' on ' || relname from ours, unnest(array['select', 'insert', 'update', 'delete']) p
			where case when relkind in ('r', 'p') then not has_table_privilege(oid, p)
			and (p = 'select' or relname not in ('schema_migration', 'oldest_program')) end
			union all
			select 'usage on ' || relname from ours
			where case when relkind = 'S' then relname not like 'schema\_migration\_%' and not has_sequence_privilege(oid, 'usage') end
			union all
			select 'execute on ' || f from unnest($1::text[]) f where not has_function_privilege(f, 'execute')
		)
		select current_user, coalesce(array_agg(what order by what), '{}') from missing`, forServices).Scan(&role, &missing)
	if err != nil || len(missing) == 0 {
		return Translate(err)
	}
	shown := strings.Join(missing[:min(shownPrivileges, len(missing))], ", ")
	if more := len(missing) - shownPrivileges; more > 0 {
		shown += fmt.Sprintf(" and %d more", more)
	}
	return lacks(role, shown)
}

// lacks is ErrPrivileges with the role, what it lacks, and what mends it.
func lacks(role, what string) error {
	return fmt.Errorf("%w: the role %s lacks %s: run `tributary migrate --grant %s` as the tables' owner", ErrPrivileges, role, what, role)
}

// isDenied reports whether PostgreSQL refused a statement to the role.
func isDenied(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "42501" // insufficient_privilege
}
