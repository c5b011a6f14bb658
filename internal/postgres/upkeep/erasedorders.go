package upkeep

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/packed"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/cases"
	"github.com/tributary-io/tributary/internal/upkeep/erasure"
)

// FindErasedOrders adds orders that have one of the person's keys, or are of the shop whose
// customers are erased, and of which a version came before the erasure was asked for; at most
// limit. It returns how many.
func (t *Erasure) FindErasedOrders(ctx context.Context, companyID string, e *erasure.Erasure, limit int) (int, error) {
	n, err := postgres.One(ctx, t.tx, pgx.RowTo[int], `
		with found as (
			insert into erased_order (company_id, order_id, erasure_id)
			select distinct k.company_id, k.order_id, @erasure_id::uuid
			from (
				select k.company_id, k.order_id from (
					select company_id, kind, key, `+postgres.KeyDigest("kind", "key")+` as digest from erasure_key
					where company_id = @company_id and erasure_id = @erasure_id::uuid offset 0) p
				join order_key k on `+postgres.OfKey("k", "p.digest", "p.kind", "p.key")+`
				where k.company_id = @company_id
				union all
				select company_id, order_id from shop_order where company_id = @company_id and erasure_id = @erasure_id::uuid) k
			where (exists (select 1 from order_version v where v.company_id = @company_id and v.order_id = k.order_id and v.accepted_at <= @asked_at)
					or exists (select 1 from orders o where o.company_id = @company_id and o.order_id = k.order_id and o.accepted_at <= @asked_at))
				and not exists (select 1 from erased_order d where d.company_id = @company_id and d.order_id = k.order_id)
			limit @most
			on conflict (company_id, order_id) do nothing returning 1)
		select count(*)::int from found`, argsOf(companyID, e, pgx.NamedArgs{"asked_at": e.AskedAt, "most": limit}))
	return n, postgres.Wrapf(err, "find orders of a person")
}

// FindErasedVersions looks at the versions of the next orders by id, at most limit, and adds
// those orders that had one of the person's keys. It returns the last id that it looked at,
// and how many orders these were. An order's only version has the keys of the order, by
// which FindErasedOrders finds it.
func (t *Erasure) FindErasedVersions(
	ctx context.Context, companyID string, e *erasure.Erasure, keys []facts.Key, limit int,
) (last string, looked int, err error) {
	if err := t.tx.QueryRow(ctx, `
		select coalesce(max(order_id), ''), count(*)::int from (
			select order_id from orders where company_id = @company_id and order_id > @after order by order_id limit @most) page`,
		pgx.NamedArgs{"company_id": companyID, "after": e.OrderID, "most": limit}).Scan(&last, &looked); err != nil {
		return "", 0, fmt.Errorf("look for earlier orders of a person: %w", err)
	}
	var found []string
	var id string
	var body []byte
	if err := postgres.Each(ctx, t.tx, []any{&id, &body}, func() error {
		order, err := facts.UnpackOrder(body)
		if err == nil && facts.InOrder(&order, keys) {
			found = append(found, id)
		}
		return err
	}, `
		select order_id, body from order_version
		where company_id = @company_id and order_id > @after and order_id <= @last and accepted_at <= @asked_at`,
		pgx.NamedArgs{"company_id": companyID, "after": e.OrderID, "last": last, "asked_at": e.AskedAt}); err != nil {
		return "", 0, fmt.Errorf("read earlier orders: %w", err)
	}
	slices.Sort(found)
	return last, looked, postgres.Exec(ctx, t.tx, "add earlier orders of a person", `
		insert into erased_order (company_id, order_id, erasure_id)
		select @company_id, order_id, @erasure_id::uuid from unnest(@order_ids::text[]) f(order_id)
		on conflict (company_id, order_id) do nothing`, argsOf(companyID, e, pgx.NamedArgs{"order_ids": slices.Compact(found)}))
}

