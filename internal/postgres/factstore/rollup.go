package factstore

import (
	"context"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/rollup"
)

var countedOrders = `
	select o.order_id, (select p.is_first_order from payout p where p.company_id = @company_id and p.order_id = o.order_id), o.body
	from orders o where o.company_id = @company_id and o.order_id = any(@order_ids)`

// CountedOrders returns what reports count of orders beside their outcomes, by order id.
// Orders that are not stored are left out.
func (t *Tx) CountedOrders(ctx context.Context, companyID string, orderIDs []string) (map[string]rollup.Counted, error) {
	if len(orderIDs) == 0 {
		return nil, nil
	}
	counted := make(map[string]rollup.Counted, len(orderIDs))
	var id string
	var first *bool
	var body []byte
	err := postgres.Each(ctx, t.tx, []any{&id, &first, &body}, func() error {
		o, err := t.UnpackOrder(body)
		counted[id] = rollup.Counted{First: first, Items: o.Items.Or(nil)}
		return err
	}, countedOrders, pgx.NamedArgs{"company_id": companyID, "order_ids": orderIDs})
	return counted, postgres.Wrapf(err, "read what is counted of orders")
}

// sumRows describes the rows of a table of sums: its key, and its columns of sums.
func sumRows[K comparable](key postgres.Rows[rollup.Row[K]], columns []string) postgres.Rows[rollup.Row[K]] {
	rows := slices.Clone(key)
	for i, name := range columns {
		if rollup.IsCount(name) {
			rows = append(rows, postgres.Col(name, "bigint", func(r *rollup.Row[K]) int64 { return r.Sums[i].IntPart() }))
			continue
		}
		rows = append(rows, postgres.Col(name, "numeric", func(r *rollup.Row[K]) string { return r.Sums[i].String() }))
	}
	return rows
}

// upsertSums is the statement that adds rows to a table of sums. key are the columns of its
// key beside the company, and more those that are neither key nor sums, each with its
// expression.
func upsertSums[K comparable](table string, rows postgres.Rows[rollup.Row[K]], key [][2]string, columns []string,
	more ...[2]string) string {
	names, values := slices.Clone(columns), slices.Clone(columns)
	for _, m := range slices.Concat(key, more) {
		names, values = append(names, m[0]), append(values, m[1])
	}
	keys := make([]string, len(key))
	for i, k := range key {
		keys[i] = k[0]
	}
	set := make([]string, len(columns))
	for i, c := range columns {
		set[i] = c + " = s." + c + " + excluded." + c
	}
	return `
	insert into ` + table + ` as s (company_id, ` + strings.Join(names, ", ") + `)
	select @company_id, ` + strings.Join(values, ", ") + ` from ` + rows.Unnest("n") + `
	on conflict (company_id, ` + strings.Join(keys, ", ") + `) do update set ` + strings.Join(set, ", ")
}

