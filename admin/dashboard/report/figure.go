package report

import (
	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/lang"
	"github.com/tributary-io/tributary/internal/reports"
)

// percentages are the quotients that are written as parts of a hundred.
var percentages = map[string]bool{"attributed_share": true, "conversion": true, "share": true}

// figureOf writes a metric of a row as people read it: "–" where a quotient has none.
func figureOf(l *lang.Printer, r *reports.Report, row reports.Row, name string) string {
	column := r.Spec.Column(name)
	value, ok := r.Value(row, column)
	if !ok {
		return "–"
	}
	switch r.Spec.Metrics[column].Kind {
	case reports.Money, reports.MoneyRatio:
		return l.Sum(value.Round(0), r.Query.Currency)
	case reports.Count:
		return l.Count(value.IntPart())
	case reports.Share, reports.Ratio, reports.Portion:
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
	now, known := r.Value(r.Totals, column)
	then, knownThen := r.Comparison.Value(r.Comparison.Totals, column)
	difference := now.Sub(then)
	switch {
	case !known && !knownThen:
		return ""
	case !known || !knownThen || then.IsZero() && !percentages[name] && !now.IsZero():
		return l.T("report.before", before)
	case difference.IsZero():
		return l.T("report.same")
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

// part is how much of a whole something is, in whole percent, for a bar.
func part(some, whole decimal.Decimal) int {
	if !whole.IsPositive() || !some.IsPositive() {
		return 0
	}
	return int(min(100, some.Shift(2).DivRound(whole, 0).IntPart()))
}
