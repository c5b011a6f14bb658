// Package analysis is the part of `make prove` about exported files: they are whole however often the export is killed, and reports over
// them are as in PostgreSQL, to the cent, and quicker.
//
// What may enter: rows to export, runs of the real program, what reads its files.
package analysis

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// Rows are orders of one company to export, as the processor stores them, but for what is not exported.
type Rows struct {
	Company string
	Orders  int
	Touches int // of each order
	Days    int // from 2026-11-01 back
}

// fillOrders and fillPayouts make orders that are spread over the days, each with its touches' shares under every model.
const (
	fillOrders = `
		insert into orders (company_id, order_id, created_at, day, status, currency, total_minor, body, processed_at)
		select $1, (100000 + n)::text, timestamptz '2026-11-30 12:00Z' - make_interval(days => $3 - 1 - n * $3 / $2, secs => n % 40000),
			date '2026-11-30' - ($3 - 1 - n * $3 / $2), 0, case when n % 50 = 0 then 'USD' else 'BRL' end, 5000 + n::bigint * 7919 % 50000, $4, now()
		from generate_series(0, $2::int - 1) n`
	fillPayouts = `
		insert into payout (company_id, order_id, day, status, currency, total_minor, base_minor, commission_minor, state, influencer_id, credits)
		select o.company_id, o.order_id, o.day, o.status, o.currency, o.total_minor, o.total_minor, o.total_minor / 10, 'earned',
			'019cd7a4-2e00-7000-8000-000000000001', c.credits
		from orders o
		cross join lateral (select o.total_minor as t, o.order_id::int as n) a
		cross join lateral (
			select json_agg(json_build_array(p, channel, influencer, campaign, case when p = 1 then t else 0 end,
				case when p = $2 then t else 0 end, case when channel <> 'direct' then case when p = 1 then t else 0 end end,
				t / $2 + case when p <= t % $2 then 1 else 0 end, case when p = 1 then t - t / 3 * ($2 - 1) / $2 else t / 3 / $2 end,
				case when p = 1 then t - t / 4 * ($2 - 1) / $2 else t / 4 / $2 end) order by p) as credits
			from generate_series(1, $2::int) p
			cross join lateral (
				select (array['instagram', 'direct', 'google_ads', 'email', 'tiktok', 'organic'])[1 + (n * 7 + p * p) % 6]) x (channel)
			cross join lateral (select case when channel = 'instagram' then
				'019cd7a4-2e00-7000-8000-0000000000' || lpad((n % 90)::text, 2, '0')
				else '' end, case when channel = 'instagram' then 'campanha-' || n % 40 else '' end) y (influencer, campaign)) c
		where o.company_id = $1`
)

// Fill stores the rows.
func (r Rows) Fill(ctx context.Context, db *pgxpool.Pool) error {
	body, err := facts.PackOrder(&wire.Order{OrderID: "1", CreatedAt: time.Unix(0, 0).UTC(), Currency: "BRL",
		UTMSource: wire.Some("instagram")})
	if err != nil {
		return err
	}
	if _, err := db.Exec(ctx, fillOrders, r.Company, r.Orders, r.Days, body); err != nil {
		return fmt.Errorf("fill orders: %w", err)
	}
	if _, err := db.Exec(ctx, fillPayouts, r.Company, r.Touches); err != nil {
		return fmt.Errorf("fill payouts: %w", err)
	}
	for _, table := range []string{"orders", "payout"} {
		if _, err := db.Exec(ctx, "vacuum analyze "+table); err != nil {
			return fmt.Errorf("analyze: %w", err)
		}
	}
	return nil
}

// Company makes the company that the rows are of.
func Company(ctx context.Context, db *pgxpool.Pool, id string) error {
	_, err := db.Exec(ctx, `
		with s as (insert into store (store_id, name) values (gen_random_uuid(), 'Analysis') returning store_id)
		insert into company (company_id, store_id, environment, name) select $1, store_id, 'live', 'Analysis' from s`, id)
	return err
}
