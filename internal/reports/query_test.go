package reports

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
)

func TestQueriesSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	f := func(q Query, want string) {
		t.Helper()
		var fields []string
		for _, v := range q.Check().List {
			fields = append(fields, v.Field+" "+v.Code)
		}
		if got := strings.Join(fields, ", "); got != want {
			t.Errorf("%+v: %q, want %q", q, got, want)
		}
	}
	f(Query{Name: Costs, Start: "2026-03-01", End: "2026-03-01"}, "")
	f(Query{Name: Costs, Start: "2025-03-02", End: "2026-03-02"}, "")
	f(Query{Name: Costs, Start: "2025-03-01", End: "2026-03-02"}, "end_date out_of_range")
	f(Query{Name: Costs, Start: "2026-03-02", End: "2026-03-01"}, "end_date invalid_date")
	f(Query{Name: Costs, Start: "2026-2-1", End: "2200-01-01"}, "start_date invalid_date, end_date invalid_date")
	f(Query{Name: Costs}, "start_date required, end_date required")
	f(Query{Name: Costs, Start: "2026-03-01", End: "2026-03-01", By: "hour", Compare: "last", Model: "last", Currency: "brl"},
		"by invalid_value, compare invalid_value, model invalid_value, currency invalid_value")
}

func TestPeriodsOfAReport(t *testing.T) {
	t.Parallel()
	f := func(by By, start, end string, want ...string) {
		t.Helper()
		if got := (Query{By: by, Start: start, End: end}).Periods(); !slices.Equal(got, want) {
			t.Errorf("%s from %s to %s: %v, want %v", by, start, end, got, want)
		}
	}
	f(ByDay, "2028-02-28", "2028-03-01", "2028-02-28", "2028-02-29", "2028-03-01")
	f(ByWeek, "2026-03-01", "2026-03-09", "2026-02-23", "2026-03-02", "2026-03-09") // a Sunday; Mondays
	f(ByMonth, "2025-12-31", "2026-02-01", "2025-12-01", "2026-01-01", "2026-02-01")
	f(ByTotal, "2025-12-31", "2026-02-01", "2025-12-31")
}

func TestWholeMonthsOfAReport(t *testing.T) {
	t.Parallel()
	f := func(by By, start, end string, want ...string) {
		t.Helper()
		first, last, ok := (Query{By: by, Start: start, End: end}).Months()
		var got []string
		if ok {
			got = []string{first.Format(time.DateOnly), last.Format(time.DateOnly)}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s from %s to %s: %v, want %v", by, start, end, got, want)
		}
	}
	f(ByMonth, "2025-01-01", "2025-12-31", "2025-01-01", "2025-12-01")
	f(ByTotal, "2025-01-02", "2025-12-30", "2025-02-01", "2025-11-01")
	f(ByMonth, "2025-01-31", "2025-03-30", "2025-02-01", "2025-02-01")
	f(ByMonth, "2028-02-01", "2028-02-29", "2028-02-01", "2028-02-01")
	f(ByMonth, "2028-02-01", "2028-02-28")
	f(ByMonth, "2028-02-02", "2028-03-30")
	f(ByMonth, "2028-02-02", "2028-02-10")
	f(ByDay, "2025-01-01", "2025-12-31")
	f(ByWeek, "2025-01-01", "2025-12-31")
}

func TestComparedDays(t *testing.T) {
	t.Parallel()
	f := func(compare Comparison, start, end, wantStart, wantEnd string) {
		t.Helper()
		got, is := Query{Compare: compare, Start: start, End: end}.Compared()
		if !is || got.Start != wantStart || got.End != wantEnd || got.Compare != NoComparison {
			t.Errorf("%s of %s to %s: %+v, %t", compare, start, end, got, is)
		}
	}
	f(ComparePrevious, "2026-03-01", "2026-03-31", "2026-01-29", "2026-02-28")
	f(ComparePrevious, "2026-03-01", "2026-03-01", "2026-02-28", "2026-02-28")
	f(CompareYear, "2028-02-29", "2028-03-31", "2027-02-28", "2027-03-31")
	f(CompareMonth, "2026-11-01", "2026-11-23", "2026-10-01", "2026-10-23")
	f(CompareMonth, "2026-10-01", "2026-10-31", "2026-09-01", "2026-09-30")
	f(CompareMonth, "2026-09-01", "2026-09-30", "2026-08-01", "2026-08-31")
	f(CompareMonth, "2026-03-01", "2026-03-30", "2026-02-01", "2026-02-28")
	f(CompareMonth, "2028-03-29", "2028-03-29", "2028-02-29", "2028-02-29")
	f(CompareQuarter, "2027-01-01", "2027-02-03", "2026-10-01", "2026-11-03")
	f(CompareQuarter, "2026-07-01", "2026-09-30", "2026-04-01", "2026-06-30")
	f(CompareYear, "2026-03-01", "2026-03-31", "2025-03-01", "2025-03-31")
	if _, is := (Query{Start: "2026-03-01", End: "2026-03-01"}).Compared(); is {
		t.Error("compared without being asked")
	}
}

// Every period that a builder may be given is one that the query lists.
func TestEveryDayIsInAListedPeriod(t *testing.T) {
	t.Parallel()
	for _, by := range Bys {
		q := Query{By: by, Start: "2027-12-30", End: "2028-03-02"}
		first, last := q.Days()
		seen, ends := map[string]bool{}, map[string]string{}
		for day := first; !day.After(last); day = day.AddDate(0, 0, 1) {
			seen[q.PeriodOf(day)] = true
			ends[q.PeriodOf(day)] = day.Format(time.DateOnly)
		}
		periods := q.Periods()
		if len(periods) != len(seen) || !slices.IsSorted(periods) {
			t.Errorf("%s: %v", by, periods)
		}
		if list := q.Ends(); len(list) != len(periods) {
			t.Errorf("%s: ends %v", by, list)
		} else {
			for i, p := range periods {
				if list[i] != ends[p] {
					t.Errorf("%s: %s ends on %s, want %s", by, p, list[i], ends[p])
				}
			}
		}
		for _, p := range periods {
			if _, err := commerce.ParseDay(p, time.UTC); err != nil || !seen[p] {
				t.Errorf("%s: %s: %v", by, p, err)
			}
		}
	}
}
