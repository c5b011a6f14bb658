package factstore

import (
	"context"

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
	return u, postgres.Wrapf(postgres.Translate(err), "postgres: what waits of %s", companyID)
}

// WaitingForExports returns a company's erasures of which exported files alone may still have the person.
func (s *Store) WaitingForExports(ctx context.Context, companyID string) (w facts.Waiting, err error) {
	err = s.db.Pool().QueryRow(ctx, `
		select count(*), min(e.asked_at) from erasure e where e.company_id = @company_id and e.done_at is not null and e.erasure_id in (
			select x.erasure_id from erasure_export x where x.company_id = @company_id)`, pgx.NamedArgs{"company_id": companyID}).
		Scan(&w.Count, postgres.ZeroIfNull(&w.Since))
	return w, postgres.Wrapf(postgres.Translate(err), "postgres: erasures of %s that wait for exports", companyID)
}
