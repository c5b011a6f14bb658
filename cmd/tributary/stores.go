package main

import (
	"context"

	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	"github.com/tributary-io/tributary/internal/postgres/report"
)

// stores is what the admin API, the pages and the commands read and write.
type stores struct {
	*merchant.Store
	*report.Reader
	db *postgres.DB
}

// openStores opens the database; Close it when done.
func openStores(ctx context.Context, dsn string) (stores, error) {
	db, err := postgres.Open(ctx, dsn)
	if err != nil {
		return stores{}, err
	}
	return stores{merchant.New(db), report.New(db), db}, nil
}

// Close waits for connections in use and closes all.
func (s stores) Close() { s.db.Close() }