// AddKeysOfOrders adds to the person's keys those of the erased orders that no other order
// has; the browser's ids (kinds 2 and 3) also where another has them.
func (t *Erasure) AddKeysOfOrders(ctx context.Context, companyID string, e *erasure.Erasure) error {
	return postgres.Exec(ctx, t.tx, "find keys of a person", `
		insert into erasure_key (company_id, erasure_id, kind, key)
		select distinct k.company_id, @erasure_id::uuid, k.kind, k.key
		from erased_order d join order_key k on k.company_id = d.company_id and k.order_id = d.order_id
		where d.company_id = @company_id and d.erasure_id = @erasure_id::uuid and d.surrogates is null
			and k.company_id = @company_id and k.kind = any(@kinds)
			and (k.kind in (2, 3) or not exists (
				select 1 from order_key o where `+postgres.OfKey("o", "(k.digest & -4)", "k.kind", "k.key")+`
					and not exists (select 1 from erased_order x where x.company_id = @company_id and x.order_id = o.order_id)))
		on conflict (company_id, erasure_id, kind, key) do nothing`, argsOf(companyID, e, pgx.NamedArgs{"kinds": facts.Codes(facts.JoinKinds)}))
}

// ErasureKeys returns the person's keys.
func (t *Erasure) ErasureKeys(ctx context.Context, companyID string, e *erasure.Erasure) ([]facts.Key, error) {
	keys, err := postgres.Collect(ctx, t.tx, cases.ScanKey, `
		select kind, key from erasure_key where company_id = @company_id and erasure_id = @erasure_id::uuid order by kind, key`,
		argsOf(companyID, e, nil))
	return keys, postgres.Wrapf(err, "read keys of a person")
}

// ordersAround selects the orders that what is removed may change: those to which a
// visitor is reached or whose own id it is (kinds 2, 3, 10 and 11), those around which a key that
// the visitor was seen with has too many visitors (hub 2), and the erased ones.
var ordersAround = `
	select r.company_id, r.order_id from (
		select v.visitor, n.kind, ` + postgres.KeyDigest("n.kind", "v.visitor") + ` as digest
		from erasure_visitor v cross join unnest('{2,3,10,11}'::smallint[]) as n (kind)
		where v.company_id = @company_id and v.erasure_id = @erasure_id::uuid offset 0) v
	join order_key r on ` + postgres.OfKey("r", "v.digest", "v.kind", "v.visitor") + `
	where r.company_id = @company_id
	union
	select r.company_id, r.order_id from (
		select s.kind, s.key, ` + postgres.KeyDigest("s.kind", "s.key") + ` as digest from erasure_visitor v
		join observation s on s.company_id = v.company_id and s.visitor = v.visitor
		where v.company_id = @company_id and v.erasure_id = @erasure_id::uuid and s.company_id = @company_id offset 0) s
	join order_key r on ` + postgres.OfKeyAndHub("r", "s.digest", "s.kind", "s.key", "2") + `
	where r.company_id = @company_id
	union
	select d.company_id, d.order_id from erased_order d where d.company_id = @company_id and d.erasure_id = @erasure_id::uuid`

// OrdersToSnapshot returns orders without a snapshot that what an erasure removes may change, and
// of which a version came before it was asked for; at most limit.
func (t *Erasure) OrdersToSnapshot(ctx context.Context, companyID string, e *erasure.Erasure,
	limit int) ([]facts.SnapshotCandidate, error) {
	list, err := postgres.Collect(ctx, t.tx, pgx.RowToStructByPos[facts.SnapshotCandidate], `
		select o.order_id, o.created_at, o.day::text from (`+ordersAround+`) a
		join orders o on o.company_id = a.company_id and o.order_id = a.order_id
		where o.company_id = @company_id
			and (o.accepted_at <= @asked_at
				or exists (select 1 from order_version w where w.company_id = @company_id and w.order_id = o.order_id and w.accepted_at <= @asked_at))
			and not exists (select 1 from evidence_snapshot s where s.company_id = @company_id and s.order_id = o.order_id)
		limit @most`, argsOf(companyID, e, pgx.NamedArgs{"asked_at": e.AskedAt, "most": limit}))
	return list, postgres.Wrapf(err, "find orders around a person")
}

// QueueAround queues the orders without a snapshot that what an erasure removes may change.
func (t *Erasure) QueueAround(ctx context.Context, companyID string, e *erasure.Erasure, cause facts.Cause) (int, error) {
	return t.QueueSelected(ctx, companyID, `
		select distinct company_id, order_id, @cause::text as cause from (`+ordersAround+`) a
		where not exists (select 1 from evidence_snapshot s where s.company_id = @company_id and s.order_id = a.order_id)`,
		argsOf(companyID, e, pgx.NamedArgs{"cause": cause.String()}))
}

