package factstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/packed"
	"github.com/tributary-io/tributary/internal/postgres"
)

// BeginErasures lets erasures begin whose records are applied now. What is no id of one is
// left out.
func (t *Tx) BeginErasures(ctx context.Context, companyID string, erasureIDs []string) error {
	ids := slices.DeleteFunc(slices.Clone(erasureIDs), func(id string) bool { return uuid.Validate(id) != nil })
	return t.exec(ctx, "begin erasures", `
		update erasure set phase = @first where company_id = @company_id and erasure_id = any(@erasure_ids::uuid[]) and phase = @waits`,
		pgx.NamedArgs{"company_id": companyID, "erasure_ids": ids, "first": int16(facts.EraseFindOrders), "waits": int16(facts.EraseWaits)})
}

// NextErasure returns the first erasure of a company that has begun and is not done, nil
// where there is none.
func (t *Tx) NextErasure(ctx context.Context, companyID string) (*facts.Erasure, error) {
	e, err := postgres.One(ctx, t.tx, func(row pgx.CollectableRow) (e facts.Erasure, err error) {
		var id *[16]byte
		err = row.Scan(&e.ErasureID, &e.AskedAt, &e.Salt, &e.Phase, postgres.ZeroIfNull(&e.After.At), &id, &e.OrderID)
		if id != nil {
			e.After.ID = *id
		}
		return e, err
	}, `
		select erasure_id::text, asked_at, salt, phase, event_at, event_id, coalesce(order_id, '') from erasure
		where company_id = @company_id and done_at is null and phase <> @waits order by rev, erasure_id limit 1`, pgx.NamedArgs{"company_id": companyID, "waits": int16(facts.EraseWaits)})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // none is no error, as the comment says
	}
	if err != nil {
		return nil, fmt.Errorf("next erasure: %w", err)
	}
	return &e, nil
}

// argsOf are the arguments of the statements about one erasure.
func argsOf(companyID string, e *facts.Erasure, more pgx.NamedArgs) pgx.NamedArgs {
	args := pgx.NamedArgs{"company_id": companyID, "erasure_id": e.ErasureID}
	for name, value := range more {
		args[name] = value
	}
	return args
}

// count runs a statement that returns one number.
func (t *Tx) count(ctx context.Context, what, sql string, args pgx.NamedArgs) (int, error) {
	n, err := postgres.One(ctx, t.tx, pgx.RowTo[int], sql, args)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	return n, nil
}

// MoveErasure stores what an erasure does next, and what it has done.
func (t *Tx) MoveErasure(ctx context.Context, companyID string, e *facts.Erasure, orders, events int) error {
	var at *time.Time
	var id *[16]byte
	if e.After != (facts.EventCursor{}) {
		at, id = postgres.NullIfZero(e.After.At), (*[16]byte)(&e.After.ID)
	}
	return t.exec(ctx, "go on with an erasure", `
		update erasure set phase = @phase, event_at = @event_at, event_id = @event_id, order_id = @order_id, orders = orders + @orders, events = events + @events
		where company_id = @company_id and erasure_id = @erasure_id::uuid`,
		argsOf(companyID, e, pgx.NamedArgs{"phase": int16(e.Phase), "event_at": at, "event_id": id, "order_id": postgres.NullIfEmpty(e.OrderID), "orders": orders, "events": events}))
}

// FindErasedOrders adds orders that have one of the person's keys, and of which a version
// came before the erasure was asked for; at most limit. It returns how many.
func (t *Tx) FindErasedOrders(ctx context.Context, companyID string, e *facts.Erasure, limit int) (int, error) {
	return t.count(ctx, "find orders of a person", `
		with found as (
			insert into erased_order (company_id, order_id, erasure_id)
			select distinct k.company_id, k.order_id, @erasure_id::uuid
			from (
				select company_id, kind, key, `+postgres.KeyDigest("kind", "key")+` as digest from erasure_key
				where company_id = @company_id and erasure_id = @erasure_id::uuid offset 0) p
			join order_key k on `+postgres.OfKey("k", "p.digest", "p.kind", "p.key")+`
			where k.company_id = @company_id
				and (exists (select 1 from order_version v where v.company_id = @company_id and v.order_id = k.order_id and v.accepted_at <= @asked_at)
					or exists (select 1 from orders o where o.company_id = @company_id and o.order_id = k.order_id and o.accepted_at <= @asked_at))
				and not exists (select 1 from erased_order d where d.company_id = @company_id and d.order_id = k.order_id)
			limit @most
			on conflict (company_id, order_id) do nothing returning 1)
		select count(*)::int from found`, argsOf(companyID, e, pgx.NamedArgs{"asked_at": e.AskedAt, "most": limit}))
}

