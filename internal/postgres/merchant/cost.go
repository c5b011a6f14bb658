package merchant

import (
	"context"
	"fmt"
	"io"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/wire"
)

func (reg *registering) addCosts(ctx context.Context) error {
	if len(reg.Costs) == 0 {
		return nil
	}
	var live int
	if reg.later == nil {
		if err := reg.tx.QueryRow(ctx, `select count(*) from cost where company_id = $1 and influencer_id = $2 and deleted_at is null`,
			reg.change.CompanyID, reg.influencerID).Scan(&live); err != nil {
			return err
		}
	}
	if live+len(reg.Costs) > commerce.MaxLiveCosts {
		return fmt.Errorf("%d and %d more: %w", live, len(reg.Costs), commerce.ErrTooManyCosts)
	}
	var costs []newCost
	earliest := reg.now.AddDate(0, 0, -commerce.MaxEntryAge-1).Format(time.DateOnly)
	for _, c := range reg.Costs {
		if c.OwedFrom != "" && c.OwedFrom < earliest {
			return commerce.ErrOwedTooEarly
		}
		id, err := reg.newID()
		if err != nil {
			return err
		}
		rule := reg.rule(wire.RuleCost, wire.RuleCreated)
		rule.From, rule.To = c.StartDate, c.EndDate
		if !c.CampaignCost {
			rule.CampaignID = ""
		}
		if err := reg.outbox.rule(reg.change, id, rule); err != nil {
			return err
		}
		costs, reg.costIDs = append(costs, newCost{CostTerms: c, id: id, campaignID: rule.CampaignID}), append(reg.costIDs, id)
	}
	if err := reg.insertAll(ctx, len(costs), `
		insert into cost (company_id, cost_id, influencer_id, campaign_id, fixed_fee_minor, var_fee, value_minor,
			frequency, is_coupon_cost, start_date, end_date, owed_from, rev, created_at)
		select @company_id, cost_id, @influencer_id, campaign_id, fixed_fee_minor, var_fee, value_minor,
			frequency, is_coupon_cost, start_date, end_date,
			case when value_minor > 0 then coalesce(owed_from, (date_trunc('month', `+today+`) + interval '1 month')::date) end, @rev, @now
		from `+newCosts.Unnest("c")+`
		on conflict (company_id, cost_id) do nothing returning cost_id`,
		newCosts.Args(costs, reg.args(pgx.NamedArgs{"influencer_id": reg.influencerID}))); err != nil {
		return err
	}
	return reg.owe(ctx, costs)
}

// today is the company's day.
const today = `(@now::timestamptz at time zone (select timezone from company where company_id = @company_id))::date`

// owe ends the agreements that new costs take the place of (replacedOwed), on the day from which these are owed, and
// has the processor post what this changes of days that are closed already.
func (reg *registering) owe(ctx context.Context, costs []newCost) error {
	var ids []string
	for _, c := range costs {
		if c.ValueMinor > 0 {
			ids = append(ids, c.id)
		}
	}
	// Of a new influencer, one agreement that is owed from next month on takes no other's place, and no closed day has it.
	if len(ids) == 0 || reg.later != nil && len(costs) == 1 && costs[0].OwedFrom == "" {
		return nil
	}
	args := pgx.NamedArgs{"company_id": reg.change.CompanyID, "ids": ids, "influencer_id": reg.influencerID}
	if err := reg.exec(ctx, `
		update cost o set until = least(o.until, n.owed_from)
		from cost n where n.company_id = @company_id and n.cost_id = any(@ids::uuid[]) and o.company_id = @company_id
			and o.influencer_id = @influencer_id::uuid and `+replacedOwed, args); err != nil {
		return err
	}
	return reg.queueAgreements(ctx, []string{reg.influencerID})
}

// replacedOwed is that an agreement (o) differs only in amount from one that was made later (n).
const replacedOwed = `o.influencer_id = n.influencer_id and o.owed_from is not null and o.deleted_at is null
	and o.campaign_id is not distinct from n.campaign_id and o.is_coupon_cost = n.is_coupon_cost and o.start_date = n.start_date
	and o.end_date is not distinct from n.end_date and o.frequency = n.frequency and (o.created_at, o.cost_id) < (n.created_at, n.cost_id)`

