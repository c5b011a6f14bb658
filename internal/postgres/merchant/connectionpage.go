package merchant

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
)

// StorePage stores what became of a page, all of it or nothing.
func (s *Store) StorePage(ctx context.Context, l commerce.ConnectLease, companyID, id string, p commerce.ConnectPage) error {
	return s.asHolder(ctx, l, companyID, id, func(tx pgx.Tx) error {
		if err := storeAside(ctx, tx, companyID, id, p); err != nil {
			return err
		}
		if err := storeSent(ctx, tx, companyID, id, p.Sent); err != nil {
			return err
		}
		// The state is not touched: the merchant may have changed it meanwhile, which takes the lease away.
		if _, err := tx.Exec(ctx, `
			update connection set cursor_at = greatest(cursor_at, @cursor_at::timestamptz), polled_at = coalesce(@polled_at::timestamptz, polled_at),
				poll_now = poll_now and @polled_at::timestamptz is null, last_order_at = greatest(last_order_at, @last_order_at::timestamptz),
				orders = orders + @orders, tests = tests + @tests, reconciled_at = coalesce(@reconciled_at::timestamptz, reconciled_at),
				aside_more = case when @reconciled_at::timestamptz is null then aside_more else 0 end
			where company_id = @company_id and connection_id = @id`,
			pgx.NamedArgs{"company_id": companyID, "id": id, "cursor_at": postgres.NullIfZero(p.Cursor),
				"polled_at": postgres.NullIfZero(p.PolledAt), "last_order_at": postgres.NullIfZero(p.LastOrderAt), "orders": p.Orders,
				"tests": p.Tests, "reconciled_at": postgres.NullIfZero(p.Reconciled)}); err != nil {
			return err
		}
		if p.Backfill == nil {
			return nil
		}
		_, err := tx.Exec(ctx, `
			update connection set backfill_days = @days, backfill_from = @from, backfill_to = @to, backfill_at = @at, backfill_page = @page,
				backfill_done = @done, backfill_total = @total, backfill_ended = @ended
			where company_id = @company_id and connection_id = @id`,
			pgx.NamedArgs{"company_id": companyID, "id": id, "days": p.Backfill.Days, "from": postgres.NullIfZero(p.Backfill.From),
				"to": postgres.NullIfZero(p.Backfill.To), "at": postgres.NullIfZero(p.Backfill.At), "page": p.Backfill.Page,
				"done": p.Backfill.Done, "total": p.Backfill.Total, "ended": postgres.NullIfZero(p.Backfill.Ended)})
		return err
	})
}

var asideRows = postgres.Rows[commerce.AsideOrder]{
	postgres.Col("order_id", "text", func(o *commerce.AsideOrder) string { return o.OrderID }),
	postgres.Col("reason", "text", func(o *commerce.AsideOrder) string { return o.Reason }),
	postgres.Col("detail", "text", func(o *commerce.AsideOrder) string { return clip(o.Detail) }),
	postgres.Col("fields", "text", func(o *commerce.AsideOrder) string { return postgres.JSONList(o.Fields[:min(len(o.Fields), 100)]) }),
	postgres.Col("at", "timestamptz", func(o *commerce.AsideOrder) time.Time { return o.At }),
}

// clip is a detail of at most 200 characters.
func clip(detail string) string {
	runes := []rune(detail)
	return string(runes[:min(len(runes), 200)])
}

