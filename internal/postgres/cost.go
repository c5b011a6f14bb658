package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
)

func (reg *registering) addCosts(ctx context.Context) error {
	batch := &pgx.Batch{}
	for _, c := range reg.Costs {
		id, err := reg.newID()
		if err != nil {
			return err
		}
		rule := reg.rule("cost", "created")
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
	if batch.Len() == 0 {
		return nil
	}
	return reg.tx.SendBatch(ctx, batch).Close()
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
