package commerce

import (
	"testing"
	"time"
)

func TestCostsProjectToDaysAndSumExactly(t *testing.T) {
	t.Parallel()
	f := func(frequency string, value int64, start, end, from, to string, want int64) {
		t.Helper()
		cost := AdditionalCost{ValueMinor: value, Frequency: frequency, StartDate: start, EndDate: end}
		first, _ := time.Parse(time.DateOnly, from)
		last, _ := time.Parse(time.DateOnly, to)
		var sum int64
		for day := first; !day.After(last); day = day.AddDate(0, 0, 1) {
			minor, _ := cost.On(day)
			sum += minor
		}
		var each int64
		cost.Each(first, last, func(day time.Time, minor int64) {
			if on, inForce := cost.On(day); !inForce || on != minor {
				t.Errorf("%s on %s: %d, and On says %d, %t", frequency, day, minor, on, inForce)
			}
			each += minor
		})
		if each != sum {
			t.Errorf("%s from %s: each day together %d, want %d", frequency, start, each, sum)
		}
		if sum != want {
			t.Errorf("%s %d from %s to %q over %s..%s = %d, want %d", frequency, value, start, end, from, to, sum, want)
		}
	}
	f(Specific, 1000, "2026-02-10", "", "2026-02-01", "2026-02-28", 1000)
	f(Specific, 1000, "2026-02-10", "", "2026-02-11", "2026-02-28", 0)
	f(Daily, 1000, "2026-02-10", "2026-02-12", "2026-02-01", "2026-02-28", 3000)
	f(Weekly, 1000, "2026-02-10", "", "2026-02-10", "2026-02-16", 1000)
	f(Weekly, 1000, "2026-02-10", "", "2026-02-13", "2026-02-19", 1000) // any seven days
	f(Weekly, 1000, "2026-02-10", "", "2026-02-10", "2026-02-10", 143)
	f(Weekly, 1000, "2026-02-10", "", "2026-02-16", "2026-02-16", 142)
	f(Monthly, 1000, "2026-01-01", "", "2026-02-01", "2026-02-28", 1000)
	f(Monthly, 1000, "2026-01-01", "", "2028-02-01", "2028-02-29", 1000)
	f(Monthly, 1000, "2026-01-01", "", "2026-01-01", "2026-12-31", 12000)
	f(Monthly, 1000, "2026-01-01", "", "2026-02-01", "2026-02-01", 36)
	f(Monthly, 1000, "2026-01-01", "", "2026-02-28", "2026-02-28", 35)
}

func TestVersionsOfACostCountOnTheirDays(t *testing.T) {
	t.Parallel()
	first, last := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 3, 31, 0, 0, 0, 0, time.UTC)
	for _, cost := range []AdditionalCost{
		{ValueMinor: 100, Frequency: Daily, StartDate: "2026-02-10", Since: "2026-02-12", Until: "2026-02-15"},
		{ValueMinor: 100, Frequency: Specific, StartDate: "2026-02-10", Since: "2026-02-12"},
		{ValueMinor: 100, Frequency: Specific, StartDate: "2026-02-10", Until: "2026-02-10"},
		{ValueMinor: 100, Frequency: Weekly, StartDate: "2026-02-10", EndDate: "2026-03-20", Until: "2026-03-01"},
		{ValueMinor: 100, Frequency: Monthly, StartDate: "2025-02-10", Since: "2026-02-28", EndDate: "2026-03-30"},
	} {
		var want, got int64
		for day := first; !day.After(last); day = day.AddDate(0, 0, 1) {
			minor, _ := cost.On(day)
			want += minor
		}
		cost.Each(first, last, func(_ time.Time, minor int64) { got += minor })
		if got != want {
			t.Errorf("%+v: %d, want %d", cost, got, want)
		}
	}
}
