package core_test

import (
	"testing"

	"github.com/tributary-io/tributary/sdk/core"
)

func TestTheWaitDoublesUpToItsBound(t *testing.T) {
	f := func(attempt int, random float64, want int64) {
		t.Helper()
		if got := core.Backoff(attempt, 1000, 30_000, random); got != want {
			t.Errorf("Backoff(%d, 1000, 30000, %v) = %d, want %d", attempt, random, got, want)
		}
	}
	f(1, 0, 0)
	f(1, 0.5, 500)
	f(2, 0.5, 1000)
	f(3, 0.5, 2000)
	f(5, 0.5, 8000)
	f(6, 0.5, 15_000)
	f(7, 0.5, 15_000)
	f(1_000_000, 0.5, 15_000)
	f(1_000_000, 0, 0)
	if got := core.Backoff(1, 9000, 5000, 0.5); got != 2500 {
		t.Errorf("a base above the bound: %d, want 2500", got)
	}
	if got := core.Backoff(3, 1000, 2000, 0.5); got != 1000 {
		t.Errorf("a bound that is met exactly: %d, want 1000", got)
	}
}
