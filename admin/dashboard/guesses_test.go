package dashboard

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
)

// noSessions knows no refresh token, and counts what it is asked.
type noSessions struct {
	Database
	asked int
}

func (s *noSessions) RotateSession(context.Context, account.SessionRotation) (account.Session, error) {
	s.asked++
	return account.Session{}, commerce.ErrNotFound
}

func TestGuessedRefreshTokensAreNotLookedUpForEver(t *testing.T) {
	t.Parallel()
	store := &noSessions{}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var log bytes.Buffer
	s, err := New(Config{TokenSecret: bytes.Repeat([]byte("t"), 32)}, Deps{
		Database: store, Hints: func(context.Context, func([]byte) error) error { return nil },
		Now: func() time.Time { return now }, Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/dashboard/", "/dashboard/session", "/dashboard/login", "/dashboard/order"} {
		for range 500 {
			var token [32]byte
			if _, err := rand.Read(token[:]); err != nil {
				t.Fatal(err)
			}
			request := httptest.NewRequest(http.MethodGet, path, nil)
			request.AddCookie(&http.Cookie{Name: "trb_refresh", Value: base64.RawURLEncoding.EncodeToString(token[:])})
			out := httptest.NewRecorder()
			s.ServeHTTP(out, request)
			if out.Code == http.StatusInternalServerError {
				t.Fatalf("%s: %d", path, out.Code)
			}
		}
	}
	if store.asked > 100 {
		t.Errorf("2000 guesses of one network: %d look-ups", store.asked)
	}
	if lines := strings.Count(log.String(), "\n"); lines > 0 {
		t.Errorf("guesses wrote %d lines into the log:\n%.500s", lines, log.String())
	}
}
