package report

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/reports"
)

// This file reads the visitors and clicks that the processor counts by day.

// onDays is true for the rows of a report: of its company and days.
const onDays = ` where s.company_id = @company_id and s.day between @from and @to`

// Visitors are read by month as other sums are: see inLooseDays.
const (
	onLooseDays = ` where s.company_id = @company_id and (s.day between @from and @until or s.day between @since and @to)`
	onMonths    = ` where s.company_id = @company_id and s.month between @first_month and @last_month`
)

// visitors are the rows of a report's days and whole months whose column "of" fulfils a
// condition, with the columns of traffic_day.
func visitors(condition string) string {
	return `(
		select day, of, visited, viewed, added, checkout, bought from traffic_day s` + onLooseDays + ` and ` + condition + `
		union all
		select month, of, visited, viewed, added, checkout, bought from traffic_month s` + onMonths + ` and ` + condition + `) s`
}

var (
	visitsOfStore = `
	select ` + periodOf("s.day") + ` as period, sum(visited) from ` + visitors(`of = ''`) + ` group by 1 limit @most`

	clicksOfStore = `
	select ` + periodOf("s.day") + ` as period, sum(clicks) from click_day s` + onDays + ` group by 1 limit @most`

	visitsOfInfluencers = `
	select g.period, g.influencer_id, coalesce(i.name, ''), g.campaign_id, coalesce(c.name, ''), visits
	from (
		select ` + periodOf("s.day") +
		` as period, substring(of from 3 for 36) as influencer_id, substring(of from 40) as campaign_id, sum(visited) as visits
		from ` + visitors(`of >= 'i:' and of < 'i;'`) + ` group by 1, 2, 3 limit @most) g
	left join influencer i on i.company_id = @company_id and i.influencer_id = g.influencer_id::uuid
	left join campaign c on c.company_id = @company_id and c.campaign_id = g.campaign_id`

	clicksOfInfluencers = `
	select g.period, coalesce(l.influencer_id::text, ''), coalesce(i.name, ''), coalesce(l.campaign_id, ''), coalesce(c.name, ''), clicks
	from (
		select ` + periodOf("s.day") + ` as period, code, sum(clicks) as clicks from click_day s` + onDays + ` group by 1, 2 limit @most) g
	join link l on l.company_id = @company_id and l.code = g.code
	left join influencer i on i.company_id = @company_id and i.influencer_id = l.influencer_id
	left join campaign c on c.company_id = @company_id and c.campaign_id = l.campaign_id`
)

// funnelOf is the report funnel of what a query gives: the visitors of periods and items.
// Each item's product is looked up once, and then joined as a full join, which PostgreSQL
// never makes row by row: it does not know how many items there are. Anybody can make up items. Of those that are not in
// the catalogue each period has @unknown, and one row of all others, whose item is empty.
// What several items of a product add is added where the rows are read.
func funnelOf(items string) string {
	return `
	with g as materialized (` + items + `),
	n as materialized (select of, substring(of from 3) as item from (select distinct of from g) g),
	k as materialized (select n.of, n.item, p.product_id, p.name from n` + productOfItem + `),
	r as materialized (select * from g full join k using (of))
	select period, product_id, name, '', viewed, added, checkout, bought from r where product_id is not null
	union all
	select * from (
		select period, '', '', case when place <= @unknown::int then item
		else '' end, sum(viewed)::bigint, sum(added)::bigint, sum(checkout)::bigint, sum(bought)::bigint
		from (
			select r.*, row_number() over (partition by period order by bought desc, viewed desc, item) as place from r where product_id is null) s
		group by 1, 2, 3, 4) u
	limit @most`
}

const stagesOfItem = `sum(viewed)::bigint as viewed, sum(added)::bigint as added, sum(checkout)::bigint as checkout, ` +
	`sum(bought)::bigint as bought`

const ofItems = `of >= 'p:' and of < 'p;'`

var (
	funnelOfPeriods = funnelOf(`
		select ` + periodOf("s.day") + ` as period, of, ` + stagesOfItem + ` from ` + visitors(ofItems) + ` group by 1, 2`)

	// Weeks are read one by one: each has far fewer items than all together.
	funnelOfWeeks = funnelOf(`
		select p.period, s.* from unnest(@periods::date[], @ends::date[]) as p (period, last)
		cross join lateral (
			select of, ` + stagesOfItem + ` from traffic_day s` + onDays + ` and s.day between p.period and p.last and ` +
		ofItems + ` group by of) s`)

	// Of periods that are days nothing is to be added.
	funnelOfDays = funnelOf(`
		select day as period, of, viewed, added, checkout, bought from traffic_day s` + onDays + ` and ` + ofItems)
)

// visitsOfStore adds the visitors of each day.
func (r *reading) visitsOfStore(ctx context.Context) error {
	return r.add(ctx, visitsOfStore, "visits")
}

// clicksOfStore adds how often short links were opened.
func (r *reading) clicksOfStore(ctx context.Context) error {
	return r.add(ctx, clicksOfStore, "clicks")
}

// visitsOfInfluencers adds the visitors of each day who came by an influencer's link or
// name.
func (r *reading) visitsOfInfluencers(ctx context.Context) error {
	return r.add(ctx, visitsOfInfluencers, "visits")
}

// clicksOfInfluencers adds how often influencers' short links were opened.
func (r *reading) clicksOfInfluencers(ctx context.Context) error {
	return r.add(ctx, clicksOfInfluencers, "clicks")
}

// funnel adds how far visitors came with each product.
func (r *reading) funnel(ctx context.Context) error {
	switch r.query.By {
	case reports.ByDay:
		return r.addFunnel(ctx, funnelOfDays)
	case reports.ByWeek:
		return r.addFunnel(ctx, funnelOfWeeks)
	case reports.ByMonth, reports.ByTotal:
	}
	return r.addFunnel(ctx, funnelOfPeriods)
}

// addFunnel adds the rows that a statement of funnelOf gives.
func (r *reading) addFunnel(ctx context.Context, sql string) error {
	columns, period, p := r.columns("viewed", "added_to_cart", "began_checkout", "bought"), "", [3]string{}
	counts := make([]int64, len(columns))
	into := []any{postgres.Day(&period), &p[0], &p[1], &p[2], &counts[0], &counts[1], &counts[2], &counts[3]}
	return postgres.Each(ctx, r.tx, into, func() error {
		return r.AddCounts(period, []string{p[0], p[1], p[2]}, columns, counts)
	}, sql, r.args(sql))
}

// LinkClicks returns how often short links were opened on each day of a span, both days
// inclusive, in no order. Days and links without a click are left out.
func (r *Reader) LinkClicks(ctx context.Context, companyID string, codes []string, from, to string) ([]facts.Clicks, error) {
	list, err := postgres.Collect(ctx, r.db.Pool(), func(row pgx.CollectableRow) (c facts.Clicks, err error) {
		return c, row.Scan(&c.Day, &c.Code, &c.Clicks)
	}, `
		select day::text, code, clicks from click_day
		where company_id = $1 and day between $3::date and $4::date and code = any($2)`, companyID, codes, from, to)
	return list, postgres.Wrapf(postgres.Translate(err), "postgres: clicks of %s", companyID)
}
