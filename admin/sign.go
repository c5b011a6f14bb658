package admin

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/reports"
	"github.com/tributary-io/tributary/internal/signs"
)

// signsTimeout bounds the making of one report of signs, where none is kept that is new
// enough: it reads up to 50,000 orders with their explanations, about 3 s on two cores that do
// nothing else. It is below Config.ShutdownTimeout.
const signsTimeout = 8 * time.Second

// Reports of signs that were asked for lately are made anew, so that whoever asks next waits for
// nothing: it is looked for every signsRenew, of signsCompanies companies at most.
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

// signs reads one report. There is one at a time: it needs more of the database and of
// memory than all else here.
func (s *Server) signs(ctx context.Context, companyID, start, end string) (*signs.Report, error) {
	waiting, cancel := context.WithTimeout(ctx, s.config.DependencyTimeout)
	defer cancel()
	select {
	case s.signing <- struct{}{}:
		defer func() { <-s.signing }()
	case <-waiting.Done():
		return nil, fmt.Errorf("another report of signs is being read: %w", waiting.Err())
	}
	ctx, cancel = context.WithTimeout(ctx, max(signsTimeout, s.config.DependencyTimeout))
	defer cancel()
	return s.deps.Database.Signs(ctx, companyID, start, end)
}
