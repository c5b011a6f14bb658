package report

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/packed"
	"github.com/tributary-io/tributary/internal/postgres"
)

func orderColumns(o *commerce.StoredOrder) postgres.Columns {
	return postgres.Columns{
		postgres.Into("o.body", orderText((*[]byte)(&o.Body))),
		postgres.Into("o.created_at", &o.CreatedAt),
		postgres.Into("coalesce(o.sent_first, p.is_first_order)", &o.IsFirstOrder),
		postgres.Into("coalesce(p.processed_at, o.processed_at)", &o.ProcessedAt),
		postgres.Into("coalesce(p.state, '')", &o.Payout.State),
		postgres.Into("coalesce(p.reason, '')", &o.Payout.Reason),
		postgres.Into("coalesce(p.influencer_id::text, '')", &o.Payout.InfluencerID),
		postgres.Into("coalesce(i.name, '')", &o.Payout.Influencer),
		postgres.Into("coalesce(p.campaign_id, '')", &o.Payout.CampaignID),
		postgres.Into("coalesce(c.name, '')", &o.Payout.Campaign),
		postgres.Into("coalesce(p.evidence, '')", &o.Payout.Evidence),
		postgres.Into("coalesce(p.proof, '')", &o.Payout.Proof),
		postgres.Into("coalesce(p.commission_minor, 0)", &o.Payout.CommissionMinor),
		postgres.Into("coalesce(p.fixed_brl_minor, 0)", &o.Payout.FixedBRLMinor),
		postgres.Into("p.payable_on", postgres.Day(&o.Payout.PayableOn)),
	}
}

// orderText scans a stored order as JSON.
func orderText(into *[]byte) pgtype.BytesScanner {
	return bytesScanner(func(stored []byte) (err error) {
		*into, err = packed.Order(stored)
		return err
	})
}

// bytesScanner is a function as a scanner of bytea.
type bytesScanner func(stored []byte) error

// ScanBytes implements pgtype.BytesScanner.
func (f bytesScanner) ScanBytes(stored []byte) error { return f(stored) }

// orderJoins adds to orders (o) who is paid for them.
const orderJoins = `
	left join payout p on p.company_id = o.company_id and p.order_id = o.order_id
	left join influencer i on i.company_id = p.company_id and i.influencer_id = p.influencer_id
	left join campaign c on c.company_id = p.company_id and c.campaign_id = p.campaign_id`

// ofFilter is true for orders that a commerce.OrderFilter lists, but for its Coupon.
const ofFilter = `
	and (@status::int is null or o.status = @status) and (@influencer_id::uuid is null or p.influencer_id = @influencer_id)
	and (not @uncredited::boolean or p.influencer_id is null)
	and (@from::date is null or o.day >= @from) and (@to::date is null or o.day <= @to)`

var (
	oneOrder = `select ` + postgres.List(orderColumns) + ` from orders o` + orderJoins +
		` where o.company_id = @company_id and o.order_id = @order_id`

	// newestOrders goes by the index orders_created. @lo and @before hold around the days
	// of the filter: the index has instants.
	newestOrders = newest("")

	// ordersOfStatus goes by the index orders_status, which does not have the approved ones:
	// there may be few others, or none, among very many.
	ordersOfStatus = newest(" and o.status = @status::int and o.status <> 0")

	// ordersOfInfluencer goes by the index payout_influencer, day after day.
	ordersOfInfluencer = `
		select ` + postgres.List(orderColumns) + ` from payout p
		join orders o on o.company_id = p.company_id and o.order_id = p.order_id
		left join influencer i on i.company_id = p.company_id and i.influencer_id = p.influencer_id
		left join campaign c on c.company_id = p.company_id and c.campaign_id = p.campaign_id
		where p.company_id = @company_id and p.influencer_id = @influencer_id::uuid and p.day between @first_day::date and @last_day::date
			and o.created_at >= @lo::timestamptz and (o.created_at, o.order_id) < (@before::timestamptz, @before_id::text)` + ofFilter + `
		order by p.day desc, o.created_at desc, o.order_id desc limit @most`

	// ordersOfKey goes by the orders' keys: of a coupon's code.
	ordersOfKey = `
		select ` + postgres.List(orderColumns) + `
		from order_key k
		join orders o on o.company_id = k.company_id and o.order_id = k.order_id` + orderJoins + `
		where ` + postgres.OfKeyAndHub("k", "@digest::bigint", "@kind", "@key", "0") + `
			and k.created_at >= @lo::timestamptz and (k.created_at, k.order_id) < (@before::timestamptz, @before_id::text)` + ofFilter + `
		order by k.created_at desc, k.order_id desc limit @most`

	// changedOrders goes by the index payout_processed: an order that waits to be computed
	// is listed once it is.
	changedOrders = `
		select ` + postgres.List(orderColumns) + ` from payout p
		join orders o on o.company_id = p.company_id and o.order_id = p.order_id
		left join influencer i on i.company_id = p.company_id and i.influencer_id = p.influencer_id
		left join campaign c on c.company_id = p.company_id and c.campaign_id = p.campaign_id
		where p.company_id = @company_id and p.processed_at > '-infinity'
			and (p.processed_at, p.order_id) > (@since::timestamptz, @since_id::text)` + ofFilter + `
			and (@key::bytea is null or exists (
				select 1 from order_key k where k.company_id = @company_id and k.order_id = o.order_id and k.digest = @digest::bigint
				and k.kind = @kind::smallint and k.key = @key))
		order by p.processed_at, p.order_id limit @most`
)

