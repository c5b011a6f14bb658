package merchant

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/fold"
	"github.com/tributary-io/tributary/internal/postgres"
)

type digestRow struct {
	commerce.OrderDigest
	minor    int64
	currency string
	body     []byte
}

func digestColumns(d *digestRow) postgres.Columns {
	return postgres.Columns{
		postgres.Into("o.order_id", &d.OrderID),
		postgres.Into("o.status", &d.Status),
		postgres.Into("coalesce(o.test, false)", &d.Test),
		postgres.Into("o.created_at", &d.CreatedAt),
		postgres.Into(`coalesce(o.version_at, (select max(v.version_at) from order_version v
			where v.company_id = $1 and v.order_id = o.order_id))`, postgres.ZeroIfNull(&d.UpdatedAt)),
		postgres.Into("o.total_minor", &d.minor),
		postgres.Into("o.currency", &d.currency),
		postgres.Into("o.body", &d.body),
	}
}

// OrderDigests returns the orders of a company that have one of some ids, by their ids.
func (s *Store) OrderDigests(ctx context.Context, companyID string, ids []string) (map[string]commerce.OrderDigest, error) {
	list, err := postgres.Collect(ctx, s.db.Pool(), postgres.Scan(digestColumns), `
		select `+postgres.List(digestColumns)+` from orders o where o.company_id = $1 and o.order_id = any($2)`, companyID, notNil(ids))
	if err != nil {
		return nil, fmt.Errorf("postgres: digests of orders: %w", postgres.Translate(err))
	}
	digests := make(map[string]commerce.OrderDigest, len(list))
	for _, d := range list {
		d.Total = commerce.FormatMinor(d.minor, d.currency)
		order, err := facts.UnpackOrder(d.body)
		if err != nil {
			return nil, fmt.Errorf("postgres: digests of orders: order %s: %w", d.OrderID, err)
		}
		d.NoCommission = order.NoCommission.Or(false)
		digests[d.OrderID] = d.OrderDigest
	}
	return digests, nil
}

// StoreDay stores how one day compared, in the place of what was known of it. Days long before it are forgotten.
func (s *Store) StoreDay(ctx context.Context, l commerce.ConnectLease, companyID, id string, d commerce.ConnectionDay) error {
	return s.asHolder(ctx, l, companyID, id, func(tx pgx.Tx) error {
		args := pgx.NamedArgs{"company_id": companyID, "id": id, "day": d.Day, "shop_orders": d.ShopOrders, "orders": d.Orders,
			"shop_total": d.ShopTotal, "total": d.Total, "missing": d.Missing, "differ": d.Differ, "ours_alone": d.OursAlone,
			"compared_at": d.ComparedAt}
		if _, err := tx.Exec(ctx, `
			insert into connection_day (company_id, connection_id, day, shop_orders, orders, shop_total, total, missing, differ, ours_alone,
				compared_at)
			values (@company_id, @id, @day::date, @shop_orders, @orders, @shop_total, @total, @missing, @differ, @ours_alone, @compared_at)
			on conflict (company_id, connection_id, day) do update set shop_orders = excluded.shop_orders, orders = excluded.orders,
				shop_total = excluded.shop_total, total = excluded.total, missing = excluded.missing, differ = excluded.differ,
				ours_alone = excluded.ours_alone, compared_at = excluded.compared_at`, args); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `
			delete from connection_day where company_id = $1 and connection_id = $2 and day <= $3::date - $4::int`, companyID, id, d.Day,
			commerce.MaxConnectionDays)
		return err
	})
}

