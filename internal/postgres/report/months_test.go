package report_test

import (
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/models"
	"github.com/tributary-io/tributary/internal/reports"
	"github.com/tributary-io/tributary/internal/rollup"
	"github.com/tributary-io/tributary/internal/wire"
)

// soldOrder is what a test knows of an order.
type soldOrder struct {
	day, item string
	minor     int64
	path      []string
}

// TestLongReportsAreThoseOfAllOrders: reports whose periods have whole months, read from
// the sums of months, and days before and after them, are what all orders of their periods
// come to.
func TestLongReportsAreThoseOfAllOrders(t *testing.T) {
	t.Parallel()
	s := sum(t)
	r := rand.New(rand.NewPCG(4, 9))
	names := []string{"Direct", "Email", "Organic Search", "Paid Search", "Referral", "Display"}
	untouched := []string{"coupon:Ana Prado", "coupon:Beto", "unattributed"} // alone in their paths
	first := time.Date(2025, 11, 1, 0, 0, 0, 0, time.UTC)
	var sold []soldOrder
	var orders []rollup.Order
	for range 400 {
		o := soldOrder{day: first.AddDate(0, 0, r.IntN(150)).Format(time.DateOnly), item: fmt.Sprint("p", r.IntN(5)),
			minor: int64(1 + r.IntN(9999))}
		for range 1 + r.IntN(5) {
			o.path = append(o.path, names[r.IntN(len(names))])
		}
		if r.IntN(4) == 0 {
			o.path = []string{untouched[r.IntN(len(untouched))]}
		}
		sold = append(sold, o)
		order := s.order(o.day, o.minor, o.path...)
		order.Items = []wire.Item{{ProductID: o.item, Quantity: 2, Price: "1.25"}}
		orders = append(orders, order)
	}
	s.Sum(s.company, orders...)
	nulls := map[string][][]string{} // non-converting paths, by day
	for range 80 {
		var path []string
		for range 1 + r.IntN(4) {
			path = append(path, names[r.IntN(len(names))])
		}
		day := first.AddDate(0, 0, r.IntN(150)).Format(time.DateOnly)
		nulls[day] = append(nulls[day], path)
	}
	for day, paths := range nulls {
		s.NonConverting(s.company, day, facts.FinalCount, paths...)
	}
	came := map[string]int64{} // visitors by day, and half as many who looked at p1
	var traffic []facts.Traffic
	for range 300 {
		day, n := first.AddDate(0, 0, r.IntN(150)).Format(time.DateOnly), int64(1+r.IntN(50))
		came[day] += 2 * n
		traffic = append(traffic, facts.Traffic{Day: day, Visitors: [5]int64{2 * n}},
			facts.Traffic{Day: day, Subject: "p:p1", Visitors: [5]int64{0, n}})
	}
	for chunk := range slices.Chunk(traffic, 2) { // a day may come twice
		s.Traffic(s.company, chunk, []facts.Clicks{{Day: chunk[0].Day, Code: "x", Clicks: 1}})
	}
	for range 25 {
		from := first.AddDate(0, 0, r.IntN(100))
		q := reports.Query{CompanyID: s.company, Start: from.Format(time.DateOnly), End: from.AddDate(0, 0, r.IntN(120)).Format(time.DateOnly),
			By: []reports.By{reports.ByMonth, reports.ByTotal, reports.ByWeek}[r.IntN(3)]}
		if r.IntN(3) == 0 { // whole months alone
			q.Start, q.End, q.By = "2025-12-01", "2026-02-28", reports.ByMonth
		}
		of := map[string][]soldOrder{} // by period
		for _, o := range sold {
			if day, _ := time.Parse(time.DateOnly, o.day); q.Start <= o.day && o.day <= q.End {
				of[q.PeriodOf(day)] = append(of[q.PeriodOf(day)], o)
			}
		}
		s.wantItemsAndPaths(q, of)
		s.wantVisitors(q, came)
		for _, model := range []string{models.Markov, models.Shapley} {
			q.Name, q.Model = reports.Channels, model
			s.wantCredits(q, of, nulls, append(slices.Clone(names), untouched...))
		}
		s.wantShapleyOfOrders(q, sold)
	}
}

