package report

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
)

// saleColumns reads a commerce.Sale from "orders o", its payout and names.
const saleColumns = `
	select o.order_id, coalesce(o.body->>'name', ''), o.created_at, o.day::text, o.status, o.currency, o.total_minor,
		coalesce(p.influencer_id::text, ''), coalesce(i.name, ''), coalesce(c.name, ''), coalesce(p.evidence, ''),
		coalesce(p.commission_minor, 0), coalesce(p.fixed_brl_minor, 0), o.processed_at, coalesce(o.body->>'discountCode', '')
	from orders o
	left join payout p on p.company_id = o.company_id and p.order_id = o.order_id
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
		var beforeAt *time.Time
		if !before.IsZero() {
			beforeAt = &before.At
		}
		sales, err := collectSales(tx.Query(ctx, saleColumns+`
			where o.company_id = $1 and o.day = $2
				and ($3::timestamptz is null or (o.created_at, o.order_id) < ($3, $4))
			order by o.created_at desc, o.order_id desc limit $5`, companyID, day, beforeAt, before.OrderID, limit+1))
		if err != nil {
			return err
		}
		if d.More = len(sales) > limit; d.More {
			sales = sales[:limit]
		}
		d.Sales = sales
		return nil
	})
	if err != nil {
		return commerce.DaySales{}, fmt.Errorf("postgres: sales of %s on %s: %w", companyID, day, err)
	}
	return d, nil
}

// SalesSince reads the orders of a day that were processed after a cursor: of
// more than limit, those created last.
func (r *Reader) SalesSince(ctx context.Context, companyID, day string, since commerce.Cursor, limit int) ([]commerce.Sale, error) {
	sales, err := collectSales(r.db.Pool().Query(ctx, saleColumns+`
		where o.company_id = $1 and o.day = $2 and (o.processed_at, o.order_id) > ($3, $4)
		order by o.created_at desc, o.order_id desc limit $5`, companyID, day, since.At, since.OrderID, limit))
	if err != nil {
		return nil, fmt.Errorf("postgres: sales of %s on %s since %s: %w", companyID, day, since, postgres.Translate(err))
	}
	return sales, nil
}

// DaySalesOf is the sums of a day and the named orders, whatever their day is.
func (r *Reader) DaySalesOf(ctx context.Context, companyID, day string, orderIDs []string) (commerce.DaySales, error) {
	var d commerce.DaySales
	err := r.db.Snapshot(ctx, func(tx pgx.Tx) (err error) {
		if err := daySums(ctx, tx, companyID, day, &d); err != nil {
			return err
		}
		d.Sales, err = collectSales(tx.Query(ctx, saleColumns+`
			where o.company_id = $1 and o.order_id = any($2)
			order by o.created_at desc, o.order_id desc`, companyID, orderIDs))
		return err
	})
	if err != nil {
		return commerce.DaySales{}, fmt.Errorf("postgres: %d sales of %s: %w", len(orderIDs), companyID, err)
	}
	return d, nil
}

// daySums fills all of a DaySales but the sales themselves.
func daySums(ctx context.Context, tx pgx.Tx, companyID, day string, d *commerce.DaySales) error {
	err := tx.QueryRow(ctx, `
		select clock_timestamp(), processed_at, order_id from orders where company_id = $1 and day = $2
		order by processed_at desc, order_id desc limit 1`, companyID, day).Scan(&d.AsOf, &d.Cursor.At, &d.Cursor.OrderID)
	if errors.Is(err, pgx.ErrNoRows) {
		err = tx.QueryRow(ctx, `select clock_timestamp()`).Scan(&d.AsOf)
	}
	if err != nil {
		return err
	}
	rows, err := tx.Query(ctx, `
		select coalesce(g.influencer_id::text, ''), coalesce(i.name, ''), coalesce(g.evidence, ''), g.status, g.currency,
			g.orders, g.total, g.commission, g.fixed
		from (
			select p.influencer_id, p.evidence, o.status, o.currency, count(*) orders,
				sum(o.total_minor) total, coalesce(sum(p.commission_minor), 0) commission,
				coalesce(sum(p.fixed_brl_minor), 0) fixed
			from orders o left join payout p on p.company_id = o.company_id and p.order_id = o.order_id
			where o.company_id = $1 and o.day = $2
			group by 1, 2, 3, 4
		) g left join influencer i on i.company_id = $1 and i.influencer_id = g.influencer_id
		order by 2, 1, 3, 4, 5`, companyID, day)
	if err != nil {
		return err
	}
	if d.Groups, err = pgx.CollectRows(rows, pgx.RowToStructByPos[commerce.SaleGroup]); err != nil {
		return err
	}
	rows, err = tx.Query(ctx, `
		select g.influencer_id::text, coalesce(i.name, ''), g.currency, g.amount
		from (
			select l.influencer_id, l.currency, sum(l.amount_minor) amount
			from orders o join ledger_entry l on l.company_id = o.company_id and l.order_id = o.order_id
			where o.company_id = $1 and o.day = $2
			group by 1, 2
		) g left join influencer i on i.company_id = $1 and i.influencer_id = g.influencer_id
		order by 2, 1, 3`, companyID, day)
	if err != nil {
		return err
	}
	d.Commissions, err = pgx.CollectRows(rows, pgx.RowToStructByPos[commerce.CommissionGroup])
	return err
}

func collectSales(rows pgx.Rows, err error) ([]commerce.Sale, error) {
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[commerce.Sale])
}

// ExplainedSale reads one order, its explanation and its ledger, oldest entry
// first, in one snapshot; commerce.ErrNotFound where the order is not (yet) there.
func (r *Reader) ExplainedSale(ctx context.Context, companyID, orderID string) (commerce.ExplainedSale, error) {
	var e commerce.ExplainedSale
	err := r.db.Snapshot(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, saleColumns+` where o.company_id = $1 and o.order_id = $2`, companyID, orderID)
		if err != nil {
			return err
		}
		if e.Sale, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[commerce.Sale]); err != nil {
			return err
		}
		err = tx.QueryRow(ctx, `select body from explanation where company_id = $1 and order_id = $2`,
			companyID, orderID).Scan(&e.Explanation)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		rows, err = tx.Query(ctx, `
			select l.entry, l.at, l.kind, l.influencer_id::text, coalesce(i.name, ''), l.amount_minor, l.currency, coalesce(l.reverses, 0),
				l.cost_id::text, coalesce(k.fixed_fee_minor, 0), coalesce(k.var_fee, 0)::text, l.rule_rev, l.cause
			from ledger_entry l
			left join influencer i on i.company_id = l.company_id and i.influencer_id = l.influencer_id
			left join cost k on k.company_id = l.company_id and k.cost_id = l.cost_id
			where l.company_id = $1 and l.order_id = $2 order by l.entry limit 1000`, companyID, orderID)
		if err != nil {
			return err
		}
		e.Ledger, err = pgx.CollectRows(rows, scanLedgerEntry)
		return err
	})
	if err != nil {
		return commerce.ExplainedSale{}, fmt.Errorf("postgres: explained order %q of %s: %w", orderID, companyID, err)
	}
	return e, nil
}

func scanLedgerEntry(row pgx.CollectableRow) (l commerce.LedgerEntry, err error) {
	var percent string
	if err = row.Scan(&l.Entry, &l.At, &l.Kind, &l.InfluencerID, &l.Influencer, &l.AmountMinor, &l.Currency, &l.Reverses,
		&l.CostID, &l.FixedFeeMinor, &percent, &l.RuleRev, &l.Cause); err != nil {
		return l, err
	}
	if l.VarFee, err = decimal.NewFromString(percent); err != nil {
		return l, fmt.Errorf("var_fee of cost %s: %w", l.CostID, err)
	}
	return l, nil
}
