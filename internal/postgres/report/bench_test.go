package report_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/reports"
	"github.com/tributary-io/tributary/internal/rollup"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/bench/procstat"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

// What the benchmark's store has sold in a year.
const (
	benchOrders      = 1_000_000
	benchDays        = 365
	benchInfluencers = 100
	benchProducts    = 2_000
	benchVisits      = 10_000_000
	benchPaths       = 5_000_000 // visitors who did not buy
)

// fill sums orders of each day, as the processor does. An order has three touches in the
// mean, of the channels of nobody and of influencers; half of the touches are of the most
// frequent channel.
func fill(b *testing.B) *reporttest.Fixture {
	b.Helper()
	fix := reporttest.New(b)
	company := fix.Store.Live.CompanyID
	r := rand.New(rand.NewPCG(1, 2))
	type channel struct{ name, influencer, campaign, coupon string }
	var all []channel
	var came []string // by whom visitors came
	for _, name := range []string{"Direct", "Organic Search", "Paid Search", "Organic Social", "Paid Social", "Email", "Referral",
		"Affiliates", "Display", "Other"} {
		all = append(all, channel{name: name})
	}
	for i := range benchInfluencers {
		id := fix.Influencer(company, fmt.Sprint("Influencer ", i))
		campaign := fix.Campaign(company, id, fmt.Sprint("Campaign ", i))
		came = append(came, "i:"+id+"/"+campaign)
		fix.Link(company, id, campaign, fmt.Sprint("code", i))
		all = append(all, channel{fmt.Sprint("Influencer ", i), id, campaign, fix.Coupon(company, id, campaign, fmt.Sprint("CODE", i))})
	}
	for i := range benchProducts {
		fix.Product(company, fmt.Sprint("p", i), fmt.Sprint("Product ", i), fmt.Sprint("v", i))
	}
	path := func() (list []channel) {
		n := 1
		for n < 10 && r.IntN(3) > 0 {
			n++
		}
		for range n {
			list = append(list, all[int(float64(len(all))*math.Pow(r.Float64(), 6))]) // the first are the more likely
		}
		return list
	}
	first := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	yes, no := true, false
	for day := range benchDays {
		var orders []rollup.Order
		for range benchOrders / benchDays {
			minor := int64(1000 + r.IntN(50_000))
			o := &facts.Outcome{Day: first.AddDate(0, 0, day).Format(time.DateOnly), Currency: "BRL", TotalMinor: minor,
				Payout: facts.Payout{State: facts.PayoutNone}}
			touches := path()
			n := len(touches)
			for i, c := range touches {
				credit := facts.Credit{Position: i + 1, Channel: c.name, InfluencerID: c.influencer, CampaignID: c.campaign}
				for m := range credit.Parts {
					credit.Parts[m] = facts.Part{Given: true, Minor: minor / int64(n)}
				}
				o.Credits = append(o.Credits, credit)
				if c.influencer != "" {
					o.Payout = facts.Payout{State: facts.PayoutEarned, InfluencerID: c.influencer, CampaignID: c.campaign,
						CouponID: []string{"", c.coupon}[r.IntN(2)], CommissionMinor: minor / 10}
				}
			}
			is := &yes
			if r.IntN(3) == 0 {
				is = &no
			}
			orders = append(orders,
				rollup.Order{Outcome: o,
					Counted: rollup.Counted{First: is, Items: []wire.Item{{ProductID: fmt.Sprint("p", r.IntN(benchProducts)), Quantity: 1, Price: "10"}}}})
		}
		fix.Sum(company, orders...)
		fix.Traffic(company, visitorsOf(r, first.AddDate(0, 0, day).Format(time.DateOnly), came),
			opened(first.AddDate(0, 0, day).Format(time.DateOnly)))
	}
	nulls := make([][]string, benchPaths/benchDays)
	for day := range benchDays {
		for i := range nulls {
			nulls[i] = nil
			for _, c := range path() {
				nulls[i] = append(nulls[i], c.name)
			}
		}
		fix.NonConverting(company, first.AddDate(0, 0, day).Format(time.DateOnly), facts.FinalCount, nulls...)
	}
	fix.Analyze()
	return fix
}

// visitorsOf are the visitors of a day: of the store, by each influencer's campaign, and of
// each product.
func visitorsOf(r *rand.Rand, day string, came []string) (traffic []facts.Traffic) {
	traffic = append(traffic, facts.Traffic{Day: day, Visitors: [5]int64{benchVisits / benchDays}})
	for _, of := range came {
		traffic = append(traffic, facts.Traffic{Day: day, Subject: of, Visitors: [5]int64{int64(1 + r.IntN(100))}})
	}
	for p := range benchProducts {
		n := int64(1 + r.IntN(50))
		traffic = append(traffic, facts.Traffic{Day: day, Subject: fmt.Sprint("p:p", p), Visitors: [5]int64{0, 4 * n, 2 * n, n, n / 2}})
	}
	return traffic
}

// opened is how often each influencer's short link was opened on a day.
func opened(day string) (clicks []facts.Clicks) {
	for i := range benchInfluencers {
		clicks = append(clicks, facts.Clicks{Day: day, Code: fmt.Sprint("code", i), Clicks: 50})
	}
	return clicks
}

// BenchmarkReports reads each report of a store with a million orders in a year: of all
// of it by month and together, of a month by day and of a quarter by week. Each is to take
// 200 ms at most. What was computed before is remembered, as in a running service: the first
// reading, which remembers nothing, is told apart.
func BenchmarkReports(b *testing.B) {
	fix := fill(b)
	for _, spec := range reports.Specs() {
		for _, model := range append([]string{""}, spec.Models...) {
			for name, q := range map[string]reports.Query{
				"year":  {Start: "2025-01-01", End: "2025-12-31", By: reports.ByMonth},
				"month": {Start: "2025-06-01", End: "2025-06-30", By: reports.ByDay},
				"total": {Start: "2025-01-01", End: "2025-12-31", By: reports.ByTotal},
				"weeks": {Start: "2025-01-06", End: "2025-03-30", By: reports.ByWeek},
			} {
				q.CompanyID, q.Name, q.Model = fix.Store.Live.CompanyID, spec.Name, model
				if bad := q.Check(); bad.Any() {
					b.Fatal(bad.List)
				}
				b.Run(fmt.Sprintf("%s-%s-%s", spec.Name, model, name), func(b *testing.B) {
					fix.Forget()
					before := cpu(b, fix)
					if _, err := fix.DB.Report(context.Background(), q); err != nil {
						b.Fatal(err)
					}
					first := cpu(b, fix) - before
					before += first
					for b.Loop() {
						if _, err := fix.DB.Report(context.Background(), q); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(float64(first.Microseconds())/1000, "first-cpu-ms")
					b.ReportMetric(float64((cpu(b, fix)-before).Microseconds())/1000/float64(b.N), "cpu-ms/op")
				})
			}
		}
	}
}

// cpu is the CPU time so far of this process and of PostgreSQL for its connections: on a
// busy machine it says more than the time on the wall.
func cpu(b *testing.B, fix *reporttest.Fixture) (sum time.Duration) {
	b.Helper()
	for _, pid := range append(fix.Backends(), os.Getpid()) {
		used, err := procstat.CPU(pid)
		if err != nil {
			b.Skip("no CPU times here: ", err)
		}
		sum += used
	}
	return sum
}