// KnownCodes says which coupon codes influencers of a company have, or had.
func (s *Store) KnownCodes(ctx context.Context, companyID string, codes []string) (map[string]bool, error) {
	folded := make([]string, len(codes))
	for n, code := range codes {
		folded[n] = fold.Code(code)
	}
	list, err := postgres.Collect(ctx, s.db.Pool(), pgx.RowTo[string], `
		select distinct code_folded from coupon where company_id = $1 and code_folded = any($2) and deleted_at is null`, companyID, folded)
	if err != nil {
		return nil, fmt.Errorf("postgres: known codes: %w", postgres.Translate(err))
	}
	there := make(map[string]bool, len(list))
	for _, code := range list {
		there[code] = true
	}
	known := make(map[string]bool, len(codes))
	for n, code := range codes {
		known[code] = there[folded[n]]
	}
	return known, nil
}

// CouponsToCompare returns the coupons of a company that are in force today, by their codes from after on; at most limit.
func (s *Store) CouponsToCompare(ctx context.Context, companyID, after string, limit int) ([]commerce.ShopCoupon, error) {
	company, err := s.Company(ctx, companyID)
	if err != nil {
		return nil, err
	}
	zone, err := time.LoadLocation(company.Timezone)
	if err != nil {
		return nil, fmt.Errorf("postgres: time zone of %s: %w", companyID, err)
	}
	list, err := postgres.Collect(ctx, s.db.Pool(), postgres.Scan(ourCouponColumns), `
		select `+postgres.List(ourCouponColumns)+` from coupon k
		join influencer i on i.company_id = k.company_id and i.influencer_id = k.influencer_id
		where k.company_id = $1 and k.deleted_at is null and k.code > $2 and k.period @> $3::date order by k.code limit $4`,
		companyID, after, time.Now().In(zone).Format(time.DateOnly), limit)
	return list, postgres.Wrapf(postgres.Translate(err), "postgres: coupons to compare")
}

func ourCouponColumns(c *commerce.ShopCoupon) postgres.Columns {
	return postgres.Columns{
		postgres.Into("k.code", &c.Code),
		postgres.Into("i.name", &c.InfluencerOur),
		postgres.Into("true", &c.OnOurSide),
	}
}

type comparedCoupon struct {
	code, difference, coupon string
	checkedAt                time.Time
}

var comparedCoupons = postgres.Rows[comparedCoupon]{
	postgres.Col("code", "text", func(c *comparedCoupon) string { return c.code }),
	postgres.Col("difference", "text", func(c *comparedCoupon) string { return c.difference }),
	postgres.Col("coupon", "jsonb", func(c *comparedCoupon) string { return c.coupon }),
	postgres.Col("checked_at", "timestamptz", func(c *comparedCoupon) time.Time { return c.checkedAt }),
}

// couponKept is how long the comparison of a coupon is kept that is compared no more.
const couponKept = 3 * 24 * time.Hour

// StoreCoupons stores how coupons compared, each in the place of what was known of its code.
func (s *Store) StoreCoupons(ctx context.Context, l commerce.ConnectLease, companyID, id string, coupons []commerce.ShopCoupon) error {
	byCode := map[string]commerce.ShopCoupon{}
	for _, c := range coupons {
		byCode[c.Code] = c
	}
	rows := make([]comparedCoupon, 0, len(byCode))
	now := time.Now()
	for code, c := range byCode {
		text := postgres.JSONList([]commerce.ShopCoupon{c})
		rows = append(rows, comparedCoupon{code, c.Difference, text[1 : len(text)-1], now})
	}
	return s.asHolder(ctx, l, companyID, id, func(tx pgx.Tx) error {
		args := comparedCoupons.Args(rows, pgx.NamedArgs{"company_id": companyID, "id": id})
		if _, err := tx.Exec(ctx, `
			insert into connection_coupon (company_id, connection_id, code, difference, coupon, checked_at)
			select @company_id, @id, c.code, c.difference, c.coupon, c.checked_at from `+comparedCoupons.Unnest("c")+`
			on conflict (company_id, connection_id, code) do update set difference = excluded.difference, coupon = excluded.coupon,
				checked_at = excluded.checked_at`, args); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `delete from connection_coupon where company_id = $1 and connection_id = $2 and checked_at < $3`, companyID, id,
			now.Add(-couponKept))
		return err
	})
}