// FindErasedVersions looks at the versions of the next orders by id, at most limit, and adds
// those orders that had one of the person's keys. It returns the last id that it looked at,
// and how many orders these were. An order's only version has the keys of the order, by
// which FindErasedOrders finds it.
func (t *Tx) FindErasedVersions(ctx context.Context, companyID string, e *facts.Erasure, keys []facts.Key, limit int) (last string, looked int, err error) {
	if err := t.tx.QueryRow(ctx, `
		select coalesce(max(order_id), ''), count(*)::int from (
			select order_id from orders where company_id = @company_id and order_id > @after order by order_id limit @most) page`,
		pgx.NamedArgs{"company_id": companyID, "after": e.OrderID, "most": limit}).Scan(&last, &looked); err != nil {
		return "", 0, fmt.Errorf("look for earlier orders of a person: %w", err)
	}
	rows, err := t.tx.Query(ctx, `
		select order_id, body from order_version
		where company_id = @company_id and order_id > @after and order_id <= @last and accepted_at <= @asked_at`,
		pgx.NamedArgs{"company_id": companyID, "after": e.OrderID, "last": last, "asked_at": e.AskedAt})
	if err != nil {
		return "", 0, fmt.Errorf("read earlier orders: %w", err)
	}
	var found []string
	var id string
	var body []byte
	if _, err := pgx.ForEachRow(rows, []any{&id, &body}, func() error {
		order, err := facts.UnpackOrder(body)
		if err == nil && facts.InOrder(&order, keys) {
			found = append(found, id)
		}
		return err
	}); err != nil {
		return "", 0, fmt.Errorf("read earlier orders: %w", err)
	}
	slices.Sort(found)
	return last, looked, t.exec(ctx, "add earlier orders of a person", `
		insert into erased_order (company_id, order_id, erasure_id)
		select @company_id, order_id, @erasure_id::uuid from unnest(@order_ids::text[]) f(order_id)
		on conflict (company_id, order_id) do nothing`, argsOf(companyID, e, pgx.NamedArgs{"order_ids": slices.Compact(found)}))
}

// AddKeysOfOrders adds to the person's keys those of the erased orders that no other order
// has; the browser's ids (kinds 2 and 3) also where another has them.
func (t *Tx) AddKeysOfOrders(ctx context.Context, companyID string, e *facts.Erasure) error {
	return t.exec(ctx, "find keys of a person", `
		insert into erasure_key (company_id, erasure_id, kind, key)
		select distinct k.company_id, @erasure_id::uuid, k.kind, k.key
		from erased_order d join order_key k on k.company_id = d.company_id and k.order_id = d.order_id
		where d.company_id = @company_id and d.erasure_id = @erasure_id::uuid and d.surrogates is null and k.company_id = @company_id and k.kind = any(@kinds)
			and (k.kind in (2, 3) or not exists (
				select 1 from order_key o where `+postgres.OfKey("o", "(k.digest & -4)", "k.kind", "k.key")+`
					and not exists (select 1 from erased_order x where x.company_id = @company_id and x.order_id = o.order_id)))
		on conflict (company_id, erasure_id, kind, key) do nothing`, argsOf(companyID, e, pgx.NamedArgs{"kinds": facts.Codes(facts.JoinKinds)}))
}

// ErasureKeys returns the person's keys.
func (t *Tx) ErasureKeys(ctx context.Context, companyID string, e *facts.Erasure) ([]facts.Key, error) {
	keys, err := postgres.Collect(ctx, t.tx, scanSighted, `
		select kind, key from erasure_key where company_id = @company_id and erasure_id = @erasure_id::uuid order by kind, key`, argsOf(companyID, e, nil))
	if err != nil {
		return nil, fmt.Errorf("read keys of a person: %w", err)
	}
	return keys, nil
}

