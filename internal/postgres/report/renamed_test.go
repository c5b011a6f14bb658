package report_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/models"
	"github.com/tributary-io/tributary/internal/reports"
)

// Non-converting paths that were counted before a rename are those of the present name: markov gives what it would give if
// they had been counted afterwards.
func TestNonConvertingPathsFollowARename(t *testing.T) {
	t.Parallel()
	s := sum(t)
	s.Influencer(s.company, "Zoe Lima")
	author := commerce.Author{CompanyID: s.company, Actor: "cli", At: time.Now()}
	for _, name := range []string{"Zoe", "ZOE"} {
		if err := s.DB.UpdateInfluencer(t.Context(), author, "Zoe Lima", commerce.InfluencerChange{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	credits := func(day, visitor string) string {
		t.Helper()
		s.Sum(s.company, s.order(day, 1000, "ZOE", "Email"), s.order(day, 1000, "Direct"))
		s.NonConverting(s.company, day, facts.FinalCount, []string{visitor}, []string{visitor, "Email"}, []string{"Display", visitor})
		report := s.report(reports.Query{CompanyID: s.company, Name: reports.Channels, Start: day, End: day, By: reports.ByDay,
			Model: models.Markov})
		text := ""
		for _, row := range report.Rows {
			text += fmt.Sprintln(row.Texts, row.Sums)
		}
		return text
	}
	want := credits("2026-03-02", "ZOE")
	for day, name := range map[string]string{"2026-03-03": "Zoe Lima", "2026-03-04": "Zoe"} {
		if got := credits(day, name); got != want {
			t.Errorf("counted as %s:\n%swant\n%s", name, got, want)
		}
	}
	if got := credits("2026-03-05", "Nobody"); got == want {
		t.Errorf("the paths of another channel change nothing:\n%s", got)
	}
}
