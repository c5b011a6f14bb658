package factstore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
)

// keyRow is one row of the table order_key.
type keyRow struct {
	digest int64
	*facts.OrderKey
}

// keyRowsOf returns keys as rows.
func keyRowsOf(companyID string, keys []facts.OrderKey) []keyRow {
	rows := make([]keyRow, len(keys))
	for i := range keys {
		rows[i] = keyRow{facts.KeyDigest(companyID, keys[i].Key) | int64(keys[i].Hub.Code()), &keys[i]}
	}
	return rows
}

var keyRows = postgres.Rows[keyRow]{
	postgres.Col("digest", "bigint", func(k *keyRow) int64 { return k.digest }),
	postgres.Col("kind", "smallint", func(k *keyRow) int16 { return k.Kind.Code() }),
	postgres.Col("key", "bytea", func(k *keyRow) []byte { return k.Key.Pack() }),
	postgres.Col("created_at", "timestamptz", func(k *keyRow) time.Time { return k.CreatedAt }),
	postgres.Col("order_id", "text", func(k *keyRow) string { return k.OrderID }),
	postgres.Col("hub", "smallint", func(k *keyRow) int16 { return k.Hub.Code() }),
}

var (
	insertKeys = `
	insert into order_key (company_id, digest, kind, key, created_at, order_id, hub)
	select @company_id, digest, kind, key, created_at, order_id, hub from ` + keyRows.Unnest("k") + `
	on conflict (digest, created_at, company_id, order_id) do nothing`

	deleteKeys = `
	delete from order_key k using ` + keyRows.Unnest("n") + `
	where k.company_id = @company_id and k.order_id = n.order_id and k.digest = n.digest and k.created_at = n.created_at`
)

const selectKeys = `
	select kind, key, created_at, order_id, hub from order_key
	where company_id = @company_id and order_id = any(@order_ids) and kind = any(@kinds)`

func scanKey(row pgx.CollectableRow) (k facts.OrderKey, err error) {
	var kind, hub int16
	var key []byte
	if err := row.Scan(&kind, &key, &k.CreatedAt, &k.OrderID, &hub); err != nil {
		return k, err
	}
	if k.Key, err = facts.UnpackKey(kind, key); err != nil {
		return k, err
	}
	k.Hub, err = facts.HubOf(hub)
	return k, err
}

// ReplaceKeys stores keys in the place of all keys of the given kinds that the
// orders have, and returns the keys that they had. A key of facts.JoinKinds that
// stays keeps its Hub: only MarkHubs changes that. What stays is not written again. Keys may
// also be of other orders, which are new and have none: for these nothing is read.
func (t *Tx) ReplaceKeys(ctx context.Context, companyID string, orderIDs []string, kinds []facts.KeyKind,
	keys []facts.OrderKey) (was []facts.OrderKey, err error) {
	company := pgx.NamedArgs{"company_id": companyID}
	if len(orderIDs) > 0 {
		was, err = postgres.Collect(ctx, t.tx, scanKey, selectKeys,
			pgx.NamedArgs{"company_id": companyID, "order_ids": orderIDs, "kinds": facts.Codes(kinds)})
		if err != nil {
			return nil, fmt.Errorf("read keys of orders: %w", err)
		}
	}
	keys = withStoredHubs(keys, was)
	if err := keyRows.Exec(ctx, t.tx, "remove keys of orders", deleteKeys, keyRowsOf(companyID, without(was, keys)), company); err != nil {
		return nil, err
	}
	return was, keyRows.Exec(ctx, t.tx, "store keys of orders", insertKeys, keyRowsOf(companyID, without(keys, was)), company)
}

// storedKey tells rows of order_key apart.
type storedKey struct {
	facts.Key
	orderID   string
	createdAt int64 // Unix microseconds, as stored
	hub       facts.Hub
}

func rowOf(k facts.OrderKey) storedKey {
	return storedKey{k.Key, k.OrderID, k.CreatedAt.UnixMicro(), k.Hub}
}

