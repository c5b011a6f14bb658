package factstore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
)

// dayItemRows are the columns of traffic_day's primary key.
var dayItemRows = postgres.Rows[facts.ShopperKey]{
	postgres.Col("day", "date", func(k *facts.ShopperKey) string { return k.Day }),
	postgres.Col("of", "text", func(k *facts.ShopperKey) string { return k.Subject }),
}

var (
	newItems = `
	select n.day, n.of from ` + dayItemRows.Unnest("n") + `
	where not exists (select 1 from traffic_day t where t.company_id = @company_id and t.day = n.day and t.of = n.of)`

	itemsOfDay = `
	select count(*) from (
		select 1 from traffic_day where company_id = @company_id and day = @day::date and of >= @first and of < @last limit @most) t`

	cataloguedItems = `
	select n.item from unnest(@item::text[]) as n (item)
	where exists (select 1 from product p where p.company_id = @company_id and p.product_id = n.item)
		or exists (select 1 from product_variant v where v.company_id = @company_id and v.variant_id = n.item)
		or exists (select 1 from product_variant u where u.company_id = @company_id and u.sku = n.item)`
)

// ItemsBeyond returns those of days' items (Day and Of) for which their day has no room: it
// has most items, nobody was counted for these, and they are not in the catalogue.
func (t *Tx) ItemsBeyond(ctx context.Context, companyID string, items []facts.ShopperKey, most int) (beyond []facts.ShopperKey, err error) {
	fresh, err := postgres.Collect(ctx, t.tx, func(row pgx.CollectableRow) (k facts.ShopperKey, err error) {
		return k, row.Scan(postgres.Day(&k.Day), &k.Subject)
	}, newItems, dayItemRows.Args(items, pgx.NamedArgs{"company_id": companyID}))
	if err != nil {
		return nil, fmt.Errorf("find items that are not counted yet: %w", err)
	}
	slices.SortFunc(fresh, facts.ShopperKey.Compare)
	room := map[string]int{} // by day
	for _, k := range fresh {
		left, known := room[k.Day]
		if !known {
			var stored int
			if err := t.tx.QueryRow(ctx, itemsOfDay, pgx.NamedArgs{"company_id": companyID, "day": k.Day,
				"first": facts.OfItem(""), "last": facts.AfterItems, "most": most}).Scan(&stored); err != nil {
				return nil, fmt.Errorf("count items of a day: %w", err)
			}
			left = most - stored
		}
		if left <= 0 {
			beyond = append(beyond, k)
		}
		room[k.Day] = left - 1
	}
	return t.uncatalogued(ctx, companyID, beyond)
}

// uncatalogued returns the items that are not in the catalogue.
func (t *Tx) uncatalogued(ctx context.Context, companyID string, items []facts.ShopperKey) ([]facts.ShopperKey, error) {
	if len(items) == 0 {
		return nil, nil
	}
	ids := make([]string, len(items))
	for i, k := range items {
		ids[i] = strings.TrimPrefix(k.Subject, facts.OfItem(""))
	}
	list, err := t.texts(ctx, "find items in the catalogue", cataloguedItems, pgx.NamedArgs{"company_id": companyID, "item": ids})
	if err != nil {
		return nil, err
	}
	catalogued := map[string]bool{}
	for _, id := range list {
		catalogued[facts.OfItem(id)] = true
	}
	return slices.DeleteFunc(items, func(k facts.ShopperKey) bool { return catalogued[k.Subject] }), nil
}
