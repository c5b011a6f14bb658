package report

import (
	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/lang"
	"github.com/tributary-io/tributary/internal/reports"
)

// percentages are the quotients that are written as parts of a hundred.
var percentages = map[string]bool{"attributed_share": true, "conversion": true, "share": true}

// noFigure stands where a quotient has no value, or one that says nothing.
const noFigure = "–"

// figureOf writes a metric of a row as people read it, or noFigure.
func figureOf(l *lang.Printer, r *reports.Report, row reports.Row, name string) string {
	column := r.Spec.Column(name)
	value, ok := r.Value(row, column)
	if !ok {
		return noFigure
	}
	switch r.Spec.Metrics[column].Kind {
	case reports.Money, reports.MoneyRatio:
		return l.Sum(value.Round(0), r.Query.Currency)
	case reports.Count:
		return l.Count(value.IntPart())
	case reports.Share, reports.Ratio, reports.Portion:
	}
	if name == "conversion" && value.GreaterThan(decimal.NewFromInt(1)) {
		return noFigure // orders came without visits: it says nothing
	}
	if percentages[name] {
		return l.Share(value, decimal.NewFromInt(1))
	}
	return l.Number(value.Round(2))
}

// changeOf tells how a total differs from that of the days before: "+12.5%", and of a
// percentage in points.
func changeOf(l *lang.Printer, r *reports.Report, name string) string {
	if r.Comparison == nil {
		return ""
	}
	before := figureOf(l, r.Comparison, r.Comparison.Totals, name)
	column := r.Spec.Column(name)
	now, _ := r.Value(r.Totals, column)
	then, _ := r.Comparison.Value(r.Comparison.Totals, column)
	difference := now.Sub(then)
	switch {
	case before == noFigure:
		return ""
	case figureOf(l, r, r.Totals, name) == noFigure:
		return l.T("report.before", before)
	case difference.IsZero():
		return l.T("report.same")
	case then.IsZero() && !percentages[name] || !comparable(r.Comparison, column):
		return l.T("report.before", before)
	}
	sign := "+"
	if difference.IsNegative() {
		sign = "−"
	}
	text := l.Share(difference.Abs(), then.Abs())
	if percentages[name] {
		text = l.T("report.points", l.Number(difference.Abs().Shift(2).Round(1)))
	}
	return l.T("report.change", sign+text, before)
}

// fewestCompared is how many orders, or of what a metric counts, the days before need: of fewer, one more or less is
// already three percent.
const fewestCompared = 30

// comparable reports whether a percentage against the totals of the days before says something.
func comparable(before *reports.Report, column int) bool {
	if before.Spec.Metrics[column].Kind != reports.Count {
		column = before.Spec.Column("orders")
	}
	return before.Totals.Sums[column].GreaterThanOrEqual(decimal.NewFromInt(fewestCompared))
}

// part is how much of a whole something is, in whole percent, for a bar.
func part(some, whole decimal.Decimal) int {
	if !whole.IsPositive() || !some.IsPositive() {
		return 0
	}
	return int(min(100, some.Shift(2).DivRound(whole, 0).IntPart()))
}
