package factstore

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
)

// versionRow is one row of the table order_version.
type versionRow struct {
	orderID string
	*facts.StoredVersion
}

var versionRows = postgres.Rows[versionRow]{
	postgres.Col("order_id", "text", func(v *versionRow) string { return v.orderID }),
	postgres.Col("version_at", "timestamptz", func(v *versionRow) time.Time { return v.At }),
	postgres.Col("accepted_at", "timestamptz", func(v *versionRow) time.Time { return v.AcceptedAt }),
	postgres.Col("content_hash", "bytea", func(v *versionRow) []byte { return v.ContentHash }),
	postgres.Col("body", "bytea", func(v *versionRow) []byte { return v.Packed }),
}

var (
	insertVersions = `
	insert into order_version (company_id, order_id, version_at, accepted_at, content_hash, body)
	select @company_id, order_id, version_at, accepted_at, content_hash, body from ` + versionRows.Unnest("n") + `
	on conflict (company_id, order_id, version_at, accepted_at, content_hash) do nothing`

	forgetOnly = `
	update orders set version_at = null, accepted_at = null, content_hash = null
	where company_id = @company_id and order_id = any(@order_ids) and accepted_at is not null`
)

// PutVersions stores all versions of orders, by order id, where they are not stored yet.
// The only version of an order is stored by UpsertOrders.
func (t *Tx) PutVersions(ctx context.Context, companyID string, versions map[string][]facts.StoredVersion) error {
	var rows []versionRow
	var several []string
	for id, list := range versions {
		if len(list) == 1 {
			continue
		}
		several = append(several, id)
		var stored []*facts.StoredVersion
		for i := range list {
			v := &list[i]
			if v.Packed != nil {
				stored = append(stored, v)
				continue
			}
			var err error
			if v.Packed, err = facts.PackOrder(&v.Order); err != nil {
				return fmt.Errorf("store versions of orders: %w", err)
			}
			rows = append(rows, versionRow{id, v})
		}
		if len(stored) == 1 { // it was the only one
			rows = append(rows, versionRow{id, stored[0]})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	if err := versionRows.Exec(ctx, t.tx, "store versions of orders", insertVersions, rows,
		pgx.NamedArgs{"company_id": companyID}); err != nil {
		return err
	}
	return t.exec(ctx, "store that orders have several versions", forgetOnly, pgx.NamedArgs{"company_id": companyID, "order_ids": several})
}

var replaceVersions = `
	update order_version v set body = n.body from ` + versionRows.Unnest("n") + `
	where v.company_id = @company_id and v.order_id = n.order_id
		and v.version_at = n.version_at and v.accepted_at = n.accepted_at and v.content_hash = n.content_hash`

// ReplaceVersions replaces all stored versions of orders, by order id, but for an only version,
// which is the order's.
func (t *Tx) ReplaceVersions(ctx context.Context, companyID string, versions map[string][]facts.StoredVersion) error {
	var rows []versionRow
	for id, list := range versions {
		for i := range list {
			v := &list[i]
			var err error
			if v.Packed, err = facts.PackOrder(&v.Order); err != nil {
				return fmt.Errorf("replace versions of orders: %w", err)
			}
			rows = append(rows, versionRow{id, v})
		}
	}
	return versionRows.Exec(ctx, t.tx, "replace versions of orders", replaceVersions, rows, pgx.NamedArgs{"company_id": companyID})
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
	return personalRows.Exec(ctx, t.tx, "store personal fields of orders", upsertPersonal, versions, pgx.NamedArgs{"company_id": companyID})
}

// Versions returns all stored versions of orders, by order id; of one order oldest first.
func (t *Tx) Versions(ctx context.Context, companyID string, orderIDs []string) (map[string][]facts.StoredVersion, error) {
	versions := map[string][]facts.StoredVersion{}
	var id string
	var v facts.StoredVersion
	err := postgres.Each(ctx, t.tx, []any{&id, &v.At, &v.AcceptedAt, &v.ContentHash, &v.Packed}, func() (err error) {
		read := facts.StoredVersion{At: v.At.UTC(), AcceptedAt: v.AcceptedAt.UTC(), ContentHash: bytes.Clone(v.ContentHash),
			Packed: bytes.Clone(v.Packed)}
		if read.Order, err = facts.UnpackOrder(read.Packed); err != nil {
			return fmt.Errorf("version of order %s: %w", id, err)
		}
		versions[id] = append(versions[id], read)
		return nil
	}, `
		select order_id, version_at, accepted_at, content_hash, body
		from order_version where company_id = @company_id and order_id = any(@order_ids)
		union all
		select order_id, version_at, accepted_at, content_hash, body
		from orders where company_id = @company_id and order_id = any(@order_ids) and accepted_at is not null
		order by 1, 2, 3, 4`, pgx.NamedArgs{"company_id": companyID, "order_ids": orderIDs})
	return versions, postgres.Wrapf(err, "read versions of orders")
}

// orderRow is one row of the table orders.
type orderRow struct {
	*facts.FoldedOrder
	searched facts.Searched
	body     []byte
}

// only is the order's only version, or one without times and hash.
func (o *orderRow) only() *facts.StoredVersion {
	if o.Only == nil {
		return &facts.StoredVersion{}
	}
	return o.Only
}

var orderRows = postgres.Rows[orderRow]{
	postgres.Col("order_id", "text", func(o *orderRow) string { return o.Order.OrderID }),
	postgres.Col("created_at", "timestamptz", func(o *orderRow) time.Time { return o.Order.CreatedAt }),
	postgres.Col("day", "date", func(o *orderRow) string { return o.Day }),
	postgres.Col("status", "int", func(o *orderRow) int32 { return int32(o.Order.Status) }),
	postgres.Col("currency", "text", func(o *orderRow) string { return o.Order.Currency }),
	postgres.Col("total_minor", "bigint", func(o *orderRow) int64 { return o.Order.TotalMinor }),
	postgres.Col("name", "text", func(o *orderRow) *string { return o.searched.Name }),
	postgres.Col("number", "text", func(o *orderRow) *string { return o.searched.Number }),
	postgres.Col("discount_code", "text", func(o *orderRow) *string { return o.searched.DiscountCode }),
	postgres.Col("sent_first", "boolean", func(o *orderRow) *bool { return o.searched.First }),
	postgres.Col("test", "boolean", func(o *orderRow) *bool { return o.searched.Test }),
	postgres.Col("version_at", "timestamptz", func(o *orderRow) *time.Time { return postgres.NullIfZero(o.only().At) }),
	postgres.Col("accepted_at", "timestamptz", func(o *orderRow) *time.Time { return postgres.NullIfZero(o.only().AcceptedAt) }),
	postgres.Col("content_hash", "bytea", func(o *orderRow) []byte { return o.only().ContentHash }),
	postgres.Col("body", "bytea", func(o *orderRow) []byte { return o.body }),
	postgres.Col("approved_since", "timestamptz", func(o *orderRow) *time.Time { return postgres.NullIfZero(o.ApprovedSince) }),
}

var upsertOrders = `
	insert into orders as o (company_id, order_id, created_at, day, status, currency, total_minor, name, number, discount_code, sent_first,
		test, version_at, accepted_at, content_hash, body, approved_since, processed_at)
	select @company_id, order_id, created_at, day, status, currency, total_minor, name, number, discount_code, sent_first, test, version_at,
	accepted_at, content_hash, body, approved_since, @now::timestamptz
	from ` + orderRows.Unnest("n") + `
	on conflict (company_id, order_id) do update set created_at = excluded.created_at, day = excluded.day, status = excluded.status,
		currency = excluded.currency, total_minor = excluded.total_minor, name = excluded.name, number = excluded.number,
		discount_code = excluded.discount_code, sent_first = excluded.sent_first, test = excluded.test,
		version_at = excluded.version_at, accepted_at = excluded.accepted_at, content_hash = excluded.content_hash, body = excluded.body,
		approved_since = excluded.approved_since, processed_at = excluded.processed_at
		where o.body <> excluded.body or o.approved_since is distinct from excluded.approved_since
	returning order_id`

// UpsertOrders stores current orders, each with its only version, and returns the ids of those that are new or
// have changed.
func (t *Tx) UpsertOrders(ctx context.Context, companyID string, now time.Time, orders []facts.FoldedOrder) (changed []string, err error) {
	rows := make([]orderRow, len(orders))
	for i := range orders {
		body, err := facts.PackOrder(&orders[i].Order)
		if err != nil {
			return nil, fmt.Errorf("store orders: %w", err)
		}
		rows[i] = orderRow{&orders[i], facts.SearchedOf(&orders[i].Order), body}
	}
	// In the order of the primary key: of rows that come in its order an index is filled.
	slices.SortFunc(rows, func(a, b orderRow) int { return strings.Compare(a.Order.OrderID, b.Order.OrderID) })
	return t.texts(ctx, "store orders", upsertOrders, orderRows.Args(rows, pgx.NamedArgs{"company_id": companyID, "now": now}))
}

var decisionRows = postgres.Rows[facts.Decision]{
	postgres.Col("order_id", "text", func(d *facts.Decision) string { return d.OrderID }),
	postgres.Col("influencer_id", "uuid", func(d *facts.Decision) string { return d.InfluencerID }),
	postgres.Col("rev", "bigint", func(d *facts.Decision) int64 { return d.Rev }),
	postgres.Col("decision", "text", func(d *facts.Decision) string { return d.Decision }),
	postgres.Col("accepted_at", "timestamptz", func(d *facts.Decision) time.Time { return d.AcceptedAt }),
	postgres.Col("actor", "text", func(d *facts.Decision) string { return d.Actor }),
	postgres.Col("touches", "text", func(d *facts.Decision) string { return d.Touches }),
	postgres.Col("reason", "text", func(d *facts.Decision) string { return d.Reason }),
	postgres.Col("confirmed_by", "text", func(d *facts.Decision) string { return d.ConfirmedBy }),
}

var insertDecisions = `
	insert into evidence_decision (company_id, order_id, influencer_id, rev, decision, accepted_at, actor, touches, reason, confirmed_by)
	select @company_id, order_id, influencer_id, rev, decision, accepted_at, actor, touches, reason, confirmed_by
	from ` + decisionRows.Unnest("d") + `
	on conflict (company_id, order_id, influencer_id, rev) do nothing returning order_id`

// InsertDecisions stores decisions about orders that are not stored yet, and returns
// the ids of these orders.
func (t *Tx) InsertDecisions(ctx context.Context, companyID string, decisions []facts.Decision) (orderIDs []string, err error) {
	return t.texts(ctx, "store decisions about orders", insertDecisions, decisionRows.Args(decisions, pgx.NamedArgs{"company_id": companyID}))
}

var touchRows = postgres.Rows[facts.Decision]{decisionRows[0], decisionRows[1], decisionRows[2], decisionRows[6]}

var keepTouches = `
	update evidence_decision d set touches = n.touches from ` + touchRows.Unnest("n") + `
	where d.company_id = @company_id and d.order_id = n.order_id and d.influencer_id = n.influencer_id and d.rev = n.rev and d.touches = ''`

// KeepTouches stores the touches of decisions that are stored without any.
func (t *Tx) KeepTouches(ctx context.Context, companyID string, decisions []facts.Decision) error {
	return touchRows.Exec(ctx, t.tx, "keep the touches of decisions", keepTouches, decisions, pgx.NamedArgs{"company_id": companyID})
}
