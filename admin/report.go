package admin

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/reports"
)

// Rows of one answer of a report.
const (
	rowsOfJSON  = 1000   // without limit
	rowsOfCSV   = 10_000 // without limit
	maxRows     = 10_000
	csvMedia    = "text/csv; charset=utf-8; header=present"
	formatJSON  = "json"
	formatCSV   = "csv"
	cursorBytes = 20 // of a cursor's text, at most: a number
)

// reportRoutes are GET /reports/{name}, one for each report.
func (s *Server) reportRoutes() (routes []route) {
	for _, spec := range reports.Specs() {
		routes = append(routes, route{http.MethodGet, "/reports/" + string(spec.Name), account.ReadReports, ruleRate,
			func(w http.ResponseWriter, r *http.Request, c caller) (answer, error) {
				return s.report(w, r, c, spec.Name)
			}})
	}
	return routes
}

// report is GET /reports/{name}.
func (s *Server) report(w http.ResponseWriter, r *http.Request, c caller, name reports.Name) (answer, error) {
	o := queryObject(r.URL.Query())
	q := reports.Query{
		CompanyID: c.companyID, Name: name,
		Start: optional(o, "start_date", day).Value, End: optional(o, "end_date", day).Value,
		By: reports.By(optional(o, "by", word).Value), Compare: reports.Comparison(optional(o, "compare", word).Value),
		Model: optional(o, "model", word).Value, Currency: optional(o, "currency", word).Value,
	}
	o.bad.AddAll(q.Check())
	asCSV := readFormat(o)
	limit, from := readRows(r.URL.Query(), asCSV, o.bad)
	if err := brokenRules(o.bad); err != nil {
		return answer{}, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.config.DependencyTimeout)
	defer cancel()
	report, err := s.deps.Reports.Report(ctx, q)
	if errors.Is(err, reports.ErrTooManyRows) {
		err = o.refuse("end_date", commerce.CodeTooMany,
			"makes a report of more than %d rows: ask for fewer days, or longer periods", reports.MaxRows)
	}
	if errors.Is(err, reports.ErrTooManyChannels) {
		err = o.refuse("model", commerce.CodeTooMany,
			"markov takes at most %d channels, and %d of all periods together, and there are more: ask for fewer days, longer periods, or shapley",
			reports.MaxMarkovChannels, reports.MaxMarkovOfPeriods)
	}
	if err != nil {
		return answer{}, err
	}
	w.Header().Set("As-Of", report.AsOf.UTC().Format(timestampFormat)) // a CSV has no other place for it
	page, more := report.Page(from, limit)
	paging := &pagination{HasMore: more}
	if more {
		next := rowCursor(from + limit)
		paging.NextCursor = &next
	}
	a := answer{data: page, pagination: paging, tagged: page.Content()}
	if asCSV {
		a.csv = page.CSV()
	}
	return a, nil
}

// readFormat reads the query parameter format.
func readFormat(o object) (asCSV bool) {
	switch format := optional(o, "format", word); {
	case !format.Valid || format.Value == formatJSON:
	case format.Value == formatCSV:
		return true
	default:
		o.bad.Add("format", commerce.CodeInvalidValue, "must be %s or %s", formatJSON, formatCSV)
	}
	return false
}

// readRows reads limit and cursor of a report: how many rows, and from which place on.
func readRows(query url.Values, asCSV bool, bad *commerce.Violations) (limit, from int) {
	limit = rowsOfJSON
	if asCSV {
		limit = rowsOfCSV
	}
	if query.Has("limit") {
		limit = readLimit(query, maxRows, bad)
	}
	if query.Has("cursor") {
		var err error
		if from, err = parseRowCursor(query.Get("cursor")); err != nil {
			bad.Add("cursor", commerce.CodeInvalidValue, "must be a next_cursor of an earlier page")
		}
	}
	return limit, from
}

// readLimit reads the query parameter limit.
func readLimit(query url.Values, most int, bad *commerce.Violations) int {
	n, err := strconv.Atoi(query.Get("limit"))
	if err != nil || n < 1 || n > most {
		bad.Add("limit", commerce.CodeOutOfRange, "must be an integer between 1 and %d", most)
	}
	return n
}

// rowCursor is a place in the rows of a report, as text that clients do not take apart.
func rowCursor(from int) string {
	return base64.RawURLEncoding.EncodeToString(strconv.AppendInt(nil, int64(from), 10))
}

func parseRowCursor(text string) (int, error) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) > cursorBytes {
		return 0, commerce.ErrBadCursor
	}
	from, err := strconv.Atoi(string(raw))
	if err != nil || from < 1 || from > reports.MaxRows {
		return 0, fmt.Errorf("%.40q %w", text, commerce.ErrBadCursor)
	}
	return from, nil
}
