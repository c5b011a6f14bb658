package report

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/models"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/reports"
)

// This file reads the sums by day that the processor keeps (internal/rollup).

// inDays is true for the rows of a report: of its company, days and currency.
const inDays = ` where s.company_id = @company_id and s.day between @from and @to and s.currency = @currency`

// Of what is summed by day and by month, a report reads its whole months as such where its
// periods allow it, and the days before and after them.
const (
	inLooseDays = ` where s.company_id = @company_id and (s.day between @from and @until or s.day between @since and @to) and s.currency = @currency`
	inMonths    = ` where s.company_id = @company_id and s.month between @first_month and @last_month and s.currency = @currency`
)

var salesOfStore = `
	select ` + periodOf("s.day") + ` as period, sum(orders), sum(sales_minor),
		coalesce(sum(orders) filter (where influencer_id <> ''), 0), coalesce(sum(sales_minor) filter (where influencer_id <> ''), 0),
		sum(pending_orders), sum(pending_minor), sum(pending_commission_minor), sum(cancelled_orders), sum(cancelled_minor), sum(review_orders),
		sum(commission_minor), sum(new_customers), sum(returning_orders)
	from sale_day s` + inDays + ` group by 1 limit @most`

// sales adds all orders.
func (r *reading) sales(ctx context.Context) error {
	return r.add(ctx, salesOfStore, "orders", "sales", "attributed_orders", "attributed_sales", "pending_orders", "pending_sales", "pending_commission",
		"cancelled_orders", "cancelled_sales", "review_orders", "commission", "new_customers", "returning_orders")
}

// costsOfStore adds all costs that are not orders' commissions.
func (r *reading) costsOfStore(ctx context.Context) error {
	return r.addCosts(ctx, "cost", func(*periodCost) []string { return []string{} })
}

// paid are the metrics of orders by who is paid, and paidSums their sums.
var paid = []string{"orders", "sales", "pending_orders", "pending_sales", "pending_commission", "cancelled_orders", "cancelled_sales", "commission", "new_customers", "returning_orders"}

const paidSums = `sum(orders) as orders, sum(sales_minor) as sales, sum(pending_orders) as pending_orders, sum(pending_minor) as pending, sum(pending_commission_minor) as pending_commission,
	sum(cancelled_orders) as cancelled_orders, sum(cancelled_minor) as cancelled, sum(commission_minor) as commission, sum(new_customers) as new_customers, sum(returning_orders) as returning_orders`

var salesOfInfluencers = `
	select g.period, g.influencer_id, coalesce(i.name, ''), g.campaign_id, coalesce(c.name, ''), orders, sales, pending_orders, pending, pending_commission, cancelled_orders, cancelled, commission, new_customers, returning_orders
	from (
		select ` + periodOf("s.day") + ` as period, influencer_id, campaign_id, ` + paidSums + `
		from sale_day s` + inDays + ` and influencer_id <> '' group by 1, 2, 3 limit @most) g
	left join influencer i on i.company_id = @company_id and i.influencer_id = g.influencer_id::uuid
	left join campaign c on c.company_id = @company_id and c.campaign_id = g.campaign_id`

// salesOfInfluencers adds the orders for which an influencer is paid.
func (r *reading) salesOfInfluencers(ctx context.Context) error {
	return r.add(ctx, salesOfInfluencers, paid...)
}

// costsOfInfluencers adds the costs that are influencers'.
func (r *reading) costsOfInfluencers(ctx context.Context) error {
	names, err := r.campaignNames(ctx)
	if err != nil {
		return err
	}
	return r.addCosts(ctx, "cost", func(c *periodCost) []string {
		if c.kind != costOfInfluencer {
			return nil
		}
		return []string{c.influencerID, c.influencer, c.campaignID, names[c.campaignID]}
	})
}

// campaignNames returns the names of the campaigns that have costs, by their ids.
func (r *reading) campaignNames(ctx context.Context) (map[string]string, error) {
	rows, err := r.tx.Query(ctx, `
		select distinct c.campaign_id, c.name from campaign c join cost k on k.company_id = c.company_id and k.campaign_id = c.campaign_id
		where c.company_id = $1 and k.value_minor > 0`, r.query.CompanyID)
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	var id, name string
	_, err = pgx.ForEachRow(rows, []any{&id, &name}, func() error { names[id] = name; return nil })
	return names, err
}

