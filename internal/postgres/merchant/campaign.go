package merchant

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/wire"
)

// findOrCreateCampaign finds the campaign by id, or by its folded name under
// the influencer, or makes it. One without a name (no utm_content) is a
// campaign too: links and coupons always hang off one.
func (reg *registering) findOrCreateCampaign(ctx context.Context) error {
	folded := commerce.FoldName(reg.Campaign)
	var err error
	if reg.CampaignID != "" {
		err = reg.campaignByID(ctx, folded)
	} else {
		err = reg.tx.QueryRow(ctx, `
			select campaign_id, name from campaign
			where company_id = $1 and influencer_id = $2 and name_folded = $3 and archived_at is null
			order by created_at, campaign_id limit 1`,
			reg.change.CompanyID, reg.influencerID, folded).Scan(&reg.campaignID, &reg.campaignName)
	}
	if !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	reg.campaignID, reg.campaignName = reg.CampaignID, reg.Campaign
	if reg.campaignID == "" {
		if reg.campaignID, err = commerce.NewID(reg.random, "camp_"); err != nil {
			return err
		}
	}
	_, err = reg.tx.Exec(ctx, `
		insert into campaign (company_id, campaign_id, influencer_id, name, name_folded, rev, created_at)
		values ($1, $2, $3, $4, $5, $6, clock_timestamp())`,
		reg.change.CompanyID, reg.campaignID, reg.influencerID, reg.campaignName, folded, reg.change.Rev)
	if err != nil {
		return err
	}
	return reg.outbox.rule(reg.change, reg.campaignID, reg.rule(wire.RuleCampaign, wire.RuleCreated))
}

func (reg *registering) campaignByID(ctx context.Context, folded string) error {
	var owner, knownFolded string
	var archived bool
	err := reg.tx.QueryRow(ctx, `
		select campaign_id, name, name_folded, influencer_id::text, archived_at is not null from campaign
		where company_id = $1 and campaign_id = $2`, reg.change.CompanyID, reg.CampaignID).
		Scan(&reg.campaignID, &reg.campaignName, &knownFolded, &owner, &archived)
	switch {
	case err != nil:
		return err
	case owner != reg.influencerID || archived:
		return fmt.Errorf("campaign %s: %w", reg.CampaignID, commerce.ErrCampaignTaken)
	case folded != "" && folded != knownFolded:
		// To rename silently would move attribution by utm_content; to ignore
		// the name would be a lie to the caller.
		return fmt.Errorf("campaign %s: %w", reg.CampaignID, commerce.ErrCampaignName)
	}
	return nil
}

func (p *influencerPage) campaigns(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, `
		select influencer_id::text, campaign_id, name from campaign
		where company_id = $1 and influencer_id = any($2::uuid[]) and archived_at is null
		order by created_at, campaign_id`, p.companyID, p.ids)
	if err != nil {
		return err
	}
	var id string
	var c commerce.Campaign
	_, err = pgx.ForEachRow(rows, []any{&id, &c.CampaignID, &c.Name}, func() error {
		p.byID[id].Campaigns = append(p.byID[id].Campaigns, c)
		return nil
	})
	return err
}
