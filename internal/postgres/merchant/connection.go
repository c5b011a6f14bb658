package merchant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
)

// connectActor is the connect service in the audit log.
const connectActor = "connect"

// ConnectOffer returns what the connect service offers. The zero offer where none has run.
func (s *Store) ConnectOffer(ctx context.Context) (commerce.ConnectOffer, error) {
	o, err := postgres.One(ctx, s.db.Pool(), postgres.Scan(offerColumns), `select `+postgres.List(offerColumns)+` from connect_offer`)
	if errors.Is(err, pgx.ErrNoRows) {
		return o, nil
	}
	return o, postgres.Wrapf(postgres.Translate(err), "postgres: offer of connect")
}

func offerColumns(o *commerce.ConnectOffer) postgres.Columns {
	return postgres.Columns{
		postgres.Into("key_id", &o.KeyID),
		postgres.Into("public_key", &o.PublicKey),
		postgres.Into("platforms", &o.Platforms),
		postgres.Into("seen_at", &o.SeenAt),
	}
}

// seconds scans an integer of seconds.
type seconds struct{ d *time.Duration }

// ScanInt64 implements pgtype.Int64Scanner.
func (s seconds) ScanInt64(v pgtype.Int8) error {
	*s.d = time.Duration(v.Int64) * time.Second
	return nil
}

// connectionColumns are read with the company as $1: Citus asks one shard only where each table of a statement has it.
func connectionColumns(c *commerce.Connection) postgres.Columns {
	return postgres.Columns{
		postgres.Into("c.company_id", &c.CompanyID),
		postgres.Into("c.connection_id", &c.ID),
		postgres.Into("c.platform", &c.Platform),
		postgres.Into("c.shop", &c.Shop),
		postgres.Into("c.shop_name", &c.ShopName),
		postgres.Into("c.shop_url", &c.ShopURL),
		postgres.Into("c.currency", &c.Currency),
		postgres.Into("c.state", &c.State),
		postgres.Into("c.since", &c.Since),
		postgres.Into("c.reason", &c.Reason),
		postgres.Into("c.detail", &c.Detail),
		postgres.Into("c.created_at", &c.CreatedAt),
		postgres.Into("c.commissions_from", postgres.ZeroIfNull(&c.CommissionsFrom)),
		postgres.Into("c.poll_seconds::bigint", seconds{&c.PollEvery}),
		postgres.Into("c.backfill_days", &c.Backfill.Days),
		postgres.Into("c.backfill_from", postgres.ZeroIfNull(&c.Backfill.From)),
		postgres.Into("c.backfill_to", postgres.ZeroIfNull(&c.Backfill.To)),
		postgres.Into("c.backfill_at", postgres.ZeroIfNull(&c.Backfill.At)),
		postgres.Into("c.backfill_page", &c.Backfill.Page),
		postgres.Into("c.backfill_done", &c.Backfill.Done),
		postgres.Into("c.backfill_total", &c.Backfill.Total),
		postgres.Into("c.backfill_ended", postgres.ZeroIfNull(&c.Backfill.Ended)),
		postgres.Into("c.cursor_at", postgres.ZeroIfNull(&c.Cursor)),
		postgres.Into("c.polled_at", postgres.ZeroIfNull(&c.PolledAt)),
		postgres.Into("c.last_order_at", postgres.ZeroIfNull(&c.LastOrderAt)),
		postgres.Into("c.notice_at", postgres.ZeroIfNull(&c.NoticeAt)),
		postgres.Into("c.notices_on", &c.NoticesOn),
		postgres.Into("c.orders", &c.Orders),
		postgres.Into("c.tests", &c.Tests),
		postgres.Into("c.reconciled_at", postgres.ZeroIfNull(&c.Reconciled)),
		postgres.Into(`c.aside_more + (select count(*) from connection_aside o
			where o.company_id = $1 and o.connection_id = c.connection_id)`, &c.AsideCount),
		postgres.Into(`(select count(*) from audit_log a where a.company_id = $1
			and (a.subject = c.connection_id or a.part_of = c.connection_id) and `+isChange+`)`, &c.Version),
	}
}

// Connections returns a company's connections, the newest first: at most commerce.MaxConnectionsList. Those that ended more than
// commerce.EndedLife ago are left out, unless something is to be done for a person.
func (s *Store) Connections(ctx context.Context, companyID string) ([]commerce.Connection, error) {
	list, err := postgres.Collect(ctx, s.db.Pool(), postgres.Scan(connectionColumns), `
		select `+postgres.List(connectionColumns)+` from connection c
		where c.company_id = $1 and (c.state <> 'ended' or c.since > now() - $3::interval or exists (
			select 1 from connection_request r
			where r.company_id = $1 and r.connection_id = c.connection_id and r.done_at is null))
		order by c.created_at desc, c.connection_id limit $2`, companyID, commerce.MaxConnectionsList, commerce.EndedLife)
	return list, postgres.Wrapf(postgres.Translate(err), "postgres: connections of %s", companyID)
}

