package report

import (
	"context"
	"fmt"
	"slices"
	"strings"
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

	fromOrders = " from orders o" + orderJoins + ` where o.company_id = @company_id` + between("o")

	// newestOrders goes by the index orders_created. @lo and @hi hold around the days
	// of the filter: the index has instants.
	newestOrders = newListing("o.created_at", fromOrders)

	// ordersOfStatus goes by the index orders_status, which does not have the approved ones:
	// there may be few others, or none, among very many.
	ordersOfStatus = newListing("o.created_at", fromOrders+" and o.status = @status::int and o.status <> 0")

	// ordersOfInfluencer goes by the index payout_influencer, day after day.
	ordersOfInfluencer = newListing("p.day, o.created_at", ` from payout p
		join orders o on o.company_id = p.company_id and o.order_id = p.order_id
		left join influencer i on i.company_id = p.company_id and i.influencer_id = p.influencer_id
		left join campaign c on c.company_id = p.company_id and c.campaign_id = p.campaign_id
		where p.company_id = @company_id and p.influencer_id = @influencer_id::uuid and p.day between @first_day::date and @last_day::date`+
		between("o"))

	// ordersOfKey goes by the orders' keys: of a coupon's code.
	ordersOfKey = newListing("k.created_at", ` from order_key k
		join orders o on o.company_id = k.company_id and o.order_id = k.order_id`+orderJoins+`
		where `+postgres.OfKeyAndHub("k", "@digest::bigint", "@kind", "@key", "0")+between("k"))

	// ordersCalled goes by the indexes of ids, names and numbers: an array of ids leaves no other way, whatever the limit.
	ordersCalled = newListing("o.created_at", fromOrders+" and o.order_id = any(array("+calledOrders+"))")

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

// between is true for orders of a filter between two places of the list, by the creation that alias has.
func between(alias string) string {
	return fmt.Sprintf(`
		and (%[1]s.created_at, %[1]s.order_id) > (@lo::timestamptz, @lo_id::text)
		and (%[1]s.created_at, %[1]s.order_id) < (@hi::timestamptz, @hi_id::text)`, alias) + ofFilter
}

// listing is the statements of a way through a company's orders by an index, each of at most @most orders.
type listing struct{ newest, oldest, totals string }

// newListing returns the statements of tables that are sorted by columns, and then by the order's id.
func newListing(by, from string) listing {
	sorted := func(direction string) string {
		return "select " + postgres.List(orderColumns) + from +
			" order by " + strings.ReplaceAll(by, ",", direction+",") + direction + ", o.order_id" + direction + " limit @most"
	}
	return listing{newest: sorted(" desc"), oldest: sorted(""),
		totals: "select " + postgres.List(orderTotalColumns) + " from (select o.currency, o.status, o.total_minor" + from +
			" limit @most) t group by t.currency, t.status order by t.currency, t.status"}
}

func (l listing) newestFirst() string { return l.newest }

func (l listing) oldestFirst() string { return l.oldest }

func (l listing) addedUp() string { return l.totals }

func orderTotalColumns(t *commerce.OrderTotal) postgres.Columns {
	return postgres.Columns{
		postgres.Into("t.currency", &t.Currency),
		postgres.Into("t.status", &t.Status),
		postgres.Into("count(*)", &t.Orders),
		postgres.Into("sum(t.total_minor)", &t.TotalMinor),
	}
}

// Order reads one order. One that is not stored is commerce.ErrNotFound.
func (r *Reader) Order(ctx context.Context, companyID, orderID string) (commerce.StoredOrder, error) {
	o, err := postgres.One(ctx, r.db.Pool(), postgres.Scan(orderColumns), oneOrder,
		pgx.NamedArgs{"company_id": companyID, "order_id": orderID})
	return o, postgres.Wrapf(postgres.Translate(err), "postgres: order %q of %s", orderID, companyID)
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
	switch {
	case !f.UpdatedSince.IsZero():
		return r.changedOrders(ctx, companyID, f)
	case !f.Before.IsZero():
		list, err := ofListing(ctx, r, companyID, f, orderColumns, listing.oldestFirst)
		slices.Reverse(list)
		return list, err
	}
	return ofListing(ctx, r, companyID, f, orderColumns, listing.newestFirst)
}

// OrderTotals adds up the orders of a filter by currency and status: of f.Limit orders where there are more.
func (r *Reader) OrderTotals(ctx context.Context, companyID string, f commerce.OrderFilter) ([]commerce.OrderTotal, error) {
	return ofListing(ctx, r, companyID, f, orderTotalColumns, listing.addedUp)
}

// ofListing reads what a statement selects, going through the orders of a filter by the listing that reads the fewest.
func ofListing[T any](ctx context.Context, r *Reader, companyID string, f commerce.OrderFilter, columns func(*T) postgres.Columns,
	statement func(listing) string) (list []T, err error) {
	low, high := commerce.Cursor{At: beginning}, commerce.Cursor{At: end}
	if day, err := commerce.ParseDay(f.From, time.UTC); err == nil {
		low.At = day.Add(-aroundZones)
	}
	if day, err := commerce.ParseDay(f.To, time.UTC); err == nil {
		high.At = day.Add(24*time.Hour + aroundZones)
	}
	if !f.After.IsZero() {
		high = f.After
	}
	if !f.Before.IsZero() {
		low = f.Before
	}
	args := filterArgs(companyID, f)
	args["lo"], args["lo_id"], args["hi"], args["hi_id"] = low.At, low.OrderID, high.At, high.OrderID
	pool, scan := r.db.Pool(), postgres.Scan(columns)
	switch {
	case f.Text != "":
		list, err = postgres.Collect(ctx, pool, scan, statement(ordersCalled), addText(args, f.Text))
	case f.Coupon != "":
		addKey(args, companyID, f.Coupon)
		list, err = postgres.Collect(ctx, pool, scan, statement(ordersOfKey), args)
	case f.InfluencerID != "":
		args["first_day"], args["last_day"] = low.At.Add(-aroundZones), high.At.Add(aroundZones)
		list, err = postgres.Collect(ctx, pool, scan, statement(ordersOfInfluencer), args)
	case f.Status != nil && *f.Status != commerce.OrderApproved:
		list, err = postgres.Collect(ctx, pool, scan, statement(ordersOfStatus), args)
	default:
		list, err = postgres.Collect(ctx, pool, scan, statement(newestOrders), args)
	}
	return list, ofOrders(companyID, err)
}

func (r *Reader) changedOrders(ctx context.Context, companyID string, f commerce.OrderFilter) ([]commerce.StoredOrder, error) {
	args := filterArgs(companyID, f)
	args["digest"], args["kind"], args["key"] = nil, nil, nil
	if f.Coupon != "" {
		addKey(args, companyID, f.Coupon)
	}
	args["since"], args["since_id"] = f.UpdatedSince, "" // inclusive: every order id is greater than ""
	if !f.After.IsZero() {
		args["since"], args["since_id"] = f.After.At, f.After.OrderID
	}
	list, err := postgres.Collect(ctx, r.db.Pool(), postgres.Scan(orderColumns), changedOrders, args)
	return list, ofOrders(companyID, err)
}

// filterArgs are the arguments of ofFilter, with the limit.
func filterArgs(companyID string, f commerce.OrderFilter) pgx.NamedArgs {
	return pgx.NamedArgs{"company_id": companyID, "status": f.Status, "influencer_id": postgres.NullIfEmpty(f.InfluencerID),
		"uncredited": f.Uncredited, "from": postgres.NullIfEmpty(f.From), "to": postgres.NullIfEmpty(f.To), "most": f.Limit}
}

// addKey adds the arguments of a coupon's key.
func addKey(args pgx.NamedArgs, companyID, coupon string) {
	key := facts.RuleKey(facts.KeyCode, coupon)
	args["digest"], args["kind"], args["key"] = facts.KeyDigest(companyID, key), key.Kind.Code(), key.Pack()
}

func ofOrders(companyID string, err error) error {
	return postgres.Wrapf(postgres.Translate(err), "postgres: orders of %s", companyID)
}
