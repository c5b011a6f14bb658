package factstore

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
)

// hubsOfKey are the values of hub that a key k may have, as h: of each of them the index of
// digests has the key's orders by time. Most keys are a hub around no order. lo and hi are
// before and after all times: with a span that the planner cannot know it reads a key's rows
// one after the other, until it has enough, and not all of them first (a bitmap).
const hubsOfKey = `(
	select 0 as hub, lo, hi from unnest('{-infinity}'::timestamptz[], '{infinity}'::timestamptz[]) as span (lo, hi)
	union all
	select hub, lo, hi from unnest('{1,2,3}'::int[], '{-infinity,-infinity,-infinity}'::timestamptz[],
	'{infinity,infinity,infinity}'::timestamptz[]) as hubs (hub, lo, hi)
	where exists (
		select 1 from order_key g
		where g.company_id = @company_id and g.digest = k.digest | hubs.hub and g.kind = k.kind and g.key = k.key
		and g.created_at between hubs.lo and hubs.hi offset 0)) h`

var (
	ofKey       = postgres.OfKey("x", "k.digest", "k.kind", "k.key")
	ofKeyAndHub = postgres.OfKeyAndHub("e", "k.digest", "k.kind", "k.key", "h.hub") + " and e.created_at between h.lo and h.hi"
)

// isApproved leaves of keys e those of approved orders that are no tests. "offset 0" makes the planner look at
// one order of the key after the other, until one is approved, and never at all orders.
const isApproved = `cross join lateral (
	select 1 from orders p where p.company_id = @company_id and p.order_id = e.order_id and p.status = 0 and p.test is not true offset 0) p`

// manyOrders is of how many orders on the transaction's statements are planned for them: a plan that was made while the tables were
// small, as in the first minute of a history, costs five times as much an order until PostgreSQL has looked at their sizes again.
const manyOrders = 100

// FirstOrderCandidates returns what is known to decide whether orders are their
// customers' first: for each of their keys of the given kinds, how many orders of the
// order's interval have it, counted up to Limits.Orders + 1, and, where these are at
// most Limits.Orders, the earliest approved order with it, however old.
func (t *Tx) FirstOrderCandidates(ctx context.Context, companyID string, orderIDs []string, kinds []facts.KeyKind,
	limits facts.Limits) ([]facts.FirstOrderCandidate, error) {
	if len(orderIDs) >= manyOrders {
		if _, err := t.tx.Exec(ctx, planForRows); err != nil {
			return nil, fmt.Errorf("read first orders: %w", err)
		}
	}
	var list []facts.FirstOrderCandidate
	var c facts.FirstOrderCandidate
	var kind *int16
	var k facts.CustomerKey
	err := postgres.Each(ctx, t.tx, []any{&c.OrderID, &c.CreatedAt, &c.Sent, &c.Test, &kind, &k.Orders, &k.FirstID, &k.FirstAt}, func() error {
		if len(list) == 0 || list[len(list)-1].OrderID != c.OrderID {
			list = append(list, facts.FirstOrderCandidate{OrderID: c.OrderID, CreatedAt: c.CreatedAt, Sent: c.Sent, Test: c.Test})
		}
		if kind == nil {
			return nil
		}
		var err error
		k.Kind, err = facts.KindOf(*kind)
		last := &list[len(list)-1]
		last.Keys = append(last.Keys, k)
		return err
	}, `
		select i.order_id, o.created_at, o.sent_first, o.test is true, k.kind, coalesce(c.orders, 0), coalesce(f.order_id, ''),
		coalesce(f.created_at, o.created_at)
		from unnest(@order_ids::text[]) with ordinality as i (order_id, n)
		join orders o on o.company_id = @company_id and o.order_id = i.order_id
		left join lateral (
			select digest & -4 as digest, kind, key from order_key
			where company_id = @company_id and order_id = i.order_id and kind = any(@kinds) offset 0) k on true
		left join lateral (
			select count(*) as orders from (
				select 1 from order_key x
				where `+ofKey+`
					and x.created_at between o.created_at - @before::interval and o.created_at + @after::interval
				limit @most_orders) x) c on true
		left join lateral (
			select e.order_id, e.created_at from `+hubsOfKey+`
			cross join lateral (
				select e.order_id, e.created_at from order_key e `+isApproved+`
				where `+ofKeyAndHub+` and c.orders < @most_orders
				order by e.created_at, e.order_id collate "C" limit 1) e
			order by e.created_at, e.order_id collate "C" limit 1) f on true
		order by i.n`,
		pgx.NamedArgs{"company_id": companyID, "order_ids": orderIDs, "kinds": facts.Codes(kinds), "most_orders": limits.Orders + 1,
			"before": limits.Window, "after": limits.ObservationsAfter})
	return list, postgres.Wrapf(err, "read first orders")
}

