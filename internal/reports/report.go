package reports

import (
	"maps"
	"slices"
	"time"

	"github.com/shopspring/decimal"
)

// Report is a report as it stood at one instant.
type Report struct {
	Query Query // with nothing left open
	Spec  *Spec
	AsOf  time.Time
	// FromStandby: it was read from a standby, which had at AsOf everything that was stored, and may have newer.
	FromStandby bool
	Rows        []Row
	Totals      Row     // of all periods and dimensions
	Comparison  *Report // of the days with which it is compared; nil: of none
	// OtherCurrencies are the currencies, beside the report's, in which there are amounts
	// in its days.
	OtherCurrencies []string
	NonConverting   *NonConvertingPaths // of the reports channels and paths; nil: the report has none

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
	query   Query
	spec    *Spec
	periods map[string]*builtPeriod
	rows    int // of all periods
	nulls   *NonConvertingPaths
	key     []byte // of the row that was added to last
}

// builtPeriod is what was added of one period.
type builtPeriod struct {
	name   string
	rows   []builtRow
	places map[string]int32 // of rows, by their texts
	free   []sum            // the sums of rows to come
}

type builtRow struct {
	texts []string
	sums  []sum // one for each of Spec.Metrics
}

// NewBuilder begins a report. Nothing may be open in the query.
func NewBuilder(q Query) *Builder { return newBuilder(q, SpecOf(q.Name)) }

func newBuilder(q Query, spec *Spec) *Builder {
	return &Builder{query: q, spec: spec, periods: map[string]*builtPeriod{}}
}

// Add adds to metrics of a row: sums[i] to the one at columns[i]. period is one of
// Query.PeriodOf. It keeps texts. It returns ErrTooManyRows where the report would have
// too many rows.
func (b *Builder) Add(period string, texts []string, columns []int, sums []decimal.Decimal) error {
	row, err := b.row(period, texts)
	if err != nil {
		return err
	}
	for i, column := range columns {
		row.sums[column].add(sums[i])
	}
	return nil
}

// AddCounts adds whole numbers, as Add does.
func (b *Builder) AddCounts(period string, texts []string, columns []int, counts []int64) error {
	row, err := b.row(period, texts)
	if err != nil {
		return err
	}
	for i, column := range columns {
		row.sums[column].addWhole(counts[i])
	}
	return nil
}

// row returns the row of a period that has the texts, which it keeps.
func (b *Builder) row(period string, texts []string) (*builtRow, error) {
	p := b.periods[period]
	if p == nil {
		p = &builtPeriod{name: period, places: map[string]int32{}}
		b.periods[period] = p
	}
	key := b.key[:0]
	for _, text := range texts {
		key = append(append(key, text...), 0)
	}
	b.key = key
	if place, known := p.places[string(key)]; known {
		return &p.rows[place], nil
	}
	if b.rows == MaxRows {
		return nil, ErrTooManyRows
	}
	n := len(b.spec.Metrics)
	if len(p.free) < n {
		p.free = make([]sum, n*min(len(p.rows)+1, sumsAtOnce))
	}
	b.rows++
	p.places[string(key)] = int32(len(p.rows))
	p.rows = append(p.rows, builtRow{texts, p.free[:n:n]})
	p.free = p.free[n:]
	return &p.rows[len(p.rows)-1], nil
}

// sumsAtOnce is of how many rows of a period the sums are made together, at most.
const sumsAtOnce = 256

// SetNonConverting says how many non-converting paths the report's days have.
func (b *Builder) SetNonConverting(n NonConvertingPaths) { b.nulls = &n }

// Report returns the report of what was added. Rows in which all is 0 are left out,
// but for those of Spec.Every.
func (b *Builder) Report(asOf time.Time) *Report {
	r := &Report{Query: b.query, Spec: b.spec, AsOf: asOf, Rows: make([]Row, 0, b.rows), NonConverting: b.nulls, periods: map[string]Row{}}
	if b.spec.Every {
		for _, period := range b.query.Periods() {
			_ = b.Add(period, make([]string, len(b.spec.Dimensions)), nil, nil) // few: MaxDays at most
		}
	}
	totals := b.noRow()
	for _, name := range slices.Sorted(maps.Keys(b.periods)) {
		p, of := b.periods[name], b.noRow()
		if !b.spec.Every {
			p.rows = slices.DeleteFunc(p.rows, func(row builtRow) bool {
				return !slices.ContainsFunc(row.sums, func(s sum) bool { return !s.isZero() })
			})
			if len(p.rows) == 0 {
				continue
			}
		}
		p.sort(b.spec)
		for _, row := range p.rows {
			of.plus(row)
			r.Rows = append(r.Rows, row.row(name))
		}
		totals.plus(of)
		r.periods[name] = of.row("")
	}
	r.Totals = totals.row("")
	r.periods[""] = r.Totals
	return r
}

func (b *Builder) noRow() builtRow {
	return builtRow{make([]string, len(b.spec.Dimensions)), make([]sum, len(b.spec.Metrics))}
}

func (r builtRow) plus(other builtRow) {
	for i := range other.sums {
		r.sums[i].plus(&other.sums[i])
	}
}

func (r builtRow) row(period string) Row {
	row := Row{Period: period, Texts: r.texts, Sums: make([]decimal.Decimal, len(r.sums))}
	for i := range r.sums {
		row.Sums[i] = r.sums[i].decimal()
	}
	return row
}

// sort orders the rows: the greatest of a metric first, then by their texts, which alone
// order those of a report without such a metric.
func (p *builtPeriod) sort(spec *Spec) {
	by := -1
	if spec.SortBy != "" {
		by = spec.Column(spec.SortBy)
	}
	slices.SortFunc(p.rows, func(x, y builtRow) int {
		if by >= 0 {
			if order := y.sums[by].compare(&x.sums[by]); order != 0 {
				return order
			}
		}
		return slices.Compare(x.texts, y.texts)
	})
}

// Value returns what a metric of a row is: money in minor units, quotients with six
// decimal places. ok is false where a quotient has a divisor of 0, and where one that is no Portion has less.
func (r *Report) Value(row Row, column int) (value decimal.Decimal, ok bool) {
	m := r.Spec.Metrics[column]
	if !m.isQuotient() {
		return row.Sums[column], true
	}
	over, under := r.sum(row, m.Over), r.sum(row, m.Under)
	if m.Kind == Portion {
		under = r.sum(r.periods[row.Period], m.Over)
	}
	if under.IsZero() || under.IsNegative() && m.Kind != Portion {
		return decimal.Zero, false
	}
	return over.DivRound(under, ratioDigits), true
}

// ratioDigits are the decimal places of a quotient.
const ratioDigits = 6

func (r *Report) sum(row Row, names []string) (all decimal.Decimal) {
	for _, name := range names {
		all = all.Add(row.Sums[r.Spec.Column(name)])
	}
	return all
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

// UnknownCode is a discount code that is no influencer's, with the approved orders that have it.
type UnknownCode struct {
	Code       string
	Orders     int64
	SalesMinor decimal.Decimal // minor units of the report's currency
}
