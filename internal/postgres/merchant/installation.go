package merchant

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/postgres"
)

// InstallationID is the id that was made once with the database.
func (s *Store) InstallationID(ctx context.Context) (id string, err error) {
	return installationID(ctx, s.db.Pool())
}

func installationID(ctx context.Context, q postgres.Querier) (id string, err error) {
	if id, err = postgres.One(ctx, q, pgx.RowTo[string], `select installation_id from installation`); err != nil {
		return "", fmt.Errorf("postgres: the installation's id: %w", postgres.Translate(err))
	}
	return id, nil
}

// KnowsCompany reports whether the database has one of the companies.
func (s *Store) KnowsCompany(ctx context.Context, ids []string) (known bool, err error) {
	err = s.db.Pool().QueryRow(ctx, `select exists (select 1 from company where company_id = any($1))`, ids).Scan(&known)
	if err != nil {
		return false, fmt.Errorf("postgres: companies: %w", postgres.Translate(err))
	}
	return known, nil
}
