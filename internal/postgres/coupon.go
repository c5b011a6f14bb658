package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tributary-io/tributary/internal/commerce"
)

// errCouponOverlap: Postgres's exclusion constraint refused a coupon.
var errCouponOverlap = fmt.Errorf("%w: coupon periods overlap", commerce.ErrConflict)

func (reg *registering) addCoupons(ctx context.Context) error {
	if len(reg.Coupons) == 0 {
		return nil
	}
	var ids, codes, folded, starts, ends []string
	for _, c := range reg.Coupons {
		id, err := reg.newID()
		if err != nil {
			return err
		}
		ids, codes, folded = append(ids, id), append(codes, c.Code), append(folded, commerce.FoldCode(c.Code))
		starts, ends = append(starts, c.StartDate), append(ends, c.EndDate)
		rule := reg.rule("coupon", "created")
		rule.Code, rule.From, rule.To = commerce.FoldCode(c.Code), c.StartDate, c.EndDate
		if err := reg.outbox.rule(reg.change, id, rule); err != nil {
			return err
		}
	}
	_, err := reg.tx.Exec(ctx, `
		insert into coupon (company_id, coupon_id, influencer_id, campaign_id, code, code_folded, period, rev, created_at)
		select $1, coupon_id, $2, $3, code, code_folded, `+period("start_date", "end_date")+`, $4, clock_timestamp()
		from unnest($5::uuid[], $6::text[], $7::text[], $8::text[], $9::text[]) as c (coupon_id, code, code_folded, start_date, end_date)`,
		reg.change.CompanyID, reg.influencerID, reg.campaignID, reg.change.Rev, ids, codes, folded, starts, ends)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.ConstraintName == "coupon_period_conflict" {
		return errCouponOverlap
	}
	return err
}

// period is the SQL of an inclusive range of days from two texts, unbounded
// where a text is empty.
func period(start, end string) string {
	return `daterange(nullif(` + start + `, '')::date, nullif(` + end + `, '')::date, '[]')`
}

// couponConflicts tells which of a registration's coupons overlap live ones,
// or one another.
func (db *DB) couponConflicts(ctx context.Context, companyID string, r commerce.Registration) (*commerce.CouponConflictError, error) {
	var folded, starts, ends []string
	for _, c := range r.Coupons {
		folded = append(folded, commerce.FoldCode(c.Code))
		starts, ends = append(starts, c.StartDate), append(ends, c.EndDate)
	}
	rows, err := db.pool.Query(ctx, `
		with asked as (
			select n, code_folded, `+period("start_date", "end_date")+` as period
			from unnest($2::text[], $3::text[], $4::text[]) with ordinality as c (code_folded, start_date, end_date, n)
		)
		select distinct on (a.n) (a.n - 1)::int, o.name, `+periodText("o.period")+`
		from asked a
		join lateral (
			select i.name, c.period, 0 as rank from coupon c
			join influencer i on i.company_id = c.company_id and i.influencer_id = c.influencer_id
			where c.company_id = $1 and c.code_folded = a.code_folded and c.period && a.period and c.deleted_at is null
			union all
			select $5, b.period, 1 from asked b
			where b.n < a.n and b.code_folded = a.code_folded and b.period && a.period
		) o on true
		order by a.n, o.rank, lower(o.period) nulls first`, companyID, folded, starts, ends, r.Name)
	if err != nil {
		return nil, translate(err)
	}
	conflict := &commerce.CouponConflictError{}
	var c commerce.CouponConflict
	_, err = pgx.ForEachRow(rows, []any{&c.Index, &c.Influencer, &c.StartDate, &c.EndDate}, func() error {
		c.Code = r.Coupons[c.Index].Code
		conflict.Conflicts = append(conflict.Conflicts, c)
		return nil
	})
	if err != nil {
		return nil, translate(err)
	}
	// Empty where the other coupon was deleted meanwhile: still a conflict then.
	return conflict, nil
}

// periodText is periodStart and periodEnd of a column by name.
func periodText(column string) string {
	return `coalesce(to_char(lower(` + column + `), 'YYYY-MM-DD'), ''), coalesce(to_char(upper(` + column + `) - 1, 'YYYY-MM-DD'), '')`
}

func (p *influencerPage) coupons(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, `
		select influencer_id::text, coupon_id::text, campaign_id, code, `+periodText("period")+` from coupon
		where company_id = $1 and influencer_id = any($2::uuid[]) and deleted_at is null
		order by coupon_id`, p.companyID, p.ids)
	if err != nil {
		return err
	}
	var id string
	var c commerce.Coupon
	_, err = pgx.ForEachRow(rows, []any{&id, &c.CouponID, &c.CampaignID, &c.Code, &c.StartDate, &c.EndDate}, func() error {
		p.byID[id].Coupons = append(p.byID[id].Coupons, c)
		return nil
	})
	return err
}
