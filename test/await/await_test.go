package await_test

import (
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
