package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Wrapf says in an error what was tried: format and args, before the error's own text. Nil stays nil.
func Wrapf(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
}

// Exec runs a statement that returns no rows. what says in an error what was tried.
func Exec(ctx context.Context, tx pgx.Tx, what, sql string, args pgx.NamedArgs) error {
	_, err := tx.Exec(ctx, sql, args)
	return Wrapf(err, "%s", what)
}

// Hit sends a statement that selects, changes or removes rows; where there are none, it returns pgx.ErrNoRows.
func Hit(ctx context.Context, q Querier, sql string, args ...any) error {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	rows.Close()
	if err = rows.Err(); err == nil && rows.CommandTag().RowsAffected() == 0 {
		err = pgx.ErrNoRows
	}
	return err
}
