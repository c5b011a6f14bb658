package admin

import (
	"context"
	"errors"
	"testing"
	"time"
)

// Who waits too long for another's report of signs is answered 503 (problem.go), and
// reads nothing.
func TestOneReportOfSignsIsReadAtATime(t *testing.T) {
	s := &Server{config: Config{DependencyTimeout: time.Millisecond}, signing: make(chan struct{}, 1)}
	s.signing <- struct{}{} // another is being read
	if _, err := s.signs(t.Context(), "c_1", "2026-03-01", "2026-03-31"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if len(s.signing) != 1 {
		t.Error("the other's place was given away")
	}
}
