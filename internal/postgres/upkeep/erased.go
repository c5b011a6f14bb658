package upkeep

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/upkeep/erasure"
)

// BeginErasures lets erasures begin whose records are applied now. What is no id of one is
// left out.
func (t *Erasure) BeginErasures(ctx context.Context, companyID string, erasureIDs []string) error {
	ids := slices.DeleteFunc(slices.Clone(erasureIDs), func(id string) bool { return uuid.Validate(id) != nil })
	return postgres.Exec(ctx, t.tx, "begin erasures", `
		update erasure set phase = @first where company_id = @company_id and erasure_id = any(@erasure_ids::uuid[]) and phase = @waits`,
		pgx.NamedArgs{"company_id": companyID, "erasure_ids": ids, "first": int16(facts.EraseFindOrders), "waits": int16(facts.EraseWaits)})
}

// BeginErasuresBefore lets those begin that were asked for before then and wait for their records: they are lost.
func (t *Erasure) BeginErasuresBefore(ctx context.Context, companyID string, before time.Time) error {
	return postgres.Exec(ctx, t.tx, "begin erasures before",
		`update erasure set phase = @first where company_id = @company_id and phase = @waits and asked_at < @before`,
		pgx.NamedArgs{"company_id": companyID, "first": int16(facts.EraseFindOrders), "waits": int16(facts.EraseWaits), "before": before})
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
func (t *Erasure) AddErasedKeys(ctx context.Context, companyID string, until time.Time, keys []facts.Key) error {
	rows, seen := []digestRow{}, map[string]bool{}
	for _, k := range keys {
		if d := facts.ErasedDigest(companyID, k); !seen[string(d)] {
			seen[string(d)] = true
			rows = append(rows, digestRow{d})
		}
	}
	return digestRows.Exec(ctx, t.tx, "store digests of a person's keys", addErasedKeys, rows,
		pgx.NamedArgs{"company_id": companyID, "erased_at": until})
}

// ErasedUntil is postgres.ErasedUntil.
func (t *Erasure) ErasedUntil(ctx context.Context, companyID string, digests [][]byte) (map[string]time.Time, error) {
	until, err := postgres.ErasedUntil(ctx, t.tx, companyID, digests)
	return until, postgres.Wrapf(err, "read erased keys")
}

// ErasedOrders returns, of orders, those whose person is erased, and what stands for their
// keys; nil where an erasure has found the order and has not come to it yet.
func (t *Erasure) ErasedOrders(ctx context.Context, companyID string, orderIDs []string) (map[string]*facts.Surrogates, error) {
	erased := map[string]*facts.Surrogates{}
	var id string
	var text *string
	err := postgres.Each(ctx, t.tx, []any{&id, &text}, func() error {
		erased[id] = nil
		if text == nil {
			return nil
		}
		erased[id] = &facts.Surrogates{}
		return json.Unmarshal([]byte(*text), erased[id])
	}, `
		select order_id, surrogates::text from erased_order where company_id = @company_id and order_id = any(@order_ids)`,
		pgx.NamedArgs{"company_id": companyID, "order_ids": orderIDs})
	return erased, postgres.Wrapf(err, "read erased orders")
}

var lateRows = postgres.Rows[erasure.LateOrder]{
	postgres.Col("order_id", "text", func(o *erasure.LateOrder) string { return o.OrderID }),
	postgres.Col("erased_at", "timestamptz", func(o *erasure.LateOrder) time.Time { return o.ErasedAt }),
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
func (t *Erasure) EraseLate(ctx context.Context, companyID string, orders []erasure.LateOrder) error {
	return lateRows.Exec(ctx, t.tx, "erase orders that come late", eraseLate, orders, pgx.NamedArgs{"company_id": companyID})
}

// SnapshotFirsts returns, of orders, those of which it is kept whether they are first.
func (t *Erasure) SnapshotFirsts(ctx context.Context, companyID string, orderIDs []string) (map[string]*bool, error) {
	firsts, err := postgres.Map[string, *bool](ctx, t.tx, `
		select order_id, is_first_order from snapshot_first where company_id = @company_id and order_id = any(@order_ids)`,
		pgx.NamedArgs{"company_id": companyID, "order_ids": orderIDs})
	return firsts, postgres.Wrapf(err, "read kept first orders")
}
