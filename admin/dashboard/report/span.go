package report

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/reports"
)

// Spans of days that a report can be asked for by name, in the parameter "range". Other
// days are given by "from" and "to".
const (
	spanToday     = "today"
	span7Days     = "7d"
	span30Days    = "30d"
	spanMonth     = "month"
	spanLastMonth = "last_month"
	spanQuarter   = "quarter"
)

// beforeSpan is with what the days of a span are compared, other than with as many days before.
var beforeSpan = map[string]reports.Comparison{spanMonth: reports.CompareMonth, spanLastMonth: reports.CompareMonth,
	spanQuarter: reports.CompareQuarter}

var spans = []string{spanToday, span7Days, span30Days, spanMonth, spanLastMonth, spanQuarter}

// Spans of which a bar stands for a day, and for a week; longer ones are by month.
const (
	mostDailyBars  = 31
	mostWeeklyDays = 120
)

// asked is what the address of a report's page asks for.
type asked struct {
	reports.Query
	Range      string // one of spans; empty: other days
	Influencer string // id of the influencer whose page it is; empty: all
	ID         string // of the same in the address of the influencer's own page; empty: it is another page
	Alert      string // why the days that were typed are not shown; empty: they are
	explicit   bool   // the address says how long a period is

	oldest *time.Time // AsOf of the oldest report that was read from a standby so far; the zero time: none was
}

// daysOfSpan returns the first and the last day of a span. today is midnight UTC.
func daysOfSpan(span string, today time.Time) (first, last time.Time) {
	switch span {
	case spanToday:
		return today, today
	case span7Days:
		return today.AddDate(0, 0, -6), today
	case spanMonth:
		return today.AddDate(0, 0, 1-today.Day()), today
	case spanLastMonth:
		last = today.AddDate(0, 0, -today.Day())
		return last.AddDate(0, 0, 1-last.Day()), last
	case spanQuarter:
		return time.Date(today.Year(), today.Month()-(today.Month()-1)%3, 1, 0, 0, 0, 0, today.Location()), today
	}
	return today.AddDate(0, 0, -29), today
}

// askedOf reads what a page's address asks for. models are those that the page can show;
// none: it depends on no model. It returns site.ErrBadAddress for what no form of a page sends.
func (s *Pages) askedOf(r *http.Request, v site.Request, models []string) (asked, error) {
	query := r.URL.Query()
	a := asked{Range: query.Get("range"), oldest: new(time.Time),
		Query: reports.Query{CompanyID: v.Current.CompanyID, By: reports.By(query.Get("by")),
			Compare: reports.Comparison(query.Get("compare")), Currency: query.Get("currency")}}
	if len(models) > 0 {
		a.Model = query.Get("model")
		if a.Model != "" && !slices.Contains(models, a.Model) {
			return a, site.ErrBadAddress
		}
	}
	if a.Range != "" && !slices.Contains(spans, a.Range) || a.By == reports.ByTotal {
		return a, site.ErrBadAddress
	}
	if err := s.askedDays(v, &a, query); err != nil {
		return a, err
	}
	if a.Compare != reports.NoComparison && a.Compare != reports.ComparePrevious && a.Compare != reports.CompareYear {
		return a, site.ErrBadAddress
	}
	if a.Compare != reports.CompareYear {
		a.Compare = cmp.Or(beforeSpan[a.Range], reports.ComparePrevious)
	}
	rest := a.Query
	rest.Model = "" // it was compared with the page's
	if bad := rest.Check(); bad.Any() {
		return a, site.ErrBadAddress
	}
	a.explicit = a.By != ""
	if !a.explicit {
		first, last := a.Days()
		a.By = periodFor(int(last.Sub(first)/(24*time.Hour)) + 1)
	}
	return a, nil
}

// Days reads which days the address of another package's page asks for. form is what the template "span" shows: the days, and how
// long a period is. It returns site.ErrBadAddress for what no form of the page sends.
func (s *Pages) Days(r *http.Request, v site.Request, path string) (form any, q reports.Query, err error) {
	a, err := s.askedOf(r, v, nil)
	return a.formOf(v, path, true, false, nil), a.Query, err
}

func periodFor(days int) reports.By {
	switch {
	case days <= mostDailyBars:
		return reports.ByDay
	case days <= mostWeeklyDays:
		return reports.ByWeek
	}
	return reports.ByMonth
}

