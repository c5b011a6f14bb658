package report

import (
	"testing"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/reports"
)

// A figure that is not shown for the days before is not compared with: orders came without visits then.
func TestAFigureThatIsNotShownIsNotComparedWith(t *testing.T) {
	t.Parallel()
	languages, err := site.LoadTexts()
	if err != nil {
		t.Fatal(err)
	}
	l, spec := languages.Of("en"), reports.SpecOf(reports.Sales)
	days := func(orders, visits int64) *reports.Report {
		sums := make([]decimal.Decimal, len(spec.Metrics))
		for i, m := range spec.Metrics {
			switch m.Name {
			case "orders":
				sums[i] = decimal.NewFromInt(orders)
			case "visits":
				sums[i] = decimal.NewFromInt(visits)
			}
		}
		return &reports.Report{Spec: spec, Totals: reports.Row{Sums: sums}}
	}
	f := func(now, before *reports.Report, want string) {
		t.Helper()
		now.Comparison = before
		if got := changeOf(l, now, "conversion"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	f(days(40, 100), days(200, 100), "")
	f(days(200, 100), days(40, 100), "before: 40.0%")
	f(days(50, 100), days(40, 100), "+10 points · before: 40.0%")
}
