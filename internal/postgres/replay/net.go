package replay

import (
	"context"
	"fmt"

	"github.com/tributary-io/tributary/internal/ledger"
	"github.com/tributary-io/tributary/internal/postgres"
)

// netAmounts has a payout without an amount too: its state is an outcome. The orders are
// in the order of their bytes, as ledger.Compare wants them.
const netAmounts = `
	select order_id, kind, of, touch, influencer_id, currency, amount from (
		select c.order_id, 'credit' as kind, m.model as of, c.position::text as touch,
			coalesce(c.influencer_id::text, '') as influencer_id, c.currency, m.amount::text as amount
		from credit c cross join lateral (values ('first', c.first_minor), ('last', c.last_minor), ('last_non_direct', c.last_non_direct_minor),
			('linear', c.linear_minor), ('position', c.position_minor), ('time_decay', c.time_decay_minor)) as m (model, amount)
		where c.company_id = $1 and m.amount is not null
		union all
		select order_id, 'ledger', cost_id || ' ' || payable_on, '', influencer_id::text, currency, sum(amount_minor)::text
		from ledger_entry where company_id = $1 group by order_id, influencer_id, cost_id, payable_on, currency
		having sum(amount_minor) <> 0 or bool_or(kind = 'product')
		union all
		select p.order_id, 'payout', p.state, '', coalesce(p.influencer_id::text, ''), coalesce(o.currency, ''), p.commission_minor::text
		from payout p left join orders o on o.company_id = p.company_id and o.order_id = p.order_id where p.company_id = $1
		union all
		select order_id, 'payout', state, '', coalesce(influencer_id::text, ''), 'BRL', fixed_brl_minor::text
		from payout where company_id = $1 and fixed_brl_minor <> 0) n
	order by order_id collate "C"`

// Nets returns the net amounts of the live schema.
func (s *Snapshot) Nets(ctx context.Context) ledger.Nets { return nets(ctx, s.tx, s.Companies) }

// Nets returns the net amounts of the fresh schema, of companies that are ordered by id.
func (s *Schema) Nets(ctx context.Context, companies []string) ledger.Nets {
	return nets(ctx, s.DB.Pool(), companies)
}

// nets reads amount after amount: not all are in memory at once.
func nets(ctx context.Context, q postgres.Querier, companies []string) ledger.Nets {
	return func(yield func(ledger.Net, error) bool) {
		for _, company := range companies {
			if goOn := netsOf(ctx, q, company, yield); !goOn {
				return
			}
		}
	}
}

// netsOf hands out one company's net amounts, and reports whether to go on.
func netsOf(ctx context.Context, q postgres.Querier, company string, yield func(ledger.Net, error) bool) (goOn bool) {
	rows, err := q.Query(ctx, netAmounts, company)
	if err == nil {
		defer rows.Close()
		for rows.Next() {
			n := ledger.Net{CompanyID: company}
			if err = rows.Scan(&n.OrderID, &n.Kind, &n.Of, &n.Touch, &n.InfluencerID, &n.Currency, &n.AmountMinor); err != nil {
				break
			}
			if !yield(n, nil) {
				return false
			}
		}
		if err == nil {
			err = rows.Err()
		}
	}
	if err != nil {
		yield(ledger.Net{}, fmt.Errorf("postgres: net amounts of %s: %w", company, postgres.Translate(err)))
		return false
	}
	return true
}
