package dashboard

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/account"
)

// hangingStore answers nothing until whoever asks gives up, as a server does that
// is stopped in the middle.
type hangingStore struct{ Database }

func (hangingStore) SessionAccesses(ctx context.Context, _, _ string) ([]account.Access, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (hangingStore) PersonByEmail(ctx context.Context, _ string) (account.Person, error) {
	<-ctx.Done()
	return account.Person{}, ctx.Err()
}

func (hangingStore) RotateSession(ctx context.Context, _ account.SessionRotation) (account.Session, error) {
	<-ctx.Done()
	return account.Session{}, ctx.Err()
}

func TestAPageDoesNotWaitForEverForTheDatabase(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Config{TokenSecret: bytes.Repeat([]byte("t"), 32)}, Deps{
			Database: hangingStore{}, Hints: func(context.Context, func([]byte) error) error { return nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		signed, err := s.login.keys.sign(site.Access{PersonID: "p", Family: "f", Until: now.Add(time.Hour)}, now)
		if err != nil {
			t.Fatal(err)
		}
		f := func(method, path, cookie, value string, want int) {
			t.Helper()
			request := httptest.NewRequest(method, path, nil)
			request.Header.Set("Origin", "http://example.com")
			request.AddCookie(&http.Cookie{Name: cookie, Value: value})
			out := httptest.NewRecorder()
			began := time.Now() // of the bubble's clock
			done := make(chan struct{})
			go func() { defer close(done); s.ServeHTTP(out, request) }()
			select {
			case <-done:
			case <-time.After(time.Hour):
				t.Fatalf("%s %s waits for ever", method, path)
			}
			if took := time.Since(began); out.Code != want || took > time.Minute {
				t.Errorf("%s %s: %d after %v, want %d", method, path, out.Code, took, want)
			}
		}
		const refresh = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
		f(http.MethodGet, "/dashboard/", accessCookie, signed, http.StatusServiceUnavailable)
		f(http.MethodGet, "/dashboard/", refreshCookie, refresh, http.StatusServiceUnavailable)
		f(http.MethodGet, "/dashboard/session", refreshCookie, refresh, http.StatusServiceUnavailable)
		f(http.MethodPost, "/dashboard/login", "none", "x", http.StatusServiceUnavailable)
		f(http.MethodGet, "/dashboard/live?company=c_1&day=2026-11-21", accessCookie, signed, http.StatusServiceUnavailable)
	})
}
