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

// storedSnapshot is one row of the table evidence_snapshot.
type storedSnapshot struct {
	orderID    string
	snapshotAt time.Time
	body       []byte
}

var snapshotRows = postgres.Rows[storedSnapshot]{
	postgres.Col("order_id", "text", func(s *storedSnapshot) string { return s.orderID }),
	postgres.Col("snapshot_at", "timestamptz", func(s *storedSnapshot) time.Time { return s.snapshotAt }),
	postgres.Col("body", "bytea", func(s *storedSnapshot) []byte { return s.body }),
}

var insertSnapshots = `
	insert into evidence_snapshot (company_id, order_id, snapshot_at, body)
	select @company_id, order_id, snapshot_at, body from ` + snapshotRows.Unnest("s") + `
	on conflict (company_id, order_id) do nothing`

// InsertSnapshots stores snapshots of orders that have none yet.
func (t *Tx) InsertSnapshots(ctx context.Context, companyID string, snapshots []facts.EvidenceSnapshot) error {
	rows := make([]storedSnapshot, len(snapshots))
	for i, s := range snapshots {
		text, err := json.Marshal(s.Path)
		if err != nil {
			return fmt.Errorf("snapshot of order %s: %w", s.OrderID, err)
		}
		body, err := explained.Pack(text)
		if err != nil {
			return fmt.Errorf("snapshot of order %s: %w", s.OrderID, err)
		}
		rows[i] = storedSnapshot{s.OrderID, s.SnapshotAt, body}
	}
	return snapshotRows.Exec(ctx, t.tx, "store snapshots of orders", insertSnapshots, rows, pgx.NamedArgs{"company_id": companyID})
}
