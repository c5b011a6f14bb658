package report

import (
	"context"

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
		postgres.Into("b.paid", &b.PaidMinor),
		postgres.Into("b.due", &b.DueMinor),
		postgres.Into("b.carried", &b.CarriedMinor),
		postgres.Into("b.withheld", &b.WithheldMinor),
	}
}

// balances sums what is not closed yet, and the statements. Of the ledger it reads the
// entries that are in no statement, and those of statements that are closing; of a closed
// statement it reads the total, and apart what is withheld of it: one that is paid or may be paid, or the last one's that
// is carried. Advances are paid beside them. What has no entries are the current outcomes of orders that are pending
// or in review.
var balances = `
	select ` + postgres.List(balanceColumns) + `
	from (
		select influencer_id, currency, sum(expected) as expected, sum(review) as review, sum(held) as held, sum(payable) as payable,
		sum(paid) as paid, sum(due) as due, sum(carried) as carried, sum(withheld) as withheld
		from (
			select influencer_id, currency, 0 as expected, 0 as review,
				coalesce(sum(amount_minor) filter (where waits), 0) as held,
				coalesce(sum(amount_minor) filter (where not waits), 0) as payable, 0 as paid, 0 as due, 0 as carried,
				0 as withheld
			from (
				select influencer_id, currency, amount_minor,
				payable_on > @day::date or ` + postgres.SetAside + ` as waits
				from ledger_entry where company_id = @company_id and statement_id is null) open
			group by influencer_id, currency
			union all
			select influencer_id, currency, 0, 0, 0, 0, -sum(amount_minor), 0, 0, 0 from ledger_entry
			where company_id = @company_id and kind = 'advance' group by influencer_id, currency
			union all
			select s.influencer_id, s.currency, 0, 0, 0, l.amount_minor, 0, 0, 0, 0
			from statement s join ledger_entry l on l.company_id = s.company_id and l.statement_id = s.statement_id
			where s.company_id = @company_id and s.closed_at is null
			union all
			select s.influencer_id, s.currency, 0, 0, 0, case when p.statement_id is null then s.total_minor - coalesce(w.total_minor, 0) else 0 end,
				case when p.statement_id is null then 0 else s.total_minor - coalesce(w.total_minor, 0) end,
				case when p.statement_id is null and not s.carried then s.total_minor - coalesce(w.total_minor, 0) else 0 end,
				case when s.carried then s.total_minor else 0 end, coalesce(w.total_minor, 0)
			from (
				select company_id, statement_id, influencer_id, currency, total_minor, carried,
				row_number() over (partition by influencer_id, currency order by rev desc) as place
				from statement where company_id = @company_id and closed_at is not null) s
			left join statement_payment p on p.company_id = @company_id and p.statement_id = s.statement_id
				and p.undone_rev is null` + postgres.Withheld + `
			where not s.carried or s.place = 1
			union all
			select p.influencer_id, m.currency,
				case when p.state = 'expected' then m.amount else 0 end, case when p.state = 'review' then m.amount else 0 end, 0, 0, 0, 0, 0, 0
			from payout p
			cross join lateral (values (p.currency, p.commission_minor), ('BRL', p.fixed_brl_minor)) m (currency, amount)
			where p.company_id = @company_id and p.state in ('expected', 'review') and m.amount <> 0) a
		group by influencer_id, currency
		having sum(abs(expected) + abs(review)) <> 0 or sum(held) <> 0 or sum(payable) <> 0 or sum(paid) <> 0) b
	left join influencer i on i.company_id = @company_id and i.influencer_id = b.influencer_id
	where (coalesce(i.name, ''), b.influencer_id::text, b.currency) > (@name, @influencer_id, @currency)
	order by coalesce(i.name, ''), b.influencer_id::text, b.currency limit @most`

// Balances returns what a company's influencers have on a day (YYYY-MM-DD, in the
// company's time zone), ordered by name and currency, after a cursor; at most limit.
// Amounts of different currencies are never added.
func (r *Reader) Balances(ctx context.Context, companyID, day string, after commerce.BalanceCursor, limit int) ([]commerce.Balance, error) {
	list, err := postgres.Collect(ctx, r.db.Pool(), postgres.Scan(balanceColumns), balances,
		pgx.NamedArgs{"company_id": companyID, "day": day, "name": after.Influencer, "influencer_id": after.InfluencerID,
			"currency": after.Currency, "most": limit})
	return list, postgres.Wrapf(postgres.Translate(err), "postgres: balances of %s", companyID)
}
