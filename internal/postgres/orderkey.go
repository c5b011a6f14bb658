package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// changedKey is a key that changed orders have or had.
type changedKey struct {
	facts.Key
	from, to time.Time // of those orders, old and new createdAt
	orders   int       // how many of its rows went or came
}

// replaceKeys writes the keys of changed orders and gives all that they have
// or had, each once.
func (a *applying) replaceKeys(ctx context.Context, changed map[string]wire.Order) ([]*changedKey, error) {
	ids := make([]string, 0, len(changed))
	for id := range changed {
		ids = append(ids, id)
	}
	touched := map[facts.Key]*changedKey{}
	touch := func(k facts.Key, created time.Time) {
		t := touched[k]
		if t == nil {
			t = &changedKey{Key: k, from: created, to: created}
			touched[k] = t
		}
		t.orders++
		if created.Before(t.from) {
			t.from = created
		}
		if created.After(t.to) {
			t.to = created
		}
	}
	rows, err := a.tx.Query(ctx, `
		delete from order_key where company_id = $1 and order_id = any($2) and kind = any($3) returning kind, key, created_at`,
		a.company, ids, append(slices.Clone(facts.JoinKinds), facts.KeyCode))
	if err != nil {
		return nil, err
	}
	var old facts.Key
	var was time.Time
	if _, err := pgx.ForEachRow(rows, []any{&old.Kind, &old.Value, &was}, func() error { touch(old, was); return nil }); err != nil {
		return nil, err
	}
	var orderIDs, kinds, values []string
	var created []time.Time
	for id, o := range changed {
		keys := facts.OrderKeys(&o)
		for _, code := range facts.OrderCodes(&o) {
			keys = append(keys, facts.Key{Kind: facts.KeyCode, Value: code})
		}
		for _, k := range keys {
			touch(k, o.CreatedAt)
			orderIDs, kinds, values, created = append(orderIDs, id), append(kinds, k.Kind), append(values, k.Value), append(created, o.CreatedAt)
		}
	}
	if err := a.insertKeys(ctx, orderIDs, kinds, values, created); err != nil {
		return nil, err
	}
	return slices.Collect(maps.Values(touched)), nil
}

func (a *applying) insertKeys(ctx context.Context, orderIDs, kinds, values []string, created []time.Time) error {
	_, err := a.tx.Exec(ctx, `
		insert into order_key (company_id, kind, key, created_at, order_id)
		select $1, kind, key, created_at, order_id
		from unnest($2::text[], $3::text[], $4::timestamptz[], $5::text[]) as k (kind, key, created_at, order_id)
		on conflict do nothing`, a.company, kinds, values, created, orderIDs)
	return err
}

// crossings notes orders whose keys became a hub, or ceased to be one, by the
// batch's orders: those whose count is within the batch's reach of the threshold.
func (a *applying) crossings(ctx context.Context, keys []*changedKey) error {
	var kinds, values []string
	var from, to []time.Time
	var orders []int32
	for _, k := range keys {
		if slices.Contains(facts.JoinKinds, k.Kind) {
			kinds, values = append(kinds, k.Kind), append(values, k.Value)
			from, to = append(from, k.from.Add(-facts.AfterOrder)), append(to, k.to.Add(a.Rules.Window))
			orders = append(orders, int32(k.orders))
		}
	}
	return a.find(ctx, "order "+a.now.UTC().Format(time.RFC3339), `
		select x.order_id
		from unnest($2::text[], $3::text[], $4::timestamptz[], $5::timestamptz[], $6::int[]) as k (kind, key, lo, hi, changed)
		cross join lateral (`+ordersOfKey("$7", "$8")+`) x
		where x.orders between $9::int - k.changed + 1 and $9::int + k.changed`,
		a.company, kinds, values, from, to, orders, a.Rules.Window, facts.AfterOrder, facts.HubOrders)
}

// ordersOfKey gives the orders of k.kind and k.key created between k.lo and
// k.hi, each with how many orders share the key in its own interval: one pass
// over the key's rows, however dense. window and after are parameters.
func ordersOfKey(window, after string) string {
	return `
		select order_id, orders from (
			select order_id, created_at, count(*) over (order by created_at range between ` + window + `::interval preceding and ` + after + `::interval following) as orders
			from order_key where company_id = $1 and kind = k.kind and key = k.key
				and created_at between k.lo - ` + window + `::interval and k.hi + ` + after + `::interval offset 0) w
		where created_at between k.lo and k.hi offset 0`
}

// firstOrders infers isFirstOrder, where the merchant did not say it, of the
// changed orders and those that share a customer, e-mail or phone with them:
// first is who has no earlier approved order under any key that is no hub.
func (a *applying) firstOrders(ctx context.Context, changed map[string]wire.Order, keys []*changedKey) error {
	ids := make([]string, 0, len(changed))
	for id := range changed {
		ids = append(ids, id)
	}
	kinds, values := []string{}, []string{}
	for _, k := range keys {
		if k.Kind == facts.KeyCustomer || k.Kind == facts.KeyEmail || k.Kind == facts.KeyPhone {
			kinds, values = append(kinds, k.Kind), append(values, k.Value)
		}
	}
	_, err := a.tx.Exec(ctx, `
		with near as (
			select k.kind, k.key from unnest($3::text[], $4::text[]) as k (kind, key)
			where (select count(*) from (
				select 1 from order_key x where x.company_id = $1 and x.kind = k.kind and x.key = k.key limit $5::int + cardinality($2::text[]) + 1) c) <= $5::int + cardinality($2::text[])
		), concerned as (
			select unnest($2::text[]) as order_id
			union
			select x.order_id from near cross join lateral (
				select order_id from order_key where company_id = $1 and kind = near.kind and key = near.key offset 0) x
		), mine as (
			select c.order_id, x.kind, x.key, x.created_at from concerned c cross join lateral (
				select kind, key, created_at from order_key
				where company_id = $1 and order_id = c.order_id and kind in ('customer', 'email', 'phone') offset 0) x
			where (select count(*) from (
				select 1 from order_key y where y.company_id = $1 and y.kind = x.kind and y.key = x.key limit $5::int + 1) c) <= $5::int
		), inferred as (
			select m.order_id, not bool_or(exists (
				select 1 from order_key e join orders p on p.company_id = $1 and p.order_id = e.order_id and p.status = 0
				where e.company_id = $1 and e.kind = m.kind and e.key = m.key and (e.created_at, e.order_id) < (m.created_at, m.order_id))) as first
			from mine m group by m.order_id
		)
		update orders o set is_first_order = coalesce((o.body->>'isFirstOrder')::boolean, i.first)
		from concerned c left join inferred i on i.order_id = c.order_id
		where o.company_id = $1 and o.order_id = c.order_id
			and o.is_first_order is distinct from coalesce((o.body->>'isFirstOrder')::boolean, i.first)`,
		a.company, ids, kinds, values, facts.HubOrders)
	if err != nil {
		return fmt.Errorf("first orders: %w", err)
	}
	return nil
}
