package postgres

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Column is one column of rows that are an argument of a statement: its name,
// its SQL type, and its value in a row, all in one place.
type Column[T any] struct {
	name, sqlType string
	array         func(rows []T) any
}

// Col makes a column. sqlType is the type of one value, such as "timestamptz".
func Col[T, V any](name, sqlType string, value func(row *T) V) Column[T] {
	return Column[T]{name, sqlType, func(rows []T) any {
		values := make([]V, len(rows))
		for i := range rows {
			values[i] = value(&rows[i])
		}
		return values
	}}
}

// Rows describes rows as an argument: each column travels as one array, named
// as the column is.
type Rows[T any] []Column[T]

// Unnest is the rows as a table of the given alias, for a FROM clause.
func (r Rows[T]) Unnest(alias string) string {
	arrays, names := make([]string, len(r)), make([]string, len(r))
	for i, c := range r {
		arrays[i], names[i] = "@"+c.name+"::"+c.sqlType+"[]", c.name
	}
	return "unnest(" + strings.Join(arrays, ", ") + ") as " + alias + " (" + strings.Join(names, ", ") + ")"
}

// Args adds the rows' arrays to a statement's other arguments.
func (r Rows[T]) Args(rows []T, others pgx.NamedArgs) pgx.NamedArgs {
	args := make(pgx.NamedArgs, len(r)+len(others))
	for name, value := range others {
		args[name] = value
	}
	for _, c := range r {
		if _, taken := args[c.name]; taken {
			panic("postgres: two arguments are called " + c.name)
		}
		args[c.name] = c.array(rows)
	}
	return args
}

// Exec is Exec of a statement about rows, with their arrays among its arguments. Without rows nothing is sent.
func (r Rows[T]) Exec(ctx context.Context, tx pgx.Tx, what, sql string, rows []T, others pgx.NamedArgs) error {
	if len(rows) == 0 {
		return nil
	}
	return Exec(ctx, tx, what, sql, r.Args(rows, others))
}
