package cluster

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestWhatIsWrongInTheEndIsWrongInARunOfAPart(t *testing.T) {
	for _, endChosen := range []bool{false, true} {
		s := &stand{lines: map[string]*line{"broker-killed": {times: 1}}, problems: []string{"an event is lost"}}
		results := s.results(outcome{}, endChosen)
		if got := fmt.Sprint(results["broker-killed"].Problems); (got == "[an event is lost]") == endChosen {
			t.Errorf("the end chosen: %t: the fault has %s", endChosen, got)
		}
		if got := fmt.Sprint(results[atTheEnd].Problems); got != "[an event is lost]" {
			t.Errorf("the end has %s", got)
		}
	}
}

func TestAnAlertHasACauseForAsLongAsItLooksBack(t *testing.T) {
	lasting, err := rule{Name: "A", Query: "a > 1 and rate(b[90s]) > 0.1 * rate(c[5m])", Duration: 60}.lasting()
	if want := 6*time.Minute + 2*scrapeEvery; err != nil || lasting != want {
		t.Errorf("%v %v, want %v", lasting, err, want)
	}
	end := time.Now()
	s := &stand{spans: []span{{&fault{mayAlert: []string{"A"}}, end.Add(-time.Minute), end}}}
	for after, want := range map[time.Duration]bool{
		-2 * time.Minute: false, -time.Second: true, 6 * time.Minute: true, 7 * time.Minute: false,
	} {
		if got := s.caused("A", end.Add(after), lasting); got != want {
			t.Errorf("%v after the fault: %t", after, got)
		}
	}
}

func TestAlertsOfALongRunFitIntoAnAnswer(t *testing.T) {
	for _, span := range []time.Duration{0, time.Minute, 15 * time.Hour, 7 * 24 * time.Hour} {
		if step := stepOf(span); step < scrapeEvery || span/step >= 11_000 {
			t.Errorf("%v: every %v", span, step)
		}
	}
}

// What an alert reads is asked of Prometheus by these.
func TestWhatAnAlertReadsIsFound(t *testing.T) {
	f := func(query string, want ...string) {
		t.Helper()
		if got := (rule{Query: query}).selected(); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	f(`up{job=~"tributary-(edge|admin)"} == 0`, `up{job!=""}`)
	f(`sum by (instance) (rate(tributary_a_total{status=~"5.."}[5m])) > 0.05 * sum(rate(tributary_a_total[5m]))`,
		`tributary_a_total{status!=""}`, `tributary_a_total`)
	f(`max(tributary_b{state="failing"}) > 0`, `tributary_b{state="failing"}`)
}
