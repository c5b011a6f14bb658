package capacity

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The page's numbers are the function's.
func TestThePageHasTheModelsNumbers(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "capacity.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range Tables() {
		if !strings.Contains(string(text), table) {
			t.Errorf("docs/capacity.md does not have this table:\n%s", table)
		}
	}
}

// A load costs what its parts cost, and more of anything never costs less.
func TestMoreTrafficCostsMore(t *testing.T) {
	base := Shop(10_000)
	before := Predict(base, Reference).figures()
	for name, more := range map[string]func(*Traffic){
		"seconds": func(t *Traffic) { t.Seconds *= 2 }, "visits": func(t *Traffic) { t.Visits *= 2 },
		"requests": func(t *Traffic) { t.Requests *= 2 }, "events": func(t *Traffic) { t.Events *= 2 },
		"bytes": func(t *Traffic) { t.EventBytes *= 2 }, "orders": func(t *Traffic) { t.Orders *= 2 },
		"clicks": func(t *Traffic) { t.Clicks *= 2 },
	} {
		traffic := base
		more(&traffic)
		grew := false
		for figure, now := range Predict(traffic, Reference).figures() {
			if now < before[figure]-1e-9 {
				t.Errorf("twice the %s: %s falls from %g to %g", name, figure, before[figure], now)
			}
			grew = grew || now > before[figure]
		}
		if !grew {
			t.Errorf("twice the %s costs nothing", name)
		}
	}
}

// Records that come while a transaction runs share the next one.
func TestTransactionsAreNoMoreThanWhatComes(t *testing.T) {
	few := Traffic{Seconds: 86_400, Stores: 10, Requests: 1000, Orders: 10, Clicks: 5}
	if n := transactions(few, Reference); math.Abs(n-1015) > 1 {
		t.Errorf("few: %g", n)
	}
	many := Traffic{Seconds: 100, Stores: 1, Requests: 1e6}
	if n := transactions(many, Reference); n > 100/Reference.Transaction+1 || n < 0.9*100/Reference.Transaction {
		t.Errorf("many: %g", n)
	}
}

// A figure beyond 15 % is told, and one within is not.
func TestComparedWithinFifteenPercent(t *testing.T) {
	f := func(predicted, measured float64, wrong bool) {
		t.Helper()
		if cell, problem := compare("edge-cpu", predicted, measured); (problem != "") != wrong {
			t.Errorf("%g, %g: %q %q", predicted, measured, cell, problem)
		}
	}
	f(10, 11.4, false)
	f(10, 8.6, false)
	f(10, 11.6, true)
	f(10, 8.4, true)
	f(0, 0, true)
}
