package merchant

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/wire"
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
		rule := reg.rule(wire.RuleCoupon, wire.RuleCreated)
		rule.Code, rule.From, rule.To = commerce.FoldCode(c.Code), c.StartDate, c.EndDate
		if err := reg.outbox.rule(reg.change, id, rule); err != nil {
			return err
		}
	}
	reg.couponIDs = ids
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

// couponConflicts is the error that tells which of the coupons asked for
// overlap live ones, or one another. It is asked after the transaction that met
// the conflict was rolled back.
func (s *Store) couponConflicts(ctx context.Context, companyID, influencer string, coupons []commerce.CouponTerms) error {
	var folded, starts, ends []string
	for _, c := range coupons {
		folded = append(folded, commerce.FoldCode(c.Code))
		starts, ends = append(starts, c.StartDate), append(ends, c.EndDate)
	}
	rows, err := s.db.Pool().Query(ctx, `
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
		order by a.n, o.rank, lower(o.period) nulls first`, companyID, folded, starts, ends, influencer)
	if err != nil {
		return postgres.Translate(err)
	}
	// No conflict is left where the other coupon was deleted meanwhile: the
	// request failed all the same.
	conflict := &commerce.CouponConflictError{}
	var c commerce.CouponConflict
	_, err = pgx.ForEachRow(rows, []any{&c.Index, &c.Influencer, &c.StartDate, &c.EndDate}, func() error {
		c.Code = coupons[c.Index].Code
		conflict.Conflicts = append(conflict.Conflicts, c)
		return nil
	})
	if err != nil {
		return postgres.Translate(err)
	}
	return conflict
}

// AddCoupon adds a coupon to a live campaign; an unknown one is
// commerce.ErrNotFound, an overlap a *commerce.CouponConflictError.
func (s *Store) AddCoupon(ctx context.Context, author commerce.Author, campaignID string, terms commerce.CouponTerms, random io.Reader) (commerce.Coupon, error) {
	made := commerce.Coupon{CampaignID: campaignID, CouponTerms: terms}
	var influencer string
	err := s.changeRules(ctx, author, func(c *ruleChange) error {
		reg := registering{Registration: commerce.Registration{Coupons: []commerce.CouponTerms{terms}}, ruleChange: c, random: random, campaignID: campaignID}
		err := c.tx.QueryRow(ctx, `
			select c.influencer_id::text, i.name from campaign c
			join influencer i on i.company_id = c.company_id and i.influencer_id = c.influencer_id
			where c.company_id = $1 and c.campaign_id = $2 and c.archived_at is null`, author.CompanyID, campaignID).
			Scan(&reg.influencerID, &influencer)
		if err != nil {
			return err
		}
		if err := reg.addCoupons(ctx); err != nil {
			return err
		}
		made.CouponID = reg.couponIDs[0]
		c.change.Action, c.change.Subject, c.change.Detail = "coupon.create", made.CouponID, map[string]any{"campaign_id": campaignID, "code": terms.Code}
		return nil
	})
	if errors.Is(err, errCouponOverlap) {
		err = s.couponConflicts(ctx, author.CompanyID, influencer, []commerce.CouponTerms{terms})
	}
	if err != nil {
		return commerce.Coupon{}, fmt.Errorf("postgres: add coupon: %w", err)
	}
	return made, nil
}

// DeleteCoupon ends every live coupon of a code in a campaign, at this instant,
// and gives them; none is commerce.ErrNotFound. Earlier orders keep their credit.
func (s *Store) DeleteCoupon(ctx context.Context, author commerce.Author, campaignID, code string) ([]commerce.Coupon, error) {
	var ended []commerce.Coupon
	err := s.changeRules(ctx, author, func(c *ruleChange) (err error) {
		ended, err = c.endCoupons(ctx, `campaign_id = $3 and code_folded = $4`, campaignID, commerce.FoldCode(code))
		if err == nil && len(ended) == 0 {
			err = pgx.ErrNoRows
		}
		c.change.Action, c.change.Subject, c.change.Detail = "coupon.delete", campaignID, map[string]any{"code": code, "coupons": len(ended)}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("postgres: delete coupon: %w", err)
	}
	return ended, nil
}

// endCoupons ends the live coupons that a condition names; its parameters are $3 and on.
func (c *ruleChange) endCoupons(ctx context.Context, where string, args ...any) ([]commerce.Coupon, error) {
	rows, err := c.tx.Query(ctx, `
		update coupon set deleted_at = clock_timestamp(), rev = $2 where company_id = $1 and deleted_at is null and `+where+`
		returning influencer_id::text, coupon_id::text, campaign_id, code, code_folded, `+periodText("period"),
		append([]any{c.change.CompanyID, c.change.Rev}, args...)...)
	if err != nil {
		return nil, err
	}
	var ended []commerce.Coupon
	var influencerID, folded string
	var coupon commerce.Coupon
	_, err = pgx.ForEachRow(rows, []any{&influencerID, &coupon.CouponID, &coupon.CampaignID, &coupon.Code, &folded, &coupon.StartDate, &coupon.EndDate}, func() error {
		ended = append(ended, coupon)
		return c.outbox.rule(c.change, coupon.CouponID, wire.Rule{Type: wire.RuleCoupon, Change: wire.RuleDeleted, InfluencerID: influencerID,
			CampaignID: coupon.CampaignID, Code: folded, From: coupon.StartDate, To: coupon.EndDate})
	})
	return ended, err
}

// periodText is the SQL of a period's first and last day as texts, empty where unbounded.
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