// newest selects orders, the newest first, that fulfil one more condition.
func newest(condition string) string {
	return `
		select ` + postgres.List(orderColumns) + ` from orders o` + orderJoins + `
		where o.company_id = @company_id and o.created_at >= @lo::timestamptz
			and (o.created_at, o.order_id) < (@before::timestamptz, @before_id::text)` + ofFilter + condition + `
		order by o.created_at desc, o.order_id desc limit @most`
}

// Order reads one order. One that is not stored is commerce.ErrNotFound.
func (r *Reader) Order(ctx context.Context, companyID, orderID string) (commerce.StoredOrder, error) {
	o, err := postgres.One(ctx, r.db.Pool(), postgres.Scan(orderColumns), oneOrder,
		pgx.NamedArgs{"company_id": companyID, "order_id": orderID})
	if err != nil {
		return o, fmt.Errorf("postgres: order %q of %s: %w", orderID, companyID, postgres.Translate(err))
	}
	return o, nil
}

// Instants before and after all orders' (commerce.Recordable).
var (
	beginning = time.Date(1969, 1, 1, 0, 0, 0, 0, time.UTC)
	end       = time.Date(2201, 1, 1, 0, 0, 0, 0, time.UTC)
)

// aroundZones is more than a day of any time zone differs from one of UTC.
const aroundZones = 36 * time.Hour

// Orders lists a company's orders. Days of the filter must be valid.
func (r *Reader) Orders(ctx context.Context, companyID string, f commerce.OrderFilter) ([]commerce.StoredOrder, error) {
	args := pgx.NamedArgs{"company_id": companyID, "status": f.Status, "influencer_id": postgres.NullIfEmpty(f.InfluencerID),
		"uncredited": f.Uncredited,
		"from":       postgres.NullIfEmpty(f.From), "to": postgres.NullIfEmpty(f.To), "most": f.Limit}
	var key *facts.Key
	if f.Coupon != "" {
		k := facts.RuleKey(facts.KeyCode, f.Coupon)
		key = &k
	}
	if !f.UpdatedSince.IsZero() {
		args["digest"], args["kind"], args["key"] = nil, nil, nil
		if key != nil {
			args["digest"], args["kind"], args["key"] = facts.KeyDigest(companyID, *key), key.Kind.Code(), key.Pack()
		}
		args["since"], args["since_id"] = f.UpdatedSince, "" // inclusive: every order id is greater than ""
		if !f.After.IsZero() {
			args["since"], args["since_id"] = f.After.At, f.After.OrderID
		}
		return r.orders(ctx, changedOrders, args)
	}
	from, before, beforeID := beginning, end, ""
	if day, err := commerce.ParseDay(f.From, time.UTC); err == nil {
		from = day.Add(-aroundZones)
	}
	if day, err := commerce.ParseDay(f.To, time.UTC); err == nil {
		before = day.Add(24*time.Hour + aroundZones)
	}
	if !f.After.IsZero() {
		before, beforeID = f.After.At, f.After.OrderID
	}
	args["lo"], args["before"], args["before_id"] = from, before, beforeID
	switch {
	case key != nil:
		args["digest"], args["kind"], args["key"] = facts.KeyDigest(companyID, *key), key.Kind.Code(), key.Pack()
		return r.orders(ctx, ordersOfKey, args)
	case f.InfluencerID != "":
		args["first_day"], args["last_day"] = from.Add(-aroundZones), before.Add(aroundZones)
		return r.orders(ctx, ordersOfInfluencer, args)
	case f.Status != nil && *f.Status != commerce.OrderApproved:
		return r.orders(ctx, ordersOfStatus, args)
	}
	return r.orders(ctx, newestOrders, args)
}

func (r *Reader) orders(ctx context.Context, sql string, args pgx.NamedArgs) ([]commerce.StoredOrder, error) {
	list, err := postgres.Collect(ctx, r.db.Pool(), postgres.Scan(orderColumns), sql, args)
	if err != nil {
		return nil, fmt.Errorf("postgres: orders of %s: %w", args["company_id"], postgres.Translate(err))
	}
	return list, nil
}
