package reports

import (
	"cmp"
	"slices"
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
	key   []byte // of the row that was added to last
}

// NewBuilder begins a report. Nothing may be open in the query.
func NewBuilder(q Query) *Builder {
	return &Builder{query: q, spec: SpecOf(q.Name), rows: map[string]*Row{}}
}

// Add adds to metrics of a row: sums[i] to the one at columns[i]. period is one of
// Query.PeriodOf. It keeps texts. It returns ErrTooManyRows where the report would have
// too many rows.
func (b *Builder) Add(period string, texts []string, columns []int, sums []decimal.Decimal) error {
	key := append(b.key[:0], period...)
	for _, text := range texts {
		key = append(append(key, 0), text...)
	}
	b.key = key
	row := b.rows[string(key)]
	if row == nil {
		if len(b.rows) == MaxRows {
			return ErrTooManyRows
		}
		row = &Row{Period: period, Texts: texts, Sums: make([]decimal.Decimal, len(b.spec.Metrics))}
		b.rows[string(key)] = row
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
	r.sort(by)
	return r
}

// sort orders the rows: by period, then the greatest of a metric first, then by their texts.
// by is -1 where the texts alone order them.
func (r *Report) sort(by int) {
	type place struct {
		row   *Row
		sum   int64 // of the metric, in millionths
		exact bool  // it is that
	}
	places := make([]place, len(r.Rows))
	for i := range r.Rows {
		places[i] = place{row: &r.Rows[i], exact: true}
		if by >= 0 {
			places[i].sum, places[i].exact = millionths(r.Rows[i].Sums[by])
		}
	}
	slices.SortFunc(places, func(x, y place) int {
		order := cmp.Compare(x.row.Period, y.row.Period)
		switch {
		case order != 0 || by < 0:
		case x.exact && y.exact:
			order = cmp.Compare(y.sum, x.sum)
		default:
			order = y.row.Sums[by].Cmp(x.row.Sums[by])
		}
		if order == 0 {
			order = slices.Compare(x.row.Texts, y.row.Texts)
		}
		return order
	})
	rows := make([]Row, len(places))
	for i, p := range places {
		rows[i] = *p.row
	}
	r.Rows = rows
}

// millionths returns a number times a million; ok is false where that is not whole, or too
// great. To compare two such is some ten times as fast.
func millionths(d decimal.Decimal) (n int64, ok bool) {
	const digits, most = 6, 1 << 62
	coefficient := d.Coefficient()
	if !coefficient.IsInt64() || d.Exponent() < -digits {
		return 0, false
	}
	n = coefficient.Int64()
	for range d.Exponent() + digits {
		if n > most/10 || n < -most/10 {
			return 0, false
		}
		n *= 10
	}
	return n, true
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
