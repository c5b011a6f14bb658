package report

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/explained"
)

func saleColumns(s *commerce.Sale) postgres.Columns {
	return postgres.Columns{
		postgres.Into("o.order_id", &s.OrderID),
		postgres.Into("coalesce(o.name, '')", &s.Name),
		postgres.Into("o.created_at", &s.CreatedAt),
		postgres.Into("o.day", postgres.Day(&s.Day)),
		postgres.Into("o.status", &s.Status),
		postgres.Into("o.currency", &s.Currency),
		postgres.Into("o.total_minor", &s.TotalMinor),
		postgres.Into("coalesce(p.influencer_id::text, '')", &s.InfluencerID),
		postgres.Into("coalesce(i.name, '')", &s.Influencer),
		postgres.Into("coalesce(c.name, '')", &s.Campaign),
		postgres.Into("case when p.proof = 'assigned' then 'assigned' else coalesce(p.evidence, '') end", &s.Evidence),
		postgres.Into("coalesce(p.commission_minor, 0)", &s.CommissionMinor),
		postgres.Into("coalesce(p.fixed_brl_minor, 0)", &s.FixedBRLMinor),
		postgres.Into("coalesce(r.reason, '')", &s.WaitsFor),
		postgres.Into("coalesce(p.processed_at, r.processed_at, o.processed_at)", &s.ProcessedAt),
		postgres.Into("coalesce(o.discount_code, '')", &s.DiscountCode),
		postgres.Into("o.test is true", &s.Test),
	}
}

// selectSales begins a statement on orders (o), with who is paid for them. Nobody is
// paid for an order in review (r).
var selectSales = `
	select ` + postgres.List(saleColumns) + `
	from orders o
	left join payout p on p.company_id = o.company_id and p.order_id = o.order_id and p.state <> 'review'
	left join payout r on r.company_id = o.company_id and r.order_id = o.order_id and r.state = 'review'
	left join influencer i on i.company_id = p.company_id and i.influencer_id = p.influencer_id
	left join campaign c on c.company_id = p.company_id and c.campaign_id = p.campaign_id`

// DaySales reads a day (YYYY-MM-DD, in the company's time zone) in one
// snapshot: its sums, and the newest limit orders, created before the given
// instant and id where before is not zero.
func (r *Reader) DaySales(ctx context.Context, companyID, day string, before commerce.Cursor, limit int) (commerce.DaySales, error) {
	var d commerce.DaySales
	err := r.db.Snapshot(ctx, func(tx pgx.Tx) error {
		if err := daySums(ctx, tx, companyID, day, &d); err != nil {
			return err
		}
		sales, err := postgres.Collect(ctx, tx, postgres.Scan(saleColumns), selectSales+`
			where o.company_id = @company_id and o.day = @day
				and (@before::timestamptz is null or (o.created_at, o.order_id) < (@before, @before_id))
			order by o.created_at desc, o.order_id desc limit @limit`,
			pgx.NamedArgs{"company_id": companyID, "day": day, "before": postgres.NullIfZero(before.At), "before_id": before.OrderID,
				"limit": limit + 1})
		if err != nil {
			return err
		}
		if d.More = len(sales) > limit; d.More {
			sales = sales[:limit]
		}
		d.Sales = sales
		return nil
	})
	return d, postgres.Wrapf(err, "postgres: sales of %s on %s", companyID, day)
}

// SalesSince reads the orders of a day that were processed after a cursor: of
// more than limit, those created last.
func (r *Reader) SalesSince(ctx context.Context, companyID, day string, since commerce.Cursor, limit int) ([]commerce.Sale, error) {
	sales, err := postgres.Collect(ctx, r.db.Pool(), postgres.Scan(saleColumns), selectSales+`
		where o.company_id = @company_id and o.day = @day
		and (coalesce(p.processed_at, r.processed_at, o.processed_at), o.order_id) > (@since, @since_id)
		order by o.created_at desc, o.order_id desc limit @limit`,
		pgx.NamedArgs{"company_id": companyID, "day": day, "since": since.At, "since_id": since.OrderID, "limit": limit})
	return sales, postgres.Wrapf(postgres.Translate(err), "postgres: sales of %s on %s since %s", companyID, day, since)
}

// DaySalesOf is the sums of a day and the named orders, whatever their day is.
func (r *Reader) DaySalesOf(ctx context.Context, companyID, day string, orderIDs []string) (commerce.DaySales, error) {
	var d commerce.DaySales
	err := r.db.Snapshot(ctx, func(tx pgx.Tx) (err error) {
		if err := daySums(ctx, tx, companyID, day, &d); err != nil {
			return err
		}
		d.Sales, err = postgres.Collect(ctx, tx, postgres.Scan(saleColumns), selectSales+`
			where o.company_id = $1 and o.order_id = any($2)
			order by o.created_at desc, o.order_id desc`, companyID, orderIDs)
		return err
	})
	return d, postgres.Wrapf(err, "postgres: %d sales of %s", len(orderIDs), companyID)
}