// without returns the keys that are not among others.
func without(keys, others []facts.OrderKey) (list []facts.OrderKey) {
	known := make(map[storedKey]bool, len(others))
	for _, k := range others {
		known[rowOf(k)] = true
	}
	for _, k := range keys {
		if !known[rowOf(k)] {
			list = append(list, k)
		}
	}
	return list
}

// withStoredHubs returns a copy of the keys in which each key of facts.JoinKinds
// that an order had before, with the same createdAt, has the Hub that it had.
func withStoredHubs(keys, was []facts.OrderKey) []facts.OrderKey {
	of := func(k facts.OrderKey) storedKey {
		k.Hub = facts.NoHub
		return rowOf(k)
	}
	hubs := map[storedKey]facts.Hub{}
	for _, k := range was {
		if k.Hub != facts.NoHub && slices.Contains(facts.JoinKinds, k.Kind) {
			hubs[of(k)] = k.Hub
		}
	}
	keys = slices.Clone(keys)
	for i, k := range keys {
		if hub, marked := hubs[of(k)]; marked {
			keys[i].Hub = hub
		}
	}
	return keys
}

// A mark is in the digest, which is a part of the primary key: a row whose mark changes is
// removed and stored anew. Two keys of one order may have the same digest, since anybody can
// make such a pair: then one of them stays, where an update would fail.
var (
	// takeMarked finds what is marked by the index order_key_hub, which has little.
	takeMarked = `
	delete from order_key k
	where k.company_id = @company_id and k.order_id = any(@order_ids) and k.kind = any(@kinds) and k.hub <> 0
		and not exists (select 1 from ` + keyRows.Unnest("h") + ` where h.order_id = k.order_id and h.kind = k.kind and h.key = k.key)
	returning k.kind, k.key, k.created_at, k.order_id, 0`

	takeUnmarked = `
	delete from order_key k using ` + keyRows.Unnest("h") + `
	where k.company_id = @company_id and k.order_id = h.order_id and k.kind = h.kind and k.key = h.key and k.hub <> h.hub
	returning k.kind, k.key, k.created_at, k.order_id, h.hub`
)

// MarkHubs stores which keys of orders are hubs, and why. All other keys of those
// orders and of the given kinds are none.
func (t *Tx) MarkHubs(ctx context.Context, companyID string, orderIDs []string, kinds []facts.KeyKind, hubs []facts.OrderKey) error {
	changed, err := postgres.Collect(ctx, t.tx, scanKey, takeMarked,
		keyRows.Args(keyRowsOf(companyID, hubs), pgx.NamedArgs{"company_id": companyID, "order_ids": orderIDs, "kinds": facts.Codes(kinds)}))
	if err != nil {
		return fmt.Errorf("unmark hubs: %w", err)
	}
	if len(hubs) > 0 {
		marked, err := postgres.Collect(ctx, t.tx, scanKey, takeUnmarked,
			keyRows.Args(keyRowsOf(companyID, hubs), pgx.NamedArgs{"company_id": companyID}))
		if err != nil {
			return fmt.Errorf("mark hubs: %w", err)
		}
		changed = append(changed, marked...)
	}
	return keyRows.Exec(ctx, t.tx, "store marks of hubs", insertKeys, keyRowsOf(companyID, changed), pgx.NamedArgs{"company_id": companyID})
}

// digested is a row that asks for a key, with the key's digest.
type digested[T any] struct {
	digest int64
	asks   *T
}

// digestedOf returns rows that ask for keys with the keys' digests.
func digestedOf[T any](companyID string, list []T, key func(*T) facts.Key) []digested[T] {
	rows := make([]digested[T], len(list))
	for i := range list {
		rows[i] = digested[T]{facts.KeyDigest(companyID, key(&list[i])), &list[i]}
	}
	return rows
}

