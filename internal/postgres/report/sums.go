package report

import (
	"context"

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
	inLooseDays = ` where s.company_id = @company_id and (s.day between @from and @until or s.day between @since and @to) and s.currency ` +
		`= @currency`
	inMonths = ` where s.company_id = @company_id and s.month between @first_month and @last_month and s.currency = @currency`
)

var salesOfStore = `
	select ` + periodOf("s.day") + ` as period, sum(orders), sum(sales_minor),
		coalesce(sum(orders) filter (where influencer_id <> ''), 0), coalesce(sum(sales_minor) filter (where influencer_id <> ''), 0),
		sum(pending_orders), sum(pending_minor), sum(pending_commission_minor), sum(cancelled_orders), sum(cancelled_minor), sum(review_orders),
		sum(commission_minor), sum(new_customers), sum(returning_orders)
	from sale_day s` + inDays + ` group by 1 limit @most`

// sales adds all orders.
func (r *reading) sales(ctx context.Context) error {
	return r.add(ctx, salesOfStore, "orders", "sales", "attributed_orders", "attributed_sales", "pending_orders",
		"pending_sales", "pending_commission",
		"cancelled_orders", "cancelled_sales", "review_orders", "commission", "new_customers", "returning_orders")
}

// costsOfStore adds all costs that are not orders' commissions.
func (r *reading) costsOfStore(ctx context.Context) error {
	return r.addCosts(ctx, "cost", func(*periodCost) []string { return []string{} })
}

// paid are the metrics of orders by who is paid, and paidSums their sums.
var paid = []string{"orders", "sales", "pending_orders", "pending_sales", "pending_commission", "cancelled_orders", "cancelled_sales",
	"commission", "new_customers", "returning_orders"}

const paidSums = `sum(orders) as orders, sum(sales_minor) as sales, sum(pending_orders) as pending_orders, sum(pending_minor) as pending,
	sum(pending_commission_minor) as pending_commission,
	sum(cancelled_orders) as cancelled_orders, sum(cancelled_minor) as cancelled, sum(commission_minor) as commission,
	sum(new_customers) as new_customers, sum(returning_orders) as returning_orders`

