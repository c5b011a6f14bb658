package admin

import (
	"context"
	"net/http"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/reports"
)

// listSigns is GET /reports/signs.
func (s *Server) listSigns(_ http.ResponseWriter, r *http.Request, c caller) (answer, error) {
	o := queryObject(r.URL.Query())
	start, end := optional(o, "start_date", day).Value, optional(o, "end_date", day).Value
	var bad commerce.Violations
	reports.CheckDays(&bad, start, end)
	o.bad.AddAll(bad)
	asCSV := readFormat(o)
	if err := brokenRules(o.bad); err != nil {
		return answer{}, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.config.DependencyTimeout)
	defer cancel()
	report, err := s.deps.Database.Signs(ctx, c.companyID, start, end)
	if err != nil {
		return answer{}, err
	}
	a := answer{data: report.JSON(), tagged: report.Content()}
	if asCSV {
		a.csv = report.CSV()
	}
	return a, nil
}