// QueueHubs queues the orders without a snapshot around which a key that a visitor was seen with
// has too many visitors (hub 2): once its observations are removed, nothing finds them.
func (t *Erasure) QueueHubs(ctx context.Context, companyID, visitor string, cause facts.Cause) (int, error) {
	return t.QueueSelected(ctx, companyID, `
		select distinct r.company_id, r.order_id, @cause::text as cause
		from (
			select kind, key, `+postgres.KeyDigest("kind", "key")+` as digest from observation
			where company_id = @company_id and visitor = @visitor and kind <> 3 and kind <> 10 offset 0) s
		join order_key r on `+postgres.OfKeyAndHub("r", "s.digest", "s.kind", "s.key", "2")+`
		where r.company_id = @company_id
			and not exists (select 1 from evidence_snapshot a where a.company_id = @company_id and a.order_id = r.order_id)`,
		pgx.NamedArgs{"company_id": companyID, "visitor": packed.ID(visitor), "cause": cause.String()})
}

// OrdersToErase returns erased orders that still have the person's keys; at most limit.
func (t *Erasure) OrdersToErase(ctx context.Context, companyID string, e *erasure.Erasure, limit int) ([]string, error) {
	ids, err := postgres.Collect(ctx, t.tx, pgx.RowTo[string], `
		select order_id from erased_order where company_id = @company_id and erasure_id = @erasure_id::uuid and surrogates is null
		order by order_id limit @most`, argsOf(companyID, e, pgx.NamedArgs{"most": limit}))
	return ids, postgres.Wrapf(err, "read orders of a person")
}

// KeepFirsts keeps whether orders are their customers' first as it is now.
func (t *Erasure) KeepFirsts(ctx context.Context, companyID string, orderIDs []string) error {
	return postgres.Exec(ctx, t.tx, "keep first orders", `
		insert into snapshot_first (company_id, order_id, is_first_order)
		select o.company_id, o.order_id, p.is_first_order
		from orders o left join payout p on p.company_id = o.company_id and p.order_id = o.order_id
		where o.company_id = @company_id and o.order_id = any(@order_ids)
		on conflict (company_id, order_id) do nothing`, pgx.NamedArgs{"company_id": companyID, "order_ids": orderIDs})
}

// KeepSelfPurchases keeps of which orders an influencer is the customer, before the keys that show it are erased.
func (t *Erasure) KeepSelfPurchases(ctx context.Context, companyID string, orderIDs []string) error {
	return postgres.Exec(ctx, t.tx, "keep self-purchases", `
		insert into self_purchase (company_id, order_id, influencer_id)
		select distinct k.company_id, k.order_id, i.influencer_id
		from order_key k join influencer_identity i on i.company_id = k.company_id and i.kind = k.kind and i.key = k.key
		where k.company_id = @company_id and i.company_id = @company_id and k.order_id = any(@order_ids) and not i.shared and not i.others
			and k.created_at >= i.since and (i.until is null or k.created_at < i.until)
		on conflict (company_id, order_id, influencer_id) do nothing`, pgx.NamedArgs{"company_id": companyID, "order_ids": orderIDs})
}

// EraseVersions replaces all stored versions of orders, by order id, and removes the
// personal part of these orders. An only version is the order's, which UpsertOrders replaces.
func (t *Erasure) EraseVersions(ctx context.Context, companyID string, versions map[string][]facts.StoredVersion) error {
	if err := t.ReplaceVersions(ctx, companyID, versions); err != nil {
		return err
	}
	return postgres.Exec(ctx, t.tx, "remove personal fields of orders", `
		delete from order_personal where company_id = @company_id and order_id = any(@order_ids)`,
		pgx.NamedArgs{"company_id": companyID, "order_ids": slices.Collect(maps.Keys(versions))})
}

// OrderErased stores what stands for an order's keys.
func (t *Erasure) OrderErased(ctx context.Context, companyID, orderID string, s facts.Surrogates) error {
	text, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("surrogates of order %s: %w", orderID, err)
	}
	return postgres.Exec(ctx, t.tx, "end an order of a person", `
		update erased_order set surrogates = @surrogates::text::jsonb where company_id = @company_id and order_id = @order_id`,
		pgx.NamedArgs{"company_id": companyID, "order_id": orderID, "surrogates": string(text)})
}