var creditsOfInfluencers = `
	select g.period, g.influencer_id, coalesce(i.name, ''), g.campaign_id, coalesce(c.name, ''), orders, sales
	from (
		select ` + periodOf("s.day") + ` as period, influencer_id, campaign_id, ` + byModel("_orders") + ` as orders, ` + byModel("_minor") + ` as sales
		from credit_day s` + inDays + ` and influencer_id <> '' group by 1, 2, 3 limit @most) g
	left join influencer i on i.company_id = @company_id and i.influencer_id = g.influencer_id::uuid
	left join campaign c on c.company_id = @company_id and c.campaign_id = g.campaign_id`

// byModel is the SQL of a sum of the column of the model that was asked for. It needs the
// argument model.
func byModel(column string) string {
	sql := "sum(case @model::text"
	for _, model := range models.OfOrders() {
		sql += " when '" + model + "' then " + model + column
	}
	return sql + " end)"
}

// creditsOfInfluencers adds what a model credits to influencers.
func (r *reading) creditsOfInfluencers(ctx context.Context) error {
	return r.add(ctx, creditsOfInfluencers, "credited_orders", "credited_sales")
}

var salesOfCoupons = `
	select g.period, g.coupon_id, coalesce(k.code, ''), g.influencer_id, coalesce(i.name, ''), g.campaign_id, coalesce(c.name, ''),
		orders, sales, pending_orders, pending, pending_commission, cancelled_orders, cancelled, commission, new_customers, returning_orders
	from (
		select ` + periodOf("s.day") + ` as period, coupon_id, influencer_id, campaign_id, ` + paidSums + `
		from sale_day s` + inDays + ` and coupon_id <> '' group by 1, 2, 3, 4 limit @most) g
	left join coupon k on k.company_id = @company_id and k.coupon_id = g.coupon_id::uuid
	left join influencer i on i.company_id = @company_id and i.influencer_id = g.influencer_id::uuid
	left join campaign c on c.company_id = @company_id and c.campaign_id = g.campaign_id`

// coupons adds the orders that are paid by a coupon.
func (r *reading) coupons(ctx context.Context) error {
	return r.add(ctx, salesOfCoupons, paid...)
}

var creditsOfChannels = `
	select ` + periodOf("s.day") + ` as period, channel, influencer_id, ` + byModel("_orders") + `, ` + byModel("_minor") + `
	from credit_day s` + inDays + ` group by 1, 2, 3 limit @most`

// channels adds what the model credits to each channel.
func (r *reading) channels(ctx context.Context) error {
	if r.query.Model == models.Markov || r.query.Model == models.Shapley {
		return r.channelsOverPaths(ctx)
	}
	return r.add(ctx, creditsOfChannels, "credited_orders", "credited_sales")
}

// An item of an order is the id of a product, else of a variant, else a SKU. Of several
// products with a variant or a SKU it is the first by its id.
var salesOfProducts = `
	with g as materialized (
		select ` + periodOf("s.day") + ` as period, item, sum(orders) as orders, sum(quantity) as quantity, sum(sales) as sales
		from (
			select day, item, orders, quantity, sales from product_day s` + inLooseDays + `
			union all
			select month, item, orders, quantity, sales from product_month s` + inMonths + `) s
		group by 1, 2 limit @most),` + productsOfItems + `
	select g.period, coalesce(p.product_id, ''), coalesce(p.name, ''), case when p.product_id is null then g.item else '' end, g.orders, g.quantity, g.sales
	from g join products p on p.item = g.item`

// productsOfItems finds the product of each item of g, once.
const productsOfItems = `
	products as (
	select n.item, p.product_id, p.name from (select distinct item from g) n` + productOfItem + `)`

// productOfItem joins the product (p) of an item (n.item).
const productOfItem = `
	left join product d on d.company_id = @company_id and d.product_id = n.item
	left join lateral (
		select product_id from product_variant v where d.product_id is null and v.company_id = @company_id and v.variant_id = n.item order by product_id limit 1) v on true
	left join lateral (
		select product_id from product_variant u where d.product_id is null and v.product_id is null and u.company_id = @company_id and u.sku = n.item order by product_id limit 1) u on true
	left join product p on p.company_id = @company_id and p.product_id = coalesce(d.product_id, v.product_id, u.product_id)`

// products adds the items of orders.
func (r *reading) products(ctx context.Context) error {
	digits := r.digits()
	columns := r.columns("orders", "quantity", "sales")
	rows, err := r.tx.Query(ctx, salesOfProducts, r.args(salesOfProducts))
	if err != nil {
		return err
	}
	var period string
	var texts [3]string
	var numbers [3]pgtype.Numeric
	_, err = pgx.ForEachRow(rows, []any{postgres.Day(&period), &texts[0], &texts[1], &texts[2], &numbers[0], &numbers[1], &numbers[2]}, func() error {
		sales := decimalOf(numbers[2]).Shift(digits) // in minor units, perhaps with a fraction
		return r.Add(period, slices.Clone(texts[:]), columns, []decimal.Decimal{decimalOf(numbers[0]), decimalOf(numbers[1]), sales})
	})
	return err
}

