package merchant

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/fold"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/wire"
)

// errCouponOverlap says that the exclusion constraint of coupon refused a period.
var errCouponOverlap = fmt.Errorf("%w: coupon periods overlap", commerce.ErrConflict)

func (reg *registering) addCoupons(ctx context.Context) error {
	if len(reg.Coupons) == 0 {
		return nil
	}
	var coupons []newCoupon
	for _, c := range reg.Coupons {
		id, err := reg.newID()
		if err != nil {
			return err
		}
		made := newCoupon{CouponTerms: c, id: id, folded: fold.Code(c.Code)}
		coupons, reg.couponIDs = append(coupons, made), append(reg.couponIDs, id)
		rule := reg.rule(wire.RuleCoupon, wire.RuleCreated)
		rule.Code, rule.From, rule.To = made.folded, c.StartDate, c.EndDate
		if err := reg.outbox.rule(reg.change, id, rule); err != nil {
			return err
		}
	}
	return overlapError(reg.insertAll(ctx, len(coupons), `
		insert into coupon (company_id, coupon_id, influencer_id, campaign_id, code, code_folded, period, rev, created_at)
		select @company_id, coupon_id, @influencer_id, @campaign_id, code, code_folded, daterange(start_date, end_date, '[]'), @rev, @now
		from `+newCoupons.Unnest("c")+`
		on conflict (company_id, coupon_id) do nothing returning coupon_id`,
		newCoupons.Args(coupons, reg.args(pgx.NamedArgs{"influencer_id": reg.influencerID, "campaign_id": reg.campaignID}))))
}

// overlapError says of the database's error that coupons overlap, where it does.
func overlapError(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == exclusionViolation {
		return errCouponOverlap
	}
	return err
}

// exclusionViolation is the SQLSTATE of an exclusion constraint: of all tables
// that are written here, coupon alone has one.
const exclusionViolation = "23P01"

// newCoupon is a coupon to be inserted, the n-th of a request.
type newCoupon struct {
	commerce.CouponTerms
	id, folded string
	n          int
}

var newCoupons = postgres.Rows[newCoupon]{
	postgres.Col("coupon_id", "uuid", func(c *newCoupon) string { return c.id }),
	postgres.Col("code", "text", func(c *newCoupon) string { return c.Code }),
	postgres.Col("code_folded", "text", func(c *newCoupon) string { return c.folded }),
	postgres.Col("start_date", "date", func(c *newCoupon) *string { return postgres.NullIfEmpty(c.StartDate) }),
	postgres.Col("end_date", "date", func(c *newCoupon) *string { return postgres.NullIfEmpty(c.EndDate) }),
}

var askedCoupons = postgres.Rows[newCoupon]{
	postgres.Col("n", "int", func(c *newCoupon) int { return c.n }),
	postgres.Col("code_folded", "text", func(c *newCoupon) string { return c.folded }),
	postgres.Col("start_date", "date", func(c *newCoupon) *string { return postgres.NullIfEmpty(c.StartDate) }),
	postgres.Col("end_date", "date", func(c *newCoupon) *string { return postgres.NullIfEmpty(c.EndDate) }),
}

func conflictColumns(c *commerce.CouponConflict) postgres.Columns {
	return postgres.Columns{
		postgres.Into("a.n", &c.Index),
		postgres.Into("o.name", &c.Influencer),
		postgres.Into("lower(o.period)", postgres.Day(&c.StartDate)),
		postgres.Into("upper(o.period)", postgres.DayBefore(&c.EndDate)),
	}
}

// couponConflicts returns a *commerce.CouponConflictError with the coupons of a
// request that overlap live ones or one another. It is called after the
// transaction that met the conflict was rolled back.
func (s *Store) couponConflicts(ctx context.Context, companyID, influencer string, coupons []commerce.CouponTerms) error {
	var asked []newCoupon
	for i, c := range coupons {
		asked = append(asked, newCoupon{CouponTerms: c, n: i, folded: fold.Code(c.Code)})
	}
	conflicts, err := postgres.Collect(ctx, s.db.Pool(), postgres.Scan(conflictColumns), `
		with asked as (
			select n, code_folded, daterange(start_date, end_date, '[]') as period from `+askedCoupons.Unnest("c")+`
		)
		select distinct on (a.n) `+postgres.List(conflictColumns)+`
		from asked a
		join lateral (
			select i.name, c.period, 0 as rank from coupon c
			join influencer i on i.company_id = c.company_id and i.influencer_id = c.influencer_id
			where c.company_id = @company_id and c.code_folded = a.code_folded and c.period && a.period and c.deleted_at is null
			union all
			select @influencer::text, b.period, 1 from asked b
			where b.n < a.n and b.code_folded = a.code_folded and b.period && a.period
		) o on true
		order by a.n, o.rank, lower(o.period) nulls first`,
		askedCoupons.Args(asked, pgx.NamedArgs{"company_id": companyID, "influencer": influencer}))
	if err != nil {
		return postgres.Translate(err)
	}
	for i := range conflicts {
		conflicts[i].Code = coupons[conflicts[i].Index].Code
	}
	// The list is empty where the other coupon was deleted meanwhile. The request
	// has failed all the same.
	return &commerce.CouponConflictError{Conflicts: conflicts}
}

