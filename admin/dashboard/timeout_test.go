package dashboard

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/login"
	"github.com/tributary-io/tributary/internal/account"
)

// hangingStore lets a person log in. From stopped on it answers nothing until whoever asks
// gives up, as a server does that is stopped in the middle.
type hangingStore struct {
	Database
	hash    string
	stopped atomic.Bool
}

func (s *hangingStore) StartSession(context.Context, string, string, [32]byte, time.Time, time.Time) (account.LogIn, error) {
	return account.LogIn{Session: account.Session{PersonID: "p", Family: "f"}}, nil
}

func (*hangingStore) SessionAccesses(ctx context.Context, _, _ string) ([]account.Access, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (s *hangingStore) PersonByEmail(ctx context.Context, _ string) (account.Person, error) {
	if !s.stopped.Load() {
		return account.Person{ID: "p", PasswordHash: s.hash}, nil
	}
	<-ctx.Done()
	return account.Person{}, ctx.Err()
}

func (s *hangingStore) PersonByID(context.Context, string) (account.Person, error) {
	return account.Person{ID: "p", PasswordHash: s.hash}, nil
}

func (*hangingStore) RotateSession(ctx context.Context, _ account.SessionRotation) (account.Session, error) {
	<-ctx.Done()
	return account.Session{}, ctx.Err()
}

func TestAPageDoesNotWaitForEverForTheDatabase(t *testing.T) {
	t.Parallel()
	hash, err := login.HashPassword("a-good-long-password")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		store := &hangingStore{hash: hash}
		s, err := New(Config{TokenSecret: bytes.Repeat([]byte("t"), 32)}, Deps{
			Database: store, Hints: func(context.Context, func([]byte) error) error { return nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		request := httptest.NewRequest(http.MethodPost, "/dashboard/login", strings.NewReader("email=a@b.example&password=a-good-long-password"))
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.Header.Set("Origin", "http://example.com")
		out := httptest.NewRecorder()
		s.ServeHTTP(out, request)
		cookies := map[string]string{}
		for _, c := range out.Result().Cookies() {
			cookies[c.Name] = c.Value
		}
		signed := cookies["trb_access"]
		if signed == "" {
			t.Fatalf("the log-in answered %d: %s", out.Code, out.Body)
		}
		store.stopped.Store(true)
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
		f(http.MethodGet, "/dashboard/", "trb_access", signed, http.StatusServiceUnavailable)
		f(http.MethodGet, "/dashboard/", "trb_refresh", refresh, http.StatusServiceUnavailable)
		f(http.MethodGet, "/dashboard/session", "trb_refresh", refresh, http.StatusServiceUnavailable)
		f(http.MethodPost, "/dashboard/login", "none", "x", http.StatusServiceUnavailable)
		f(http.MethodGet, "/dashboard/live?company=c_1&day=2026-11-21", "trb_access", signed, http.StatusServiceUnavailable)
	})
}