// daySums fills all of a DaySales but the sales themselves.
func daySums(ctx context.Context, tx pgx.Tx, companyID, day string, d *commerce.DaySales) error {
	err := tx.QueryRow(ctx, `
		select clock_timestamp(), coalesce(p.processed_at, o.processed_at) as processed_at, o.order_id
		from orders o left join payout p on p.company_id = o.company_id and p.order_id = o.order_id
		where o.company_id = $1 and o.day = $2 order by 2 desc, 3 desc limit 1`, companyID, day).Scan(&d.AsOf, &d.Cursor.At, &d.Cursor.OrderID)
	if errors.Is(err, pgx.ErrNoRows) {
		err = tx.QueryRow(ctx, `select clock_timestamp()`).Scan(&d.AsOf)
	}
	if err != nil {
		return err
	}
	d.Groups, err = postgres.Collect(ctx, tx, postgres.Scan(groupColumns), `
		select `+postgres.List(groupColumns)+`
		from (
			select p.influencer_id, p.evidence, o.status, o.currency, count(*) orders,
				sum(o.total_minor) total, coalesce(sum(p.commission_minor), 0) commission,
				coalesce(sum(p.fixed_brl_minor), 0) fixed
			from orders o left join payout p on p.company_id = o.company_id and p.order_id = o.order_id and p.state <> 'review'
			where o.company_id = $1 and o.day = $2 and o.test is not true
			group by p.influencer_id, p.evidence, o.status, o.currency
		) g left join influencer i on i.company_id = $1 and i.influencer_id = g.influencer_id
		order by coalesce(i.name, ''), coalesce(g.influencer_id::text, ''), coalesce(g.evidence, ''), g.status, g.currency`, companyID, day)
	if err != nil {
		return err
	}
	d.Commissions, err = postgres.Collect(ctx, tx, postgres.Scan(commissionColumns), `
		select `+postgres.List(commissionColumns)+`
		from (
			select l.influencer_id, l.currency, sum(l.amount_minor) amount
			from orders o join ledger_entry l on l.company_id = o.company_id and l.order_id = o.order_id
			where o.company_id = $1 and o.day = $2
			group by l.influencer_id, l.currency
		) g left join influencer i on i.company_id = $1 and i.influencer_id = g.influencer_id
		order by coalesce(i.name, ''), g.influencer_id, g.currency`, companyID, day)
	return err
}

func groupColumns(g *commerce.SaleGroup) postgres.Columns {
	return postgres.Columns{
		postgres.Into("coalesce(g.influencer_id::text, '')", &g.InfluencerID),
		postgres.Into("coalesce(i.name, '')", &g.Influencer),
		postgres.Into("coalesce(g.evidence, '')", &g.Evidence),
		postgres.Into("g.status", &g.Status),
		postgres.Into("g.currency", &g.Currency),
		postgres.Into("g.orders", &g.Orders),
		postgres.Into("g.total", &g.TotalMinor),
		postgres.Into("g.commission", &g.CommissionMinor),
		postgres.Into("g.fixed", &g.FixedBRLMinor),
	}
}

func commissionColumns(g *commerce.CommissionGroup) postgres.Columns {
	return postgres.Columns{
		postgres.Into("g.influencer_id", &g.InfluencerID),
		postgres.Into("coalesce(i.name, '')", &g.Influencer),
		postgres.Into("g.currency", &g.Currency),
		postgres.Into("g.amount", &g.AmountMinor),
	}
}

// ExplainedSale reads one order, its explanation and its ledger, oldest entry
// first, in one snapshot. An order that is not stored is commerce.ErrNotFound.
func (r *Reader) ExplainedSale(ctx context.Context, companyID, orderID string) (commerce.ExplainedSale, error) {
	var e commerce.ExplainedSale
	err := r.db.Snapshot(ctx, func(tx pgx.Tx) (err error) {
		e.Sale, err = postgres.One(ctx, tx, postgres.Scan(saleColumns),
			selectSales+` where o.company_id = $1 and o.order_id = $2`, companyID, orderID)
		if err != nil {
			return err
		}
		var stored []byte
		err = tx.QueryRow(ctx, `select explanation from payout where company_id = $1 and order_id = $2 and explanation is not null`,
			companyID, orderID).Scan(&stored)
		if err == nil {
			e.Explanation, err = explained.Unpack(stored)
		}
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		if err := tx.QueryRow(ctx, `
			select exists (select 1 from recompute where company_id = $1 and order_id = $2)
				or exists (select 1 from recompute_span s join orders o on o.company_id = s.company_id
					where s.company_id = $1 and o.order_id = $2 and o.created_at >= s.lo and (o.created_at, o.order_id) < (s.before_at, s.before_id)),
				exists (select 1 from erased_order where company_id = $1 and order_id = $2)`,
			companyID, orderID).Scan(&e.Recomputing, &e.Erased); err != nil {
			return err
		}
		e.Ledger, err = postgres.Collect(ctx, tx, postgres.Scan(ledgerColumns), `
			select `+postgres.List(ledgerColumns)+`
			from ledger_entry l
			left join influencer i on i.company_id = l.company_id and i.influencer_id = l.influencer_id
			left join cost k on k.company_id = l.company_id and k.cost_id = l.cost_id
			where l.company_id = $1 and l.order_id = $2 order by l.entry limit 1000`, companyID, orderID)
		return err
	})
	return e, postgres.Wrapf(err, "postgres: explained order %q of %s", orderID, companyID)
}

func ledgerColumns(l *commerce.LedgerEntry) postgres.Columns {
	return postgres.Columns{
		postgres.Into("l.entry", &l.Entry),
		postgres.Into("l.at", &l.At),
		postgres.Into("l.kind", &l.Kind),
		postgres.Into("l.influencer_id", &l.InfluencerID),
		postgres.Into("coalesce(i.name, '')", &l.Influencer),
		postgres.Into("l.amount_minor", &l.AmountMinor),
		postgres.Into("l.currency", &l.Currency),
		postgres.Into("coalesce(l.reverses, 0)", &l.Reverses),
		postgres.Into("l.cost_id", &l.CostID),
		postgres.Into("coalesce(k.fixed_fee_minor, 0)", &l.FixedFeeMinor),
		postgres.Into("coalesce(k.var_fee, 0)::text", &l.VarFee),
		postgres.Into("l.payable_on", postgres.Day(&l.PayableOn)),
		postgres.Into("l.rule_rev", &l.RuleRev),
		postgres.Into("l.cause", &l.Cause),
	}
}
