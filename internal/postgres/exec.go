package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Exec runs a statement that returns no rows. what says in an error what was tried.
func Exec(ctx context.Context, tx pgx.Tx, what, sql string, args pgx.NamedArgs) error {
	if _, err := tx.Exec(ctx, sql, args); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
