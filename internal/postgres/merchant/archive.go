package merchant

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/wire"
)

// ArchiveInfluencer ends the influencer of that name, or only one campaign
// where campaignID is not empty, and all that belongs to it: short links stop
// working, coupons and costs end now. Orders of the past keep their credit. It
// returns what was ended. An unknown name or campaign is commerce.ErrNotFound.
func (s *Store) ArchiveInfluencer(ctx context.Context, author commerce.Author, name, campaignID string) (commerce.Archived, error) {
	var archived commerce.Archived
	err := s.changeRules(ctx, author, func(c *ruleChange) error {
		id, _, err := c.influencerByName(ctx, name)
		if err != nil {
			return err
		}
		if archived.Campaigns, err = c.archiveCampaigns(ctx, id, campaignID); err != nil {
			return err
		}
		if campaignID != "" && len(archived.Campaigns) == 0 {
			return pgx.ErrNoRows
		}
		if archived.Links, err = c.archiveLinks(ctx, id, campaignID); err != nil {
			return err
		}
		within := pgx.NamedArgs{"influencer_id": id, "campaign_id": campaignID}
		coupons, err := c.endCoupons(ctx, ofInfluencer, within)
		if err != nil {
			return err
		}
		archived.Coupons = len(coupons)
		if archived.Costs, err = c.endCosts(ctx, ofInfluencer, within); err != nil {
			return err
		}
		if err := c.forgetRepeats(ctx); err != nil {
			return err
		}
		c.change.Action, c.change.Subject, c.change.Detail = "influencer.archive", id, map[string]any{"campaign_id": campaignID}
		if campaignID != "" {
			return nil
		}
		if _, err := c.tx.Exec(ctx,
			`update influencer set archived_at = @now, rev = @rev where company_id = @company_id and influencer_id = @influencer_id`,
			c.args(pgx.NamedArgs{"influencer_id": id})); err != nil {
			return err
		}
		if err := c.shareIdentities(ctx, id); err != nil {
			return err
		}
		return c.outbox.rule(c.change, id, wire.Rule{Type: wire.RuleInfluencer, Change: wire.RuleArchived, InfluencerID: id})
	})
	return archived, postgres.Wrapf(err, "postgres: archive influencer")
}

// ofInfluencer selects what belongs to an influencer, or only to one campaign
// where @campaign_id is not empty.
const ofInfluencer = `influencer_id = @influencer_id and (@campaign_id = '' or campaign_id = @campaign_id)`

func (c *ruleChange) archiveCampaigns(ctx context.Context, influencerID, campaignID string) ([]commerce.Campaign, error) {
	ended, err := postgres.Collect(ctx, c.tx, postgres.Scan(campaignColumns), `
		update campaign set archived_at = @now, rev = @rev
		where company_id = @company_id and archived_at is null and `+ofInfluencer+`
		returning `+postgres.List(campaignColumns), c.args(pgx.NamedArgs{"influencer_id": influencerID, "campaign_id": campaignID}))
	if err != nil {
		return nil, err
	}
	for _, campaign := range ended {
		rule := wire.Rule{Type: wire.RuleCampaign, Change: wire.RuleArchived, InfluencerID: influencerID, CampaignID: campaign.CampaignID}
		if err := c.outbox.rule(c.change, campaign.CampaignID, rule); err != nil {
			return nil, err
		}
	}
	return ended, nil
}

func endedLinkColumns(l *commerce.Link) postgres.Columns {
	return postgres.Columns{
		postgres.Into("link_id", &l.LinkID),
		postgres.Into("campaign_id", &l.CampaignID),
		postgres.Into("code", &l.Code),
	}
}

// archiveLinks ends links and deletes them from the directory. Their codes stay
// in short_code and are never given again: an old post must not lead to the
// link of somebody else.
func (c *ruleChange) archiveLinks(ctx context.Context, influencerID, campaignID string) (ended int, err error) {
	links, err := postgres.Collect(ctx, c.tx, postgres.Scan(endedLinkColumns), `
		update link set archived_at = @now, rev = @rev
		where company_id = @company_id and archived_at is null and `+ofInfluencer+`
		returning `+postgres.List(endedLinkColumns), c.args(pgx.NamedArgs{"influencer_id": influencerID, "campaign_id": campaignID}))
	if err != nil {
		return 0, err
	}
	for _, l := range links {
		c.outbox.tombstone(wire.TopicDirectory, wire.LinkKeyPrefix+l.Code)
		rule := wire.Rule{Type: wire.RuleLink, Change: wire.RuleArchived, InfluencerID: influencerID, CampaignID: l.CampaignID}
		if err := c.outbox.rule(c.change, l.LinkID, rule); err != nil {
			return 0, err
		}
	}
	return len(links), nil
}
