package factstore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/rollup"
)

var shopperRows = postgres.Rows[facts.Shopper]{
	postgres.Col("day", "date", func(s *facts.Shopper) string { return s.Day }),
	postgres.Col("visitor", "bytea", func(s *facts.Shopper) []byte { return []byte(s.Visitor) }),
	postgres.Col("of", "text", func(s *facts.Shopper) string { return s.Subject }),
	postgres.Col("stages", "smallint", func(s *facts.Shopper) int16 { return int16(s.Stages) }),
}

// storedShoppers looks up each key: joined with the table, all rows of the company would be read.
var storedShoppers = `
	select s.day, s.visitor, s.of, s.stages from ` + shopperRows[:3].Unnest("n") + `
	cross join lateral (
		select day, visitor, of, stages from shopper_day
		where company_id = @company_id and day = n.day and visitor = n.visitor and of = n.of offset 0) s`

var insertShoppers = `
	insert into shopper_day as s (company_id, day, visitor, of, stages)
	select @company_id, day, visitor, of, stages from ` + shopperRows.Unnest("n") + `
	on conflict (company_id, day, visitor, of) do nothing returning day, visitor, of`

var putShoppers = `
	insert into shopper_day as s (company_id, day, visitor, of, stages)
	select @company_id, day, visitor, of, stages from ` + shopperRows.Unnest("n") + `
	on conflict (company_id, day, visitor, of) do update set stages = s.stages | excluded.stages`

// InsertShoppers stores visitors' days of which nothing is stored, and returns how far the
// others have come, by key.
func (t *Tx) InsertShoppers(
	ctx context.Context, companyID string, shoppers []facts.Shopper,
) (stored map[facts.ShopperKey]facts.Stage, err error) {
	inserted := make(map[facts.ShopperKey]bool, len(shoppers))
	var key facts.ShopperKey
	var visitor []byte
	if err := postgres.Each(ctx, t.tx, []any{postgres.Day(&key.Day), &visitor, &key.Subject}, func() error {
		key.Visitor = string(visitor)
		inserted[key] = true
		return nil
	}, insertShoppers, shopperRows.Args(shoppers, pgx.NamedArgs{"company_id": companyID})); err != nil {
		return nil, fmt.Errorf("insert visitors of days: %w", err)
	}
	var others []facts.Shopper
	for _, s := range shoppers {
		if !inserted[s.ShopperKey] {
			others = append(others, s)
		}
	}
	if len(others) == 0 {
		return nil, nil
	}
	return t.shoppers(ctx, companyID, others)
}

// shoppers returns how far the visitors of keys have come, by key.
func (t *Tx) shoppers(ctx context.Context, companyID string, shoppers []facts.Shopper) (map[facts.ShopperKey]facts.Stage, error) {
	stored := map[facts.ShopperKey]facts.Stage{}
	var key facts.ShopperKey
	var visitor []byte
	var stages facts.Stage
	err := postgres.Each(ctx, t.tx, []any{postgres.Day(&key.Day), &visitor, &key.Subject, &stages}, func() error {
		key.Visitor = string(visitor)
		stored[key] = stages
		return nil
	}, storedShoppers, shopperRows[:3].Args(shoppers, pgx.NamedArgs{"company_id": companyID}))
	return stored, postgres.Wrapf(err, "read visitors of days")
}

// PutShoppers adds stages to those of visitors' days.
func (t *Tx) PutShoppers(ctx context.Context, companyID string, shoppers []facts.Shopper) error {
	return shopperRows.Exec(ctx, t.tx, "store visitors of days", putShoppers, shoppers, pgx.NamedArgs{"company_id": companyID})
}

var trafficRows = postgres.Rows[facts.Traffic]{
	postgres.Col("day", "date", func(s *facts.Traffic) string { return s.Day }),
	postgres.Col("of", "text", func(s *facts.Traffic) string { return s.Subject }),
	postgres.Col("visited", "bigint", func(s *facts.Traffic) int64 { return s.Visitors[0] }),
	postgres.Col("viewed", "bigint", func(s *facts.Traffic) int64 { return s.Visitors[1] }),
	postgres.Col("added", "bigint", func(s *facts.Traffic) int64 { return s.Visitors[2] }),
	postgres.Col("checkout", "bigint", func(s *facts.Traffic) int64 { return s.Visitors[3] }),
	postgres.Col("bought", "bigint", func(s *facts.Traffic) int64 { return s.Visitors[4] }),
}

var addTraffic, addTrafficMonths = upsertTraffic("traffic_day", "day"), upsertTraffic("traffic_month", "month")

// upsertTraffic is the statement that adds to a table of visitors by day or month. day is
// the column of the day, or of the first day of the month.
func upsertTraffic(table, day string) string {
	return `
	insert into ` + table + ` as s (company_id, ` + day + `, of, visited, viewed, added, checkout, bought)
	select @company_id, day, of, visited, viewed, added, checkout, bought from ` + trafficRows.Unnest("n") + `
	on conflict (company_id, ` + day + `, of) do update set visited = s.visited + excluded.visited, viewed = s.viewed + excluded.viewed,
		added = s.added + excluded.added, checkout = s.checkout + excluded.checkout, bought = s.bought + excluded.bought`
}

// AddTraffic adds to the numbers of visitors by day and by month.
func (t *Tx) AddTraffic(ctx context.Context, companyID string, traffic []facts.Traffic) error {
	company := pgx.NamedArgs{"company_id": companyID}
	if err := trafficRows.Exec(ctx, t.tx, "count visitors", addTraffic, traffic, company); err != nil {
		return err
	}
	return trafficRows.Exec(ctx, t.tx, "count visitors by month", addTrafficMonths, trafficMonths(traffic), company)
}

// trafficMonths sums visitors' days by month, in the order of their keys.
func trafficMonths(traffic []facts.Traffic) (months []facts.Traffic) {
	type key struct{ month, subject string }
	sums := map[key]facts.Traffic{}
	for _, t := range traffic {
		k := key{rollup.MonthOf(t.Day), t.Subject}
		sum := sums[k]
		sum.Day, sum.Subject = k.month, k.subject
		for i, n := range t.Visitors {
			sum.Visitors[i] += n
		}
		sums[k] = sum
	}
	return slices.SortedFunc(maps.Values(sums), func(a, b facts.Traffic) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Subject, b.Subject))
	})
}

var clickRows = postgres.Rows[facts.Clicks]{
	postgres.Col("day", "date", func(c *facts.Clicks) string { return c.Day }),
	postgres.Col("code", "text", func(c *facts.Clicks) string { return c.Code }),
	postgres.Col("clicks", "bigint", func(c *facts.Clicks) int64 { return c.Clicks }),
}

var addClicks = `
	insert into click_day as s (company_id, day, code, clicks)
	select @company_id, day, code, clicks from ` + clickRows.Unnest("n") + `
	on conflict (company_id, day, code) do update set clicks = s.clicks + excluded.clicks`

// AddClicks adds to the numbers of clicks by day.
func (t *Tx) AddClicks(ctx context.Context, companyID string, clicks []facts.Clicks) error {
	return clickRows.Exec(ctx, t.tx, "count clicks", addClicks, clicks, pgx.NamedArgs{"company_id": companyID})
}
