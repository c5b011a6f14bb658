package report

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	"github.com/tributary-io/tributary/internal/reports"
)

// Kinds of costs of the report costs.
const (
	costOfInfluencer = "influencer" // a value by frequency that was agreed with one
	costAdditional   = "additional"
)

// maxCosts bounds the costs of a report that are not orders' commissions.
const maxCosts = 20_000

// periodCost is a cost that counts on days, whoever it is paid to.
type periodCost struct {
	commerce.AdditionalCost
	kind                                 string
	influencerID, influencer, campaignID string
}

// periodCosts returns the influencers' costs with a value, and the additional costs, that
// count on days of the report. They are in BRL; a report in another currency has none.
func (r *reading) periodCosts(ctx context.Context) ([]periodCost, error) {
	if r.query.Currency != commerce.BRL {
		return nil, nil
	}
	filter := commerce.CostFilter{From: r.query.Start, To: r.query.End}
	additional, err := merchant.AdditionalCostVersions(ctx, r.tx, r.query.CompanyID, filter, maxCosts+1)
	if err != nil {
		return nil, err
	}
	costs, err := r.influencerCosts(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range additional {
		costs = append(costs, periodCost{AdditionalCost: c, kind: costAdditional})
	}
	if len(costs) > maxCosts {
		return nil, reports.ErrTooManyRows
	}
	return costs, nil
}

const influencerCosts = `
	select c.cost_id::text, c.influencer_id::text, coalesce(i.name, ''), coalesce(c.campaign_id, ''), c.value_minor, c.frequency, c.start_date,
	c.end_date, c.deleted_at
	from cost c
	left join influencer i on i.company_id = c.company_id and i.influencer_id = c.influencer_id
	where c.company_id = @company_id and c.value_minor > 0 and c.start_date <= @to::date and (c.end_date is null or c.end_date >= @from::date)
		and not exists (
			select 1 from cost n
			where n.company_id = @company_id and n.influencer_id = c.influencer_id and n.campaign_id is not distinct from c.campaign_id
				and n.is_coupon_cost = c.is_coupon_cost and n.start_date = c.start_date and n.value_minor > 0 and n.deleted_at is null
				and (n.created_at, n.cost_id) > (c.created_at, c.cost_id)
				and (n.end_date is not distinct from c.end_date and n.frequency = c.frequency or c.deleted_at <= n.created_at))
	order by c.created_at, c.cost_id limit @most`

// influencerCosts returns the influencers' costs with a value. One that was removed
// counts on the days before; of two that differ only in amount the later one alone
// counts, as it is with commissions (facts.Cost.Replaces).
func (r *reading) influencerCosts(ctx context.Context) ([]periodCost, error) {
	return postgres.Collect(ctx, r.tx, func(row pgx.CollectableRow) (c periodCost, err error) {
		var deleted time.Time
		c.kind = costOfInfluencer
		err = row.Scan(&c.ID, &c.influencerID, &c.influencer, &c.campaignID, &c.ValueMinor, &c.Frequency,
			postgres.Day(&c.StartDate), postgres.Day(&c.EndDate), postgres.ZeroIfNull(&deleted))
		if !deleted.IsZero() {
			c.Until = deleted.In(r.zone).Format(time.DateOnly)
		}
		return c, err
	}, influencerCosts, pgx.NamedArgs{"company_id": r.query.CompanyID, "from": r.query.Start, "to": r.query.End, "most": maxCosts + 1})
}

// costs adds the costs of each period.
func (r *reading) costs(ctx context.Context) error {
	return r.addCosts(ctx, "amount", func(c *periodCost) []string {
		return []string{c.kind, c.influencerID, c.influencer, c.campaignID, c.Category, c.Name}
	})
}

// addCosts adds the costs of each period to a metric of the rows that texts tells. Where
// it returns nil a cost is left out.
func (r *reading) addCosts(ctx context.Context, metric string, texts func(c *periodCost) []string) error {
	list, err := r.periodCosts(ctx)
	if err != nil {
		return err
	}
	column := r.columns(metric)
	first, last := r.query.Days()
	for i := range list {
		c := &list[i]
		row := texts(c)
		if row == nil {
			continue
		}
		sums := map[string]int64{} // by period: a day's part is far below the bound of an int64
		c.Each(first, last, func(day time.Time, minor int64) { sums[r.query.PeriodOf(day)] += minor })
		for period, sum := range sums {
			if err := r.Add(period, row, column, []decimal.Decimal{decimal.NewFromInt(sum)}); err != nil {
				return err
			}
		}
	}
	return nil
}
