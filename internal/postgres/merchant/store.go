package merchant

import "github.com/tributary-io/tributary/internal/postgres"

// Store reads and writes what merchants say; safe for concurrent use.
type Store struct {
	db *postgres.DB
}

// New makes a store on a database.
func New(db *postgres.DB) *Store { return &Store{db: db} }
