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

// unpaidRow is one row of the audit log about an order that earns nothing any more.
type unpaidRow struct {
	*facts.UnpaidOrder
	id, action, detail string
}

var unpaidRows = postgres.Rows[unpaidRow]{
	postgres.Col("audit_id", "uuid", func(r *unpaidRow) string { return r.id }),
	postgres.Col("actor", "text", func(r *unpaidRow) string { return r.Actor }),
	postgres.Col("action", "text", func(r *unpaidRow) string { return r.action }),
	postgres.Col("subject", "text", func(r *unpaidRow) string { return r.OrderID }),
	postgres.Col("detail", "text", func(r *unpaidRow) string { return r.detail }),
}

// unpaidActions are the audit log's actions, by why an order earns nothing any more.
var unpaidActions = map[facts.Reason]string{facts.ReasonTest: "order.test", facts.ReasonPaidByHand: "order.paid_by_hand"}

var auditUnpaid = `
	insert into audit_log (company_id, audit_id, at, actor, action, subject, detail)
	select @company_id, audit_id, @now::timestamptz, actor, action, subject, detail::jsonb from ` + unpaidRows.Unnest("t") + `
	on conflict (company_id, audit_id) do nothing`

// AuditUnpaid writes to the audit log what was taken back of orders that earn nothing any more.
func (t *Tx) AuditUnpaid(ctx context.Context, companyID string, now time.Time, orders []facts.UnpaidOrder) error {
	rows := make([]unpaidRow, len(orders))
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
		rows[i] = unpaidRow{o, id.String(), unpaidActions[o.Reason], string(detail)}
	}
	return unpaidRows.Exec(ctx, t.tx, "audit unpaid orders", auditUnpaid, rows, map[string]any{"company_id": companyID, "now": now})
}