// queueAgreements has the processor look at what influencers are owed of days that are closed.
func (c *ruleChange) queueAgreements(ctx context.Context, influencerIDs []string) error {
	return c.exec(ctx, `
		insert into agreement_queue (company_id, influencer_id)
		select distinct @company_id, k.influencer_id from cost k join closed_day d on d.company_id = @company_id
		where k.company_id = @company_id and k.influencer_id = any(@influencers::uuid[]) and k.owed_from <= d.day
		on conflict (company_id, influencer_id) do nothing`, pgx.NamedArgs{"company_id": c.change.CompanyID, "influencers": influencerIDs})
}

// newCost is a cost to be inserted.
type newCost struct {
	commerce.CostTerms
	id, campaignID string
}

var newCosts = postgres.Rows[newCost]{
	postgres.Col("cost_id", "uuid", func(c *newCost) string { return c.id }),
	postgres.Col("campaign_id", "text", func(c *newCost) *string { return postgres.NullIfEmpty(c.campaignID) }),
	postgres.Col("fixed_fee_minor", "bigint", func(c *newCost) int64 { return c.FixedFeeMinor }),
	postgres.Col("var_fee", "numeric", func(c *newCost) string { return c.VarFee.String() }),
	postgres.Col("value_minor", "bigint", func(c *newCost) int64 { return c.ValueMinor }),
	postgres.Col("frequency", "text", func(c *newCost) *string { return postgres.NullIfEmpty(c.Frequency) }),
	postgres.Col("is_coupon_cost", "boolean", func(c *newCost) bool { return c.CouponCost }),
	postgres.Col("start_date", "date", func(c *newCost) *string { return postgres.NullIfEmpty(c.StartDate) }),
	postgres.Col("end_date", "date", func(c *newCost) *string { return postgres.NullIfEmpty(c.EndDate) }),
	postgres.Col("owed_from", "date", func(c *newCost) *string { return postgres.NullIfEmpty(c.OwedFrom) }),
}

// AddCost adds a cost to the influencer of that name, or to one campaign where
// terms say so. An unknown name or campaign is
// commerce.ErrNotFound, another influencer's campaign commerce.ErrCampaignTaken,
// one cost too many commerce.ErrTooManyCosts.
func (s *Store) AddCost(ctx context.Context, author commerce.Author, name, campaignID string, terms commerce.CostTerms,
	random io.Reader) (influencerID string, cost commerce.Cost, err error) {
	cost = commerce.Cost{CostTerms: terms}
	err = s.changeRules(ctx, author, func(c *ruleChange) error {
		reg := registering{Registration: commerce.Registration{CampaignID: campaignID, Costs: []commerce.CostTerms{terms}},
			ruleChange: c, random: random}
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
		if cost.Replaces, err = reg.replacedBy(ctx, cost); err != nil {
			return err
		}
		c.change.PartOf = influencerID
		c.change.Action, c.change.Subject, c.change.Detail = "cost.create", cost.CostID, costDetail(influencerID, &cost)
		return nil
	})
	return influencerID, cost, postgres.Wrapf(err, "postgres: add cost")
}

// costDetail is what the audit log says of a new cost: what it pays, and for how long.
func costDetail(influencerID string, c *commerce.Cost) map[string]any {
	detail := map[string]any{"influencer_id": influencerID, "campaign_id": c.CampaignID, "var_fee": c.VarFee.String(),
		"fixed_fee_minor": c.FixedFeeMinor, "value_minor": c.ValueMinor, "frequency": c.Frequency, "start_date": c.StartDate,
		"end_date": c.EndDate}
	maps.DeleteFunc(detail, func(_ string, value any) bool { return value == "" || value == "0" || value == int64(0) })
	return detail
}

// replacedBy returns the ids of the influencer's costs that a new one replaces
// (facts.Cost.Replaces): with the same campaign, evidence and first day, and either
// only another amount, or deleted before.
func (reg *registering) replacedBy(ctx context.Context, cost commerce.Cost) ([]string, error) {
	if cost.FixedFeeMinor == 0 && cost.VarFee.IsZero() {
		return nil, nil // a marketing cost by day is no part of a payout
	}
	return postgres.Collect(ctx, reg.tx, pgx.RowTo[string], `
		select cost_id::text from cost
		where company_id = @company_id and influencer_id = @influencer_id and cost_id <> @cost_id
			and coalesce(campaign_id, '') = @campaign_id and is_coupon_cost = @is_coupon_cost and start_date = @start_date::date
			and (fixed_fee_minor > 0 or var_fee > 0)
			and (deleted_at is not null
				or end_date is not distinct from @end_date::date and (fixed_fee_minor > 0) = @has_fee and (var_fee > 0) = @has_share)
		order by cost_id`,
		pgx.NamedArgs{"company_id": reg.change.CompanyID, "influencer_id": reg.influencerID, "cost_id": cost.CostID,
			"campaign_id":    cost.CampaignID,
			"is_coupon_cost": cost.CouponCost, "start_date": cost.StartDate, "end_date": postgres.NullIfEmpty(cost.EndDate),
			"has_fee": cost.FixedFeeMinor > 0, "has_share": !cost.VarFee.IsZero()})
}

