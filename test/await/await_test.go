package await_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tributary-io/tributary/test/await"
)

// recorder keeps a failure instead of failing.
type recorder struct {
	testing.TB
	failure string
}

func (r *recorder) Helper() {}

func (r *recorder) Fatalf(format string, args ...any) {
	r.failure = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func TestUntilReturnsOnceItIsSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls, began := 0, time.Now()
		await.Until(t, await.Long, func() bool { calls++; return calls == 20 }, func() string { return "never" })
		if took := time.Since(began); calls != 20 || took > 3*time.Second {
			t.Errorf("%d calls in %v", calls, took)
		}
	})
}

func TestUntilFailsWithWhatIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, began := &recorder{TB: t}, time.Now()
		done := make(chan struct{})
		go func() {
			defer close(done)
			await.Until(r, time.Second, func() bool { return false }, func() string { return "2 of 3 rows" })
		}()
		<-done
		if !strings.Contains(r.failure, "2 of 3 rows") || !strings.Contains(r.failure, "1s") || time.Since(began) != time.Second {
			t.Errorf("after %v it failed with %q", time.Since(began), r.failure)
		}
	})
}

func TestPollEndsOnceItIsTrueAndAtAnError(t *testing.T) {
	calls := 0
	third := func() (bool, error) { calls++; return calls == 3, nil }
	if err := await.Poll(t.Context(), "the third", time.Millisecond, await.Long, third); err != nil || calls != 3 {
		t.Errorf("%v after %d calls, want 3", err, calls)
	}
	broken := errors.New("broken")
	err := await.Poll(t.Context(), "it", time.Millisecond, await.Long, func() (bool, error) { return false, broken })
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "it: ") {
		t.Errorf("%v, want what was waited for and its error", err)
	}
	err = await.Poll(t.Context(), "it", time.Millisecond, 5*time.Millisecond, func() (bool, error) { return false, nil })
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "not within 5ms: it") {
		t.Errorf("%v, want the bound", err)
	}
}
