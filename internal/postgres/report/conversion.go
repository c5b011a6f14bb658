package report

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/caseload"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/cases"
)

// Sold reads in one snapshot what networks may be told of an order, and lets read look at the facts there.
func (r *Reader) Sold(ctx context.Context, companyID, orderID string, read func(v caseload.View, o facts.Sold) error) error {
	err := r.snapshot(ctx, func(tx pgx.Tx) error {
		o := facts.Sold{Known: true}
		var body []byte
		err := tx.QueryRow(ctx, `
			select o.body, coalesce(p.state, ''), n.body,
				exists (select 1 from erased_order e where e.company_id = @company_id and e.order_id = @order_id),
				exists (select 1 from erasure e where e.company_id = @company_id and e.done_at is null
					and e.asked_at >= least(o.created_at, o.accepted_at))
			from orders o left join payout p on p.company_id = @company_id and p.order_id = o.order_id
				left join order_personal n on n.company_id = @company_id and n.order_id = o.order_id
			where o.company_id = @company_id and o.order_id = @order_id`, pgx.NamedArgs{"company_id": companyID, "order_id": orderID}).
			Scan(&body, &o.State, &o.Personal, &o.Erased, &o.Erasing)
		if errors.Is(err, pgx.ErrNoRows) {
			o, err = facts.Sold{}, nil
		}
		if err == nil && o.Known {
			o.Order, err = facts.UnpackOrder(body)
		}
		if err == nil { // by itself: the table is on Citus' coordinator alone
			err = tx.QueryRow(ctx, `select rules_rev from company where company_id = $1`, companyID).Scan(&o.RulesRev)
		}
		if err != nil {
			return err
		}
		return read(cases.In(tx), o)
	})
	return postgres.Wrapf(postgres.Translate(err), "postgres: order %.60q for a network", orderID)
}