// storeAside keeps the orders that a page set aside, and forgets those that were mended. Beyond commerce.MaxAside they are
// counted alone.
func storeAside(ctx context.Context, tx pgx.Tx, companyID, id string, p commerce.ConnectPage) error {
	if len(p.Mended) > 0 {
		if _, err := tx.Exec(ctx, `delete from connection_aside where company_id = $1 and connection_id = $2 and order_id = any($3)`,
			companyID, id, p.Mended); err != nil {
			return err
		}
	}
	last := map[string]commerce.AsideOrder{} // an order once in a statement
	for _, o := range p.Aside {
		last[o.OrderID] = o
	}
	orders := make([]commerce.AsideOrder, 0, len(last))
	for _, o := range last {
		orders = append(orders, o)
	}
	if len(orders) == 0 {
		return nil
	}
	known, err := postgres.Collect(ctx, tx, pgx.RowTo[string], `
		update connection_aside o set reason = n.reason, detail = n.detail,
			fields = array(select jsonb_array_elements_text(n.fields::jsonb)), attempts = o.attempts + 1
		from `+asideRows.Unnest("n")+`
		where o.company_id = @company_id and o.connection_id = @id and o.order_id = n.order_id returning o.order_id`,
		asideRows.Args(orders, pgx.NamedArgs{"company_id": companyID, "id": id}))
	if err != nil {
		return err
	}
	isKnown := map[string]bool{}
	for _, orderID := range known {
		isKnown[orderID] = true
	}
	var fresh []commerce.AsideOrder
	for _, o := range orders {
		if !isKnown[o.OrderID] {
			fresh = append(fresh, o)
		}
	}
	var there int
	if err := tx.QueryRow(ctx, `select count(*) from connection_aside where company_id = $1 and connection_id = $2`, companyID,
		id).Scan(&there); err != nil {
		return err
	}
	kept := fresh[:min(len(fresh), max(0, commerce.MaxAside-there))]
	if len(kept) > 0 {
		if err := insertAll(ctx, tx, len(kept), `
			insert into connection_aside (company_id, connection_id, order_id, reason, detail, fields, at)
			select @company_id, @id, n.order_id, n.reason, n.detail, array(select jsonb_array_elements_text(n.fields::jsonb)), n.at
			from `+asideRows.Unnest("n")+` on conflict (company_id, connection_id, order_id) do nothing returning order_id`,
			asideRows.Args(kept, pgx.NamedArgs{"company_id": companyID, "id": id})); err != nil {
			return err
		}
	}
	if more := len(fresh) - len(kept); more > 0 {
		_, err = tx.Exec(ctx, `update connection set aside_more = aside_more + $3 where company_id = $1 and connection_id = $2`, companyID, id,
			more)
	}
	return err
}

// SetConnectionState stores what the service found out about a connection: commerce.ErrConnectionState where its state is not
// change.From any more.
func (s *Store) SetConnectionState(ctx context.Context, l commerce.ConnectLease, companyID, id string,
	change commerce.ConnectStateChange) error {
	return s.asHolder(ctx, l, companyID, id, func(tx pgx.Tx) error {
		c, err := lockConnection(ctx, tx, companyID, id)
		if err != nil {
			return err
		}
		if change.State != "" && c.State != change.From {
			return commerce.ErrConnectionState
		}
		if change.Shop != "" && change.Shop != c.Shop {
			if err := refuseSecond(ctx, tx, c, change.Shop); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, `
			update connection set
				shop = coalesce(@shop, shop), shop_name = coalesce(@shop_name, shop_name), shop_url = coalesce(@shop_url, shop_url),
				currency = coalesce(@currency, currency), notices_on = coalesce(@notices_on, notices_on),
				sealed = coalesce(@sealed, sealed), key_id = coalesce(@key_id, key_id),
				sealed_api_key = coalesce(@sealed_api_key, sealed_api_key), api_key_key_id = coalesce(@api_key_key_id, api_key_key_id)
			where company_id = @company_id and connection_id = @id`,
			pgx.NamedArgs{"company_id": companyID, "id": id, "shop": postgres.NullIfEmpty(change.Shop),
				"shop_name": postgres.NullIfEmpty(change.ShopName), "shop_url": postgres.NullIfEmpty(change.ShopURL),
				"currency": postgres.NullIfEmpty(change.Currency), "notices_on": change.NoticesOn, "sealed": change.Sealed,
				"key_id": postgres.NullIfEmpty(change.KeyID), "sealed_api_key": change.SealedAPIKey,
				"api_key_key_id": postgres.NullIfEmpty(change.APIKeyKeyID)})
		if isUnique(err) {
			return commerce.ErrShopConnected
		}
		if err != nil || change.State == "" {
			return err
		}
		if change.State == commerce.ConnectionEnded {
			keyEnds := time.Now()
			if change.Reason == commerce.ShopUninstalled {
				keyEnds = keyEnds.Add(commerce.UninstalledKeyLife)
			}
			author := commerce.Author{CompanyID: companyID, Actor: connectActor, At: time.Now()}
			if err := endConnection(ctx, tx, author, id, change.Reason, clip(change.Detail), keyEnds); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `update connection set sealed = null, key_id = '' where company_id = $1 and connection_id = $2`, companyID,
				id); err != nil {
				return err
			}
			return auditConnection(ctx, tx, author, "connection.end", id, map[string]any{"platform": c.Platform, "shop": c.ShopName,
				"reason": change.Reason})
		}
		_, err = tx.Exec(ctx, `
			update connection set since = case when state = @state and reason = @reason then since else @now::timestamptz end,
				state = @state, reason = @reason, detail = @detail
			where company_id = @company_id and connection_id = @id`,
			pgx.NamedArgs{"company_id": companyID, "id": id, "state": string(change.State), "reason": change.Reason,
				"detail": clip(change.Detail), "now": time.Now()})
		if err != nil || change.State != commerce.ConnectionFailing || c.State == commerce.ConnectionFailing {
			return err
		}
		return postgres.Tell(ctx, tx, companyID, func() ([]commerce.Event, error) {
			return []commerce.Event{{Type: commerce.ConnectionFails, Key: "connection:" + id, At: time.Now().UTC().Truncate(time.Microsecond),
				Data: commerce.ConnectionTold{ConnectionID: id, Platform: c.Platform, Reason: change.Reason}}}, nil
		})
	})
}