var spanRows = postgres.Rows[digested[facts.KeySpan]]{
	postgres.Col("digest", "bigint", func(s *digested[facts.KeySpan]) int64 { return s.digest }),
	postgres.Col("kind", "smallint", func(s *digested[facts.KeySpan]) int16 { return s.asks.Kind.Code() }),
	postgres.Col("key", "bytea", func(s *digested[facts.KeySpan]) []byte { return s.asks.Key.Pack() }),
	postgres.Col("hub", "smallint", func(s *digested[facts.KeySpan]) int16 { return s.asks.Hub.Code() }),
	postgres.Col("lo", "timestamptz", func(s *digested[facts.KeySpan]) time.Time { return s.asks.From }),
	postgres.Col("hi", "timestamptz", func(s *digested[facts.KeySpan]) time.Time { return s.asks.To }),
}

func digestedSpans(companyID string, spans []facts.KeySpan) []digested[facts.KeySpan] {
	return digestedOf(companyID, spans, func(s *facts.KeySpan) facts.Key { return s.Key })
}

// ordersByKeys returns the SQL that finds orders, key by key. "offset 0" stops the
// planner from joining the whole tables instead: it cannot know how few orders a key
// has. ofKey is the condition on rows o of order_key.
func ordersByKeys(ofKey string) string {
	return `
	select x.company_id, x.order_id from ` + spanRows.Unnest("k") + `
	cross join lateral (
		select o.company_id, o.order_id from order_key o where ` + ofKey + ` and o.created_at between k.lo and k.hi offset 0) x`
}

// ordersOfKeys has the SQL that finds the orders around which keys are what the spans say
// (false), or all orders of the keys (true).
var ordersOfKeys = map[bool]string{
	false: ordersByKeys(postgres.OfKeyAndHub("o", "k.digest", "k.kind", "k.key", "k.hub")),
	true:  ordersByKeys(postgres.OfKey("o", "k.digest", "k.kind", "k.key")),
}

// OrdersByKeys returns the ids of the orders of keys, at most limit. hubs: all of them,
// whatever the key is around an order.
func (t *Tx) OrdersByKeys(ctx context.Context, companyID string, spans []facts.KeySpan, hubs bool, limit int) ([]string, error) {
	names, keys := namesOf(companyID, spans)
	var ids []string
	if len(names) > 0 {
		found, err := t.texts(ctx, "find orders by names", `select distinct order_id from (`+ordersOfNames+`) q limit @most`,
			nameSpanRows.Args(names, pgx.NamedArgs{"company_id": companyID, "most": limit}))
		if err != nil {
			return nil, err
		}
		ids = found
	}
	if len(keys) > 0 {
		found, err := t.texts(ctx, "find orders by keys", `select distinct order_id from (`+ordersOfKeys[hubs]+`) q limit @most`,
			spanRows.Args(digestedSpans(companyID, keys), pgx.NamedArgs{"company_id": companyID, "most": limit}))
		if err != nil {
			return nil, err
		}
		ids = append(ids, found...)
	}
	if len(names) > 0 && len(keys) > 0 {
		slices.Sort(ids)
		ids = slices.Compact(ids)
		ids = ids[:min(len(ids), limit)]
	}
	return ids, nil
}

// QueueByKeys queues the orders that OrdersByKeys finds without a limit, and returns
// how many were not queued already.
func (t *Tx) QueueByKeys(ctx context.Context, companyID string, spans []facts.KeySpan, hubs bool,
	cause facts.Cause) (queued int, err error) {
	names, keys := namesOf(companyID, spans)
	args := pgx.NamedArgs{"company_id": companyID, "cause": cause.String()}
	if len(names) > 0 {
		if queued, err = t.QueueSelected(ctx, companyID, `select distinct company_id, order_id, @cause::text as cause from (`+ordersOfNames+`) q`,
			nameSpanRows.Args(names, args)); err != nil {
			return 0, err
		}
	}
	if len(keys) > 0 {
		more, err := t.QueueSelected(ctx, companyID,
			`select distinct company_id, order_id, @cause::text as cause from (`+ordersOfKeys[hubs]+`) q`,
			spanRows.Args(digestedSpans(companyID, keys), args))
		if err != nil {
			return 0, err
		}
		queued += more
	}
	return queued, nil
}