// DeleteCost ends a cost now. An unknown one is commerce.ErrNotFound, and with
// campaignOnly so is one that belongs to no campaign.
func (s *Store) DeleteCost(ctx context.Context, author commerce.Author, costID string, campaignOnly bool) error {
	err := s.changeRules(ctx, author, func(c *ruleChange) error {
		ended, err := c.endCosts(ctx, `cost_id = @cost_id and (campaign_id is not null or not @campaign_only)`,
			pgx.NamedArgs{"cost_id": costID, "campaign_only": campaignOnly})
		if err == nil && ended == 0 {
			err = pgx.ErrNoRows
		}
		if err == nil {
			err = c.forgetRepeats(ctx)
		}
		c.change.Action, c.change.Subject = "cost.delete", costID
		return err
	})
	return postgres.Wrapf(err, "postgres: delete cost")
}

type endedCost struct {
	id   string
	rule wire.Rule
}

func endedCostColumns(c *endedCost) postgres.Columns {
	return postgres.Columns{
		postgres.Into("cost_id", &c.id),
		postgres.Into("influencer_id", &c.rule.InfluencerID),
		postgres.Into("coalesce(campaign_id, '')", &c.rule.CampaignID),
		postgres.Into("start_date", postgres.Day(&c.rule.From)),
		postgres.Into("end_date", postgres.Day(&c.rule.To)),
	}
}

// endCosts ends the live costs for which where is true, and returns their number.
func (c *ruleChange) endCosts(ctx context.Context, where string, args pgx.NamedArgs) (ended int, err error) {
	costs, err := postgres.Collect(ctx, c.tx, postgres.Scan(endedCostColumns), `
		update cost set deleted_at = @now, rev = @rev, until = case when owed_from is not null then least(until, `+today+`) end
		where company_id = @company_id and deleted_at is null and `+where+`
		returning `+postgres.List(endedCostColumns), c.args(args))
	if err != nil {
		return 0, err
	}
	var owed []string
	for _, cost := range costs {
		owed = append(owed, cost.rule.InfluencerID)
		cost.rule.Type, cost.rule.Change = wire.RuleCost, wire.RuleDeleted
		if err := c.outbox.rule(c.change, cost.id, cost.rule); err != nil {
			return 0, err
		}
		c.change.PartOf = cost.rule.InfluencerID
	}
	if len(owed) > 0 {
		err = c.queueAgreements(ctx, owed)
	}
	return len(costs), err
}

func costColumns(c *owned[commerce.Cost]) postgres.Columns {
	return postgres.Columns{
		postgres.Into("influencer_id", &c.influencerID),
		postgres.Into("cost_id", &c.it.CostID),
		postgres.Into("coalesce(campaign_id, '')", &c.it.CampaignID),
		postgres.Into("campaign_id is not null", &c.it.CampaignCost),
		postgres.Into("fixed_fee_minor", &c.it.FixedFeeMinor),
		postgres.Into("var_fee::text", &c.it.VarFee),
		postgres.Into("value_minor", &c.it.ValueMinor),
		postgres.Into("coalesce(frequency, '')", &c.it.Frequency),
		postgres.Into("is_coupon_cost", &c.it.CouponCost),
		postgres.Into("start_date", postgres.Day(&c.it.StartDate)),
		postgres.Into("end_date", postgres.Day(&c.it.EndDate)),
		postgres.Into("owed_from", postgres.Day(&c.it.OwedFrom)),
	}
}

func (p *influencerPage) costs(ctx context.Context, tx pgx.Tx) error {
	list, err := postgres.Collect(ctx, tx, postgres.Scan(costColumns), `
		select `+postgres.List(costColumns)+` from cost
		where company_id = $1 and influencer_id = any($2::uuid[]) and deleted_at is null
		order by cost_id`, p.companyID, p.ids)
	for _, c := range list {
		of := p.byID[c.influencerID]
		of.Costs = append(of.Costs, c.it)
	}
	return err
}
