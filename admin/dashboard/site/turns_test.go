package site

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

// One person does not take the turns of all.
func TestAPersonLeavesTurnsToOthers(t *testing.T) {
	t.Parallel()
	turns := NewTurns("files are made", 3, 2)
	over, stop := context.WithCancel(t.Context())
	stop()
	f := func(ctx context.Context, person string) func() {
		t.Helper()
		end, err := turns.Take(ctx, person)
		if err != nil {
			t.Fatal(err)
		}
		return end
	}
	ends := []func(){f(t.Context(), "ana"), f(t.Context(), "ana")}
	if _, err := turns.Take(over, "ana"); !errors.Is(err, context.Canceled) {
		t.Errorf("a third turn of one person: %v", err)
	}
	ends = append(ends, f(t.Context(), "bia"))
	if _, err := turns.Take(over, "caio"); !errors.Is(err, context.Canceled) {
		t.Errorf("a fourth turn of all: %v", err)
	}
	came := make(chan func(), 1)
	go func() {
		end, err := turns.Take(t.Context(), "ana")
		if err != nil {
			t.Error(err)
		}
		came <- end
	}()
	ends[0]()
	ends[0] = <-came
	for _, end := range ends {
		end()
	}
	if len(turns.people)+len(turns.all) != 0 {
		t.Errorf("turns that ended are kept: %v", turns.people)
	}
}

func TestNeverMoreTurnsThanThereAre(t *testing.T) {
	t.Parallel()
	turns := NewTurns("files are made", 3, 2)
	var now atomic.Int64
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			end, err := turns.Take(t.Context(), string(rune('a'+i%5)))
			if err != nil {
				t.Error(err)
				return
			}
			defer end()
			if n := now.Add(1); n > 3 {
				t.Errorf("%d at once", n)
			}
			now.Add(-1)
		})
	}
	all.Wait()
	if len(turns.people)+len(turns.all) != 0 {
		t.Errorf("turns that ended are kept: %v", turns.people)
	}
}
