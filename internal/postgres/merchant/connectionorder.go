package merchant

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
)

var sentRows = postgres.Rows[commerce.SentOrder]{
	postgres.Col("order_id", "text", func(o *commerce.SentOrder) string { return o.OrderID }),
	postgres.Col("created_at", "timestamptz", func(o *commerce.SentOrder) time.Time { return o.CreatedAt }),
	postgres.Col("no_commission", "boolean", func(o *commerce.SentOrder) bool { return o.NoCommission }),
}

// storeSent keeps which orders came from a connection's shop.
func storeSent(ctx context.Context, tx pgx.Tx, companyID, id string, orders []commerce.SentOrder) error {
	if len(orders) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, `
		insert into shop_order (company_id, platform, shop, order_id, created_at, no_commission)
		select distinct on (n.order_id) c.company_id, c.platform, c.shop, n.order_id, n.created_at, n.no_commission
		from connection c cross join `+sentRows.Unnest("n")+`
		where c.company_id = @company_id and c.connection_id = @id
		on conflict (company_id, platform, shop, order_id) do update set created_at = excluded.created_at, no_commission = excluded.no_commission
			where shop_order.created_at <> excluded.created_at or shop_order.no_commission <> excluded.no_commission`,
		sentRows.Args(orders, pgx.NamedArgs{"company_id": companyID, "id": id}))
	return err
}

// shopOrders are the orders of a connection's shop, whichever connection brought them.
const shopOrders = `shop_order o join connection c on c.company_id = o.company_id and c.platform = o.platform and c.shop = o.shop
	where c.company_id = @company_id and c.connection_id = @id and o.company_id = @company_id`

// SentOrders returns which of some orders came from a connection's shop, and whether each was last sent as one that earns nothing.
func (s *Store) SentOrders(ctx context.Context, companyID, id string, ids []string) (map[string]bool, error) {
	sent, err := postgres.Map[string, bool](ctx, s.db.Pool(),
		`select o.order_id, o.no_commission from `+shopOrders+` and o.order_id = any(@ids)`,
		pgx.NamedArgs{"company_id": companyID, "id": id, "ids": ids})
	return sent, postgres.Wrapf(postgres.Translate(err), "postgres: orders sent by connection %.26s", id)
}

// OrdersOfShop returns orders that came from a connection's shop and were created in [from, to), by that time and their ids, after
// one; the zero value: from the first on. At most limit.
func (s *Store) OrdersOfShop(ctx context.Context, companyID, id string, from, to time.Time, after commerce.SentOrder,
	limit int) ([]commerce.SentOrder, error) {
	list, err := postgres.Collect(ctx, s.db.Pool(), func(row pgx.CollectableRow) (o commerce.SentOrder, err error) {
		return o, row.Scan(&o.OrderID, &o.CreatedAt, &o.NoCommission)
	}, `
		select o.order_id, o.created_at, o.no_commission from `+shopOrders+` and o.created_at >= @from and o.created_at < @to
			and (o.created_at, o.order_id) > (@after_at::timestamptz, @after)
		order by o.created_at, o.order_id limit @limit`,
		pgx.NamedArgs{"company_id": companyID, "id": id, "from": from, "to": to, "after_at": after.CreatedAt, "after": after.OrderID,
			"limit": limit})
	return list, postgres.Wrapf(postgres.Translate(err), "postgres: orders of the shop of connection %.26s", id)
}

// Bounds of erasing all customers of a shop.
const (
	shopErasure  = 500 // orders of one erasure
	shopErasures = 10  // erasures of a company's shops that wait: others' come between them
)

// noticeOfShop is the kind of notices that ask for it (platform.NoticeRedactShop).
const noticeOfShop = "redact_shop"

// shopToErase is how far the erasure of a shop's customers has come.
type shopToErase struct {
	Connected bool
	Left      bool  // orders whose customers are not erased
	Unasked   bool  // … and for which it was not asked
	Waiting   int64 // erasures of the company's shops that are not done
}

func lookAtShop(ctx context.Context, q postgres.Querier, companyID, id string) (shopToErase, error) {
	return postgres.One(ctx, q, pgx.RowToStructByPos[shopToErase], `
		select exists (
				select 1 from connection c join connection a on a.company_id = c.company_id and a.platform = c.platform and a.shop = c.shop
				where c.company_id = @company_id and c.connection_id = @id and a.company_id = @company_id
					and a.state not in ('installing', 'draft', 'ended')),
			exists (select 1 from `+shopOrders+`), exists (select 1 from `+shopOrders+` and o.erasure_id is null),
			(select count(*) from erasure where company_id = @company_id and done_at is null and kinds = @kind)`,
		pgx.NamedArgs{"company_id": companyID, "id": id, "kind": commerce.ErasedShop})
}

// EraseShop asks to erase the persons of the next orders that came from the shop of a connection that has ended, and returns whether
// some are not erased yet: it is called again until none is left, which answers what the merchant was asked to do. What the processor
// does not have of them yet, it asks for again. commerce.ErrShopConnected where the shop is connected, or was connected anew.
func (s *Store) EraseShop(ctx context.Context, l commerce.ConnectLease, companyID, id string) (left bool, err error) {
	// Without a lock first: mostly there is nothing to do but to wait.
	shop, err := lookAtShop(ctx, s.db.Pool(), companyID, id)
	if err == nil && !shop.Connected && shop.Left && (!shop.Unasked || shop.Waiting >= shopErasures) {
		return true, nil
	}
	if err == nil {
		err = s.db.InTx(ctx, func(tx pgx.Tx) error {
			if err := lockCompany(ctx, tx, companyID); err != nil { // before the turn, as changes of the merchant do
				return err
			}
			if err := holds(ctx, tx, l, companyID, id); err != nil {
				return err
			}
			left, err = askShopErasures(ctx, tx, companyID, id)
			return err
		})
	}
	return left, postgres.Wrapf(err, "postgres: erase the customers of the shop of connection %.26s", id)
}

// askShopErasures asks for as many erasures of a shop's customers as may wait.
func askShopErasures(ctx context.Context, tx pgx.Tx, companyID, id string) (left bool, err error) {
	author := commerce.Author{CompanyID: companyID, Actor: connectActor, At: time.Now()}
	for {
		shop, err := lookAtShop(ctx, tx, companyID, id)
		switch {
		case err != nil:
			return false, err
		case shop.Connected:
			return false, commerce.ErrShopConnected
		case !shop.Left:
			_, err := tx.Exec(ctx, `
				update connection_request set done_at = now()
				where company_id = $1 and connection_id = $2 and kind = $3 and done_at is null`, companyID, id, noticeOfShop)
			return false, err
		case !shop.Unasked || shop.Waiting >= shopErasures || roomForErasure(ctx, tx, companyID) != nil:
			return true, nil // the next call goes on
		}
		erasureID, err := addErasure(ctx, tx, author, []string{commerce.ErasedShop}, rand.Reader)
		if err != nil {
			return false, err
		}
		// By their places, which no plan makes slow: the company is locked.
		if _, err := tx.Exec(ctx, `
			update shop_order s set erasure_id = @erasure_id::uuid
			where s.company_id = @company_id and s.ctid = any(array(
				select o.ctid from `+shopOrders+` and o.erasure_id is null order by o.order_id limit @most))`,
			pgx.NamedArgs{"company_id": companyID, "id": id, "erasure_id": erasureID, "most": shopErasure}); err != nil {
			return false, err
		}
	}
}
