package replay

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/rollup"
)

// DifferentSums says in how many rows a table of sums by day differs from what the orders'
// outcomes sum to.
type DifferentSums struct {
	CompanyID string `json:"company_id"`
	Table     string `json:"table"`
	Rows      int64  `json:"rows"`
}

// CheckSums sums all outcomes again, and compares that with what the processor has summed
// change by change. It returns the tables that differ.
func (s *Snapshot) CheckSums(ctx context.Context) ([]DifferentSums, error) {
	return checkSums(ctx, s.tx, s.Companies)
}

// CheckSums does what Snapshot.CheckSums does, in the fresh schema.
func (s *Schema) CheckSums(ctx context.Context, companies []string) ([]DifferentSums, error) {
	return checkSums(ctx, s.DB.Pool(), companies)
}

func checkSums(ctx context.Context, q postgres.Querier, companies []string) (list []DifferentSums, err error) {
	for _, company := range companies {
		found, err := postgres.Collect(ctx, q, func(row pgx.CollectableRow) (d DifferentSums, err error) {
			d.CompanyID = company
			return d, row.Scan(&d.Table, &d.Rows)
		}, differentSums, pgx.NamedArgs{"company_id": company})
		if err != nil {
			return nil, fmt.Errorf("postgres: sums of %s: %w", company, postgres.Translate(err))
		}
		list = append(list, found...)
		rows, err := differentProducts(ctx, q, company)
		if err != nil {
			return nil, fmt.Errorf("postgres: sums of items of %s: %w", company, postgres.Translate(err))
		}
		if rows > 0 {
			list = append(list, DifferentSums{company, "product_day", rows})
		}
	}
	return list, nil
}

// differentProducts counts the rows of product_day that differ from what the items of all
// approved orders sum to: an order's items are packed, so SQL cannot read them.
func differentProducts(ctx context.Context, q postgres.Querier, companyID string) (different int64, err error) {
	var all rollup.Sums
	var day, currency string
	var body []byte
	if err := postgres.Each(ctx, q, []any{postgres.Day(&day), &currency, &body}, func() error {
		o, err := facts.UnpackOrder(body)
		all.AddProducts(day, currency, o.Items.Or(nil), 1)
		return err
	}, `
		select p.day, p.currency, o.body from payout p join orders o on o.company_id = p.company_id and o.order_id = p.order_id
		where p.company_id = $1 and p.status = 0 and p.reason <> 'test_order'`, companyID); err != nil {
		return 0, err
	}
	left := map[rollup.ProductKey][]decimal.Decimal{}
	for _, row := range all.Products() {
		left[row.Key] = row.Sums
	}
	var key rollup.ProductKey
	var sums [3]decimal.Decimal
	into := []any{postgres.Day(&key.Day), &key.Currency, &key.Item, &sums[rollup.ProductOrders], &sums[rollup.ProductQuantity],
		&sums[rollup.ProductSales]}
	err = postgres.Each(ctx, q, into, func() error {
		again := left[key]
		delete(left, key)
		for i, sum := range sums {
			if again == nil && !sum.IsZero() || again != nil && !sum.Equal(again[i]) {
				different++
				break
			}
		}
		return nil
	}, `select day, currency, item, orders, quantity, sales from product_day where company_id = $1`, companyID)
	return different + int64(len(left)), err
}

// differentSums counts the rows that differ, table by table.
var differentSums = strings.Join([]string{
	different("sale_day", []string{"day", "currency", "influencer_id", "campaign_id", "coupon_id"}, rollup.SaleColumns, salesOfAll),
	different("credit_day", []string{"day", "currency", "channel", "influencer_id", "campaign_id"}, rollup.CreditColumns, creditsOfAll()),
	different("path_day", []string{"day", "currency", "path_id"}, rollup.PathColumns, pathsOfAll),
	different("product_month", []string{"month", "currency", "item"}, rollup.ProductColumns,
		monthsOfAll("item, ", "sum(orders), sum(quantity), sum(sales)", productsOfAll, "day, currency, item, orders, quantity, sales")),
	different("path_month", []string{"month", "currency", "path_id"}, rollup.PathColumns,
		monthsOfAll("path_id, ", "sum(orders), sum(sales_minor)", pathsOfAll, "day, currency, path_id, orders, sales_minor")),
	different("journey_month", []string{"month", "currency", "size", "before", "channel"}, rollup.PathColumns, journeysOfAll),
	different("traffic_day", []string{"day", "of"}, []string{"visited", "viewed", "added", "checkout", "bought"}, visitorsOfAll),
	different("traffic_month", []string{"month", "of"}, []string{"visited", "viewed", "added", "checkout", "bought"}, visitorsOfMonths),
}, `
	union all`)

// since has the condition on the days of which a table's rows can be summed again.
var since = map[string]string{"traffic_day": " and day >= " + countedFrom}

// different is the statement that counts the rows in which a table differs from what a
// query gives. The query's columns are the key and the sums, in their order.
func different(table string, key, columns []string, query string) string {
	names := strings.Join(append(append([]string{}, key...), columns...), ", ")
	var live, again []string
	for _, c := range columns {
		live, again = append(live, "coalesce(l."+c+", 0)"), append(again, "coalesce(a."+c+", 0)")
	}
	return `
	select '` + table + `', count(*) from (
		select ` + names + ` from ` + table + ` where company_id = @company_id` + since[table] + `) l
	full join (` + query + `) a (` + names + `) using (` + strings.Join(key, ", ") + `)
	where (` + strings.Join(live, ", ") + `) <> (` + strings.Join(again, ", ") + `) having count(*) > 0`
}

