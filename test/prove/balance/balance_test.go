package balance

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// service answers /readyz by ready.
func service(t *testing.T, ready *atomic.Bool) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !ready.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func until(t *testing.T, ok func() bool) {
	t.Helper()
	for range 200 {
		if ok() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("not within 10 s")
}

// TestOneReadyServiceGetsEveryRequest: requests at once advance the turn of each other, and must still find it.
func TestOneReadyServiceGetsEveryRequest(t *testing.T) {
	var up, down atomic.Bool
	up.Store(true)
	first, second := service(t, &up), service(t, &down)
	b, err := New(t.Context(), "127.0.0.1:0", first, second)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	until(t, func() bool { return b.Has(first) })
	if b.Has(second) {
		t.Error("the second is not ready")
	}
	const clients, each = 8, 50
	var wait sync.WaitGroup
	for range clients {
		wait.Go(func() {
			for range each {
				response, err := http.Get(b.URL)
				if err != nil {
					t.Error(err)
					return
				}
				response.Body.Close()
			}
		})
	}
	wait.Wait()
	if b.Answered.Load() != clients*each || b.Refused.Load()+b.Failed.Load() != 0 || b.First() != "" {
		t.Errorf("%d answered, %d refused, %d failed: %s", b.Answered.Load(), b.Refused.Load(), b.Failed.Load(), b.First())
	}
	up.Store(false)
	until(t, func() bool { return !b.Has(first) })
	response, err := http.Get(b.URL)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusServiceUnavailable || b.Refused.Load() != 1 || b.First() != errNone.Error() {
		t.Errorf("status %d, %d refused: %s", response.StatusCode, b.Refused.Load(), b.First())
	}
}
