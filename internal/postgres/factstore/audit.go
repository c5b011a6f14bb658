package factstore

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
)

// testRow is one row of the audit log about an order that became a test.
type testRow struct {
	*facts.TestOrder
	id, detail string
}

var testRows = postgres.Rows[testRow]{
	postgres.Col("audit_id", "uuid", func(r *testRow) string { return r.id }),
	postgres.Col("actor", "text", func(r *testRow) string { return r.Actor }),
	postgres.Col("subject", "text", func(r *testRow) string { return r.OrderID }),
	postgres.Col("detail", "text", func(r *testRow) string { return r.detail }),
}

var auditTests = `
	insert into audit_log (company_id, audit_id, at, actor, action, subject, detail)
	select @company_id, audit_id, @now::timestamptz, actor, 'order.test', subject, detail::jsonb from ` + testRows.Unnest("t") + `
	on conflict (company_id, audit_id) do nothing`

// AuditTests writes to the audit log what was taken back of orders that became tests.
func (t *Tx) AuditTests(ctx context.Context, companyID string, now time.Time, orders []facts.TestOrder) error {
	rows := make([]testRow, len(orders))
	for i := range orders {
		o := &orders[i]
		id, err := uuid.NewV7()
		if err != nil {
			return fmt.Errorf("audit id: %w", err)
		}
		var taken []string
		for _, a := range o.Taken {
			taken = append(taken, a.String())
		}
		detail, err := json.Marshal(map[string]string{"influencer_id": o.InfluencerID, "taken_back": strings.Join(taken, ", ")})
		if err != nil {
			return fmt.Errorf("audit detail: %w", err)
		}
		rows[i] = testRow{o, id.String(), string(detail)}
	}
	return t.exec(ctx, "audit tests", auditTests, testRows.Args(rows, map[string]any{"company_id": companyID, "now": now}))
}