var (
	saleKey  = keyOf("day", "currency", "influencer_id", "campaign_id", "coupon_id")
	saleRows = sumRows(postgres.Rows[rollup.Row[rollup.SaleKey]]{
		postgres.Col("day", "date", func(r *rollup.Row[rollup.SaleKey]) string { return r.Key.Day }),
		postgres.Col("currency", "text", func(r *rollup.Row[rollup.SaleKey]) string { return r.Key.Currency }),
		postgres.Col("influencer_id", "text", func(r *rollup.Row[rollup.SaleKey]) string { return r.Key.InfluencerID }),
		postgres.Col("campaign_id", "text", func(r *rollup.Row[rollup.SaleKey]) string { return r.Key.CampaignID }),
		postgres.Col("coupon_id", "text", func(r *rollup.Row[rollup.SaleKey]) string { return r.Key.CouponID }),
	}, rollup.SaleColumns)
	addSales = upsertSums("sale_day", saleRows, saleKey, rollup.SaleColumns)

	channelKey  = keyOf("day", "currency", "channel", "influencer_id", "campaign_id")
	channelRows = sumRows(postgres.Rows[rollup.Row[rollup.CreditKey]]{
		postgres.Col("day", "date", func(r *rollup.Row[rollup.CreditKey]) string { return r.Key.Day }),
		postgres.Col("currency", "text", func(r *rollup.Row[rollup.CreditKey]) string { return r.Key.Currency }),
		postgres.Col("channel", "text", func(r *rollup.Row[rollup.CreditKey]) string { return r.Key.Channel }),
		postgres.Col("influencer_id", "text", func(r *rollup.Row[rollup.CreditKey]) string { return r.Key.InfluencerID }),
		postgres.Col("campaign_id", "text", func(r *rollup.Row[rollup.CreditKey]) string { return r.Key.CampaignID }),
	}, rollup.CreditColumns)
	addChannels = upsertSums("credit_day", channelRows, channelKey, rollup.CreditColumns)

	addItems, addItemMonths = upsertItems("product_day", "day"), upsertItems("product_month", "month")
	itemRows                = sumRows(postgres.Rows[rollup.Row[rollup.ProductKey]]{
		postgres.Col("day", "date", func(r *rollup.Row[rollup.ProductKey]) string { return r.Key.Day }),
		postgres.Col("currency", "text", func(r *rollup.Row[rollup.ProductKey]) string { return r.Key.Currency }),
		postgres.Col("item", "text", func(r *rollup.Row[rollup.ProductKey]) string { return r.Key.Item }),
	}, rollup.ProductColumns)

	addPaths, addPathMonths = upsertPaths("path_day", "day"), upsertPaths("path_month", "month")
	pathRows                = sumRows(postgres.Rows[rollup.Row[rollup.PathKey]]{
		postgres.Col("day", "date", func(r *rollup.Row[rollup.PathKey]) string { return r.Key.Day }),
		postgres.Col("currency", "text", func(r *rollup.Row[rollup.PathKey]) string { return r.Key.Currency }),
		postgres.Col("path_id", "bytea", func(r *rollup.Row[rollup.PathKey]) []byte { return []byte(r.Key.ID) }),
		postgres.Col("channels", "text", func(r *rollup.Row[rollup.PathKey]) string { return strings.Join(r.Path, rollup.PathSeparator) }),
	}, rollup.PathColumns)

	addJourneys = upsertSums("journey_month", journeyRows, keyOf("month", "currency", "size", "before", "channel"), rollup.PathColumns)
	journeyRows = sumRows(postgres.Rows[rollup.Row[rollup.JourneyKey]]{
		postgres.Col("day", "date", func(r *rollup.Row[rollup.JourneyKey]) string { return r.Key.Day }),
		postgres.Col("currency", "text", func(r *rollup.Row[rollup.JourneyKey]) string { return r.Key.Currency }),
		postgres.Col("size", "int", func(r *rollup.Row[rollup.JourneyKey]) int { return r.Key.Size }),
		postgres.Col("before", "text", func(r *rollup.Row[rollup.JourneyKey]) string { return r.Key.Before }),
		postgres.Col("channel", "text", func(r *rollup.Row[rollup.JourneyKey]) string { return r.Key.Channel }),
	}, rollup.PathColumns)
)

// keyOf are the columns of a key, of which the first is the day of the rows.
func keyOf(day string, others ...string) (key [][2]string) {
	key = append(key, [2]string{day, "day"})
	for _, name := range others {
		key = append(key, [2]string{name, name})
	}
	return key
}

func upsertItems(table, day string) string {
	return upsertSums(table, itemRows, keyOf(day, "currency", "item"), rollup.ProductColumns)
}

func upsertPaths(table, day string) string {
	return upsertSums(table, pathRows, keyOf(day, "currency", "path_id"), rollup.PathColumns,
		[2]string{"path", `string_to_array(channels, E'\x1f')`})
}

// AddSums adds to the tables of sums by day and by month.
func (t *Tx) AddSums(ctx context.Context, companyID string, s *rollup.Sums) error {
	company := pgx.NamedArgs{"company_id": companyID}
	for _, add := range []func() error{
		func() error { return saleRows.Exec(ctx, t.tx, "sum sales", addSales, s.Sales(), company) },
		func() error { return channelRows.Exec(ctx, t.tx, "sum credits", addChannels, s.Credits(), company) },
		func() error { return itemRows.Exec(ctx, t.tx, "sum products", addItems, s.Products(), company) },
		func() error {
			return itemRows.Exec(ctx, t.tx, "sum products by month", addItemMonths, s.ProductMonths(), company)
		},
		func() error { return pathRows.Exec(ctx, t.tx, "sum paths", addPaths, s.Paths(), company) },
		func() error {
			return pathRows.Exec(ctx, t.tx, "sum paths by month", addPathMonths, s.PathMonths(), company)
		},
		func() error {
			return journeyRows.Exec(ctx, t.tx, "sum steps by month", addJourneys, s.JourneyMonths(), company)
		},
	} {
		if err := add(); err != nil {
			return err
		}
	}
	return nil
}
