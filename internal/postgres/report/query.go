package report

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/reports"
)

// reading is the reading of one report, in one snapshot.
type reading struct {
	tx    pgx.Tx
	query reports.Query // with nothing left open
	zone  *time.Location
	asOf  time.Time
	known *remembered
	later func(ctx context.Context) error // computes what needs no database; nil: nothing
	*reports.Builder
}

// computeTime bounds what a report computes once all is read, which is no wait for the
// database: the models of many paths of many channels.
const computeTime = 8 * time.Second

// computing is a context that ends after computeTime, and before where the caller ends ctx; ctx's own
// deadline is for reading.
func computing(ctx context.Context) (context.Context, context.CancelFunc) {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), computeTime)
	stop := context.AfterFunc(ctx, func() {
		if errors.Is(ctx.Err(), context.Canceled) {
			cancel()
		}
	})
	return limited, func() { stop(); cancel() }
}

// loaders add to a report what it is made of.
var loaders = map[reports.Name][]func(r *reading, ctx context.Context) error{
	reports.Sales: {(*reading).sales, (*reading).costsOfStore, (*reading).visitsOfStore, (*reading).clicksOfStore},
	reports.Influencers: {(*reading).salesOfInfluencers, (*reading).costsOfInfluencers, (*reading).creditsOfInfluencers,
		(*reading).visitsOfInfluencers, (*reading).clicksOfInfluencers},
	reports.Coupons:  {(*reading).coupons},
	reports.Channels: {(*reading).channels, (*reading).nulls},
	reports.Products: {(*reading).products},
	reports.Funnel:   {(*reading).funnel},
	reports.Paths:    {(*reading).paths, (*reading).nulls},
	reports.Costs:    {(*reading).costs},
	reports.Delivery: {(*reading).delivery},
	reports.Sources:  {(*reading).sources},
}

// Report reads a report, and the one with which it is compared, in one snapshot. The
// query must have passed its Check. The error is reports.ErrTooManyRows where the report
// would have too many rows.
func (r *Reader) Report(ctx context.Context, q reports.Query) (*reports.Report, error) {
	return r.reportAfter(ctx, q, nil)
}

// reportAfter is Report on a connection by which ask asks something before; ask may be nil.
func (r *Reader) reportAfter(ctx context.Context, q reports.Query,
	ask func(ctx context.Context, conn postgres.Querier) error) (*reports.Report, error) {
	var report *reports.Report
	var read, comparedTo *reading
	var currencies []string
	err := r.snapshotAfter(ctx, ask, func(tx pgx.Tx) error {
		var timezone, currency string
		var asOf time.Time
		if err := tx.QueryRow(ctx, `select timezone, currency, now() from company where company_id = $1`, q.CompanyID).Scan(&timezone,
			&currency, &asOf); err != nil {
			return err
		}
		zone, err := time.LoadLocation(timezone)
		if err != nil {
			return fmt.Errorf("time zone: %w", err)
		}
		q = q.WithDefaults(currency)
		read = &reading{tx: tx, query: q, zone: zone, asOf: asOf, known: r.known}
		if err := read.load(ctx); err != nil {
			return err
		}
		if compared, is := q.Compared(); is {
			comparedTo = &reading{tx: tx, query: compared, zone: zone, asOf: asOf, known: r.known}
			if err := comparedTo.load(ctx); err != nil {
				return err
			}
		}
		currencies, err = postgres.Collect(ctx, tx, pgx.RowTo[string], otherCurrencies,
			pgx.NamedArgs{"company_id": q.CompanyID, "from": q.Start, "to": q.End, "currency": q.Currency})
		return err
	})
	if err == nil {
		report, err = finish(ctx, read, comparedTo)
	}
	if err != nil && !errors.Is(err, reports.ErrTooManyRows) && !errors.Is(err, reports.ErrTooManyChannels) {
		err = fmt.Errorf("postgres: report %s of %s: %w", q.Name, q.CompanyID, err)
	}
	if err != nil {
		return nil, err
	}
	report.OtherCurrencies = currencies
	return report, nil
}

// load reads what the report is made of.
func (r *reading) load(ctx context.Context) error {
	r.Builder = reports.NewBuilder(r.query)
	for _, add := range loaders[r.query.Name] {
		if err := add(r, ctx); err != nil {
			return err
		}
	}
	return nil
}

