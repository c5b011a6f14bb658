package postgres_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/devstack/devtest"
	"github.com/tributary-io/tributary/internal/postgres"
)

func newStore(t *testing.T) (db *postgres.DB, store commerce.Store, dsn string) {
	t.Helper()
	dsn = devtest.Postgres(t)
	db, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	store, err = db.CreateStore(t.Context(), commerce.NewStore{Name: "Loja", Origins: []string{"https://loja.example.com"}, Actor: "cli",
		KeyCheck: func(id string) string { return "check of " + id }, Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	return db, store, dsn
}

func TestStoreHasTwoCompaniesThatTheDirectoryLearnsOf(t *testing.T) {
	db, store, _ := newStore(t)
	if store.Live.Environment != commerce.Live || store.Sandbox.Environment != commerce.Sandbox || store.Live.CompanyID == store.Sandbox.CompanyID {
		t.Errorf("%+v", store)
	}
	if id := store.Live.CompanyID; !strings.HasPrefix(id, "c_") || len(id) != 18 || id != strings.ToLower(id) {
		t.Errorf("company id %q", id)
	}
	got, err := db.Company(t.Context(), store.Live.CompanyID)
	if err != nil || got.Country != "BR" || got.Timezone != "America/Sao_Paulo" || got.Currency != "BRL" || len(got.Origins) != 1 {
		t.Errorf("%+v %v", got, err)
	}
	relay, err := db.AcquireRelay(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer relay.Close()
	pending, err := relay.Pending(t.Context(), 10)
	if err != nil || len(pending) != 2 || pending[0].Key != "company/"+store.Live.CompanyID || !bytes.Contains(pending[0].Value, []byte("check of "+store.Live.CompanyID)) {
		t.Errorf("%+v %v", pending, err)
	}
	if _, err := db.AcquireRelay(t.Context()); !errors.Is(err, commerce.ErrConflict) {
		t.Errorf("a second relay: %v", err)
	}
}

func TestRelayLockIsFreeAfterClose(t *testing.T) {
	db, _, _ := newStore(t)
	for range 3 {
		relay, err := db.AcquireRelay(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		relay.Close()
	}
}

func TestAPIKeyIsFoundByHashAndItsTextIsStoredNowhere(t *testing.T) {
	db, store, dsn := newStore(t)
	key, text, err := db.CreateAPIKey(t.Context(), commerce.NewAPIKey{CompanyID: store.Sandbox.CompanyID, Name: "erp",
		Scopes: []commerce.Scope{commerce.WriteOrders}, Actor: "cli", Random: rand.Reader})
	if err != nil || !strings.HasPrefix(text, "trb_test_") || key.Hint != text[len(text)-4:] || key.Type != commerce.OwnPlatform {
		t.Fatalf("%+v %q %v", key, text, err)
	}
	found, err := db.APIKeyByHash(t.Context(), commerce.KeyHash(text))
	if err != nil || found.KeyID != key.KeyID || found.Environment != commerce.Sandbox || found.Country != "BR" || !found.Has(commerce.WriteOrders) || found.Has(commerce.WriteCosts) {
		t.Errorf("%+v %v", found, err)
	}
	if _, err := db.APIKeyByHash(t.Context(), commerce.KeyHash(text+"x")); !errors.Is(err, commerce.ErrNotFound) {
		t.Errorf("an unknown key: %v", err)
	}
	for _, table := range []string{"api_key", "audit_log", "outbox"} {
		if holds(t, dsn, table, text) || holds(t, dsn, table, text[9:20]) {
			t.Errorf("%s holds the key's text", table)
		}
	}
	if _, _, err := db.CreateAPIKey(t.Context(), commerce.NewAPIKey{CompanyID: "c_none", Scopes: commerce.Scopes, Random: rand.Reader}); !errors.Is(err, commerce.ErrNotFound) {
		t.Errorf("a key of an unknown company: %v", err)
	}
}

func TestRevocationNeverMovesBack(t *testing.T) {
	db, store, _ := newStore(t)
	key, text, err := db.CreateAPIKey(t.Context(), commerce.NewAPIKey{CompanyID: store.Live.CompanyID, Scopes: commerce.Scopes, Actor: "cli", Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	revoke := func(companyID string, at time.Time) error {
		return db.RevokeAPIKey(context.Background(), companyID, key.KeyID, at, "cli")
	}
	if err := revoke(store.Sandbox.CompanyID, now); !errors.Is(err, commerce.ErrNotFound) {
		t.Errorf("another company's key: %v", err)
	}
	if err := revoke(store.Live.CompanyID, now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := revoke(store.Live.CompanyID, now); err != nil {
		t.Fatal(err)
	}
	if err := revoke(store.Live.CompanyID, now.Add(2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	found, err := db.APIKeyByHash(t.Context(), commerce.KeyHash(text))
	if err != nil || found.ActiveAt(now.Add(time.Second)) || !found.ActiveAt(now.Add(-time.Second)) {
		t.Errorf("%+v %v", found, err)
	}
}

func holds(t *testing.T, dsn, table, text string) bool {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var n int
	if err := conn.QueryRow(t.Context(), `select count(*) from `+table+` as r where position($1 in r::text) > 0`, text).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n > 0
}