// mostPaths is how many paths a period of the report paths has. The others are one row.
const mostPaths = "200"

// frequentPaths are the most frequent paths of each period. Each period is read by itself:
// it has far fewer paths than all together.
const frequentPaths = `
	select p.period, coalesce(
			(select path from path_day d where d.company_id = @company_id and d.day = g.day and d.currency = @currency and d.path_id = g.path_id),
			(select path from path_month m where m.company_id = @company_id and m.month = g.month and m.currency = @currency and m.path_id = g.path_id)), g.orders, g.sales
	from unnest(@periods::date[], @ends::date[]) as p (period, last)
	cross join lateral (
		select path_id, max(day) as day, max(month) as month, sum(orders) as orders, sum(sales_minor) as sales
		from (
			select path_id, s.day, null::date as month, orders, sales_minor from path_day s` + inLooseDays + `
				and s.day between p.period and p.last and orders > 0
			union all
			select path_id, null, s.month, orders, sales_minor from path_month s` + inMonths + `
				and s.month between p.period and p.last and orders > 0) s
		group by path_id order by orders desc, sales desc, path_id limit ` + mostPaths + `) g`

// frequentPathsOfMonths are those of periods that are whole months: nothing is to be added.
const frequentPathsOfMonths = `
	select p.period, g.path, g.orders, g.sales_minor
	from unnest(@periods::date[]) as p (period)
	cross join lateral (
		select path, orders, sales_minor from path_month s
		where s.company_id = @company_id and s.month = p.period and s.currency = @currency and orders > 0
		order by orders desc, sales_minor desc, path_id limit ` + mostPaths + `) g`

// memoryForPaths lets PostgreSQL keep the paths of a month in memory, in this transaction.
const memoryForPaths = `select set_config('work_mem', '16MB', true)`

// salesOfPaths are all paths of each period together. Each path of a month has one end.
var salesOfPaths = `
	select ` + periodOf("s.day") + ` as period, '', sum(orders), sum(sales_minor)
	from (
		select day, orders, sales_minor from path_day s` + inLooseDays + ` and orders > 0
		union all
		select month, orders, sales_minor from journey_month s` + inMonths + ` and size = 0 and channel = '' and orders > 0) s
	group by 1`

// pathArrow stands between the channels of a path, as `tributary models` reads it.
const pathArrow = " > "

// paths adds the paths of orders: of each period the most frequent, and all others
// together.
func (r *reading) paths(ctx context.Context) error {
	if err := r.add(ctx, salesOfPaths, "orders", "sales"); err != nil {
		return err
	}
	if _, err := r.tx.Exec(ctx, memoryForPaths); err != nil {
		return err
	}
	if err := r.addFrequent(ctx, frequentPathsOfMonths, true); err != nil {
		return err
	}
	return r.addFrequent(ctx, frequentPaths, false)
}

// isWholeMonth reports whether a period is one of the report's whole months.
func (r *reading) isWholeMonth(period string) bool {
	first, last, some := r.query.Months()
	return some && r.query.By == reports.ByMonth && first.Format(time.DateOnly) <= period && period <= last.Format(time.DateOnly)
}

// addFrequent adds the most frequent paths of the periods that are whole months, or of the
// others, and takes them from the row of
// all others.
func (r *reading) addFrequent(ctx context.Context, sql string, wholeMonths bool) error {
	var periods, ends []string
	all := r.query.Ends()
	for i, period := range r.query.Periods() {
		if r.isWholeMonth(period) == wholeMonths {
			periods, ends = append(periods, period), append(ends, all[i])
		}
	}
	if len(periods) == 0 {
		return nil
	}
	columns, none := r.columns("orders", "sales"), []string{""}
	args := r.args(sql)
	args["periods"] = periods
	if _, has := args["ends"]; has {
		args["ends"] = ends
	}
	rows, err := r.tx.Query(ctx, sql, args)
	if err != nil {
		return err
	}
	var period string
	var path []string
	var orders, sales pgtype.Numeric
	_, err = pgx.ForEachRow(rows, []any{postgres.Day(&period), &path, &orders, &sales}, func() error {
		sums := []decimal.Decimal{decimalOf(orders), decimalOf(sales)}
		if err := r.Add(period, []string{strings.Join(path, pathArrow)}, columns, sums); err != nil {
			return err
		}
		return r.Add(period, none, columns, []decimal.Decimal{sums[0].Neg(), sums[1].Neg()})
	})
	return err
}
