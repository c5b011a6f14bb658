package reports

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"
)

// Report is a report as it stood at one instant.
type Report struct {
	Query      Query // with nothing left open
	Spec       *Spec
	AsOf       time.Time
	Rows       []Row
	Totals     Row     // of all periods and dimensions
	Comparison *Report // of the days with which it is compared; nil: of none
	// OtherCurrencies are the currencies, beside the report's, in which there are amounts
	// in its days.
	OtherCurrencies []string
	Nulls           *NullJourneys // of the reports channels and paths; nil: the report has none

	periods map[string]Row // the sums of all rows of a period, by period
}

// Row is one line: one period and one value of each dimension.
type Row struct {
	Period string            // its first day, YYYY-MM-DD; empty: of totals
	Texts  []string          // one for each of Spec.Dimensions; empty: there is none
	Sums   []decimal.Decimal // one for each of Spec.Metrics; those of quotients are not used
}

// Builder sums what is added to it into the rows of a report.
type Builder struct {
	query Query
	spec  *Spec
	rows  map[string]*Row
	nulls *NullJourneys
}

// NewBuilder begins a report. Nothing may be open in the query.
func NewBuilder(q Query) *Builder {
	return &Builder{query: q, spec: SpecOf(q.Name), rows: map[string]*Row{}}
}

// Add adds to metrics of a row: sums[i] to the one at columns[i]. period is one of
// Query.PeriodOf. It keeps texts. It returns ErrTooManyRows where the report would have
// too many rows.
func (b *Builder) Add(period string, texts []string, columns []int, sums []decimal.Decimal) error {
	key := period + "\x00" + strings.Join(texts, "\x00")
	row := b.rows[key]
	if row == nil {
		if len(b.rows) == MaxRows {
			return ErrTooManyRows
		}
		row = &Row{Period: period, Texts: texts, Sums: make([]decimal.Decimal, len(b.spec.Metrics))}
		b.rows[key] = row
	}
	for i, column := range columns {
		row.Sums[column] = plus(row.Sums[column], sums[i])
	}
	return nil
}

// SetNulls says how many null journeys the report's days have.
func (b *Builder) SetNulls(n NullJourneys) { b.nulls = &n }

// plus is a sum. Reports have many zeros, which need no memory.
func plus(a, b decimal.Decimal) decimal.Decimal {
	switch {
	case b.IsZero():
		return a
	case a.IsZero():
		return b
	}
	return a.Add(b)
}

// Report returns the report of what was added. Rows in which all is 0 are left out,
// but for those of Spec.Every.
func (b *Builder) Report(asOf time.Time) *Report {
	noRow := func() Row {
		return Row{Texts: make([]string, len(b.spec.Dimensions)), Sums: make([]decimal.Decimal, len(b.spec.Metrics))}
	}
	r := &Report{Query: b.query, Spec: b.spec, AsOf: asOf, Rows: []Row{}, Totals: noRow(), Nulls: b.nulls, periods: map[string]Row{}}
	if b.spec.Every {
		for _, period := range b.query.Periods() {
			_ = b.Add(period, make([]string, len(b.spec.Dimensions)), nil, nil) // few: MaxDays at most
		}
	}
	for _, row := range b.rows {
		if !b.spec.Every && !slices.ContainsFunc(row.Sums, func(d decimal.Decimal) bool { return !d.IsZero() }) {
			continue
		}
		r.Rows = append(r.Rows, *row)
		if _, known := r.periods[row.Period]; !known {
			r.periods[row.Period] = noRow()
		}
		of := r.periods[row.Period]
		for i, sum := range row.Sums {
			of.Sums[i] = plus(of.Sums[i], sum)
		}
	}
	totals := r.Totals
	for _, of := range r.periods {
		for i, sum := range of.Sums {
			totals.Sums[i] = plus(totals.Sums[i], sum)
		}
	}
	r.periods[""] = totals
	by := -1
	if b.spec.SortBy != "" {
		by = b.spec.Column(b.spec.SortBy)
	}
	slices.SortFunc(r.Rows, func(x, y Row) int {
		order := cmp.Compare(x.Period, y.Period)
		if order == 0 && by >= 0 {
			order = y.Sums[by].Cmp(x.Sums[by])
		}
		if order == 0 {
			order = slices.Compare(x.Texts, y.Texts)
		}
		return order
	})
	return r
}

// Value returns what a metric of a row is: money in minor units, quotients with six
// decimal places. ok is false where a quotient has the divisor 0.
func (r *Report) Value(row Row, column int) (value decimal.Decimal, ok bool) {
	m := r.Spec.Metrics[column]
	if !m.isQuotient() {
		return row.Sums[column], true
	}
	over, under := r.sum(row, m.Over), r.sum(row, m.Under)
	if m.Kind == Portion {
		under = r.sum(r.periods[row.Period], m.Over)
	}
	if under.IsZero() {
		return decimal.Zero, false
	}
	return over.DivRound(under, ratioDigits), true
}

// ratioDigits are the decimal places of a quotient.
const ratioDigits = 6

func (r *Report) sum(row Row, names []string) (sum decimal.Decimal) {
	for _, name := range names {
		sum = sum.Add(row.Sums[r.Spec.Column(name)])
	}
	return sum
}

// Page returns the report with the rows from a place on, at most limit of them, and
// whether there are more. The rows of the comparison are cut at the same places.
func (r *Report) Page(from, limit int) (page *Report, more bool) {
	cut := *r
	cut.Rows, more = window(r.Rows, from, limit)
	if r.Comparison != nil {
		compared, moreCompared := r.Comparison.Page(from, limit)
		cut.Comparison, more = compared, more || moreCompared
	}
	return &cut, more
}

func window(rows []Row, from, limit int) ([]Row, bool) {
	from = min(from, len(rows))
	to := min(from+limit, len(rows))
	return rows[from:to], to < len(rows)
}
