package report

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/reports"
)

// This file reads the paths of orders.

// mostPaths is how many paths a period of the report paths has. The others are one row.
const mostPaths = "200"

// frequentPaths are the most frequent paths of each period. Each period is read by itself:
// it has far fewer paths than all together.
const frequentPaths = `
	select p.period, coalesce(
			(select path from path_day d where d.company_id = @company_id and d.day = g.day and d.currency = @currency and d.path_id = g.path_id),
			(select path from path_month m where m.company_id = @company_id and m.month = g.month and m.currency = @currency
				and m.path_id = g.path_id)), g.orders, g.sales
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
// Most paths of a month have one order: where enough have more, those are left out before the
// others are ordered.
const frequentPathsOfMonths = `
	select p.period, g.path, g.orders, g.sales_minor
	from unnest(@periods::date[]) as p (period)
	cross join lateral (
		select count(*) as paths from (
			select 1 from path_month s
			where s.company_id = @company_id and s.month = p.period and s.currency = @currency and orders > 1 order by path_id limit ` + mostPaths +
	`) m) m
	cross join lateral (
		select path, orders, sales_minor from path_month s
		where s.company_id = @company_id and s.month = p.period and s.currency = @currency and orders > case when m.paths = ` +
	mostPaths + ` then 1 else 0 end
		order by orders desc, sales_minor desc, path_id limit ` + mostPaths + `) g`

// salesOfPaths are all paths of each period together. Each path of a month has one end.
var salesOfPaths = `
	select ` + periodOf("s.day") + ` as period, '', sum(orders), sum(sales_minor)
	from (
		select day, orders, sales_minor from path_day s` + inLooseDays + ` and orders > 0
		union all
		select month, orders, sales_minor from journey_month s` + inMonths + ` and size = 0 and channel = '' and orders > 0) s
	group by 1`

// candidates is how many paths of each month are looked at for the most frequent ones of
// several months.
const candidates = "1000"

// frequentPathsOfAll are the most frequent paths of whole months together, of those that are
// among the most frequent candidates of a month: paths with two orders or more. In a month of
// which it is no candidate a path has the least of the month's candidates at most, or one order
// where there are fewer candidates; a path that is among none has the sum of these at most. Of the
// candidates only those are summed that can be among the most frequent. The last column tells
// whether they are the most frequent of all paths: they are as many as are listed, and no path
// that is among no candidates has as many orders.
const frequentPathsOfAll = `
	with c as materialized (
		select m.month, g.path_id, g.orders
		from unnest(@months::date[]) as m (month)
		cross join lateral (
			select path_id, orders from path_month s
			where s.company_id = @company_id and s.month = m.month and s.currency = @currency and orders > 1
			order by orders desc limit ` + candidates + `) g),
	l as materialized (
		select month, case when count(c.orders) = ` + candidates + ` then min(c.orders) else 1 end as least
		from unnest(@months::date[]) as m (month) left join c using (month) group by month),
	b as materialized (
		select path_id, sum(orders) as known, (select sum(least) from l) - sum(l.least) as unknown
		from c join l using (month) group by path_id),
	i as materialized (
		select path_id from b where known + unknown >= (select min(known) from (select known from b order by known desc limit ` + mostPaths +
	`) t)),
	g as (
		select i.path_id, max(s.month) as month, sum(s.orders) as orders, sum(s.sales_minor) as sales
		from i cross join unnest(@months::date[]) as m (month)
		cross join lateral (
			select month, orders, sales_minor from path_month s
			where s.company_id = @company_id and s.month = m.month and s.currency = @currency and s.path_id = i.path_id and s.orders > 0 offset 0) s
		group by i.path_id order by orders desc, sales desc, i.path_id limit ` + mostPaths + `)
	select (select path from path_month m where m.company_id = @company_id and m.month = g.month and m.currency = @currency
	and m.path_id = g.path_id), g.orders, g.sales,
		(select count(*) = ` + mostPaths + ` and min(orders) > (select sum(least) from l) from g)
	from g order by g.orders desc`

// addFrequentOfAll adds the most frequent paths of a report of one period that is whole
// months. It returns false, and adds nothing, where the report is another one, or where paths
// that are none of the candidates may be as frequent.
func (r *reading) addFrequentOfAll(ctx context.Context) (done bool, err error) {
	first, last, some := r.query.Months()
	from, to := r.query.Days()
	if !some || r.query.By != reports.ByTotal || from.Before(first) || !to.Before(last.AddDate(0, 1, 0)) {
		return false, nil
	}
	args := r.args(frequentPathsOfAll)
	var months []string
	for month := first; !month.After(last); month = month.AddDate(0, 1, 0) {
		months = append(months, month.Format(time.DateOnly))
	}
	args["months"] = months
	type frequent struct {
		path []string
		sums []decimal.Decimal
	}
	var list []frequent
	var path []string
	var orders, sales pgtype.Numeric
	var sure bool
	if err := postgres.Each(ctx, r.tx, []any{&path, &orders, &sales, &sure}, func() error {
		list = append(list, frequent{slices.Clone(path), []decimal.Decimal{decimalOf(orders), decimalOf(sales)}})
		return nil
	}, frequentPathsOfAll, args); err != nil || !sure {
		return false, err
	}
	for _, f := range list {
		if err := r.addPath(r.query.Start, f.path, f.sums); err != nil {
			return false, err
		}
	}
	return true, nil
}

// addPath adds one of the most frequent paths of a period, and takes it from the row of all
// others.
func (r *reading) addPath(period string, path []string, sums []decimal.Decimal) error {
	columns := r.columns("orders", "sales")
	if err := r.Add(period, []string{strings.Join(path, pathArrow)}, columns, sums); err != nil {
		return err
	}
	return r.Add(period, []string{""}, columns, []decimal.Decimal{sums[0].Neg(), sums[1].Neg()})
}

// pathArrow stands between the channels of a path, as `tributary models` reads it.
const pathArrow = " > "

// paths adds the paths of orders: of each period the most frequent, and all others
// together.
func (r *reading) paths(ctx context.Context) error {
	if err := r.add(ctx, salesOfPaths, "orders", "sales"); err != nil {
		return err
	}
	if done, err := r.addFrequentOfAll(ctx); done || err != nil {
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
// others.
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
	args := r.args(sql)
	args["periods"] = periods
	if _, has := args["ends"]; has {
		args["ends"] = ends
	}
	var period string
	var path []string
	var orders, sales pgtype.Numeric
	return postgres.Each(ctx, r.tx, []any{postgres.Day(&period), &path, &orders, &sales}, func() error {
		return r.addPath(period, path, []decimal.Decimal{decimalOf(orders), decimalOf(sales)})
	}, sql, args)
}
