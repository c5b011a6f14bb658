package factstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/explained"
)

// packedSeal is one row of the table seal.
type packedSeal struct {
	orderID  string
	sealedAt time.Time
	body     []byte
}

var sealRows = postgres.Rows[packedSeal]{
	postgres.Col("order_id", "text", func(s *packedSeal) string { return s.orderID }),
	postgres.Col("sealed_at", "timestamptz", func(s *packedSeal) time.Time { return s.sealedAt }),
	postgres.Col("body", "bytea", func(s *packedSeal) []byte { return s.body }),
}

var insertSeals = `
	insert into seal (company_id, order_id, sealed_at, body)
	select @company_id, order_id, sealed_at, body from ` + sealRows.Unnest("s") + `
	on conflict (company_id, order_id) do nothing`

// InsertSeals stores seals of orders that have none yet.
func (t *Tx) InsertSeals(ctx context.Context, companyID string, seals []facts.Seal) error {
	if len(seals) == 0 {
		return nil
	}
	rows := make([]packedSeal, len(seals))
	for i, s := range seals {
		text, err := json.Marshal(s.Path)
		if err != nil {
			return fmt.Errorf("seal of order %s: %w", s.OrderID, err)
		}
		body, err := explained.Pack(text)
		if err != nil {
			return fmt.Errorf("seal of order %s: %w", s.OrderID, err)
		}
		rows[i] = packedSeal{s.OrderID, s.SealedAt, body}
	}
	return t.exec(ctx, "store seals of orders", insertSeals, sealRows.Args(rows, pgx.NamedArgs{"company_id": companyID}))
}
