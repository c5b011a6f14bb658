package admin_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tributary-io/tributary/admin"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/wire"
)

// keyStore knows one key and counts who asks. Any other question to it panics:
// it is the embedded nil's.
type keyStore struct {
	admin.Database
	key   account.APIKey
	asked atomic.Int64
}

func (s *keyStore) APIKeyByHash(context.Context, [32]byte) (account.APIKey, error) {
	s.asked.Add(1)
	return s.key, nil
}

// nowhere takes every record and keeps none.
type nowhere struct{}

func (nowhere) Produce(context.Context, string, ...wire.Record) error { return nil }

func hotServer(t testing.TB) (server *admin.Server, store *keyStore, key string) {
	t.Helper()
	hasher, err := identity.NewHasher(bytes.Repeat([]byte("s"), 32))
	if err != nil {
		t.Fatal(err)
	}
	if key, err = account.NewKeyText(rand.Reader, commerce.Live); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	store = &keyStore{key: account.APIKey{KeyID: "key_1", CompanyID: "c_1", Environment: commerce.Live, Country: "BR",
		Scopes: account.Scopes}}
	server, err = admin.New(admin.Config{ShortBase: "go.example.com", IngestRate: admin.Rate{PerSecond: 1e9, Burst: 1e9}},
		admin.Deps{Database: store, Producer: nowhere{}, Hasher: hasher, Log: slog.New(slog.NewJSONHandler(io.Discard, nil)),
			Now: func() time.Time { return now }}) // what is kept for some seconds is kept, however slow the machine is
	if err != nil {
		t.Fatal(err)
	}
	return server, store, key
}

func sendHot(server *admin.Server, path, key, body string) int {
	request := httptest.NewRequest("POST", path, strings.NewReader(body))
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("Content-Type", "application/json")
	out := httptest.NewRecorder()
	server.ServeHTTP(out, request)
	return out.Code
}

func TestOrdersWithoutAnIdempotencyKeyAskPostgresNothingButTheirKeyOnce(t *testing.T) {
	t.Parallel()
	server, store, key := hotServer(t)
	for n := range 1000 {
		path, body := "/admin/v1/order", order1001
		if n%2 == 1 {
			path, body = "/admin/v1/product", fmt.Sprintf(`{"productId":"p%d","productName":"Camiseta"}`, n)
		}
		if status := sendHot(server, path, key, body); status != http.StatusOK {
			t.Fatalf("%s: %d", path, status)
		}
	}
	if n := store.asked.Load(); n != 1 {
		t.Errorf("%d look-ups of the key in 1000 requests, want 1", n)
	}
}

// BenchmarkOrderCorridor is POST /order without a socket and without Kafka:
// what of its CPU is ours.
func BenchmarkOrderCorridor(b *testing.B) {
	server, _, key := hotServer(b)
	b.ReportAllocs()
	for b.Loop() {
		if status := sendHot(server, "/admin/v1/order", key, order1001); status != http.StatusOK {
			b.Fatal(status)
		}
	}
}

// refusing takes no record.
type refusing struct{}

func (refusing) Produce(context.Context, string, ...wire.Record) error {
	return fmt.Errorf("produce: %w", commerce.ErrUnavailable)
}

func TestNoLogHasWhatNamesAShopper(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	_, store, key := hotServer(t)
	hasher, err := identity.NewHasher(bytes.Repeat([]byte("s"), 32))
	if err != nil {
		t.Fatal(err)
	}
	for _, producer := range []admin.Producer{nowhere{}, refusing{}} {
		server, err := admin.New(admin.Config{ShortBase: "go.example.com"}, admin.Deps{Database: store, Producer: producer, Hasher: hasher,
			Log: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
		if err != nil {
			t.Fatal(err)
		}
		named := strings.Replace(order1001, `"cartToken"`, `"userId":"5511988887777","name":"ana@example.com","cartToken"`, 1)
		for body, want := range map[string]bool{
			named: true,
			strings.Replace(named, `"orderStatus":0`, `"orderStatus":"ana@example.com"`, 1): false,
			strings.Replace(named, `"createdAt":"`, `"createdAt":"(11) 98888-7777`, 1):      false,
			strings.Replace(named, `"currency":"BRL"`, `"currency":"Ana Souza"`, 1):         false,
			named[:len(named)-1]:                      false,
			strings.Repeat(named, 1<<20/len(named)+1): false,
		} {
			if status := sendHot(server, "/admin/v1/order?email=ana@example.com", key,
				body); (status == http.StatusOK) != (want && producer == nowhere{}) {
				t.Errorf("%d for %.100s", status, body)
			}
		}
	}
	if !strings.Contains(log.String(), "request failed") {
		t.Errorf("the failure is not logged: %s", &log)
	}
	for _, personal := range []string{"xample.com", "98888", "988887777", "Souza", "cust-77", "cart-123", key} {
		if strings.Contains(log.String(), personal) {
			t.Errorf("%q is in the log: %s", personal, &log)
		}
	}
}