// digestRow is one row of erased_key.
type digestRow struct{ digest []byte }

var digestRows = postgres.Rows[digestRow]{
	postgres.Col("digest", "bytea", func(d *digestRow) []byte { return d.digest }),
}

var addErasedKeys = `
	insert into erased_key as e (company_id, digest, erased_at)
	select @company_id, digest, @erased_at::timestamptz from ` + digestRows.Unnest("d") + `
	on conflict (company_id, digest) do update set erased_at = greatest(e.erased_at, excluded.erased_at)`

// AddErasedKeys stores the digests of keys: events that have one of them and are not newer
// than an instant are not stored any more.
func (t *Tx) AddErasedKeys(ctx context.Context, companyID string, until time.Time, keys []facts.Key) error {
	if len(keys) == 0 {
		return nil
	}
	rows, seen := []digestRow{}, map[string]bool{}
	for _, k := range keys {
		if d := facts.ErasedDigest(companyID, k); !seen[string(d)] {
			seen[string(d)] = true
			rows = append(rows, digestRow{d})
		}
	}
	return t.exec(ctx, "store digests of a person's keys", addErasedKeys, digestRows.Args(rows, pgx.NamedArgs{"company_id": companyID, "erased_at": until}))
}

// ErasedUntil returns, of keys' digests, those of erased persons, and until when each was
// erased.
func (t *Tx) ErasedUntil(ctx context.Context, companyID string, digests [][]byte) (map[string]time.Time, error) {
	until := map[string]time.Time{}
	rows, err := t.tx.Query(ctx, `select digest, erased_at from erased_key where company_id = @company_id and digest = any(@digests)`,
		pgx.NamedArgs{"company_id": companyID, "digests": digests})
	if err != nil {
		return nil, fmt.Errorf("read erased keys: %w", err)
	}
	var digest []byte
	var at time.Time
	if _, err := pgx.ForEachRow(rows, []any{&digest, &at}, func() error { until[string(digest)] = at; return nil }); err != nil {
		return nil, fmt.Errorf("read erased keys: %w", err)
	}
	return until, nil
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
		join sighting s on s.company_id = v.company_id and s.visitor = v.visitor
		where v.company_id = @company_id and v.erasure_id = @erasure_id::uuid and s.company_id = @company_id offset 0) s
	join order_key r on ` + postgres.OfKeyAndHub("r", "s.digest", "s.kind", "s.key", "2") + `
	where r.company_id = @company_id
	union
	select d.company_id, d.order_id from erased_order d where d.company_id = @company_id and d.erasure_id = @erasure_id::uuid`

// OrdersToSeal returns orders without a seal that what an erasure removes may change, and
// of which a version came before it was asked for; at most limit.
func (t *Tx) OrdersToSeal(ctx context.Context, companyID string, e *facts.Erasure, limit int) ([]facts.SealCandidate, error) {
	list, err := postgres.Collect(ctx, t.tx, pgx.RowToStructByPos[facts.SealCandidate], `
		select o.order_id, o.created_at, o.day::text from (`+ordersAround+`) a
		join orders o on o.company_id = a.company_id and o.order_id = a.order_id
		where o.company_id = @company_id
			and (o.accepted_at <= @asked_at
				or exists (select 1 from order_version w where w.company_id = @company_id and w.order_id = o.order_id and w.accepted_at <= @asked_at))
			and not exists (select 1 from seal s where s.company_id = @company_id and s.order_id = o.order_id)
		limit @most`, argsOf(companyID, e, pgx.NamedArgs{"asked_at": e.AskedAt, "most": limit}))
	if err != nil {
		return nil, fmt.Errorf("find orders around a person: %w", err)
	}
	return list, nil
}

// QueueAround queues the orders without a seal that what an erasure removes may change.
func (t *Tx) QueueAround(ctx context.Context, companyID string, e *facts.Erasure, cause facts.Cause) (int, error) {
	return t.queue(ctx, companyID, `
		select distinct company_id, order_id, @cause::text as cause from (`+ordersAround+`) a
		where not exists (select 1 from seal s where s.company_id = @company_id and s.order_id = a.order_id)`, argsOf(companyID, e, pgx.NamedArgs{"cause": cause.String()}))
}

// QueueHubs queues the orders without a seal around which a key that a visitor was seen with
// has too many visitors (hub 2): once its sightings are removed, nothing finds them.
func (t *Tx) QueueHubs(ctx context.Context, companyID, visitor string, cause facts.Cause) (int, error) {
	return t.queue(ctx, companyID, `
		select distinct r.company_id, r.order_id, @cause::text as cause
		from (
			select kind, key, `+postgres.KeyDigest("kind", "key")+` as digest from sighting
			where company_id = @company_id and visitor = @visitor and kind <> 3 and kind <> 10 offset 0) s
		join order_key r on `+postgres.OfKeyAndHub("r", "s.digest", "s.kind", "s.key", "2")+`
		where r.company_id = @company_id
			and not exists (select 1 from seal a where a.company_id = @company_id and a.order_id = r.order_id)`,
		pgx.NamedArgs{"company_id": companyID, "visitor": packed.ID(visitor), "cause": cause.String()})
}

// OrdersToErase returns erased orders that still have the person's keys; at most limit.
func (t *Tx) OrdersToErase(ctx context.Context, companyID string, e *facts.Erasure, limit int) ([]string, error) {
	return t.texts(ctx, "read orders of a person", `
		select order_id from erased_order where company_id = @company_id and erasure_id = @erasure_id::uuid and surrogates is null
		order by order_id limit @most`, argsOf(companyID, e, pgx.NamedArgs{"most": limit}))
}

// SealFirsts keeps whether orders are their customers' first as it is now.
func (t *Tx) SealFirsts(ctx context.Context, companyID string, orderIDs []string) error {
	return t.exec(ctx, "keep first orders", `
		insert into sealed_first (company_id, order_id, is_first_order)
		select o.company_id, o.order_id, p.is_first_order from orders o left join payout p on p.company_id = o.company_id and p.order_id = o.order_id
		where o.company_id = @company_id and o.order_id = any(@order_ids)
		on conflict (company_id, order_id) do nothing`, pgx.NamedArgs{"company_id": companyID, "order_ids": orderIDs})
}

// SealedFirsts returns, of orders, those of which it is kept whether they are first.
func (t *Tx) SealedFirsts(ctx context.Context, companyID string, orderIDs []string) (map[string]*bool, error) {
	firsts := map[string]*bool{}
	rows, err := t.tx.Query(ctx, `select order_id, is_first_order from sealed_first where company_id = @company_id and order_id = any(@order_ids)`,
		pgx.NamedArgs{"company_id": companyID, "order_ids": orderIDs})
	if err != nil {
		return nil, fmt.Errorf("read kept first orders: %w", err)
	}
	var id string
	var first *bool
	if _, err := pgx.ForEachRow(rows, []any{&id, &first}, func() error { firsts[id] = first; return nil }); err != nil {
		return nil, fmt.Errorf("read kept first orders: %w", err)
	}
	return firsts, nil
}

var eraseVersions = `
	update order_version v set body = n.body from ` + versionRows.Unnest("n") + `
	where v.company_id = @company_id and v.order_id = n.order_id and v.version_at = n.version_at and v.accepted_at = n.accepted_at and v.content_hash = n.content_hash`

// EraseVersions replaces all stored versions of orders, by order id, and removes the
// personal part of these orders. An only version is the order's, which UpsertOrders replaces.
func (t *Tx) EraseVersions(ctx context.Context, companyID string, versions map[string][]facts.StoredVersion) error {
	var rows []versionRow
	for id, list := range versions {
		for i := range list {
			v := &list[i]
			var err error
			if v.Packed, err = facts.PackOrder(&v.Order); err != nil {
				return fmt.Errorf("erase versions of orders: %w", err)
			}
			rows = append(rows, versionRow{id, v})
		}
	}
	if err := t.exec(ctx, "erase versions of orders", eraseVersions, versionRows.Args(rows, pgx.NamedArgs{"company_id": companyID})); err != nil {
		return err
	}
	return t.exec(ctx, "remove personal fields of orders", `delete from order_personal where company_id = @company_id and order_id = any(@order_ids)`,
		pgx.NamedArgs{"company_id": companyID, "order_ids": slices.Collect(maps.Keys(versions))})
}

// OrderErased stores what stands for an order's keys.
func (t *Tx) OrderErased(ctx context.Context, companyID, orderID string, s facts.Surrogates) error {
	text, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("surrogates of order %s: %w", orderID, err)
	}
	return t.exec(ctx, "end an order of a person", `update erased_order set surrogates = @surrogates::text::jsonb where company_id = @company_id and order_id = @order_id`,
		pgx.NamedArgs{"company_id": companyID, "order_id": orderID, "surrogates": string(text)})
}

// ErasedOrders returns, of orders, those whose person is erased, and what stands for their
// keys; nil where an erasure has found the order and has not come to it yet.
func (t *Tx) ErasedOrders(ctx context.Context, companyID string, orderIDs []string) (map[string]*facts.Surrogates, error) {
	erased := map[string]*facts.Surrogates{}
	rows, err := t.tx.Query(ctx, `
		select order_id, surrogates::text from erased_order where company_id = @company_id and order_id = any(@order_ids)`,
		pgx.NamedArgs{"company_id": companyID, "order_ids": orderIDs})
	if err != nil {
		return nil, fmt.Errorf("read erased orders: %w", err)
	}
	var id string
	var text *string
	if _, err := pgx.ForEachRow(rows, []any{&id, &text}, func() error {
		erased[id] = nil
		if text == nil {
			return nil
		}
		erased[id] = &facts.Surrogates{}
		return json.Unmarshal([]byte(*text), erased[id])
	}); err != nil {
		return nil, fmt.Errorf("read erased orders: %w", err)
	}
	return erased, nil
}

var lateRows = postgres.Rows[facts.LateOrder]{
	postgres.Col("order_id", "text", func(o *facts.LateOrder) string { return o.OrderID }),
	postgres.Col("erased_at", "timestamptz", func(o *facts.LateOrder) time.Time { return o.ErasedAt }),
}

var eraseLate = `
	insert into erased_order (company_id, order_id, erasure_id, surrogates)
	select e.company_id, l.order_id, e.erasure_id, '{}'::jsonb
	from ` + lateRows.Unnest("l") + `
	join erasure e on e.company_id = @company_id and e.asked_at = l.erased_at
	where not exists (select 1 from orders o where o.company_id = @company_id and o.order_id = l.order_id)
	on conflict (company_id, order_id) do nothing`

// EraseLate makes orders erased that are not stored yet, by the erasures that were asked for
// when each says. Nothing stands for their keys.
func (t *Tx) EraseLate(ctx context.Context, companyID string, orders []facts.LateOrder) error {
	return t.exec(ctx, "erase orders that come late", eraseLate, lateRows.Args(orders, pgx.NamedArgs{"company_id": companyID}))
}

// EndErasure forgets what was known of the person, and reports that were made of the person's
// orders and visits: they are made anew when somebody asks for them.
func (t *Tx) EndErasure(ctx context.Context, companyID string, e *facts.Erasure, now time.Time) error {
	args := argsOf(companyID, e, nil)
	return errors.Join(
		t.exec(ctx, "forget a person's keys", endKeys, args),
		t.exec(ctx, "forget a person's visitors", endVisitors, args),
		t.exec(ctx, "forget reports of signs", endSigns, pgx.NamedArgs{"company_id": companyID}),
		t.exec(ctx, "forget a person's salt", endSalt, argsOf(companyID, e, pgx.NamedArgs{"now": now})),
	)
}

const (
	endKeys     = `delete from erasure_key where company_id = @company_id and erasure_id = @erasure_id::uuid`
	endVisitors = `delete from erasure_visitor where company_id = @company_id and erasure_id = @erasure_id::uuid`
	endSigns    = `delete from sign_report where company_id = @company_id`
	endSalt     = `
		update erasure set salt = null, event_at = null, event_id = null, order_id = null, done_at = @now
		where company_id = @company_id and erasure_id = @erasure_id::uuid`
)
