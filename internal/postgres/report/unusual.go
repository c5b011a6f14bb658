package report

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/reports"
)

// mostCompared bounds the orders whose values are compared with a fee: the newest.
const mostCompared = 10_000

var ordersBelow = `
	select count(*), count(*) filter (where total_minor < @minor) from (
		select total_minor from orders
		where company_id = @company_id and day between @from and @to and currency = @currency and status <> @cancelled and test is null
		order by day desc, created_at desc limit @most) o`

// OrdersBelow counts the orders of some days, 10,000 at most, the newest, and those of them that are worth less than an amount in
// minor units. Of q it reads CompanyID, Start, End and Currency. Cancelled and test orders are not counted.
func (r *Reader) OrdersBelow(ctx context.Context, q reports.Query, minor int64) (below, orders int64, err error) {
	err = r.db.Pool().QueryRow(ctx, ordersBelow, pgx.NamedArgs{"company_id": q.CompanyID, "from": q.Start, "to": q.End, "currency": q.Currency,
		"cancelled": commerce.OrderCancelled, "minor": minor, "most": mostCompared}).Scan(&orders, &below)
	return below, orders, postgres.Wrapf(postgres.Translate(err), "postgres: orders below an amount")
}

var commissionsAbove = `
	select count(*) from payout
	where company_id = @company_id and influencer_id = @influencer_id and day between @from and @to
	and state in (@earned, @expected, @review) and commission_minor > total_minor`

// CommissionsAbove counts the orders of some days of which an influencer's commission is above the order's value. Of q it
// reads CompanyID, Start and End.
func (r *Reader) CommissionsAbove(ctx context.Context, q reports.Query, influencerID string) (orders int64, err error) {
	err = r.db.Pool().QueryRow(ctx, commissionsAbove, pgx.NamedArgs{"company_id": q.CompanyID, "influencer_id": influencerID, "from": q.Start,
		"to": q.End, "earned": facts.PayoutEarned, "expected": facts.PayoutExpected, "review": facts.PayoutReview}).Scan(&orders)
	return orders, postgres.Wrapf(postgres.Translate(err), "postgres: commissions above their orders")
}