// wantShapleyOfOrders compares the report by shapley with its definition, order by order: each
// distinct channel of an order has an equal part of it. So the parts of all periods together are
// the same however the days are divided into periods, but for the rounding of each row.
func (s *summed) wantShapleyOfOrders(q reports.Query, sold []soldOrder) {
	s.t.Helper()
	want := map[string]*big.Rat{}
	for _, o := range sold {
		if o.day < q.Start || q.End < o.day {
			continue
		}
		distinct := slices.Compact(slices.Sorted(slices.Values(o.path)))
		for _, channel := range distinct {
			if want[channel] == nil {
				want[channel] = new(big.Rat)
			}
			want[channel].Add(want[channel], big.NewRat(1, int64(len(distinct))))
		}
	}
	q.Name, q.Model = reports.Channels, models.Shapley
	for _, q.By = range []reports.By{reports.ByTotal, reports.ByMonth, reports.ByWeek} {
		report := s.report(q)
		got := map[string]*big.Rat{}
		for _, row := range report.Rows {
			orders, _ := report.Value(row, report.Spec.Column("credited_orders"))
			if got[row.Texts[0]] == nil {
				got[row.Texts[0]] = new(big.Rat)
			}
			got[row.Texts[0]].Add(got[row.Texts[0]], orders.Rat())
		}
		rounding := big.NewRat(int64(len(q.Periods())), 1e6) // a unit of the sixth place in each period
		for channel, orders := range want {
			if got[channel] == nil || new(big.Rat).Abs(new(big.Rat).Sub(got[channel], orders)).Cmp(rounding) > 0 {
				s.t.Errorf("shapley from %s to %s by %s: %s has %v orders, want %s", q.Start, q.End, q.By, channel, got[channel], orders.FloatString(6))
			}
		}
	}
}

// wantItemsAndPaths compares the reports products and paths with the orders of each period.
func (s *summed) wantItemsAndPaths(q reports.Query, of map[string][]soldOrder) {
	s.t.Helper()
	type sums struct{ orders, minor int64 }
	items, paths := map[string]sums{}, map[string]sums{}
	for period, list := range of {
		for _, o := range list {
			add := func(to map[string]sums, key string, minor int64) {
				had := to[period+" "+key]
				to[period+" "+key] = sums{had.orders + 1, had.minor + minor}
			}
			add(items, o.item, 250)
			add(paths, strings.Join(o.path, " > "), o.minor)
		}
	}
	for name, want := range map[reports.Name]map[string]sums{reports.Products: items, reports.Paths: paths} {
		q.Name, q.Model = name, ""
		report := s.report(q)
		got := map[string]sums{}
		for _, row := range report.Rows {
			orders, _ := report.Value(row, report.Spec.Column("orders"))
			sales, _ := report.Value(row, report.Spec.Column("sales"))
			got[row.Period+" "+strings.Join(slices.DeleteFunc(slices.Clone(row.Texts), func(t string) bool {
				return t == ""
			}), " ")] = sums{orders.IntPart(), sales.IntPart()}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			s.t.Errorf("%s from %s to %s by %s:\n%v, want\n%v", name, q.Start, q.End, q.By, got, want)
		}
	}
}

// wantVisitors compares the visits of the report sales, and an item's of the funnel.
func (s *summed) wantVisitors(q reports.Query, came map[string]int64) {
	s.t.Helper()
	want := map[string]int64{}
	for text, n := range came {
		if day, _ := time.Parse(time.DateOnly, text); q.Start <= text && text <= q.End {
			want[q.PeriodOf(day)] += n
		}
	}
	for name, column := range map[reports.Name]string{reports.Sales: "visits", reports.Funnel: "viewed"} {
		q.Name, q.Model = name, ""
		report := s.report(q)
		got := map[string]int64{}
		for _, row := range report.Rows {
			if n, _ := report.Value(row, report.Spec.Column(column)); n.IsPositive() {
				got[row.Period] += n.IntPart()
			}
		}
		for period, n := range want {
			if name == reports.Funnel {
				n /= 2
			}
			if got[period] != n {
				s.t.Errorf("%s from %s to %s by %s: %d in %s, want %d", name, q.Start, q.End, q.By, got[period], period, n)
			}
		}
		if len(got) != len(want) {
			s.t.Errorf("%s from %s to %s by %s: %v, want %v", name, q.Start, q.End, q.By, got, want)
		}
	}
}

