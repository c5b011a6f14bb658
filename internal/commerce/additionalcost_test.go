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