var salesOfInfluencers = `
	select g.period, g.influencer_id, coalesce(i.name, ''), g.campaign_id, coalesce(c.name, ''), orders, sales, pending_orders, pending,
	pending_commission, cancelled_orders, cancelled, commission, new_customers, returning_orders
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
		if c.influencerID == "" {
			return nil
		}
		return []string{c.influencerID, c.influencer, c.campaignID, names[c.campaignID]}
	})
}

// campaignNames returns the names of the campaigns that have costs, by their ids.
func (r *reading) campaignNames(ctx context.Context) (map[string]string, error) {
	return postgres.Map[string, string](ctx, r.tx, `
		select distinct c.campaign_id, c.name from campaign c join cost k on k.company_id = c.company_id and k.campaign_id = c.campaign_id
		where c.company_id = $1 and k.value_minor > 0`, r.query.CompanyID)
}

var creditsOfInfluencers = `
	select g.period, g.influencer_id, coalesce(i.name, ''), g.campaign_id, coalesce(c.name, ''), orders, sales
	from (
		select ` + periodOf("s.day") + ` as period, influencer_id, campaign_id, ` + byModel("_orders") + ` as orders, ` +
	byModel("_minor") + ` as sales
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

// salesOfItems are the items of orders.
var salesOfItems = `
	select ` + periodOf("s.day") + ` as period, item, sum(orders)::bigint, sum(quantity)::bigint, sum(sales)
	from (
		select day, item, orders, quantity, sales from product_day s` + inLooseDays + `
		union all
		select month, item, orders, quantity, sales from product_month s` + inMonths + `) s
	group by 1, 2 limit @most`

// salesOfItemsByWeek are the same of weeks, which are read one by one: each has far fewer
// items than all together.
var salesOfItemsByWeek = `
	select p.period, s.* from unnest(@periods::date[], @ends::date[]) as p (period, last)
	cross join lateral (
		select item, sum(orders)::bigint, sum(quantity)::bigint, sum(sales) from product_day s` + inDays +
	` and s.day between p.period and p.last group by item) s
	limit @most`

// salesOfItemsByDay are the same of periods that are days: nothing is to be added.
var salesOfItemsByDay = `
	select day, item, orders, quantity, sales from product_day s` + inDays + ` limit @most`

// productsOfItems finds the products of items. An item of an order is the id of a product,
// else of a variant, else a SKU. Of several products with a variant or a SKU it is the
// first by its id.
const productsOfItems = `
	select n.item, p.product_id, p.name from unnest(@items::text[]) as n (item)` + productOfItem + ` where p.product_id is not null`

// productOfItem joins the product (p) of an item (n.item).
const productOfItem = `
	left join product d on d.company_id = @company_id and d.product_id = n.item
	left join lateral (
		select product_id from product_variant v where d.product_id is null and v.company_id = @company_id and v.variant_id = n.item
		order by product_id limit 1) v on true
	left join lateral (
		select product_id from product_variant u where d.product_id is null and v.product_id is null and u.company_id = @company_id
		and u.sku = n.item order by product_id limit 1) u on true
	left join product p on p.company_id = @company_id and p.product_id = coalesce(d.product_id, v.product_id, u.product_id)`

// itemSold is what was sold of an item in a period.
type itemSold struct {
	period, item     string
	orders, quantity int64
	sales            decimal.Decimal // in currency units
}

// products adds the items of orders.
func (r *reading) products(ctx context.Context) error {
	switch r.query.By {
	case reports.ByDay:
		return r.addItems(ctx, salesOfItemsByDay)
	case reports.ByWeek:
		return r.addItems(ctx, salesOfItemsByWeek)
	case reports.ByMonth, reports.ByTotal:
	}
	return r.addItems(ctx, salesOfItems)
}

// addItems adds the items that a statement gives. Their products are read apart: a join
// would take the square of the rows where PostgreSQL does not know how many there are.
func (r *reading) addItems(ctx context.Context, sql string) error {
	var sold []itemSold
	var i itemSold
	var sales pgtype.Numeric
	if err := postgres.Each(ctx, r.tx, []any{postgres.Day(&i.period), &i.item, &i.orders, &i.quantity, &sales}, func() error {
		i.sales = decimalOf(sales)
		sold = append(sold, i)
		return nil
	}, sql, r.args(sql)); err != nil {
		return err
	}
	if len(sold) > reports.MaxRows {
		return reports.ErrTooManyRows // some were not read
	}
	products, err := r.productsOf(ctx, sold)
	if err != nil {
		return err
	}
	columns, digits := r.columns("orders", "quantity", "sales"), r.digits()
	for _, i := range sold {
		texts := []string{"", "", i.item}
		if p, known := products[i.item]; known {
			texts = []string{p.id, p.name, ""}
		}
		sales := i.sales.Shift(digits) // in minor units, perhaps with a fraction
		if err := r.Add(i.period, texts, columns,
			[]decimal.Decimal{decimal.NewFromInt(i.orders), decimal.NewFromInt(i.quantity), sales}); err != nil {
			return err
		}
	}
	return nil
}

type namedProduct struct{ id, name string }

// productsOf returns the products of items, by item. Those that are not in the catalogue
// are left out.
func (r *reading) productsOf(ctx context.Context, sold []itemSold) (map[string]namedProduct, error) {
	seen := map[string]bool{}
	var items []string
	for _, i := range sold {
		if !seen[i.item] {
			seen[i.item], items = true, append(items, i.item)
		}
	}
	products := make(map[string]namedProduct, len(items))
	var item string
	var p namedProduct
	err := postgres.Each(ctx, r.tx, []any{&item, &p.id, &p.name}, func() error { products[item] = p; return nil },
		productsOfItems, pgx.NamedArgs{"company_id": r.query.CompanyID, "items": items})
	return products, err
}
