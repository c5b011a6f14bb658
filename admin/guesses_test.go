package admin

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/wire"
)

// oneKeyStore knows one key, and counts what it is asked.
type oneKeyStore struct {
	Database
	hash  [32]byte
	key   account.APIKey
	asked int
	fails bool
}

func (s *oneKeyStore) APIKeyByHash(_ context.Context, hash [32]byte) (account.APIKey, error) {
	s.asked++
	switch {
	case s.fails:
		return account.APIKey{}, commerce.ErrUnavailable
	case hash != s.hash:
		return account.APIKey{}, commerce.ErrNotFound
	}
	return s.key, nil
}

type noKafka struct{}

func (noKafka) Produce(context.Context, string, ...wire.Record) error { return nil }

// A stranger can make as many keys of the right form as there are numbers; each
// would be a query.
func TestGuessedKeysAreNotLookedUpForEver(t *testing.T) {
	t.Parallel()
	hasher, err := identity.NewHasher(bytes.Repeat([]byte("s"), 32))
	if err != nil {
		t.Fatal(err)
	}
	newKey := func() string {
		t.Helper()
		text, err := account.NewKeyText(rand.Reader, commerce.Live)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	text := newKey()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	store := &oneKeyStore{hash: account.KeyHash(text),
		key: account.APIKey{KeyID: "key_1", CompanyID: "c_1", Country: "BR", Environment: commerce.Live}}
	server, err := New(Config{ShortBase: "go.example.com", ClientIP: func(r *http.Request) string { return r.Header.Get("X-From") }},
		Deps{Database: store, Producer: noKafka{}, Hasher: hasher, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(key, from string) int {
		request := httptest.NewRequest(http.MethodGet, "/admin/v1/influencers", nil)
		request.Header.Set("Authorization", "Bearer "+key)
		request.Header.Set("X-From", from)
		out := httptest.NewRecorder()
		server.ServeHTTP(out, request)
		if out.Code == http.StatusTooManyRequests && out.Header().Get("Retry-After") == "" {
			t.Error("429 without Retry-After")
		}
		return out.Code
	}
	// The key has no scope: it is known where the answer is 403.
	if got := ask(text, "198.51.100.1"); got != http.StatusForbidden {
		t.Fatalf("a known key: %d", got)
	}
	store.asked = 0
	refused := 0
	for i := range 5000 {
		switch got := ask(newKey(), fmt.Sprintf("203.0.113.%d", i%250)); got {
		case http.StatusTooManyRequests:
			refused++
		case http.StatusUnauthorized:
		default:
			t.Fatalf("a guessed key: %d", got)
		}
	}
	if store.asked > 100 || store.asked+refused != 5000 {
		t.Errorf("5000 guesses of one network: %d look-ups, %d refused", store.asked, refused)
	}
	for _, from := range []string{"203.0.113.1", "198.51.100.1"} {
		if got := ask(text, from); got != http.StatusForbidden {
			t.Errorf("a key that is in use, from %s: %d", from, got)
		}
	}
	for i := range 100_000 {
		ask(newKey(), fmt.Sprintf("2001:db8:%x::1", i%65_536))
	}
	if store.asked > 1000 {
		t.Errorf("guesses of many networks: %d look-ups", store.asked)
	}
	now = now.Add(time.Minute)
	store.fails, store.asked = true, 0
	for range 500 {
		if got := ask(newKey(), "192.0.2.1"); got != http.StatusServiceUnavailable {
			t.Fatalf("a look-up that failed is no guess: %d", got)
		}
	}
}
