package merchant

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/wire"
)

// ArchiveInfluencer ends the influencer of that name, or only one campaign
// where campaignID is not empty, with all that hangs off it: short links stop,
// coupons and costs end at this instant, history and past credit stay. It gives
// what was ended; an unknown name or campaign is commerce.ErrNotFound.
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
		const within = `influencer_id = $3::uuid and ($4 = '' or campaign_id = $4)`
		coupons, err := c.endCoupons(ctx, within, id, campaignID)
		if err != nil {
			return err
		}
		archived.Coupons = len(coupons)
		if archived.Costs, err = c.endCosts(ctx, within, id, campaignID); err != nil {
			return err
		}
		c.change.Action, c.change.Subject, c.change.Detail = "influencer.archive", id, map[string]any{"campaign_id": campaignID}
		if campaignID != "" {
			return nil
		}
		if _, err := c.tx.Exec(ctx, `update influencer set archived_at = clock_timestamp(), rev = $3 where company_id = $1 and influencer_id = $2`,
			c.change.CompanyID, id, c.change.Rev); err != nil {
			return err
		}
		return c.outbox.rule(c.change, id, wire.Rule{Type: wire.RuleInfluencer, Change: wire.RuleArchived, InfluencerID: id})
	})
	if err != nil {
		return commerce.Archived{}, fmt.Errorf("postgres: archive influencer: %w", err)
	}
	return archived, nil
}

func (c *ruleChange) archiveCampaigns(ctx context.Context, influencerID, campaignID string) ([]commerce.Campaign, error) {
	rows, err := c.tx.Query(ctx, `
		update campaign set archived_at = clock_timestamp(), rev = $4
		where company_id = $1 and influencer_id = $2 and ($3 = '' or campaign_id = $3) and archived_at is null
		returning campaign_id, name`, c.change.CompanyID, influencerID, campaignID, c.change.Rev)
	if err != nil {
		return nil, err
	}
	var ended []commerce.Campaign
	var campaign commerce.Campaign
	_, err = pgx.ForEachRow(rows, []any{&campaign.CampaignID, &campaign.Name}, func() error {
		ended = append(ended, campaign)
		return c.outbox.rule(c.change, campaign.CampaignID, wire.Rule{Type: wire.RuleCampaign, Change: wire.RuleArchived, InfluencerID: influencerID, CampaignID: campaign.CampaignID})
	})
	return ended, err
}

// archiveLinks ends links and deletes them from the directory. Their codes stay
// taken: an old post must never lead to another's link.
func (c *ruleChange) archiveLinks(ctx context.Context, influencerID, campaignID string) (ended int, err error) {
	rows, err := c.tx.Query(ctx, `
		update link set archived_at = clock_timestamp(), rev = $4
		where company_id = $1 and influencer_id = $2 and ($3 = '' or campaign_id = $3) and archived_at is null
		returning link_id::text, campaign_id, code`, c.change.CompanyID, influencerID, campaignID, c.change.Rev)
	if err != nil {
		return 0, err
	}
	var id, campaign, code string
	_, err = pgx.ForEachRow(rows, []any{&id, &campaign, &code}, func() error {
		ended++
		c.outbox.tombstone(wire.TopicDirectory, wire.LinkKeyPrefix+code)
		return c.outbox.rule(c.change, id, wire.Rule{Type: wire.RuleLink, Change: wire.RuleArchived, InfluencerID: influencerID, CampaignID: campaign})
	})
	return ended, err
}
