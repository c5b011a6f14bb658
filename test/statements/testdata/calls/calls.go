// Package calls has every way of sending a statement that the check knows.
package calls

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const where = ` where company_id = $1`

// The check knows constants, also where they are put together.
func constant(ctx context.Context, tx pgx.Tx) error {
	_, _ = tx.Exec(ctx, `delete from a`+where)
	tag, err := tx.Exec(ctx,
		`delete from b`+where)
	_ = tag
	return err
}

var columns = []string{"x"}[0]

func queued(ctx context.Context, tx pgx.Tx) error {
	batch := &pgx.Batch{}
	batch.Queue(`delete from c`)
	_ = tx.QueryRow(ctx, `select `+columns+` from d`).Scan()
	return tx.SendBatch(ctx, batch).Close()
}

func ended(ctx context.Context, tx pgx.Tx, condition string) error {
	_, err := tx.Exec(ctx, `delete from e where `+condition)
	return err
}
func callers(ctx context.Context, tx pgx.Tx) error {
	return errors.Join(ended(ctx, tx, "x"),
		ended(ctx, tx, "y"))
}

func local(ctx context.Context, tx pgx.Tx, all bool) error {
	sql := `delete from f`
	if !all {
		sql += where
	}
	f := func(sql string) error {
		_, err := tx.Exec(ctx, sql)
		return err
	}
	return errors.Join(f(sql), tx.QueryRow(ctx, sql).Scan())
}

// Errors are told by their code.
func named(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "23505" &&
		pg.ConstraintName == "x"
}
