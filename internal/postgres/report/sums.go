package report

import (
	"context"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/models"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/reports"
)

// This file reads the sums by day that the processor keeps (internal/rollup).

// inDays is true for the rows of a report: of its company, days and currency.
const inDays = ` where s.company_id = @company_id and s.day between @from and @to and s.currency = @currency`

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
		from product_day s` + inDays + ` group by 1, 2 limit @most),` + productsOfItems + `
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
	var sums [3]decimal.Decimal
	_, err = pgx.ForEachRow(rows, []any{postgres.Day(&period), &texts[0], &texts[1], &texts[2], &sums[0], &sums[1], &sums[2]}, func() error {
		sums[2] = sums[2].Shift(digits) // in minor units, perhaps with a fraction
		return r.Add(period, slices.Clone(texts[:]), columns, sums[:])
	})
	return err
}

// pathsOfPeriods are all paths of each period, with what came of them, and the last day
// that has the path's channels.
var pathsOfPeriods = `
	select ` + periodOf("s.day") + ` as period, path_id, max(s.day) as day, sum(orders) as orders, sum(sales_minor) as sales
	from path_day s` + inDays + ` group by 1, 2 having sum(orders) > 0`

// channelsOfPath adds to rows of pathsOfPeriods (g) their channels (d.path).
const channelsOfPath = `
	left join path_day d on d.company_id = @company_id and d.day = g.day and d.currency = @currency and d.path_id = g.path_id`

// mostPaths is how many paths a period of the report paths has. The others are one row.
const mostPaths = "200"

var salesOfPaths = `
	select g.period, d.path, g.orders, g.sales
	from (
		select period, path_id, min(day) as day, sum(orders) as orders, sum(sales) as sales
		from (
			select period, case when place <= ` + mostPaths + ` then path_id end as path_id, case when place <= ` + mostPaths + ` then day end as day, orders, sales
			from (select p.*, row_number() over (partition by period order by orders desc, sales desc, path_id) as place from (` + pathsOfPeriods + `) p) r) o
		group by period, path_id) g` + channelsOfPath

// pathOf is one path of one period, with what came of it.
type pathOf struct {
	period        string
	path          []string
	orders, sales decimal.Decimal
}

// maxModelPaths bounds the paths that a model of many paths is computed over. The
// statement reads one more.
const maxModelPaths = 400_000

var pathsOfModels = `select g.period, d.path, g.orders, g.sales from (` + pathsOfPeriods + ` limit 400001) g` + channelsOfPath

// eachPath calls f with each row of a statement: a path of a period.
func (r *reading) eachPath(ctx context.Context, sql string, f func(p *pathOf) error) error {
	rows, err := r.tx.Query(ctx, sql, r.args(sql))
	if err != nil {
		return err
	}
	var p pathOf
	_, err = pgx.ForEachRow(rows, []any{postgres.Day(&p.period), &p.path, &p.orders, &p.sales}, func() error { return f(&p) })
	return err
}

// pathArrow stands between the channels of a path, as `tributary models` reads it.
const pathArrow = " > "

// paths adds the paths of orders.
func (r *reading) paths(ctx context.Context) error {
	columns := r.columns("orders", "sales")
	return r.eachPath(ctx, salesOfPaths, func(p *pathOf) error {
		return r.Add(p.period, []string{strings.Join(p.path, pathArrow)}, columns, []decimal.Decimal{p.orders, p.sales})
	})
}

// channelsOverPaths adds what a model of many paths credits to each channel, period by
// period.
func (r *reading) channelsOverPaths(ctx context.Context) error {
	periods, n := map[string][]pathOf{}, 0
	if err := r.eachPath(ctx, pathsOfModels, func(p *pathOf) error {
		if n++; n > maxModelPaths {
			return reports.ErrTooManyRows
		}
		periods[p.period] = append(periods[p.period], *p)
		return nil
	}); err != nil {
		return err
	}
	influencers, err := r.influencersOfChannels(ctx)
	if err != nil {
		return err
	}
	columns := r.columns("credited_orders", "credited_sales")
	for name, list := range periods {
		channels, paths := modelPaths(list)
		weights := models.OverPaths(r.query.Model, paths, make([]bool, len(channels)))
		conversions, value := models.Totals(paths)
		orders, sales := portions(conversions, weights.Conversions), wholes(value, weights.Value)
		for i, channel := range channels {
			if err := r.Add(name, []string{channel, influencers[channel]}, columns, []decimal.Decimal{orders[i], sales[i]}); err != nil {
				return err
			}
		}
	}
	return nil
}

// modelPaths returns paths as the models take them, and the channels by their places
// there: sorted, so that what is left over by rounding always goes to the same one.
func modelPaths(list []pathOf) (channels []string, paths []models.Path) {
	places := map[string]int32{}
	for _, p := range list {
		for _, channel := range p.path {
			places[channel] = 0
		}
	}
	channels = slices.Sorted(maps.Keys(places))
	for i, channel := range channels {
		places[channel] = int32(i)
	}
	for _, p := range list {
		path := models.Path{Conversions: p.orders.BigInt(), Null: new(big.Int), Value: p.sales.BigInt()}
		for _, channel := range p.path {
			path.Channels = append(path.Channels, places[channel])
		}
		paths = append(paths, path)
	}
	return channels, paths
}

// influencersOfChannels returns the ids of the influencers whose names are channels.
func (r *reading) influencersOfChannels(ctx context.Context) (map[string]string, error) {
	rows, err := r.tx.Query(ctx, `
		select distinct channel, influencer_id from credit_day
		where company_id = $1 and day between $2::date and $3::date and influencer_id <> ''`, r.query.CompanyID, r.query.Start, r.query.End)
	if err != nil {
		return nil, err
	}
	ids := map[string]string{}
	var channel, id string
	_, err = pgx.ForEachRow(rows, []any{&channel, &id}, func() error { ids[channel] = id; return nil })
	return ids, err
}

// creditedDigits are the decimal places of orders that a model of many paths credits.
const creditedDigits = 6

// portions divides a whole number by weights, with creditedDigits decimal places. The
// parts sum to the total.
func portions(total *big.Int, weights []*big.Int) []decimal.Decimal {
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(creditedDigits), nil)
	parts := wholes(new(big.Int).Mul(total, unit), weights)
	for i := range parts {
		parts[i] = parts[i].Shift(-creditedDigits)
	}
	return parts
}

// wholes divides minor units by weights, by the largest remainder. The parts sum to the
// total; without a weight that is above zero there is nothing to divide.
func wholes(total *big.Int, weights []*big.Int) []decimal.Decimal {
	parts := make([]decimal.Decimal, len(weights))
	sum := new(big.Int)
	for _, w := range weights {
		sum.Add(sum, w)
	}
	if sum.Sign() == 0 {
		return parts
	}
	for i, part := range models.Divide(total, weights) {
		parts[i] = decimal.NewFromBigInt(part, 0)
	}
	return parts
}
