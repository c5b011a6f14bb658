package merchant

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/postgres"
)

// Store reads and writes what merchants set up; safe for concurrent use.
type Store struct {
	db *postgres.DB
}

// New makes a store on a database.
func New(db *postgres.DB) *Store { return &Store{db: db} }

// insertAll runs an insert of want rows that ends in "on conflict … do nothing
// returning <id>". Fewer inserted rows mean that an id was there already, which
// is commerce.ErrConflict.
func insertAll(ctx context.Context, tx pgx.Tx, want int, sql string, args pgx.NamedArgs) error {
	ids, err := postgres.Collect(ctx, tx, pgx.RowTo[string], sql, args)
	if err != nil {
		return err
	}
	return allOf(ids, want)
}