// Connection returns one connection of a company. commerce.ErrNotFound where it has none of that id.
func (s *Store) Connection(ctx context.Context, companyID, id string) (commerce.Connection, error) {
	c, err := postgres.One(ctx, s.db.Pool(), postgres.Scan(connectionColumns), `
		select `+postgres.List(connectionColumns)+` from connection c where c.company_id = $1 and c.connection_id = $2`, companyID, id)
	return c, postgres.Wrapf(postgres.Translate(err), "postgres: connection %s", id)
}

// ConnectionDays returns how the last days compare, the newest first; at most commerce.MaxConnectionDays.
func (s *Store) ConnectionDays(ctx context.Context, companyID, id string) ([]commerce.ConnectionDay, error) {
	list, err := postgres.Collect(ctx, s.db.Pool(), postgres.Scan(connectionDayColumns), `
		select `+postgres.List(connectionDayColumns)+` from connection_day
		where company_id = $1 and connection_id = $2 order by day desc limit $3`, companyID, id, commerce.MaxConnectionDays)
	return list, postgres.Wrapf(postgres.Translate(err), "postgres: days of connection %s", id)
}

func connectionDayColumns(d *commerce.ConnectionDay) postgres.Columns {
	return postgres.Columns{
		postgres.Into("day", postgres.Day(&d.Day)),
		postgres.Into("shop_orders", &d.ShopOrders),
		postgres.Into("orders", &d.Orders),
		postgres.Into("shop_total", &d.ShopTotal),
		postgres.Into("total", &d.Total),
		postgres.Into("missing", &d.Missing),
		postgres.Into("differ", &d.Differ),
		postgres.Into("ours_alone", &d.OursAlone),
		postgres.Into("compared_at", &d.ComparedAt),
	}
}

// Aside returns the orders of a connection that are set aside, by their ids from after on; at most limit.
func (s *Store) Aside(ctx context.Context, companyID, id, after string, limit int) ([]commerce.AsideOrder, error) {
	list, err := postgres.Collect(ctx, s.db.Pool(), postgres.Scan(asideColumns), `
		select `+postgres.List(asideColumns)+` from connection_aside
		where company_id = $1 and connection_id = $2 and order_id > $3 order by order_id limit $4`, companyID, id, after, limit)
	return list, postgres.Wrapf(postgres.Translate(err), "postgres: orders set aside of connection %s", id)
}

func asideColumns(o *commerce.AsideOrder) postgres.Columns {
	return postgres.Columns{
		postgres.Into("order_id", &o.OrderID),
		postgres.Into("reason", &o.Reason),
		postgres.Into("detail", &o.Detail),
		postgres.Into("fields", &o.Fields),
		postgres.Into("at", &o.At),
		postgres.Into("attempts", &o.Attempts),
	}
}

// ConnectionCoupons returns how coupons compared last, those that differ first, by their codes; at most
// commerce.MaxShopCoupons.
func (s *Store) ConnectionCoupons(ctx context.Context, companyID, id string) ([]commerce.ShopCoupon, error) {
	list, err := postgres.Collect(ctx, s.db.Pool(), pgx.RowTo[commerce.ShopCoupon], `
		select coupon from connection_coupon
		where company_id = $1 and connection_id = $2 order by difference = '', code limit $3`, companyID, id, commerce.MaxShopCoupons)
	return list, postgres.Wrapf(postgres.Translate(err), "postgres: coupons of connection %s", id)
}

// ConnectTask returns a task of a company as it is now. commerce.ErrNotFound where there is none, or no more. A task for whose answer
// somebody waits, and that no service took in time, has failed: commerce.ShopNoService.
func (s *Store) ConnectTask(ctx context.Context, companyID, taskID string) (commerce.ConnectTask, error) {
	t, err := postgres.One(ctx, s.db.Pool(), postgres.Scan(taskColumns), `
		select `+postgres.List(taskColumns)+` from connection_task
		where company_id = $1 and task_id::text = $2`, companyID, taskID)
	if err != nil {
		return t, fmt.Errorf("postgres: task %s: %w", taskID, postgres.Translate(err))
	}
	if t.Late(time.Now()) {
		t.DoneAt, t.Reason = t.CreatedAt.Add(commerce.ConnectTaskLife), commerce.ShopNoService
	}
	return t, nil
}

func taskColumns(t *commerce.ConnectTask) postgres.Columns {
	return postgres.Columns{
		postgres.Into("company_id", &t.CompanyID),
		postgres.Into("connection_id", &t.ConnectionID),
		postgres.Into("task_id::text", &t.ID),
		postgres.Into("kind", &t.Kind),
		postgres.Into("question", (*[]byte)(&t.Question)),
		postgres.Into("sealed", &t.Sealed),
		postgres.Into("key_id", &t.KeyID),
		postgres.Into("created_at", &t.CreatedAt),
		postgres.Into("taken_at is not null", &t.TakenBefore),
		postgres.Into("done_at", postgres.ZeroIfNull(&t.DoneAt)),
		postgres.Into("answer", (*[]byte)(&t.Answer)),
		postgres.Into("reason", &t.Reason),
		postgres.Into("detail", &t.Detail),
	}
}

// jsonArg is JSON as an argument: null where there is none.
func jsonArg(raw json.RawMessage) *string { return postgres.NullIfEmpty(string(raw)) }
