package merchant

import (
	"context"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5"
	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/wire"
)

func (reg *registering) addCosts(ctx context.Context) error {
	if len(reg.Costs) == 0 {
		return nil
	}
	var live int
	if err := reg.tx.QueryRow(ctx, `select count(*) from cost where company_id = $1 and influencer_id = $2 and deleted_at is null`,
		reg.change.CompanyID, reg.influencerID).Scan(&live); err != nil {
		return err
	}
	if live+len(reg.Costs) > commerce.MaxLiveCosts {
		return fmt.Errorf("%d and %d more: %w", live, len(reg.Costs), commerce.ErrTooManyCosts)
	}
	batch := &pgx.Batch{}
	for _, c := range reg.Costs {
		id, err := reg.newID()
		if err != nil {
			return err
		}
		reg.costIDs = append(reg.costIDs, id)
		rule := reg.rule(wire.RuleCost, wire.RuleCreated)
		rule.From, rule.To = c.StartDate, c.EndDate
		if !c.CampaignCost {
			rule.CampaignID = ""
		}
		if err := reg.outbox.rule(reg.change, id, rule); err != nil {
			return err
		}
		batch.Queue(`
			insert into cost (company_id, cost_id, influencer_id, campaign_id, fixed_fee_minor, var_fee, value_minor,
				frequency, is_coupon_cost, start_date, end_date, rev, created_at)
			values ($1, $2, $3, nullif($4, ''), $5, $6::text::numeric, $7, nullif($8, ''), $9, $10::text::date, nullif($11, '')::date, $12, clock_timestamp())`,
			reg.change.CompanyID, id, reg.influencerID, rule.CampaignID, c.FixedFeeMinor, c.VarFee.String(), c.ValueMinor,
			c.Frequency, c.CouponCost, c.StartDate, c.EndDate, reg.change.Rev)
	}
	return reg.tx.SendBatch(ctx, batch).Close()
}

// AddCost adds a cost to the influencer of that name, at the level of a
// campaign where terms say so. An unknown name or campaign is
// commerce.ErrNotFound, another influencer's campaign commerce.ErrCampaignTaken,
// one cost too many commerce.ErrTooManyCosts.
func (s *Store) AddCost(ctx context.Context, author commerce.Author, name, campaignID string, terms commerce.CostTerms, random io.Reader) (influencerID string, cost commerce.Cost, err error) {
	cost = commerce.Cost{CostTerms: terms}
	err = s.changeRules(ctx, author, func(c *ruleChange) error {
		reg := registering{Registration: commerce.Registration{CampaignID: campaignID, Costs: []commerce.CostTerms{terms}}, ruleChange: c, random: random}
		var err error
		if reg.influencerID, reg.influencerName, err = c.influencerByName(ctx, name); err != nil {
			return err
		}
		if campaignID != "" {
			if err := reg.campaignByID(ctx, ""); err != nil {
				return err
			}
		}
		if err := reg.addCosts(ctx); err != nil {
			return err
		}
		influencerID, cost.CostID = reg.influencerID, reg.costIDs[0]
		if terms.CampaignCost {
			cost.CampaignID = campaignID
		}
		c.change.Action, c.change.Subject, c.change.Detail = "cost.create", cost.CostID, map[string]any{"influencer_id": influencerID, "campaign_id": cost.CampaignID}
		return nil
	})
	if err != nil {
		return "", commerce.Cost{}, fmt.Errorf("postgres: add cost: %w", err)
	}
	return influencerID, cost, nil
}

// DeleteCost ends a cost at this instant; an unknown one, or one that is not of
// a campaign where campaignOnly, is commerce.ErrNotFound.
func (s *Store) DeleteCost(ctx context.Context, author commerce.Author, costID string, campaignOnly bool) error {
	err := s.changeRules(ctx, author, func(c *ruleChange) error {
		ended, err := c.endCosts(ctx, `cost_id = $3::uuid and (campaign_id is not null or not $4)`, costID, campaignOnly)
		if err == nil && ended == 0 {
			err = pgx.ErrNoRows
		}
		c.change.Action, c.change.Subject = "cost.delete", costID
		return err
	})
	if err != nil {
		return fmt.Errorf("postgres: delete cost: %w", err)
	}
	return nil
}

// endCosts ends the live costs that a condition names; its parameters are $3 and on.
func (c *ruleChange) endCosts(ctx context.Context, where string, args ...any) (ended int, err error) {
	rows, err := c.tx.Query(ctx, `
		update cost set deleted_at = clock_timestamp(), rev = $2 where company_id = $1 and deleted_at is null and `+where+`
		returning influencer_id::text, cost_id::text, coalesce(campaign_id, ''), to_char(start_date, 'YYYY-MM-DD'), coalesce(to_char(end_date, 'YYYY-MM-DD'), '')`,
		append([]any{c.change.CompanyID, c.change.Rev}, args...)...)
	if err != nil {
		return 0, err
	}
	var id string
	rule := wire.Rule{Type: wire.RuleCost, Change: wire.RuleDeleted}
	_, err = pgx.ForEachRow(rows, []any{&rule.InfluencerID, &id, &rule.CampaignID, &rule.From, &rule.To}, func() error {
		ended++
		return c.outbox.rule(c.change, id, rule)
	})
	return ended, err
}

func (p *influencerPage) costs(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, `
		select influencer_id::text, cost_id::text, coalesce(campaign_id, ''), fixed_fee_minor, var_fee::text, value_minor,
			coalesce(frequency, ''), is_coupon_cost, to_char(start_date, 'YYYY-MM-DD'), coalesce(to_char(end_date, 'YYYY-MM-DD'), '')
		from cost
		where company_id = $1 and influencer_id = any($2::uuid[]) and deleted_at is null
		order by cost_id`, p.companyID, p.ids)
	if err != nil {
		return err
	}
	var id, percent string
	var c commerce.Cost
	_, err = pgx.ForEachRow(rows, []any{&id, &c.CostID, &c.CampaignID, &c.FixedFeeMinor, &percent, &c.ValueMinor, &c.Frequency, &c.CouponCost, &c.StartDate, &c.EndDate}, func() error {
		var err error
		if c.VarFee, err = decimal.NewFromString(percent); err != nil {
			return fmt.Errorf("var_fee of cost %s: %w", c.CostID, err)
		}
		c.CampaignCost = c.CampaignID != ""
		p.byID[id].Costs = append(p.byID[id].Costs, c)
		return nil
	})
	return err
}
