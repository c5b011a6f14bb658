package reports

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
)

// Name is the name of a report: the last part of its path.
type Name string

// The reports.
const (
	Sales       Name = "sales"
	Influencers Name = "influencers"
	Coupons     Name = "coupons"
	Channels    Name = "channels"
	Products    Name = "products"
	Funnel      Name = "funnel"
	Paths       Name = "paths"
	Costs       Name = "costs"
	Delivery    Name = "delivery"
	Sources     Name = "sources"
)

// By is how long a period of a report is.
type By string

// The lengths of a period. A week begins on Monday (ISO 8601).
const (
	ByDay   By = "day"
	ByWeek  By = "week"
	ByMonth By = "month"
	ByTotal By = "total" // one period: the whole report
)

// Bys lists the lengths of a period.
var Bys = []By{ByDay, ByWeek, ByMonth, ByTotal}

// Comparison says with which days a report is compared.
type Comparison string

// The comparisons.
const (
	NoComparison    Comparison = ""
	ComparePrevious Comparison = "previous" // as many days, directly before
	CompareMonth    Comparison = "month"    // the same days a month before; the last of a month is the last of the one before
	CompareQuarter  Comparison = "quarter"  // the same, three months before
	CompareYear     Comparison = "year"     // the same days a year before
)

// MaxDays is how many days a report may have, as GET /costs/historical has them.
const MaxDays = 366

// Query asks for a report of one company. Days are days of the store's time zone.
type Query struct {
	CompanyID string
	Name      Name
	Start     string     // the first day, YYYY-MM-DD
	End       string     // the last day, inclusive
	By        By         // empty: ByDay
	Compare   Comparison // empty: none
	Model     string     // of a report with HasModel; empty: DefaultModel
	Currency  string     // ISO 4217; empty: the store's. Amounts in others are left out
}

// DefaultModel is the model of a query that names none.
const DefaultModel = "last_non_direct"

// Check returns the rules that a query breaks, by the names of its parameters.
func (q Query) Check() (bad commerce.Violations) {
	CheckDays(&bad, q.Start, q.End)
	if q.By != "" && !slices.Contains(Bys, q.By) {
		bad.Add("by", commerce.CodeInvalidValue, "must be one of %s", words(Bys))
	}
	all := []Comparison{ComparePrevious, CompareMonth, CompareQuarter, CompareYear}
	if q.Compare != NoComparison && !slices.Contains(all, q.Compare) {
		bad.Add("compare", commerce.CodeInvalidValue, "must be one of %s", words(all))
	}
	if q.Model != "" {
		switch models := SpecOf(q.Name).Models; {
		case len(models) == 0:
			bad.Add("model", commerce.CodeInvalidValue, "is not taken: no column of this report depends on it")
		case !slices.Contains(models, q.Model):
			bad.Add("model", commerce.CodeInvalidValue, "must be one of %s", strings.Join(models, ", "))
		}
	}
	if q.Currency != "" {
		if _, err := commerce.Exponent(q.Currency); err != nil {
			bad.Add("currency", commerce.CodeInvalidValue, "is no ISO 4217 currency code")
		}
	}
	return bad
}

// CheckDays adds what is wrong with the days of a report, start_date and end_date.
func CheckDays(bad *commerce.Violations, start, end string) {
	first, firstOK := checkDay(bad, "start_date", start)
	last, lastOK := checkDay(bad, "end_date", end)
	switch {
	case !firstOK || !lastOK:
	case last.Before(first):
		bad.Add("end_date", commerce.CodeInvalidDate, "is before start_date")
	case daysOf(first, last) > MaxDays:
		bad.Add("end_date", commerce.CodeOutOfRange, "makes more than %d days", MaxDays)
	}
}

func checkDay(bad *commerce.Violations, field, text string) (time.Time, bool) {
	if text == "" {
		bad.Add(field, commerce.CodeRequired, "is required")
		return time.Time{}, false
	}
	day, err := commerce.ParseDay(text, time.UTC)
	if err != nil {
		bad.Add(field, commerce.CodeInvalidDate, "must be a real date written YYYY-MM-DD, of the years 1970 to 2199")
	}
	return day, err == nil
}

func words[T ~string](list []T) string {
	texts := make([]string, len(list))
	for i, word := range list {
		texts[i] = string(word)
	}
	return strings.Join(texts, ", ")
}

// WithDefaults returns a query in which nothing is left open. currency is the store's.
func (q Query) WithDefaults(currency string) Query {
	if q.By == "" {
		q.By = ByDay
	}
	if q.Model == "" && len(SpecOf(q.Name).Models) > 0 {
		q.Model = DefaultModel
	}
	if q.Currency == "" {
		q.Currency = currency
	}
	return q
}

