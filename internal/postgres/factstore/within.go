package factstore

import (
	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/postgres/cases"
)

// Within returns a Tx that works within the caller's transaction, which may be read
// only.
func Within(tx pgx.Tx) *Tx { return &Tx{Tx: cases.In(tx), tx: tx} }
