package factstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/postgres"
)

// CompaniesAfter returns the ids of companies, in their order, that come after one.
func (s *Store) CompaniesAfter(ctx context.Context, companyID string, limit int) ([]string, error) {
	list, err := postgres.Collect(ctx, s.db.Pool(), pgx.RowTo[string],
		`select company_id from company where company_id > $1 order by company_id limit $2`, companyID, limit)
	return list, postgres.Wrapf(err, "postgres: companies")
}