// Days returns the first and the last day, as midnight UTC. The query must have passed
// Check.
func (q Query) Days() (first, last time.Time) {
	first, _ = time.Parse(time.DateOnly, q.Start)
	last, _ = time.Parse(time.DateOnly, q.End)
	return first, last
}

// Compared returns the query of the days with which this one is compared, and false
// where it is compared with none.
func (q Query) Compared() (Query, bool) {
	first, last := q.Days()
	switch q.Compare {
	case ComparePrevious:
		days := daysOf(first, last)
		first, last = first.AddDate(0, 0, -days), last.AddDate(0, 0, -days)
	case CompareYear:
		first, last = monthsBefore(first, 12), monthsBefore(last, 12)
	case CompareMonth, CompareQuarter:
		months := map[Comparison]int{CompareMonth: 1, CompareQuarter: 3}[q.Compare]
		whole := last.Day() == lastOfMonth(last)
		if first, last = monthsBefore(first, months), monthsBefore(last, months); whole {
			last = last.AddDate(0, 0, lastOfMonth(last)-last.Day())
		}
	default:
		return q, false
	}
	q.Start, q.End, q.Compare = first.Format(time.DateOnly), last.Format(time.DateOnly), NoComparison
	return q, true
}

// monthsBefore returns the same day of an earlier month, at most that month's last.
func monthsBefore(day time.Time, months int) time.Time {
	first := time.Date(day.Year(), day.Month()-time.Month(months), 1, 0, 0, 0, 0, time.UTC)
	return first.AddDate(0, 0, min(day.Day(), lastOfMonth(first))-1)
}

// lastOfMonth returns how many days the month of a day has.
func lastOfMonth(day time.Time) int {
	return time.Date(day.Year(), day.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

func daysOf(first, last time.Time) int { return int(last.Sub(first)/(24*time.Hour)) + 1 }

// PeriodOf returns the first day of the period to which a day belongs, YYYY-MM-DD. The
// first week or month of a report may begin before its first day.
func (q Query) PeriodOf(day time.Time) string {
	switch q.By {
	case ByWeek:
		day = day.AddDate(0, 0, -(int(day.Weekday())+6)%7)
	case ByMonth:
		day = day.AddDate(0, 0, 1-day.Day())
	case ByTotal:
		return q.Start
	}
	return day.Format(time.DateOnly)
}

// Periods returns all periods of the report, in order.
func (q Query) Periods() (list []string) {
	first, last := q.Days()
	for day := first; !day.After(last); day = day.AddDate(0, 0, 1) {
		if p := q.PeriodOf(day); len(list) == 0 || list[len(list)-1] != p {
			list = append(list, p)
		}
	}
	return list
}

// Ends returns the last day of each period, within the report.
func (q Query) Ends() (list []string) {
	first, last := q.Days()
	period := ""
	for day := first; !day.After(last); day = day.AddDate(0, 0, 1) {
		if p := q.PeriodOf(day); p != period {
			list, period = append(list, ""), p
		}
		list[len(list)-1] = day.Format(time.DateOnly)
	}
	return list
}

// Months returns the first days of the first and the last month that are whole in the
// report, and false where there is none, or where its periods are shorter than months.
func (q Query) Months() (first, last time.Time, ok bool) {
	if q.By != ByMonth && q.By != ByTotal {
		return first, last, false
	}
	from, to := q.Days()
	first = from.AddDate(0, 0, 1-from.Day())
	if first.Before(from) {
		first = first.AddDate(0, 1, 0)
	}
	after := to.AddDate(0, 0, 1) // in a month that is not whole
	last = after.AddDate(0, 0, 1-after.Day()).AddDate(0, -1, 0)
	return first, last, !last.Before(first)
}

// ErrTooManyChannels says that a model cannot divide among so many channels.
var ErrTooManyChannels = fmt.Errorf("the paths of the report have more than %d channels, or %d of all periods together",
	MaxMarkovChannels, MaxMarkovOfPeriods)

// MaxMarkovChannels bounds the channels of a report by markov, whose memory grows with
// their square and its time with their third power.
const MaxMarkovChannels = 500

// MaxMarkovOfPeriods bounds the channels of all its periods together, each counted in each.
const MaxMarkovOfPeriods = 80_000

// ErrTooManyRows says that a report has more than MaxRows rows.
var ErrTooManyRows = fmt.Errorf("the report has more than %d rows", MaxRows)

// MaxRows bounds the rows of a report, all its pages together.
const MaxRows = 100_000