// refuseSecond is commerce.ErrShopConnected where another connection of the company that was started has the shop, and
// does not fail.
func refuseSecond(ctx context.Context, tx pgx.Tx, c commerce.Connection, shop string) error {
	var others int
	if err := tx.QueryRow(ctx, `
		select count(*) from connection where company_id = $1 and platform = $2 and shop = $3 and connection_id <> $4
			and state not in ('installing', 'draft', 'failing', 'ended')`, c.CompanyID, c.Platform, shop, c.ID).Scan(&others); err != nil {
		return err
	}
	if others > 0 {
		return commerce.ErrShopConnected
	}
	return nil
}

// TakeTasks returns the tasks of a connection that are not done, the oldest first; at most limit. Those for whose answer nobody
// waits any more are left out.
func (s *Store) TakeTasks(ctx context.Context, l commerce.ConnectLease, companyID, id string, limit int) (list []commerce.ConnectTask,
	err error) {
	err = s.asHolder(ctx, l, companyID, id, func(tx pgx.Tx) error {
		list, err = postgres.Collect(ctx, tx, postgres.Scan(taskColumns), `
			select `+postgres.List(taskColumns)+` from connection_task
			where company_id = $1 and connection_id = $2 and done_at is null
				and (taken_at is not null or kind not in ('test', 'install', 'coupon') or created_at > $3)
			order by task_id limit $4`, companyID, id, time.Now().Add(-commerce.ConnectTaskLife), limit)
		if err != nil {
			return err
		}
		ids := make([]string, len(list))
		for n, t := range list {
			ids[n] = t.ID
		}
		_, err = tx.Exec(ctx, `
			update connection_task set taken_at = now()
			where company_id = $1 and connection_id = $2 and task_id = any($3::uuid[]) and taken_at is null`, companyID, id, ids)
		return err
	})
	return list, err
}

// FinishTask stores the answer of a task, or its reason. It forgets what was sealed for it; with TaskEnd the connection's
// credentials too.
func (s *Store) FinishTask(ctx context.Context, l commerce.ConnectLease, t commerce.ConnectTask) error {
	return s.asHolder(ctx, l, t.CompanyID, t.ConnectionID, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `
			update connection_task set done_at = now(), answer = @answer, reason = @reason, detail = @detail, sealed = null
			where company_id = @company_id and connection_id = @connection_id and task_id = @task_id and done_at is null`,
			pgx.NamedArgs{"company_id": t.CompanyID, "connection_id": t.ConnectionID, "task_id": t.ID, "answer": jsonArg(t.Answer),
				"reason": t.Reason, "detail": clip(t.Detail)}); err != nil {
			return err
		}
		if t.Kind != commerce.TaskEnd {
			return nil
		}
		_, err := tx.Exec(ctx, `
			update connection set sealed = null, key_id = '' where company_id = $1 and connection_id = $2 and state = 'ended'`,
			t.CompanyID, t.ConnectionID)
		return err
	})
}

// LogConnection writes what the service did by itself, or a platform asked, into the audit log.
func (s *Store) LogConnection(ctx context.Context, companyID, id, action string, detail map[string]any) error {
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		return auditConnection(ctx, tx, commerce.Author{CompanyID: companyID, Actor: connectActor, At: time.Now()}, action, id, detail)
	})
	return postgres.Wrapf(err, "postgres: log of connection %s", id)
}
