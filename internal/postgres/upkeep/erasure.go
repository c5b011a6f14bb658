package upkeep

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/upkeep/erasure"
)

// Facts are the statements of the processor's transaction that an erasure sends, too.
// internal/postgres/factstore.Tx is one, and describes each method.
type Facts interface {
	DeleteEvents(ctx context.Context, companyID string, events []facts.Event) error
	ReplaceVersions(ctx context.Context, companyID string, versions map[string][]facts.StoredVersion) error
	QueueSelected(ctx context.Context, companyID, sql string, args pgx.NamedArgs) (queued int, err error)
}

// Erasure is the statements of erasures within a transaction. It is an erasure.Store and an erasure.Known.
type Erasure struct {
	Facts
	tx pgx.Tx
}

// ErasureIn returns one that works within the caller's transaction.
func ErasureIn(tx pgx.Tx, facts Facts) *Erasure { return &Erasure{facts, tx} }

// NextErasure returns the first erasure of a company that has begun and is not done, nil
// where there is none.
func (t *Erasure) NextErasure(ctx context.Context, companyID string) (*erasure.Erasure, error) {
	e, err := postgres.One(ctx, t.tx, func(row pgx.CollectableRow) (e erasure.Erasure, err error) {
		var id *[16]byte
		err = row.Scan(&e.ErasureID, &e.AskedAt, (*[]byte)(&e.Salt), &e.Phase, postgres.ZeroIfNull(&e.After.At), &id, &e.OrderID, &e.LaterLooks)
		if id != nil {
			e.After.ID = *id
		}
		return e, err
	}, `
		select erasure_id::text, asked_at, salt, phase, event_at, event_id, coalesce(order_id, ''), kinds = @shop and exists (
			select 1 from erasure n where n.company_id = @company_id and n.done_at is null and (n.rev, n.erasure_id) > (e.rev, e.erasure_id))
		from erasure e
		where company_id = @company_id and done_at is null and phase <> @waits order by rev, erasure_id limit 1`,
		pgx.NamedArgs{"company_id": companyID, "waits": int16(facts.EraseWaits), "shop": commerce.ErasedShop})
	return postgres.Maybe(e, postgres.Wrapf(err, "next erasure"))
}

// argsOf are the arguments of the statements about one erasure.
func argsOf(companyID string, e *erasure.Erasure, more pgx.NamedArgs) pgx.NamedArgs {
	args := pgx.NamedArgs{"company_id": companyID, "erasure_id": e.ErasureID}
	for name, value := range more {
		args[name] = value
	}
	return args
}

// MoveErasure stores what an erasure does next, and what it has done.
func (t *Erasure) MoveErasure(ctx context.Context, companyID string, e *erasure.Erasure, orders, events int) error {
	var at *time.Time
	var id *[16]byte
	if e.After != (erasure.Cursor{}) {
		at, id = postgres.NullIfZero(e.After.At), (*[16]byte)(&e.After.ID)
	}
	return postgres.Exec(ctx, t.tx, "go on with an erasure", `
		update erasure set phase = @phase, event_at = @event_at, event_id = @event_id, order_id = @order_id,
			orders = orders + @orders, events = events + @events
		where company_id = @company_id and erasure_id = @erasure_id::uuid`,
		argsOf(companyID, e, pgx.NamedArgs{
			"phase": int16(e.Phase), "event_at": at, "event_id": id, "order_id": postgres.NullIfEmpty(e.OrderID),
			"orders": orders, "events": events,
		}))
}

// EndErasure forgets what was known of the person, and reports that were made of the person's
// orders and visits: they are made anew when somebody asks for them. From then on the erasure waits for exported files alone.
func (t *Erasure) EndErasure(ctx context.Context, companyID string, e *erasure.Erasure, now time.Time) error {
	args := argsOf(companyID, e, nil)
	return errors.Join(
		postgres.Exec(ctx, t.tx, "forget a person's keys", endKeys, args),
		postgres.Exec(ctx, t.tx, "forget a person's visitors", endVisitors, args),
		postgres.Exec(ctx, t.tx, "forget a shop's orders", endShop, args),
		postgres.Exec(ctx, t.tx, "ask again for a shop's orders", endShopAgain, args),
		postgres.Exec(ctx, t.tx, "forget reports of signs", endSigns, pgx.NamedArgs{"company_id": companyID}),
		postgres.Exec(ctx, t.tx, "wait for exported files", waitForFiles, argsOf(companyID, e, pgx.NamedArgs{"kinds": commerce.PersonalExports})),
		postgres.Exec(ctx, t.tx, "forget a person's salt", endSalt, argsOf(companyID, e, pgx.NamedArgs{"now": now})),
	)
}

const (
	endKeys     = `delete from erasure_key where company_id = @company_id and erasure_id = @erasure_id::uuid`
	endVisitors = `delete from erasure_visitor where company_id = @company_id and erasure_id = @erasure_id::uuid`
	endShop     = `
		delete from shop_order o where o.company_id = @company_id and o.erasure_id = @erasure_id::uuid
			and exists (select 1 from erased_order e where e.company_id = @company_id and e.order_id = o.order_id)`
	// What is not stored yet is on its way: the next erasure of the shop has it.
	endShopAgain = `update shop_order set erasure_id = null where company_id = @company_id and erasure_id = @erasure_id::uuid`
	// All of the person's was removed in transactions before this one: a run of an export that begins after it writes files
	// without the person.
	waitForFiles = `
		insert into erasure_export (company_id, erasure_id, export_id, kind, begun)
		select x.company_id, @erasure_id::uuid, x.export_id, x.kind, x.begun from export x
		where x.company_id = @company_id and x.kind = any(@kinds) and x.forgotten_at is null
		on conflict (company_id, erasure_id, export_id, kind) do nothing`
	endSigns = `delete from sign_report where company_id = @company_id`
	endSalt  = `
		update erasure set salt = null, event_at = null, event_id = null, order_id = null, done_at = @now
		where company_id = @company_id and erasure_id = @erasure_id::uuid`
)
