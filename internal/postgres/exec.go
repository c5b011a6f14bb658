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
