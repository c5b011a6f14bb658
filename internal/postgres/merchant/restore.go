package merchant

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/fold"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/wire"
)

// RestoreInfluencer undoes ArchiveInfluencer: the influencer, and the campaigns, links and coupons that were archived
// at the same instant, are as if they had never been archived. A coupon whose code somebody else has in one of its days
// stays archived, and agreements do. The influencer is named by the id; where that is empty, by the name, which may be a
// former one: of several, who was archived last. One that is not archived is commerce.ErrNotFound; where another influencer
// has the name now, or had it before a rename, it is a *commerce.NameTakenError.
func (s *Store) RestoreInfluencer(ctx context.Context, author commerce.Author, influencerID, name string) (commerce.Restored, error) {
	var restored commerce.Restored
	err := s.changeRules(ctx, author, func(c *ruleChange) error {
		if err := c.tx.QueryRow(ctx, `
			select influencer_id::text, name from influencer i
			where company_id = @company_id and archived_at is not null
				and (influencer_id = @influencer_id::uuid or @influencer_id is null and `+hasOrHad+`)
			order by archived_at desc, created_at desc limit 1`,
			pgx.NamedArgs{"company_id": c.change.CompanyID, "influencer_id": postgres.NullIfEmpty(influencerID), "folded": fold.Name(name)}).
			Scan(&influencerID, &name); err != nil {
			return err
		}
		restored.InfluencerID = influencerID
		if err := c.refuseTaken(ctx, influencerID, name, false); err != nil {
			return err
		}
		for _, step := range []func(context.Context, string, *commerce.Restored) error{
			c.restoreCampaigns, c.restoreLinks, c.restoreCoupons,
		} {
			if err := step(ctx, influencerID, &restored); err != nil {
				return err
			}
		}
		if _, err := c.tx.Exec(ctx, `
			update influencer set archived_at = null, rev = @rev where company_id = @company_id and influencer_id = @influencer_id`,
			c.restoring(influencerID)); err != nil {
			return err
		}
		if err := c.shareIdentities(ctx, influencerID); err != nil {
			return err
		}
		c.change.Action, c.change.Subject, c.change.Detail = "influencer.restore", influencerID, map[string]any{
			"name": name, "links": restored.Links, "coupons": restored.Coupons, "taken": notNil(restored.Taken)}
		if err := c.forgetRepeats(ctx); err != nil {
			return err
		}
		return c.outbox.rule(c.change, influencerID, wire.Rule{Type: wire.RuleInfluencer, Change: wire.RuleUpdated, InfluencerID: influencerID})
	})
	return restored, postgres.Wrapf(err, "postgres: restore influencer")
}

// archivedWith is the instant at which an influencer was archived, and with it the parts that come back.
const archivedWith = `(select i.archived_at from influencer i where i.company_id = @company_id and i.influencer_id = @influencer_id)`

func (c *ruleChange) restoring(influencerID string) pgx.NamedArgs {
	return pgx.NamedArgs{"company_id": c.change.CompanyID, "rev": c.change.Rev, "influencer_id": influencerID}
}

func (c *ruleChange) restoreCampaigns(ctx context.Context, influencerID string, _ *commerce.Restored) error {
	list, err := postgres.Collect(ctx, c.tx, postgres.Scan(campaignColumns), `
		update campaign set archived_at = null, rev = @rev
		where company_id = @company_id and influencer_id = @influencer_id and archived_at = `+archivedWith+`
		returning `+postgres.List(campaignColumns), c.restoring(influencerID))
	for _, campaign := range list {
		rule := wire.Rule{Type: wire.RuleCampaign, Change: wire.RuleUpdated, InfluencerID: influencerID, CampaignID: campaign.CampaignID}
		if err := c.outbox.rule(c.change, campaign.CampaignID, rule); err != nil {
			return err
		}
	}
	return err
}

func (c *ruleChange) restoreLinks(ctx context.Context, influencerID string, restored *commerce.Restored) error {
	list, err := postgres.Collect(ctx, c.tx, postgres.Scan(endedLinkColumns), `
		update link set archived_at = null, rev = @rev
		where company_id = @company_id and influencer_id = @influencer_id and archived_at = `+archivedWith+`
		returning `+postgres.List(endedLinkColumns), c.restoring(influencerID))
	if err != nil {
		return err
	}
	for _, l := range list {
		rule := wire.Rule{Type: wire.RuleLink, Change: wire.RuleUpdated, InfluencerID: influencerID, CampaignID: l.CampaignID}
		if err := c.outbox.rule(c.change, l.LinkID, rule); err != nil {
			return err
		}
	}
	restored.Links = len(list)
	return c.publishLinks(ctx, influencerID, nil)
}

// restoreCoupons leaves those archived whose code somebody has in one of their days.
func (c *ruleChange) restoreCoupons(ctx context.Context, influencerID string, restored *commerce.Restored) error {
	list, err := postgres.Collect(ctx, c.tx, postgres.Scan(endedCouponColumns), `
		update coupon k set deleted_at = null, rev = @rev
		where company_id = @company_id and influencer_id = @influencer_id and deleted_at = `+archivedWith+`
			and not exists (select 1 from coupon o where o.company_id = @company_id and o.code_folded = k.code_folded
				and o.period && k.period and o.deleted_at is null)
		returning `+postgres.List(endedCouponColumns), c.restoring(influencerID))
	if err != nil {
		return err
	}
	for _, k := range list {
		rule := wire.Rule{Type: wire.RuleCoupon, Change: wire.RuleUpdated, InfluencerID: influencerID, CampaignID: k.it.CampaignID,
			Code: k.folded, From: k.it.StartDate, To: k.it.EndDate}
		if err := c.outbox.rule(c.change, k.it.CouponID, rule); err != nil {
			return err
		}
	}
	restored.Coupons = len(list)
	restored.Taken, err = postgres.Collect(ctx, c.tx, pgx.RowTo[string], `
		select code from coupon where company_id = @company_id and influencer_id = @influencer_id and deleted_at = `+archivedWith+`
		order by code`, pgx.NamedArgs{"company_id": c.change.CompanyID, "influencer_id": influencerID})
	return err
}
