package postgres

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// orders stores versions of orders, folds them, and notes which orders changed.
func (a *applying) orders(ctx context.Context) error {
	if len(a.Orders) == 0 {
		return nil
	}
	if err := a.insertVersions(ctx); err != nil {
		return fmt.Errorf("insert versions: %w", err)
	}
	if err := a.insertPersonal(ctx); err != nil {
		return fmt.Errorf("insert personal: %w", err)
	}
	changed, err := a.fold(ctx)
	if err != nil {
		return fmt.Errorf("fold: %w", err)
	}
	if len(changed) == 0 {
		return nil
	}
	keys, err := a.replaceKeys(ctx, changed)
	if err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	if err := a.crossings(ctx, keys); err != nil {
		return fmt.Errorf("hubs: %w", err)
	}
	return a.firstOrders(ctx, changed, keys)
}

func (a *applying) insertVersions(ctx context.Context) error {
	n := len(a.Orders)
	ids, versionAts, acceptedAts, hashes, bodies := make([]string, n), make([]time.Time, n), make([]time.Time, n), make([][]byte, n), make([]string, n)
	for i, v := range a.Orders {
		ids[i], versionAts[i], acceptedAts[i], hashes[i], bodies[i] = v.OrderID, v.VersionAt, v.AcceptedAt, v.ContentHash, string(v.Body)
	}
	_, err := a.tx.Exec(ctx, `
		insert into order_version (company_id, order_id, version_at, accepted_at, content_hash, body)
		select $1, order_id, version_at, accepted_at, content_hash, body::jsonb
		from unnest($2::text[], $3::timestamptz[], $4::timestamptz[], $5::bytea[], $6::text[]) as v (order_id, version_at, accepted_at, content_hash, body)
		on conflict do nothing`, a.company, ids, versionAts, acceptedAts, hashes, bodies)
	return err
}

// insertPersonal keeps the newest version's personal fields. Of versions with
// equal times the greater digest counts, so that arrival order never does.
func (a *applying) insertPersonal(ctx context.Context) error {
	newest := map[string]*facts.OrderVersion{}
	for i := range a.Orders {
		v := &a.Orders[i]
		if v.Personal == nil {
			continue
		}
		if old := newest[v.OrderID]; old == nil || cmp.Or(v.VersionAt.Compare(old.VersionAt), v.AcceptedAt.Compare(old.AcceptedAt), bytes.Compare(v.PersonalDigest, old.PersonalDigest)) > 0 {
			newest[v.OrderID] = v
		}
	}
	var ids, bodies []string
	var versionAts, acceptedAts []time.Time
	var digests [][]byte
	for id, v := range newest {
		ids, bodies = append(ids, id), append(bodies, string(v.Personal))
		versionAts, acceptedAts, digests = append(versionAts, v.VersionAt), append(acceptedAts, v.AcceptedAt), append(digests, v.PersonalDigest)
	}
	if len(ids) == 0 {
		return nil
	}
	_, err := a.tx.Exec(ctx, `
		insert into order_personal (company_id, order_id, version_at, accepted_at, digest, body)
		select $1, order_id, version_at, accepted_at, digest, body::jsonb
		from unnest($2::text[], $3::timestamptz[], $4::timestamptz[], $5::bytea[], $6::text[]) as p (order_id, version_at, accepted_at, digest, body)
		on conflict (company_id, order_id) do update
			set version_at = excluded.version_at, accepted_at = excluded.accepted_at, digest = excluded.digest, body = excluded.body
			where (excluded.version_at, excluded.accepted_at, excluded.digest) > (order_personal.version_at, order_personal.accepted_at, order_personal.digest)`,
		a.company, ids, versionAts, acceptedAts, digests, bodies)
	return err
}

// fold reads all versions of the batch's orders, stores their folds, and gives
// the orders whose fold changed, by id.
func (a *applying) fold(ctx context.Context) (map[string]wire.Order, error) {
	ids := make([]string, 0, len(a.Orders))
	for _, v := range a.Orders {
		ids = append(ids, v.OrderID)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	rows, err := a.tx.Query(ctx, `
		select order_id, version_at, body from order_version where company_id = $1 and order_id = any($2)
		order by order_id, version_at, accepted_at, content_hash`, a.company, ids)
	if err != nil {
		return nil, err
	}
	versions, newest := map[string][]wire.Order{}, map[string]time.Time{}
	var id string
	var versionAt time.Time
	var body []byte
	if _, err := pgx.ForEachRow(rows, []any{&id, &versionAt, &body}, func() error {
		var o wire.Order
		if err := json.Unmarshal(body, &o); err != nil {
			return fmt.Errorf("version of order %s: %w", id, err)
		}
		versions[id], newest[id] = append(versions[id], o), versionAt
		return nil
	}); err != nil {
		return nil, err
	}
	n := len(ids)
	created, days, status, currencies := make([]time.Time, n), make([]string, n), make([]int32, n), make([]string, n)
	totals, shipping, bodies := make([]int64, n), make([]int64, n), make([]string, n)
	folded := make(map[string]wire.Order, n)
	for i, id := range ids {
		o := facts.Fold(versions[id])
		folded[id] = o
		text, err := json.Marshal(o)
		if err != nil {
			return nil, fmt.Errorf("fold of order %s: %w", id, err)
		}
		created[i], days[i], status[i], currencies[i] = o.CreatedAt, o.CreatedAt.In(a.Rules.Location).Format(time.DateOnly), int32(o.Status), o.Currency
		totals[i], shipping[i], bodies[i] = o.TotalMinor, o.ShippingMinor.Or(0), string(text)
	}
	changedIDs, err := collect(ctx, a.tx, pgx.RowTo[string], `
		insert into orders (company_id, order_id, created_at, day, status, currency, total_minor, shipping_minor, body, processed_at)
		select $1, order_id, created_at, day::date, status, currency, total, shipping, body::jsonb, $2
		from unnest($3::text[], $4::timestamptz[], $5::text[], $6::int[], $7::text[], $8::bigint[], $9::bigint[], $10::text[])
			as o (order_id, created_at, day, status, currency, total, shipping, body)
		on conflict (company_id, order_id) do update set created_at = excluded.created_at, day = excluded.day, status = excluded.status,
			currency = excluded.currency, total_minor = excluded.total_minor, shipping_minor = excluded.shipping_minor,
			body = excluded.body, processed_at = excluded.processed_at
			where orders.body is distinct from excluded.body
		returning order_id`,
		a.company, a.now, ids, created, days, status, currencies, totals, shipping, bodies)
	if err != nil {
		return nil, err
	}
	changed := make(map[string]wire.Order, len(changedIDs))
	for _, id := range changedIDs {
		changed[id] = folded[id]
		a.concerned[id] = "order " + newest[id].UTC().Format(time.RFC3339)
	}
	return changed, nil
}

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
