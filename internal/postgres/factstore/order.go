package factstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/wire"
)

var versionRows = postgres.Rows[facts.OrderVersion]{
	postgres.Col("order_id", "text", func(v *facts.OrderVersion) string { return v.OrderID }),
	postgres.Col("version_at", "timestamptz", func(v *facts.OrderVersion) time.Time { return v.VersionAt }),
	postgres.Col("accepted_at", "timestamptz", func(v *facts.OrderVersion) time.Time { return v.AcceptedAt }),
	postgres.Col("content_hash", "bytea", func(v *facts.OrderVersion) []byte { return v.ContentHash }),
	postgres.Col("body", "jsonb", func(v *facts.OrderVersion) string { return string(v.Body) }),
}

var insertVersions = `
	insert into order_version (company_id, order_id, version_at, accepted_at, content_hash, body)
	select @company_id, order_id, version_at, accepted_at, content_hash, body from ` + versionRows.Unnest("v") + `
	on conflict (company_id, order_id, version_at, accepted_at, content_hash) do nothing`

// InsertVersions stores the versions of orders that are not stored yet.
func (t *Tx) InsertVersions(ctx context.Context, companyID string, versions []facts.OrderVersion) error {
	return t.exec(ctx, "insert versions of orders", insertVersions, versionRows.Args(versions, pgx.NamedArgs{"company_id": companyID}))
}

var personalRows = postgres.Rows[facts.OrderVersion]{
	postgres.Col("order_id", "text", func(v *facts.OrderVersion) string { return v.OrderID }),
	postgres.Col("version_at", "timestamptz", func(v *facts.OrderVersion) time.Time { return v.VersionAt }),
	postgres.Col("accepted_at", "timestamptz", func(v *facts.OrderVersion) time.Time { return v.AcceptedAt }),
	postgres.Col("digest", "bytea", func(v *facts.OrderVersion) []byte { return v.PersonalDigest }),
	postgres.Col("body", "jsonb", func(v *facts.OrderVersion) string { return string(v.Personal) }),
}

var upsertPersonal = `
	insert into order_personal as p (company_id, order_id, version_at, accepted_at, digest, body)
	select @company_id, order_id, version_at, accepted_at, digest, body from ` + personalRows.Unnest("v") + `
	on conflict (company_id, order_id) do update
		set version_at = excluded.version_at, accepted_at = excluded.accepted_at, digest = excluded.digest, body = excluded.body
		where (excluded.version_at, excluded.accepted_at, excluded.digest) > (p.version_at, p.accepted_at, p.digest)`

// UpsertPersonal stores the personal part of orders, one version for each order,
// where it is newer than the stored one. Of versions with equal times the one with
// the greater digest is newer, so that the order of arrival does not matter.
func (t *Tx) UpsertPersonal(ctx context.Context, companyID string, versions []facts.OrderVersion) error {
	if len(versions) == 0 {
		return nil
	}
	return t.exec(ctx, "store personal fields of orders", upsertPersonal, personalRows.Args(versions, pgx.NamedArgs{"company_id": companyID}))
}

// Versions returns all versions of orders, by order id; of one order oldest first.
func (t *Tx) Versions(ctx context.Context, companyID string, orderIDs []string) (map[string][]facts.StoredVersion, error) {
	rows, err := t.tx.Query(ctx, `
		select order_id, version_at, body from order_version where company_id = @company_id and order_id = any(@order_ids)
		order by order_id, version_at, accepted_at, content_hash`, pgx.NamedArgs{"company_id": companyID, "order_ids": orderIDs})
	if err != nil {
		return nil, fmt.Errorf("read versions of orders: %w", err)
	}
	versions := map[string][]facts.StoredVersion{}
	var id string
	var at time.Time
	var body []byte
	if _, err := pgx.ForEachRow(rows, []any{&id, &at, &body}, func() error {
		v := facts.StoredVersion{At: at.UTC()}
		if err := json.Unmarshal(body, &v.Order); err != nil {
			return fmt.Errorf("version of order %s: %w", id, err)
		}
		versions[id] = append(versions[id], v)
		return nil
	}); err != nil {
		return nil, fmt.Errorf("read versions of orders: %w", err)
	}
	return versions, nil
}

