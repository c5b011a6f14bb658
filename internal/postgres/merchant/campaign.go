package merchant

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/fold"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/wire"
)

func campaignColumns(c *commerce.Campaign) postgres.Columns {
	return postgres.Columns{
		postgres.Into("campaign_id", &c.CampaignID),
		postgres.Into("name", &c.Name),
	}
}

// findOrCreateCampaign finds the campaign by its id, or among the influencer's
// by its folded name, or makes it. The name may be empty (no utm_content): every
// link and every coupon belongs to a campaign.
func (reg *registering) findOrCreateCampaign(ctx context.Context) error {
	if reg.newOnly && len(reg.Links)+len(reg.Coupons)+len(reg.Costs) == 0 {
		return nil // nothing is left that would belong to one
	}
	folded := fold.Name(reg.Campaign)
	var err error
	switch {
	case reg.CampaignID != "":
		err = reg.campaignByID(ctx, folded)
	case reg.later != nil:
		err = pgx.ErrNoRows
	default:
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
	err = reg.exec(ctx, `
		insert into campaign (company_id, campaign_id, influencer_id, name, name_folded, rev, created_at)
		values (@company_id, @campaign_id, @influencer_id, @name, @name_folded, @rev, @now)`,
		reg.args(pgx.NamedArgs{"campaign_id": reg.campaignID, "influencer_id": reg.influencerID, "name": reg.campaignName,
			"name_folded": folded}))
	if err != nil {
		return err
	}
	return reg.outbox.rule(reg.change, reg.campaignID, reg.rule(wire.RuleCampaign, wire.RuleCreated))
}

type knownCampaign struct {
	commerce.Campaign
	nameFolded, influencerID string
	archived                 bool
}

func knownCampaignColumns(c *knownCampaign) postgres.Columns {
	return append(campaignColumns(&c.Campaign),
		postgres.Into("name_folded", &c.nameFolded),
		postgres.Into("influencer_id", &c.influencerID),
		postgres.Into("archived_at is not null", &c.archived))
}

func (reg *registering) campaignByID(ctx context.Context, folded string) error {
	known, err := postgres.One(ctx, reg.tx, postgres.Scan(knownCampaignColumns), `
		select `+postgres.List(knownCampaignColumns)+` from campaign
		where company_id = $1 and campaign_id = $2`, reg.change.CompanyID, reg.CampaignID)
	if err != nil {
		return err
	}
	reg.campaignID, reg.campaignName = known.CampaignID, known.Name
	switch {
	case known.influencerID != reg.influencerID || known.archived:
		return fmt.Errorf("campaign %s: %w", reg.CampaignID, commerce.ErrCampaignTaken)
	case folded != "" && folded != known.nameFolded:
		// A new name would change which orders utm_content is credited for, and
		// the caller would not learn that the name was ignored.
		return fmt.Errorf("campaign %s: %w", reg.CampaignID, commerce.ErrCampaignName)
	}
	return nil
}

func (p *influencerPage) campaigns(ctx context.Context, tx pgx.Tx) error {
	list, err := postgres.Collect(ctx, tx, postgres.Scan(ownedCampaignColumns), `
		select `+postgres.List(ownedCampaignColumns)+` from campaign
		where company_id = $1 and influencer_id = any($2::uuid[]) and archived_at is null
		order by created_at, campaign_id`, p.companyID, p.ids)
	for _, c := range list {
		of := p.byID[c.influencerID]
		of.Campaigns = append(of.Campaigns, c.it)
	}
	return err
}

func ownedCampaignColumns(c *owned[commerce.Campaign]) postgres.Columns {
	return append(campaignColumns(&c.it), postgres.Into("influencer_id", &c.influencerID))
}
