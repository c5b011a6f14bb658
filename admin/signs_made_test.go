package admin

import (
	"context"
	"errors"
	"testing"

	"github.com/tributary-io/tributary/internal/fraud"
)

// long is a database whose reports of signs take long.
type long struct{ Database }

func (long) Signs(context.Context, string, string, string) (*fraud.Report, error) {
	return nil, fraud.ErrBeingMade
}

func TestAReportOfSignsThatIsBeingMadeIsAskedForAgain(t *testing.T) {
	s := &Server{deps: Deps{Database: long{}}}
	_, err := s.signs(t.Context(), "c_1", "2026-03-01", "2026-03-31")
	var p *problem
	if !errors.As(err, &p) || p.status != 503 || p.code != codeUnavailable || p.retryAfter != signsRetry {
		t.Errorf("%+v", err)
	}
}
