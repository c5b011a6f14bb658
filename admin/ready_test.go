package admin

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/identity"
)

// Anybody may ask whether the service is ready; the stores are asked once a second.
func TestReadinessIsNotAskedOfTheStoresByEachRequest(t *testing.T) {
	t.Parallel()
	hasher, err := identity.NewHasher(bytes.Repeat([]byte("s"), 32))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	asked := 0
	var fault error
	server, err := New(Config{ShortBase: "go.example.com"}, Deps{
		Database: &oneKeyStore{}, Producer: noKafka{}, Hasher: hasher, Now: func() time.Time { return now },
		Checks: map[string]func(context.Context) error{"postgres": func(context.Context) error { asked++; return fault }},
	})
	if err != nil {
		t.Fatal(err)
	}
	f := func(requests, want, wantAsked int) {
		t.Helper()
		asked = 0
		var group sync.WaitGroup
		for range requests {
			group.Go(func() {
				out := httptest.NewRecorder()
				server.ServeHTTP(out, httptest.NewRequest(http.MethodGet, "/readyz", nil))
				if out.Code != want {
					t.Errorf("%d, want %d: %s", out.Code, want, out.Body)
				}
			})
		}
		group.Wait()
		if asked != wantAsked {
			t.Errorf("%d requests: asked %d times, want %d", requests, asked, wantAsked)
		}
	}
	f(200, http.StatusOK, 1)
	fault = errors.New("away")
	f(10, http.StatusOK, 0)
	now = now.Add(readyFor)
	f(200, http.StatusServiceUnavailable, 1)
	fault = nil
	now = now.Add(readyFor)
	f(1, http.StatusOK, 1)
}