// AddCoupon adds a coupon to a live campaign; an unknown one is
// commerce.ErrNotFound, an overlap a *commerce.CouponConflictError.
func (s *Store) AddCoupon(ctx context.Context, author commerce.Author, campaignID string, terms commerce.CouponTerms,
	random io.Reader) (commerce.Coupon, error) {
	made := commerce.Coupon{CampaignID: campaignID, CouponTerms: terms}
	var influencer string
	err := s.changeRules(ctx, author, func(c *ruleChange) error {
		reg := registering{Registration: commerce.Registration{Coupons: []commerce.CouponTerms{terms}}, ruleChange: c, random: random,
			campaignID: campaignID}
		err := c.tx.QueryRow(ctx, `
			select c.influencer_id, i.name from campaign c
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
		c.change.PartOf = reg.influencerID
		c.change.Action, c.change.Subject, c.change.Detail = "coupon.create", made.CouponID,
			map[string]any{"campaign_id": campaignID, "code": terms.Code}
		return nil
	})
	if errors.Is(err, errCouponOverlap) {
		err = s.couponConflicts(ctx, author.CompanyID, influencer, []commerce.CouponTerms{terms})
	}
	return made, postgres.Wrapf(err, "postgres: add coupon")
}

// DeleteCoupon ends every live coupon of a code in a campaign now, and returns
// them; none is commerce.ErrNotFound. Earlier orders keep their credit.
func (s *Store) DeleteCoupon(ctx context.Context, author commerce.Author, campaignID, code string) ([]commerce.Coupon, error) {
	var ended []commerce.Coupon
	err := s.changeRules(ctx, author, func(c *ruleChange) (err error) {
		ended, err = c.endCoupons(ctx, `campaign_id = @campaign_id and code_folded = @code_folded`,
			pgx.NamedArgs{"campaign_id": campaignID, "code_folded": fold.Code(code)})
		if err == nil && len(ended) == 0 {
			err = pgx.ErrNoRows
		}
		if err == nil {
			err = c.forgetRepeats(ctx)
		}
		c.change.Action, c.change.Subject, c.change.Detail = "coupon.delete", campaignID, map[string]any{"code": code, "coupons": len(ended)}
		return err
	})
	return ended, postgres.Wrapf(err, "postgres: delete coupon")
}

func couponColumns(c *owned[commerce.Coupon]) postgres.Columns {
	return postgres.Columns{
		postgres.Into("influencer_id", &c.influencerID),
		postgres.Into("coupon_id", &c.it.CouponID),
		postgres.Into("campaign_id", &c.it.CampaignID),
		postgres.Into("code", &c.it.Code),
		postgres.Into("lower(period)", postgres.Day(&c.it.StartDate)),
		postgres.Into("upper(period)", postgres.DayBefore(&c.it.EndDate)),
	}
}

type endedCoupon struct {
	owned[commerce.Coupon]
	folded string
}

func endedCouponColumns(c *endedCoupon) postgres.Columns {
	return append(couponColumns(&c.owned), postgres.Into("code_folded", &c.folded))
}

// endCoupons ends the live coupons for which where is true, and returns them.
func (c *ruleChange) endCoupons(ctx context.Context, where string, args pgx.NamedArgs) (ended []commerce.Coupon, err error) {
	coupons, err := postgres.Collect(ctx, c.tx, postgres.Scan(endedCouponColumns), `
		update coupon set deleted_at = @now, rev = @rev where company_id = @company_id and deleted_at is null and `+where+`
		returning `+postgres.List(endedCouponColumns), c.args(args))
	if err != nil {
		return nil, err
	}
	for _, coupon := range coupons {
		ended, c.change.PartOf = append(ended, coupon.it), coupon.influencerID
		rule := wire.Rule{Type: wire.RuleCoupon, Change: wire.RuleDeleted, InfluencerID: coupon.influencerID, CampaignID: coupon.it.CampaignID,
			Code: coupon.folded, From: coupon.it.StartDate, To: coupon.it.EndDate}
		if err := c.outbox.rule(c.change, coupon.it.CouponID, rule); err != nil {
			return nil, err
		}
	}
	return ended, nil
}

func (p *influencerPage) coupons(ctx context.Context, tx pgx.Tx) error {
	list, err := postgres.Collect(ctx, tx, postgres.Scan(couponColumns), `
		select `+postgres.List(couponColumns)+` from coupon
		where company_id = $1 and influencer_id = any($2::uuid[]) and deleted_at is null
		order by coupon_id`, p.companyID, p.ids)
	for _, c := range list {
		of := p.byID[c.influencerID]
		of.Coupons = append(of.Coupons, c.it)
	}
	return err
}
