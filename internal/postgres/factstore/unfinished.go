package factstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
)

// Unfinished returns what a company's merchant has asked for, and that is not done.
func (s *Store) Unfinished(ctx context.Context, companyID string) (u facts.Unfinished, err error) {
	args := pgx.NamedArgs{"company_id": companyID}
	if err = s.db.Pool().QueryRow(ctx, `select count(*), min(asked_at) from erasure where company_id = @company_id and done_at is null`, args).
		Scan(&u.Erasures.Count, postgres.ZeroIfNull(&u.Erasures.Since)); err == nil {
		err = s.db.Pool().QueryRow(ctx,
			`select count(*), min(asked_at) from statement where company_id = @company_id and closed_at is null`, args).
			Scan(&u.Statements.Count, postgres.ZeroIfNull(&u.Statements.Since))
	}
	if err != nil {
		return u, fmt.Errorf("postgres: what waits of %s: %w", companyID, postgres.Translate(err))
	}
	return u, nil
}