// What all outcomes sum to.
const (
	salesOfAll = `
		select p.day, m.currency, case when p.state = 'review' then '' else coalesce(p.influencer_id::text, '') end,
			case when p.state = 'review' then '' else coalesce(p.campaign_id, '') end, case when p.state = 'review' then ''
				else coalesce(p.coupon_id::text, '') end,
			coalesce(sum(m.own) filter (where p.status = 0), 0), coalesce(sum(p.total_minor * m.own) filter (where p.status = 0), 0),
			coalesce(sum(m.own) filter (where p.status = 0 and p.is_first_order), 0),
				coalesce(sum(m.own) filter (where p.status = 0 and not p.is_first_order), 0),
			coalesce(sum(m.commission) filter (where p.state = 'earned'), 0),
			coalesce(sum(m.own) filter (where p.status = 1), 0), coalesce(sum(p.total_minor * m.own) filter (where p.status = 1), 0),
			coalesce(sum(m.commission) filter (where p.state = 'expected'), 0),
			coalesce(sum(m.own) filter (where p.status = 2), 0), coalesce(sum(p.total_minor * m.own) filter (where p.status = 2), 0),
			coalesce(sum(m.own) filter (where p.state = 'review'), 0)
		from payout p
		cross join lateral (values (p.currency, p.commission_minor, 1), ('BRL', p.fixed_brl_minor, 0)) m (currency, commission, own)
		where p.company_id = @company_id and p.reason <> 'test_order' and (m.own = 1 or m.commission <> 0 and p.state in ('earned', 'expected'))
		group by 1, 2, 3, 4, 5`

	pathsOfAll = `
		select day, currency, substring(sha256(convert_to(array_to_string(path, E'\x1f'), 'UTF8')) for 16), count(*), sum(total_minor)
		from (
			select p.day, p.currency, p.order_id, p.total_minor, array_agg(c.channel order by c.position) as path
			from payout p
			join credit c on c.company_id = p.company_id and c.order_id = p.order_id and c.linear_minor is not null
			where p.company_id = @company_id and p.status = 0 group by 1, 2, 3, 4) o
		group by 1, 2, 3`
)

// productsOfAll are the days, which differentProducts compares with the orders themselves.
const productsOfAll = `select day, currency, item, orders, quantity, sales from product_day where company_id = @company_id`

// monthsOfAll sums by month what a query gives by day.
func monthsOfAll(key, sums, query, names string) string {
	return `
		select date_trunc('month', day)::date, currency, ` + key + sums + ` from (` + query + `) q (` + names + `) group by 1, 2, 3`
}

// journeysOfAll divides the path of each order into its parts, as rollup.JourneyKey has them.
const journeysOfAll = `
		select date_trunc('month', o.day)::date, o.currency, j.size, j.before, j.channel, count(*), sum(o.total_minor)
		from (
			select p.day, p.currency, p.order_id, p.total_minor, array_agg(c.channel order by c.position) as path
			from payout p
			join credit c on c.company_id = p.company_id and c.order_id = p.order_id and c.linear_minor is not null
			where p.company_id = @company_id and p.status = 0 group by 1, 2, 3, 4) o
		cross join lateral (
			select 0 as size, coalesce(lag(c) over (order by n), '') as before, c as channel from unnest(o.path) with ordinality as u (c, n)
			union all
			select 0, o.path[cardinality(o.path)], ''
			union all
			select (select count(distinct c)::int from unnest(o.path) as u (c)), '', c from (select distinct c from unnest(o.path) as u (c)) d) j
		where j.size > 0 or j.before <> j.channel
		group by 1, 2, 3, 4, 5`

// visitorsOfAll counts the visitors' days. The bits are those of facts.Stages.
const visitorsOfAll = `
		select day, of, count(*) filter (where stages & 1 > 0), count(*) filter (where stages & 2 > 0), count(*) filter (where stages & 4 > 0),
			count(*) filter (where stages & 8 > 0), count(*) filter (where stages & 16 > 0)
		from shopper_day where company_id = @company_id and day >= ` + countedFrom + ` group by 1, 2`

// countedFrom is the first day of which visitors' days were not removed.
const countedFrom = `coalesce((select (begun_until at time zone 'UTC')::date from retention where company_id = @company_id), '-infinity')`

// visitorsOfMonths sums the days, which visitorsOfAll checks where it can.
const visitorsOfMonths = `
		select date_trunc('month', day)::date, of, sum(visited), sum(viewed), sum(added), sum(checkout), sum(bought)
		from traffic_day where company_id = @company_id group by 1, 2`

func creditsOfAll() string {
	var counts, sums []string
	for _, model := range facts.Models {
		column := model + "_minor"
		counts = append(counts, "count("+column+") over o as of_"+model)
		sums = append(sums, "coalesce(sum(case when p.total_minor = 0 then "+
			"round(1.0 / c.of_"+model+", 12) else round(c."+column+"::numeric / p.total_minor, 12) end) filter (where c."+column+" is not null), 0)",
			"coalesce(sum(c."+column+"), 0)")
	}
	return `
		select p.day, c.currency, c.channel, coalesce(c.influencer_id::text, ''), coalesce(c.campaign_id, ''), ` + strings.Join(sums, ", ") + `
		from (
			select c.*, ` + strings.Join(counts, ", ") + `
			from credit c where c.company_id = @company_id window o as (partition by c.company_id, c.order_id)) c
		join payout p on p.company_id = c.company_id and p.order_id = c.order_id and p.status = 0
		group by 1, 2, 3, 4, 5`
}