var firstRows = postgres.Rows[facts.FirstOrder]{
	postgres.Col("order_id", "text", func(f *facts.FirstOrder) string { return f.OrderID }),
	postgres.Col("first", "boolean", func(f *facts.FirstOrder) *bool { return f.First }),
}

var setFirstOrders = `
	update payout p set is_first_order = f.first, processed_at = @now::timestamptz from ` + firstRows.Unnest("f") + `
	where p.company_id = @company_id and p.order_id = f.order_id and p.is_first_order is distinct from f.first`

// SetFirstOrders stores whether orders are their customers' first, of those that have an
// outcome. WriteOutcomes stores it of the others.
func (t *Tx) SetFirstOrders(ctx context.Context, companyID string, now time.Time, orders []facts.FirstOrder) error {
	return firstRows.Exec(ctx, t.tx, "store first orders", setFirstOrders, orders, pgx.NamedArgs{"company_id": companyID, "now": now})
}

var followRows = postgres.Rows[digested[facts.OrderKey]]{
	postgres.Col("digest", "bigint", func(k *digested[facts.OrderKey]) int64 { return k.digest }),
	postgres.Col("kind", "smallint", func(k *digested[facts.OrderKey]) int16 { return k.asks.Kind.Code() }),
	postgres.Col("key", "bytea", func(k *digested[facts.OrderKey]) []byte { return k.asks.Key.Pack() }),
	postgres.Col("created_at", "timestamptz", func(k *digested[facts.OrderKey]) time.Time { return k.asks.CreatedAt }),
}

func digestedKeys(companyID string, keys []facts.OrderKey) []digested[facts.OrderKey] {
	return digestedOf(companyID, keys, func(k *facts.OrderKey) facts.Key { return k.Key })
}

// ordersFollowing selects, for each key of an order, the orders with that key from its
// createdAt on up to the next approved one. Later ones have that one before them, so
// that the key's order makes no difference to them.
var ordersFollowing = `
	select distinct x.company_id, x.order_id from ` + followRows.Unnest("k") + `
	left join lateral (
		select min(e.created_at) as created_at from ` + hubsOfKey + `
		cross join lateral (
			select e.created_at from order_key e ` + isApproved + `
			where ` + ofKeyAndHub + ` and e.created_at > k.created_at
			order by e.created_at limit 1) e) n on true
	cross join lateral (
		select x.company_id, x.order_id from order_key x
		where ` + ofKey + `
			and x.created_at between k.created_at and coalesce(n.created_at, 'infinity')) x`

// OrdersFollowing returns the ids of the orders that may become their customer's first,
// or cease to be it, since orders got, lost or have changed with keys; at most limit.
func (t *Tx) OrdersFollowing(ctx context.Context, companyID string, keys []facts.OrderKey, limit int) ([]string, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	return t.texts(ctx, "find first orders", `select order_id from (`+ordersFollowing+`) q limit @most`,
		followRows.Args(digestedKeys(companyID, keys), pgx.NamedArgs{"company_id": companyID, "most": limit}))
}

// QueueFollowing queues the orders that OrdersFollowing finds without a limit, and
// returns how many were not queued already.
func (t *Tx) QueueFollowing(ctx context.Context, companyID string, keys []facts.OrderKey, cause facts.Cause) (int, error) {
	return t.QueueSelected(ctx, companyID, `select company_id, order_id, @cause::text as cause from (`+ordersFollowing+`) q`,
		followRows.Args(digestedKeys(companyID, keys), pgx.NamedArgs{"company_id": companyID, "cause": cause.String()}))
}