var changedKeyRows = postgres.Rows[digested[facts.ChangedKey]]{
	postgres.Col("digest", "bigint", func(k *digested[facts.ChangedKey]) int64 { return k.digest }),
	postgres.Col("kind", "smallint", func(k *digested[facts.ChangedKey]) int16 { return k.asks.Kind.Code() }),
	postgres.Col("key", "bytea", func(k *digested[facts.ChangedKey]) []byte { return k.asks.Key.Pack() }),
	postgres.Col("lo", "timestamptz", func(k *digested[facts.ChangedKey]) time.Time { return k.asks.From }),
	postgres.Col("hi", "timestamptz", func(k *digested[facts.ChangedKey]) time.Time { return k.asks.To }),
	postgres.Col("least", "int", func(k *digested[facts.ChangedKey]) int32 { return int32(k.asks.Least) }),
	postgres.Col("most", "int", func(k *digested[facts.ChangedKey]) int32 { return int32(k.asks.Most) }),
	postgres.Col("lost", "boolean", func(k *digested[facts.ChangedKey]) bool { return k.asks.Lost }),
}

// ordersOfChangedKeys counts, for each order of a key, the key's orders in that
// order's interval, in one pass over them. Where orders only got the key, it reads
// none of a key that is a hub around all other orders already: they stay so. Of a key
// with too many visitors (hub 2) the orders are counted all the same.
var ordersOfChangedKeys = `
	select distinct x.company_id, x.order_id from (
		select * from ` + changedKeyRows.Unnest("c") + `
		where c.lost or exists (
			select 1 from order_key j
			where j.company_id = @company_id and j.digest = any(array[c.digest, c.digest | 2]) and j.kind = c.kind and j.key = c.key
			and j.created_at between c.lo and c.hi
				and j.order_id <> all(@changed_ids)) offset 0) k
	cross join lateral (
		select company_id, order_id, orders from (
			select company_id, order_id, created_at,
				count(*) over (order by created_at range between @before::interval preceding and @after::interval following) as orders
			from order_key o where ` + postgres.OfKey("o", "k.digest", "k.kind", "k.key") + `
				and created_at between k.lo - @before::interval and k.hi + @after::interval offset 0) w
		where created_at between k.lo and k.hi offset 0) x
	where x.orders between k.least and k.most`

// OrdersOfChangedKeys returns, beside the orders that got or lost keys (changed),
// the ids of orders that were created in the span of a
// key and whose interval, from before to after their createdAt, has between Least
// and Most orders of the key; at most limit ids.
func (t *Tx) OrdersOfChangedKeys(ctx context.Context, companyID string, changed []string, keys []facts.ChangedKey, before,
	after time.Duration, limit int) ([]string, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	return t.texts(ctx, "find orders of hubs", `select order_id from (`+ordersOfChangedKeys+`) q limit @limit`,
		changedKeyRows.Args(digestedOf(companyID, keys, func(k *facts.ChangedKey) facts.Key { return k.Key }),
			pgx.NamedArgs{"company_id": companyID, "changed_ids": changed, "before": before, "after": after, "limit": limit}))
}

// QueueOfChangedKeys queues the orders that OrdersOfChangedKeys finds without a limit,
// and returns how many were not queued already.
func (t *Tx) QueueOfChangedKeys(ctx context.Context, companyID string, changed []string, keys []facts.ChangedKey, before,
	after time.Duration, cause facts.Cause) (int, error) {
	return t.QueueSelected(ctx, companyID, `select company_id, order_id, @cause::text as cause from (`+ordersOfChangedKeys+`) q`,
		changedKeyRows.Args(digestedOf(companyID, keys, func(k *facts.ChangedKey) facts.Key { return k.Key }),
			pgx.NamedArgs{"company_id": companyID, "changed_ids": changed, "before": before, "after": after, "cause": cause.String()}))
}
