// Package reporttest puts stores, influencers and processed orders into a test
// database, in the shape in which the processor writes them, for tests of what
// reads them.
//
// What belongs here: rows for tests. No rule of attribution: a test says who is
// credited.
package reporttest

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Analyze lets PostgreSQL look at what was put, as autovacuum does some time later.
func (f *Fixture) Analyze() {
	f.t.Helper()
	f.exec(`vacuum analyze`)
}

// IndexReads is how many entries of an index were read so far, by connections that told it.
func (f *Fixture) IndexReads(name string) (n int) {
	f.t.Helper()
	if err := f.pool.QueryRow(context.Background(), `select idx_tup_read from pg_stat_user_indexes where indexrelname = $1`, name).Scan(&n); err != nil {
		f.t.Fatal(err)
	}
	return n
}

// MultiplyExplanations gives the orders that Multiply made the explanations of those that
// they were made of.
func (f *Fixture) MultiplyExplanations(companyID string) {
	f.t.Helper()
	f.exec(`update payout p set explanation = b.explanation from payout b
		where p.company_id = @company_id and b.company_id = @company_id and b.explanation is not null and starts_with(p.order_id, b.order_id || '-')`, pgx.NamedArgs{"company_id": companyID})
}

// Multiply copies an order, with its payout, its keys and its entries of the ledger, n times. The
// copies are created one after the other, evenly over a time before the order.
func (f *Fixture) Multiply(companyID, orderID string, n int, span time.Duration) {
	f.t.Helper()
	args := pgx.NamedArgs{"company_id": companyID, "order_id": orderID, "n": n, "step": (span / time.Duration(n)).Microseconds()}
	f.exec(`insert into orders (company_id, order_id, created_at, day, status, currency, total_minor, body, processed_at)
		select o.company_id, o.order_id || '-' || i, o.created_at - i * @step::bigint * interval '1 us',
			((o.created_at - i * @step::bigint * interval '1 us') at time zone c.timezone)::date, o.status, o.currency, o.total_minor, o.body, o.processed_at - i * @step::bigint * interval '1 us'
		from orders o join company c using (company_id), generate_series(1, @n::int) i where o.company_id = @company_id and o.order_id = @order_id`, args)
	f.exec(`insert into payout (company_id, order_id, influencer_id, campaign_id, coupon_id, evidence, state, reason, base_minor, commission_minor, fixed_brl_minor, day, status, currency, total_minor, processed_at)
		select p.company_id, o.order_id, p.influencer_id, p.campaign_id, p.coupon_id, p.evidence, p.state, p.reason, p.base_minor, p.commission_minor, p.fixed_brl_minor, o.day, p.status, p.currency, p.total_minor, o.processed_at
		from payout p, orders o where p.company_id = @company_id and p.order_id = @order_id and o.company_id = @company_id and starts_with(o.order_id, @order_id || '-')`, args)
	f.exec(`insert into order_key (company_id, digest, kind, key, hub, created_at, order_id)
		select k.company_id, k.digest, k.kind, k.key, k.hub, o.created_at, o.order_id
		from order_key k, orders o where k.company_id = @company_id and k.order_id = @order_id and o.company_id = @company_id and starts_with(o.order_id, @order_id || '-')`, args)
	f.exec(`insert into ledger_entry (company_id, order_id, entry, at, kind, influencer_id, cost_id, amount_minor, currency, payable_on, rule_rev, cause)
		select l.company_id, o.order_id, l.entry, o.processed_at, l.kind, l.influencer_id, l.cost_id, l.amount_minor, l.currency, o.day + 30, l.rule_rev, l.cause
		from ledger_entry l, orders o where l.company_id = @company_id and l.order_id = @order_id and o.company_id = @company_id and starts_with(o.order_id, @order_id || '-')`, args)
}