// wantCredits compares what a model of many paths gives with what it gives for the paths of
// each period's orders. By markov all of an order without a touch is its channel's.
func (s *summed) wantCredits(q reports.Query, of map[string][]soldOrder, nulls map[string][][]string, names []string) {
	s.t.Helper()
	report := s.report(q)
	for period, list := range of {
		var paths []models.Path
		orders, sales := map[string]int64{}, map[string]int64{} // without a touch, by channel
		for _, o := range list {
			if channel := o.path[0]; q.Model == models.Markov && attribution.IsUntouched(channel) {
				orders[channel]++
				sales[channel] += o.minor
				continue
			}
			p := models.Path{Conversions: big.NewInt(1), Null: new(big.Int), Value: big.NewInt(o.minor)}
			for _, name := range o.path {
				p.Channels = append(p.Channels, int32(slices.Index(names, name)))
			}
			paths = append(paths, p)
		}
		for text, list := range nulls {
			if day, _ := time.Parse(time.DateOnly, text); text < q.Start || q.End < text || q.PeriodOf(day) != period {
				continue
			}
			for _, path := range list {
				p := models.Path{Conversions: new(big.Int), Null: big.NewInt(1), Value: new(big.Int)}
				for _, name := range path {
					p.Channels = append(p.Channels, int32(slices.Index(names, name)))
				}
				paths = append(paths, p)
			}
		}
		weights := models.OverPaths(q.Model, paths, make([]bool, len(names)))
		conversions, value := models.Totals(paths)
		for _, row := range report.Rows {
			if row.Period != period {
				continue
			}
			at, channel := slices.Index(names, row.Texts[0]), row.Texts[0]
			for column, parts := range map[string][]*big.Int{
				"credited_orders": divide(new(big.Int).Mul(conversions, big.NewInt(1e6)), weights.Conversions),
				"credited_sales":  divide(value, weights.Value),
			} {
				got, _ := report.Value(row, report.Spec.Column(column))
				if column == "credited_orders" {
					got = got.Shift(6)
				}
				if orders[channel] > 0 {
					parts[at] = big.NewInt(map[string]int64{"credited_orders": orders[channel] * 1e6, "credited_sales": sales[channel]}[column])
				}
				// Of equal remainders it is the channels' order that decides.
				if got.Sub(decimal.NewFromBigInt(parts[at], 0)).Abs().GreaterThan(decimal.NewFromInt(1)) {
					s.t.Errorf("%s from %s to %s by %s: %s of %s in %s is %s, want %s", q.Model, q.Start, q.End, q.By, column, row.Texts[0],
						period, got, parts[at])
				}
			}
		}
	}
	sales, _ := report.Value(report.Totals, report.Spec.Column("credited_sales"))
	want := int64(0)
	for _, list := range of {
		for _, o := range list {
			want += o.minor
		}
	}
	if sales.IntPart() != want {
		s.t.Errorf("%s from %s to %s by %s: %s in all, want %d", q.Model, q.Start, q.End, q.By, sales, want)
	}
}

// divide is models.Divide; nothing where no path has orders.
func divide(total *big.Int, weights []*big.Int) []*big.Int {
	if total.Sign() == 0 {
		return weights
	}
	return models.Divide(total, weights)
}

func (s *summed) report(q reports.Query) *reports.Report {
	s.t.Helper()
	r, err := s.DB.Report(s.t.Context(), q)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// Markov's memory grows with the square of the channels: beyond a bound it refuses.
func TestMarkovOverTooManyChannelsIsRefused(t *testing.T) {
	t.Parallel()
	s := sum(t)
	var channels []string
	for i := range reports.MaxMarkovChannels + 1 {
		channels = append(channels, fmt.Sprint("channel ", i))
	}
	s.Sum(s.company, s.order("2026-03-01", 100, channels[:len(channels)-1]...))
	// Channels of non-converting paths alone are one more, which gets nothing: a stranger can make them.
	s.NonConverting(s.company, "2026-03-01", facts.FinalCount, []string{channels[0], "another", "one more"}, []string{"one more", channels[0]})
	q := reports.Query{CompanyID: s.company, Name: reports.Channels, Start: "2026-03-01", End: "2026-03-31", Model: models.Markov}
	for _, by := range []reports.By{reports.ByDay, reports.ByMonth} {
		q.By = by
		if n := len(s.report(q).Rows); n != reports.MaxMarkovChannels {
			t.Errorf("by %s: %d channels, want %d", by, n, reports.MaxMarkovChannels)
		}
	}
	s.Sum(s.company, s.order("2026-03-02", 100, channels[len(channels)-1]))
	for _, by := range []reports.By{reports.ByDay, reports.ByMonth} {
		q.By = by
		if _, err := s.DB.Report(t.Context(), q); !errors.Is(err, reports.ErrTooManyChannels) {
			t.Errorf("by %s: %v, want %v", by, err, reports.ErrTooManyChannels)
		}
	}
	q.Model = models.Shapley
	s.report(q)
}

// A report of more items than it may have rows is refused, and not cut short.
func TestAReportOfTooManyItemsIsRefused(t *testing.T) {
	t.Parallel()
	s := sum(t)
	order := s.order("2026-03-01", 100, "Direct")
	for i := range reports.MaxRows + 1 {
		order.Items = append(order.Items, wire.Item{ItemID: fmt.Sprint("i", i), Quantity: 1, Price: "1"})
	}
	s.Sum(s.company, order)
	for _, by := range []reports.By{reports.ByDay, reports.ByMonth} {
		q := reports.Query{CompanyID: s.company, Name: reports.Products, Start: "2026-03-01", End: "2026-03-31", By: by}
		if _, err := s.DB.Report(t.Context(), q); !errors.Is(err, reports.ErrTooManyRows) {
			t.Errorf("by %s: %v, want %v", by, err, reports.ErrTooManyRows)
		}
	}
}