// finish computes the reports of what was read; compared may be nil.
func finish(ctx context.Context, read, compared *reading) (*reports.Report, error) {
	ctx, cancel := computing(ctx)
	defer cancel()
	for _, r := range []*reading{read, compared} {
		if r != nil && r.later != nil {
			if err := r.later(ctx); err != nil {
				return nil, err
			}
		}
	}
	report := read.Builder.Report(read.asOf)
	if compared != nil {
		report.Comparison = compared.Builder.Report(compared.asOf)
	}
	return report, nil
}

// otherCurrencies are those in which there are amounts beside the report's.
var otherCurrencies = `
	select distinct currency from sale_day
	where company_id = @company_id and day between @from and @to and currency <> @currency order by currency limit 100`

// digits are the decimal places of the report's currency.
func (r *reading) digits() int32 {
	digits, _ := commerce.Exponent(r.query.Currency) // the query has passed its Check
	return int32(digits)
}

// periodOf is the SQL of the first day of a column's period (reports.Query.PeriodOf).
// It needs the arguments of args.
func periodOf(day string) string {
	return `(@periods::date[])[width_bucket(` + day + `, @periods::date[])]`
}

// months returns the last day before and the first day after the report's whole months, and
// the first days of the first and last of these. Where there is none the first is after the
// last, and all days are before.
func (r *reading) months() (until, since, firstMonth, lastMonth string) {
	_, to := r.query.Days()
	after := to.AddDate(0, 0, 1).Format(time.DateOnly)
	first, last, some := r.query.Months()
	if !some {
		return r.query.End, after, after, r.query.End
	}
	return first.AddDate(0, 0, -1).Format(time.DateOnly), last.AddDate(0, 1, 0).Format(time.DateOnly), first.Format(time.DateOnly),
		last.Format(time.DateOnly)
}

// args returns those of a report's arguments that a statement has.
func (r *reading) args(sql string) pgx.NamedArgs {
	until, since, firstMonth, lastMonth := r.months()
	all := pgx.NamedArgs{"until": until, "since": since, "first_month": firstMonth, "last_month": lastMonth,
		"company_id": r.query.CompanyID, "from": r.query.Start, "to": r.query.End, "periods": r.query.Periods(), "ends": r.query.Ends(),
		"currency": r.query.Currency, "model": r.query.Model, "most": reports.MaxRows + 1, "unknown": r.mostUnknown()}
	args := pgx.NamedArgs{}
	for _, found := range argument.FindAllStringSubmatch(sql, -1) {
		args[found[1]] = all[found[1]]
	}
	return args
}

// mostUnknown is how many items that are not in the catalogue a period of the funnel has:
// those of all periods are half of a report's rows.
func (r *reading) mostUnknown() int { return reports.MaxRows / 2 / max(1, len(r.query.Periods())) }

var argument = regexp.MustCompile(`@([a-z_]+)`)

// columns returns the places of metrics of the report.
func (r *reading) columns(names ...string) []int {
	places := make([]int, len(names))
	for i, name := range names {
		places[i] = reports.SpecOf(r.query.Name).Column(name)
	}
	return places
}

// add runs a statement that gives a period, as many texts as the report has dimensions,
// and a number for each of the metrics named, and adds its rows to the report.
func (r *reading) add(ctx context.Context, sql string, metrics ...string) error {
	var period string
	texts, numbers := make([]string, len(reports.SpecOf(r.query.Name).Dimensions)), make([]pgtype.Numeric, len(metrics))
	into := []any{postgres.Day(&period)}
	for i := range texts {
		into = append(into, &texts[i])
	}
	for i := range numbers {
		into = append(into, &numbers[i])
	}
	columns, sums := r.columns(metrics...), make([]decimal.Decimal, len(metrics))
	return postgres.Each(ctx, r.tx, into, func() error {
		for i, n := range numbers {
			sums[i] = decimalOf(n)
		}
		return r.Add(period, slices.Clone(texts), columns, sums)
	}, sql, r.args(sql))
}

// decimalOf returns a number that is not null.
func decimalOf(n pgtype.Numeric) decimal.Decimal {
	if n.Int == nil {
		return decimal.Zero
	}
	return decimal.NewFromBigInt(n.Int, n.Exp)
}
