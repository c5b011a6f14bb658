package report

import (
	"context"
	"strings"
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

// replaces returns SQL which says that of two costs with a value the later one counts in place of the earlier one.
func replaces(later, earlier string) string {
	return strings.NewReplacer("n.", later+".", "c.", earlier+".").Replace(`n.influencer_id = c.influencer_id
		and n.campaign_id is not distinct from c.campaign_id
		and n.is_coupon_cost = c.is_coupon_cost and n.start_date = c.start_date and n.value_minor > 0
		and (n.created_at, n.cost_id) > (c.created_at, c.cost_id)
		and (n.end_date is not distinct from c.end_date and n.frequency = c.frequency or c.deleted_at <= n.created_at)`)
}

var influencerCosts = `
	select k.cost_id::text, k.influencer_id::text, coalesce(i.name, ''), coalesce(k.campaign_id, ''), k.value_minor, k.frequency, k.start_date,
	k.end_date, k.deleted_at, k.owed_from, k.until,
	least(k.owed_from, (select min(e.owed_from) from cost e where e.company_id = @company_id and e.value_minor > 0 and ` +
	replaces("k", "e") + `)),
	exists (select 1 from cost l where l.company_id = @company_id and l.deleted_at is null and ` + replaces("l", "k") + `)
	from cost k
	left join influencer i on i.company_id = k.company_id and i.influencer_id = k.influencer_id
	where k.company_id = @company_id and k.value_minor > 0 and k.start_date <= @to::date and (k.end_date is null or k.end_date >= @from::date)
	order by k.created_at, k.cost_id limit @most`

// influencerCosts returns the influencers' costs with a value. On days on which nothing is owed for them, one that was removed
// counts on the days before, and of two that differ only in amount the later one alone counts, as it is with commissions
// (facts.Cost.Replaces). From the day on which it is owed, a cost counts as the ledger has it (ledger.Lines), by day.
func (r *reading) influencerCosts(ctx context.Context) (list []periodCost, err error) {
	read, err := postgres.Collect(ctx, r.tx, func(row pgx.CollectableRow) (c ownCost, err error) {
		return c, row.Scan(&c.ID, &c.influencerID, &c.influencer, &c.campaignID, &c.ValueMinor, &c.Frequency, postgres.Day(&c.StartDate),
			postgres.Day(&c.EndDate), postgres.ZeroIfNull(&c.deleted), postgres.Day(&c.owedFrom), postgres.Day(&c.owedUntil),
			postgres.Day(&c.firstOwed), &c.replaced)
	}, influencerCosts, pgx.NamedArgs{"company_id": r.query.CompanyID, "from": r.query.Start, "to": r.query.End, "most": maxCosts + 1})
	for _, c := range read {
		c.kind = costOfInfluencer
		if !c.replaced {
			c.Until = c.firstOwed
			if day := c.deleted.In(r.zone).Format(time.DateOnly); !c.deleted.IsZero() && (c.Until == "" || day < c.Until) {
				c.Until = day
			}
			list = append(list, c.periodCost)
		}
		if c.owedFrom != "" {
			c.Since, c.Until = c.owedFrom, c.owedUntil
			list = append(list, c.periodCost)
		}
	}
	return list, err
}

// ownCost is a cost of an influencer as it is stored.
type ownCost struct {
	periodCost
	deleted             time.Time
	owedFrom, owedUntil string // owed from a day on, and until one, exclusive; empty: not owed, and no end
	firstOwed           string // the first day on which it, or one that it replaces, is owed
	replaced            bool   // another counts in its place where nothing is owed
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