var orderRows = postgres.Rows[facts.FoldedOrder]{
	postgres.Col("order_id", "text", func(o *facts.FoldedOrder) string { return o.Order.OrderID }),
	postgres.Col("created_at", "timestamptz", func(o *facts.FoldedOrder) time.Time { return o.Order.CreatedAt }),
	postgres.Col("day", "date", func(o *facts.FoldedOrder) string { return o.Day }),
	postgres.Col("status", "int", func(o *facts.FoldedOrder) int32 { return int32(o.Order.Status) }),
	postgres.Col("currency", "text", func(o *facts.FoldedOrder) string { return o.Order.Currency }),
	postgres.Col("total_minor", "bigint", func(o *facts.FoldedOrder) int64 { return o.Order.TotalMinor }),
	postgres.Col("shipping_minor", "bigint", func(o *facts.FoldedOrder) int64 { return o.Order.ShippingMinor.Or(0) }),
	postgres.Col("body", "jsonb", func(o *facts.FoldedOrder) wire.Order { return o.Order }),
	postgres.Col("approved_since", "timestamptz", func(o *facts.FoldedOrder) *time.Time { return postgres.NullIfZero(o.ApprovedSince) }),
}

var upsertOrders = `
	insert into orders as o (company_id, order_id, created_at, day, status, currency, total_minor, shipping_minor, body, approved_since, processed_at)
	select @company_id, order_id, created_at, day, status, currency, total_minor, shipping_minor, body, approved_since, @now::timestamptz
	from ` + orderRows.Unnest("n") + `
	on conflict (company_id, order_id) do update set created_at = excluded.created_at, day = excluded.day, status = excluded.status,
		currency = excluded.currency, total_minor = excluded.total_minor, shipping_minor = excluded.shipping_minor,
		body = excluded.body, approved_since = excluded.approved_since, processed_at = excluded.processed_at
		where o.body is distinct from excluded.body or o.approved_since is distinct from excluded.approved_since
	returning order_id`

// UpsertOrders stores current orders, and returns the ids of those that are new or
// have changed.
func (t *Tx) UpsertOrders(ctx context.Context, companyID string, now time.Time, orders []facts.FoldedOrder) (changed []string, err error) {
	return t.texts(ctx, "store orders", upsertOrders, orderRows.Args(orders, pgx.NamedArgs{"company_id": companyID, "now": now}))
}

var decisionRows = postgres.Rows[facts.Decision]{
	postgres.Col("order_id", "text", func(d *facts.Decision) string { return d.OrderID }),
	postgres.Col("influencer_id", "uuid", func(d *facts.Decision) string { return d.InfluencerID }),
	postgres.Col("rev", "bigint", func(d *facts.Decision) int64 { return d.Rev }),
	postgres.Col("decision", "text", func(d *facts.Decision) string { return d.Decision }),
	postgres.Col("accepted_at", "timestamptz", func(d *facts.Decision) time.Time { return d.AcceptedAt }),
	postgres.Col("actor", "text", func(d *facts.Decision) string { return d.Actor }),
	postgres.Col("touches", "text", func(d *facts.Decision) string { return d.Touches }),
}

var insertDecisions = `
	insert into evidence_decision (company_id, order_id, influencer_id, rev, decision, accepted_at, actor, touches)
	select @company_id, order_id, influencer_id, rev, decision, accepted_at, actor, touches from ` + decisionRows.Unnest("d") + `
	on conflict (company_id, order_id, influencer_id, rev) do nothing returning order_id`

// InsertDecisions stores decisions about orders that are not stored yet, and returns
// the ids of these orders.
func (t *Tx) InsertDecisions(ctx context.Context, companyID string, decisions []facts.Decision) (orderIDs []string, err error) {
	return t.texts(ctx, "store decisions about orders", insertDecisions, decisionRows.Args(decisions, pgx.NamedArgs{"company_id": companyID}))
}
