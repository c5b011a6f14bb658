package report

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
)

func balanceColumns(b *commerce.Balance) postgres.Columns {
	return postgres.Columns{
		postgres.Into("b.influencer_id", &b.InfluencerID),
		postgres.Into("coalesce(i.name, '')", &b.Influencer),
		postgres.Into("b.currency", &b.Currency),
		postgres.Into("b.expected", &b.ExpectedMinor),
		postgres.Into("b.review", &b.ReviewMinor),
		postgres.Into("b.held", &b.HeldMinor),
		postgres.Into("b.payable", &b.PayableMinor),
	}
}

// balances sums the ledger by the day from which each entry may be paid, and what has
// no entries: the current outcomes of orders that are pending or in review.
var balances = `
	select ` + postgres.List(balanceColumns) + `
	from (
		select influencer_id, currency, sum(expected) as expected, sum(review) as review, sum(held) as held, sum(payable) as payable
		from (
			select influencer_id, currency, 0 as expected, 0 as review,
				case when payable_on > @day::date then amount_minor else 0 end as held,
				case when payable_on > @day::date then 0 else amount_minor end as payable
			from ledger_entry where company_id = @company_id
			union all
			select p.influencer_id, m.currency,
				case when p.state = 'expected' then m.amount else 0 end, case when p.state = 'review' then m.amount else 0 end, 0, 0
			from payout p
			join orders o on o.company_id = p.company_id and o.order_id = p.order_id
			cross join lateral (values (o.currency, p.commission_minor), ('BRL', p.fixed_brl_minor)) m (currency, amount)
			where p.company_id = @company_id and p.state in ('expected', 'review') and m.amount <> 0) a
		group by influencer_id, currency
		having sum(abs(expected) + abs(review)) <> 0 or sum(held) <> 0 or sum(payable) <> 0) b
	left join influencer i on i.company_id = @company_id and i.influencer_id = b.influencer_id
	order by coalesce(i.name, ''), b.influencer_id, b.currency limit @most`

// Balances returns what a company's influencers have on a day (YYYY-MM-DD, in the
// company's time zone), ordered by name and currency; at most limit. Amounts of
// different currencies are never added.
func (r *Reader) Balances(ctx context.Context, companyID, day string, limit int) ([]commerce.Balance, error) {
	list, err := postgres.Collect(ctx, r.db.Pool(), postgres.Scan(balanceColumns), balances,
		pgx.NamedArgs{"company_id": companyID, "day": day, "most": limit})
	if err != nil {
		return nil, fmt.Errorf("postgres: balances of %s: %w", companyID, postgres.Translate(err))
	}
	return list, nil
}