// askedDays fills the days of a report. Days that somebody typed wrong are told on the
// page, which then shows its usual ones.
func (s *Pages) askedDays(v site.Request, a *asked, query url.Values) error {
	today, err := time.Parse(time.DateOnly, s.DayOf(v))
	if err != nil {
		return err
	}
	from, to := site.TypedDay(v.Lang, query.Get("from")), site.TypedDay(v.Lang, query.Get("to"))
	span := a.Range
	if span == "" {
		span = span30Days
	}
	first, last := daysOfSpan(span, today)
	a.Start, a.End = first.Format(time.DateOnly), last.Format(time.DateOnly)
	if from == "" && to == "" || from == a.Start && to == a.End {
		a.Range = span
		return nil
	}
	typed := a.Query
	typed.Start, typed.End, typed.By, typed.Compare, typed.Currency, typed.Model = from, to, "", "", "", ""
	if bad := typed.Check(); bad.Any() {
		a.Range, a.Alert = span, v.Lang.T("report.bad_days", reports.MaxDays)
		return nil
	}
	a.Start, a.End, a.Range = from, to, ""
	return nil
}

// address is the same page with other parameters, in pairs of name and value; a value that
// is empty takes the parameter away.
func (a asked) address(path string, change ...string) string {
	values := map[string]string{"range": a.Range, "currency": a.Currency, "model": a.Model, "influencer": a.Influencer, "id": a.ID}
	if a.Range == "" {
		values["from"], values["to"] = a.Start, a.End
	}
	if a.explicit {
		values["by"] = string(a.By)
	}
	if a.Compare == reports.CompareYear {
		values["compare"] = string(a.Compare)
	}
	for i := 0; i+1 < len(change); i += 2 {
		values[change[i]] = change[i+1]
	}
	var pairs []string
	for _, name := range []string{"range", "from", "to", "by", "compare", "model", "currency", "influencer", "id", "report", "show",
		"table", "rows"} {
		pairs = append(pairs, name, values[name])
	}
	return site.StorePath(path, a.CompanyID, pairs...)
}

// spanForm is what the template "span" shows: the days of a page, and its other choices.
type spanForm struct {
	Path, Company, Range, From, To string
	Currency, Show, Influencer, ID string // kept; may be empty
	Spans                          []site.Link
	Bys, Compares, Models          []site.Option // empty: not offered
	Alert                          string
	Chosen                         bool        // something other than a named span is shown: the form is open
	Period, Before                 string      // the days as words, and those with which they are compared
	CSV, CSVIs                     string      // a file, and what it has where the page leads to several
	Others                         []site.Link // the same page in other currencies

	request site.Request
	oldest  *time.Time
}

// AsOf says how new what the page shows is, where it was read from a standby; else it is empty. Call it once all reports are read.
func (f spanForm) AsOf() string {
	if f.oldest.IsZero() {
		return ""
	}
	return f.request.Lang.T("report.as_of", f.request.Lang.Instant(f.oldest.In(site.ZoneOf(f.request.Current.Timezone))))
}

// formOf makes the form of a page. bars says whether it shows periods, compared whether it
// compares.
func (a asked) formOf(v site.Request, path string, bars, compared bool, models []string) spanForm {
	f := spanForm{request: v, oldest: a.oldest,
		Path: path, Company: a.CompanyID, Range: a.Range, From: a.Start, To: a.End, Currency: a.Currency,
		Influencer: a.Influencer, ID: a.ID, Alert: a.Alert, Period: daysAsWords(v, a.Query),
		Chosen: a.Range == "" || a.Alert != "" || a.explicit || a.Compare == reports.CompareYear || a.Model != ""}
	for _, span := range spans {
		f.Spans = append(f.Spans,
			site.Link{Name: v.Lang.T("report.range_" + span), Path: a.address(path, "range", span, "from", "", "to", ""), Current: span == a.Range})
	}
	if bars {
		for _, by := range []reports.By{reports.ByDay, reports.ByWeek, reports.ByMonth} {
			f.Bys = append(f.Bys, site.Option{Value: string(by), Label: v.Lang.T("report.by_" + string(by)), Chosen: by == a.By})
		}
	}
	if compared {
		for _, c := range []reports.Comparison{reports.ComparePrevious, reports.CompareYear} {
			chosen := (c == reports.CompareYear) == (a.Compare == reports.CompareYear)
			f.Compares = append(f.Compares, site.Option{Value: string(c), Label: v.Lang.T("report.compare_" + string(c)), Chosen: chosen})
		}
		if before, ok := a.Compared(); ok {
			f.Before = daysAsWords(v, before)
		}
	}
	for _, model := range models {
		f.Models = append(f.Models,
			site.Option{Value: model, Label: v.Lang.T("model." + model), Chosen: model == a.Model || a.Model == "" && model == reports.DefaultModel})
	}
	return f
}

// daysAsWords are the days of a report: one day, or the first and the last.
func daysAsWords(v site.Request, q reports.Query) string {
	if q.Start == q.End {
		return v.Lang.Day(q.Start)
	}
	return v.Lang.Period(q.Start, q.End)
}

// currencies links to the page in the other currencies of a report.
func (f *spanForm) currencies(a asked, r *reports.Report) {
	for _, code := range r.OtherCurrencies {
		f.Others = append(f.Others, site.Link{Name: code, Path: a.address(f.Path, "currency", code)})
	}
}
