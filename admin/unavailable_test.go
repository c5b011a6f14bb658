package admin_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/tributary-io/tributary/admin"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/postgres"
)

func TestPostgresOutageIs503(t *testing.T) {
	t.Parallel()
	db, err := postgres.Open(t.Context(), "postgres://nobody@127.0.0.1:1/none")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	client, err := kafka.NewClient(kafka.Config{Brokers: []string{"127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	hasher, err := identity.NewHasher(bytes.Repeat([]byte("s"), 32))
	if err != nil {
		t.Fatal(err)
	}
	server, err := admin.New(admin.Config{ShortBase: "go.example.com"},
		admin.Deps{Database: storesOf(db), Producer: kafka.NewProducer(client), Hasher: hasher})
	if err != nil {
		t.Fatal(err)
	}
	key, err := account.NewKeyText(rand.Reader, commerce.Live)
	if err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequest("GET", "/admin/v1/influencers", nil)
	request.Header.Set("Authorization", "Bearer "+key)
	out := httptest.NewRecorder()
	begun := time.Now()
	server.ServeHTTP(out, request)
	var got answer
	if err := json.Unmarshal(out.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if out.Code != http.StatusServiceUnavailable || got.Error.Code != "unavailable" || out.Header().Get("Retry-After") == "" ||
		time.Since(begun) > 20*time.Second {
		t.Errorf("%d after %s: %s", out.Code, time.Since(begun), out.Body)
	}
	if bytes.Contains(out.Body.Bytes(), []byte("127.0.0.1")) {
		t.Errorf("an internal text leaks: %s", out.Body)
	}
}
