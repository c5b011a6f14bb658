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

// Kinds of costs of the report costs. Bonuses and adjustments are of commerce.EntryKinds.
const (
	costOfInfluencer = "influencer" // a value by frequency that was agreed with one, and is owed
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

// periodCosts returns what influencers are owed beside orders and the additional costs, that count on days of the report. But
// for manual entries they are in BRL; a report in another currency has none.
func (r *reading) periodCosts(ctx context.Context) ([]periodCost, error) {
	costs, err := r.manualCosts(ctx)
	if err != nil {
		return nil, err
	}
	if r.query.Currency == commerce.BRL {
		owed, err := r.owedCosts(ctx)
		if err != nil {
			return nil, err
		}
		filter := commerce.CostFilter{From: r.query.Start, To: r.query.End}
		additional, err := merchant.AdditionalCostVersions(ctx, r.tx, r.query.CompanyID, filter, maxCosts+1)
		if err != nil {
			return nil, err
		}
		costs = append(costs, owed...)
		for _, c := range additional {
			costs = append(costs, periodCost{AdditionalCost: c, kind: costAdditional})
		}
	}
	if len(costs) > maxCosts {
		return nil, reports.ErrTooManyRows
	}
	return costs, nil
}

var owedCosts = `
	select k.cost_id::text, k.influencer_id::text, coalesce(i.name, ''), coalesce(k.campaign_id, ''), k.value_minor, k.frequency, k.start_date,
	k.end_date, k.owed_from, k.until
	from cost k
	left join influencer i on i.company_id = k.company_id and i.influencer_id = k.influencer_id
	where k.company_id = @company_id and k.owed_from <= @to::date and k.start_date <= @to::date
		and (k.end_date is null or k.end_date >= @from::date) and (k.until is null or k.until > @from::date)
	order by k.created_at, k.cost_id limit @most`

// owedCosts returns the influencers' fixed amounts as the ledger has them (ledger.Lines), by day: from the day on which each is
// owed, until the one on which it is owed no more.
func (r *reading) owedCosts(ctx context.Context) ([]periodCost, error) {
	return postgres.Collect(ctx, r.tx, func(row pgx.CollectableRow) (c periodCost, err error) {
		c.kind = costOfInfluencer
		return c, row.Scan(&c.ID, &c.influencerID, &c.influencer, &c.campaignID, &c.ValueMinor, &c.Frequency, postgres.Day(&c.StartDate),
			postgres.Day(&c.EndDate), postgres.Day(&c.Since), postgres.Day(&c.Until))
	}, owedCosts, pgx.NamedArgs{"company_id": r.query.CompanyID, "from": r.query.Start, "to": r.query.End, "most": maxCosts + 1})
}

// manualCosts goes by the index ledger_manual_cost. An advance is a payment, and a product has no amount.
var manualCosts = `
	select e.kind, e.influencer_id::text, coalesce(i.name, ''), e.day, e.minor from (
		select kind, influencer_id, payable_on as day, sum(amount_minor)::bigint as minor from ledger_entry
		where company_id = @company_id and kind in ('bonus', 'adjustment') and currency = @currency
			and payable_on between @from::date and @to::date
		group by kind, influencer_id, payable_on) e
	left join influencer i on i.company_id = @company_id and i.influencer_id = e.influencer_id
	order by e.day, e.influencer_id, e.kind limit @most`

// manualCosts returns the bonuses and adjustments of the ledger that are of days of the report, those of a day, influencer and
// kind together.
func (r *reading) manualCosts(ctx context.Context) ([]periodCost, error) {
	return postgres.Collect(ctx, r.tx, func(row pgx.CollectableRow) (c periodCost, err error) {
		c.Frequency = commerce.Specific
		return c, row.Scan(&c.kind, &c.influencerID, &c.influencer, postgres.Day(&c.StartDate), &c.ValueMinor)
	}, manualCosts, pgx.NamedArgs{"company_id": r.query.CompanyID, "currency": r.query.Currency, "from": r.query.Start, "to": r.query.End,
		"most": maxCosts + 1})
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
