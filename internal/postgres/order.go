package postgres

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
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
	changedIDs, err := Collect(ctx, a.tx, pgx.RowTo[string], `
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
