package report_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tributary-io/tributary/internal/reports"
	"github.com/tributary-io/tributary/internal/rollup"
)

// The most frequent paths of several months are found where they are the most frequent of no
// month, and where they are.
func TestTheMostFrequentPathsOfMonthsTogether(t *testing.T) {
	t.Parallel()
	s := sum(t)
	var orders []rollup.Order
	months := []string{"2026-01-15", "2026-02-15", "2026-03-15"}
	for n, day := range months {
		for i := range 1100 {
			o := s.order(day, 100, fmt.Sprint("m", n), fmt.Sprint("c", i))
			orders = append(orders, o, o)
		}
		orders = append(orders, s.order(day, 100, "seldom, but always"))
	}
	s.Sum(s.company, orders...)
	first := func(want string, count int64) {
		t.Helper()
		r := s.report(reports.Query{CompanyID: s.company, Name: reports.Paths, Start: "2026-01-01", End: "2026-03-31", By: reports.ByTotal})
		var all, listed int64
		for _, row := range r.Rows {
			all += row.Sums[0].IntPart()
			if row.Texts[0] != "" {
				listed++
			}
		}
		// The row of all others is the first.
		if got := r.Rows[1]; got.Texts[0] != want || got.Sums[0].IntPart() != count || listed != 200 || all != int64(len(orders)) {
			t.Errorf("%v with %s of %d orders is the first of %d paths, want %s with %d", got.Texts, got.Sums[0], all, listed, want, count)
		}
	}
	first("seldom, but always", 3)
	var frequent []rollup.Order
	for i := range 201 {
		for _, day := range months {
			for range 3 + i/200 {
				frequent = append(frequent, s.order(day, 100, "often", fmt.Sprint("f", i)))
			}
		}
	}
	s.Sum(s.company, frequent...)
	orders = append(orders, frequent...)
	first("often > f200", 12)
}

// The most frequent paths of months together are those of all paths, however they are found:
// many or few have more than one order, and their months differ.
func TestFrequentPathsOfMonthsAreThoseOfAllPaths(t *testing.T) {
	t.Parallel()
	for _, paths := range []int{150, 400, 2_500} {
		t.Run(fmt.Sprint(paths), func(t *testing.T) {
			t.Parallel()
			s, r := sum(t), rand.New(rand.NewPCG(5, uint64(paths)))
			var orders []rollup.Order
			all := map[string]map[string]int64{} // orders by period and path
			count := func(period, path string, n int64) {
				if all[period] == nil {
					all[period] = map[string]int64{}
				}
				all[period][path] += n
			}
			for i := range paths {
				path := fmt.Sprint("c", i)
				for month := range 4 {
					n := int64(1)
					if r.IntN(2) == 0 {
						n = 1 + int64(40*math.Pow(r.Float64(), 8))
					}
					if r.IntN(4) == 0 {
						continue
					}
					first := fmt.Sprintf("2026-%02d-01", month+1)
					for range n {
						orders = append(orders, s.order(first[:8]+"15", 100, path))
					}
					count(first, path, n)
					count("", path, n)
				}
			}
			s.Sum(s.company, orders...)
			for _, by := range []reports.By{reports.ByMonth, reports.ByTotal} {
				listed := map[string][]int64{}
				for _, row := range s.report(reports.Query{CompanyID: s.company, Name: reports.Paths, Start: "2026-01-01",
					End: "2026-04-30", By: by}).Rows {
					period, n := row.Period, row.Sums[0].IntPart()
					if by == reports.ByTotal {
						period = ""
					}
					if path := row.Texts[0]; path != "" {
						listed[period] = append(listed[period], n)
						if all[period][path] != n {
							t.Errorf("%s by %s has %d orders, want %d", path, by, n, all[period][path])
						}
					}
				}
				for period, want := range all {
					if (period == "") != (by == reports.ByTotal) {
						continue
					}
					most := slices.Sorted(maps.Values(want))
					slices.Reverse(most)
					if most = most[:min(200, len(most))]; !slices.Equal(listed[period], most) {
						t.Errorf("paths by %s of %q have %v orders, want %v", by, period, listed[period], most)
					}
				}
			}
		})
	}
}

// Paths of one order are listed too where fewer paths than the most have more.
func TestPathsOfOneOrderAreListedBesideFewFrequentOnes(t *testing.T) {
	t.Parallel()
	s := sum(t)
	var orders []rollup.Order
	for range 9 {
		orders = append(orders, s.order("2026-01-15", 100, "often"))
	}
	for i := range 5 {
		orders = append(orders, s.order("2026-01-15", 100, fmt.Sprint("once", i)))
	}
	s.Sum(s.company, orders...)
	for _, by := range []reports.By{reports.ByMonth, reports.ByTotal} {
		listed := map[string]int64{}
		for _, row := range s.report(reports.Query{CompanyID: s.company, Name: reports.Paths, Start: "2026-01-01",
			End: "2026-01-31", By: by}).Rows {
			listed[row.Texts[0]] = row.Sums[0].IntPart()
		}
		if want := map[string]int64{"often": 9, "once0": 1, "once1": 1, "once2": 1, "once3": 1, "once4": 1}; !maps.Equal(listed, want) {
			t.Errorf("by %s: %v, want %v", by, listed, want)
		}
	}
}
