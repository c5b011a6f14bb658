package report_test

import (
	"fmt"
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
