package processor

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	"github.com/tributary-io/tributary/internal/postgres/report"
	"github.com/tributary-io/tributary/test/bench/procstat"
)

// What the benchmark's store owes.
const (
	benchEntries = 1_000_000
	benchOwed    = 1_000 // influencers
)

// BenchmarkStatements asks for and closes the statements of a store with a million ledger
// entries of a thousand influencers, and those of one influencer with all of them; and
// reads the balances before. CPU time is that of this process and of PostgreSQL's connections.
func BenchmarkStatements(b *testing.B) {
	for _, influencers := range []int{benchOwed, 1} {
		b.Run(fmt.Sprint("influencers-", influencers), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				s := newShop(b)
				s.ctx = b.Context() // longer than a test's
				s.owe(influencers)
				b.StartTimer()
				s.benchClosing(b, influencers)
			}
		})
	}
}

// owe puts entries that may be paid, each of an order of its own.
func (s *shop) owe(influencers int) {
	s.t.Helper()
	s.exec(`insert into influencer (company_id, influencer_id, name, name_folded, rev)
		select $1, ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, 'Influencer ' || n, 'influencer ' || n, 1
		from generate_series(1, $2::int) n`, s.company, influencers)
	s.exec(`insert into ledger_entry (company_id, order_id, entry, at, kind, influencer_id, cost_id, amount_minor, currency, rule_rev, cause,
		payable_on)
		select $1, 'order-' || n, 1, $2::timestamptz - n * interval '30 seconds', 'earned',
		('00000000-0000-4000-8000-' || lpad((1 + n % $3::int)::text, 12, '0'))::uuid,
			'00000000-0000-4000-8000-000000000000', 1000 + n % 500, 'BRL', 1, 'order', '2026-03-01'::date - n % 360
		from generate_series(1, $4::int) n`, s.company, noon, influencers, benchEntries)
	s.exec(`analyze ledger_entry`)
}

func (s *shop) benchClosing(b *testing.B, influencers int) {
	b.Helper()
	ctx := context.Background()
	measure := func(what string, f func()) {
		before, began := s.cpu(b), time.Now()
		f()
		b.ReportMetric(float64((s.cpu(b) - before).Milliseconds()), what+"-cpu-ms")
		b.ReportMetric(float64(time.Since(began).Milliseconds()), what+"-ms")
	}
	measure("balances", func() {
		list, err := report.New(s.db).Balances(ctx, s.company, "2026-03-10", commerce.BalanceCursor{}, 2000)
		if err != nil || len(list) != influencers {
			b.Fatalf("%d balances, %v", len(list), err)
		}
	})
	measure("ask", func() {
		list, err := merchant.New(s.db).AskStatements(ctx, commerce.Author{CompanyID: s.company, Actor: "bench", At: time.Now()},
			commerce.Closing{EndDate: "2026-03-10"}, rand.Reader)
		if err != nil || len(list) != influencers {
			b.Fatalf("%d statements, %v", len(list), err)
		}
	})
	s.exec(`insert into recompute_company (company_id) values ($1)`, s.company) // as the record does
	o := s.owner()
	rules, err := o.rulesOf(ctx, []string{s.company})
	if err != nil {
		b.Fatal(err)
	}
	longest, transactions := time.Duration(0), 0
	measure("close", func() {
		for s.int(`select count(*) from recompute_company`) > 0 {
			began := time.Now()
			if _, err := o.recompute(ctx,
				batch{clusterID: o.clusterID, moves: o.moves(nil), now: o.Now().UTC(), companies: []companyBatch{{index: rules[s.company]}}},
				200); err != nil {
				b.Fatal(err)
			}
			longest, transactions = max(longest, time.Since(began)), transactions+1
		}
	})
	b.ReportMetric(float64(longest.Milliseconds()), "longest-ms")
	b.ReportMetric(float64(transactions), "transactions")
	if n := s.int(`select count(*) from statement where closed_at is not null and lines = $1`,
		benchEntries/influencers); n != int64(influencers) {
		b.Fatalf("%d statements are closed", n)
	}
}

// cpu is the CPU time so far of this process and of PostgreSQL for this database.
func (s *shop) cpu(b *testing.B) (sum time.Duration) {
	b.Helper()
	rows, err := s.pool.Query(context.Background(), `select pid from pg_stat_activity where datname = current_database()`)
	if err != nil {
		b.Fatal(err)
	}
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		b.Fatal(err)
	}
	for _, pid := range append(pids, os.Getpid()) {
		used, err := procstat.CPU(pid)
		if err != nil {
			b.Skip("no CPU times here: ", err)
		}
		sum += used
	}
	return sum
}
