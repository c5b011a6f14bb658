package admin

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/fraud"
	"github.com/tributary-io/tributary/internal/reports"
)

// signsTimeout bounds the making of one report of signs, where none is kept that is new
// enough: it reads up to 50,000 orders with their explanations, some seconds on two cores that do
// nothing else. It is below Config.ShutdownTimeout.
const signsTimeout = 8 * time.Second

// signsRetry is when to ask again for a report that is being made.
const signsRetry = 5 * time.Second

// Reports of signs that were asked for lately are made anew, so that whoever asks next waits for
// nothing: it is looked for every signsRenew, and when a report is waited for, of signsCompanies
// companies at most.
const (
	signsRenew     = time.Minute
	signsCompanies = 20
)

// renewSigns makes reports of signs anew. It bounds the time of all of them together.
func (s *Server) renewSigns(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, signsRenew)
	defer cancel()
	return s.deps.Database.RenewSigns(ctx, signsCompanies)
}

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
	report, err := s.signs(r.Context(), c.companyID, start, end)
	if err != nil {
		return answer{}, err
	}
	a := answer{data: report.JSON(), tagged: report.Content()}
	if asCSV {
		a.csv = report.CSV()
	}
	return a, nil
}

// signs reads one report. Where that takes too long, the report is made in the background.
func (s *Server) signs(ctx context.Context, companyID, start, end string) (*fraud.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, max(signsTimeout, s.config.DependencyTimeout))
	defer cancel()
	report, err := s.deps.Database.Signs(ctx, companyID, start, end)
	if errors.Is(err, fraud.ErrBeingMade) {
		p := unavailable()
		p.message, p.retryAfter = "the report is being made; ask for it again in some seconds", signsRetry
		return nil, p
	}
	return report, err
}
