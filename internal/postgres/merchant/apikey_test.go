package merchant_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	"github.com/tributary-io/tributary/test/devtest"
)

func newStore(t *testing.T) (db *merchant.Store, store commerce.Store, dsn string) {
	t.Helper()
	dsn = devtest.Postgres(t)
	opened, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	db = merchant.New(opened)
	store, err = db.CreateStore(t.Context(),
		commerce.NewStore{Name: "Loja", Settings: commerce.Settings{Origins: []string{"https://loja.example.com"}}, Actor: "cli",
			KeyCheck: func(id string) string { return "check of " + id }, Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	return db, store, dsn
}

func TestStoreHasTwoCompaniesThatTheDirectoryLearnsOf(t *testing.T) {
	t.Parallel()
	db, store, _ := newStore(t)
	if store.Live.Environment != commerce.Live || store.Sandbox.Environment != commerce.Sandbox ||
		store.Live.CompanyID == store.Sandbox.CompanyID {
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
	if err != nil || len(pending) != 2 || pending[0].Key != "company/"+store.Live.CompanyID ||
		!bytes.Contains(pending[0].Value, []byte("check of "+store.Live.CompanyID)) {
		t.Errorf("%+v %v", pending, err)
	}
	if _, err := db.AcquireRelay(t.Context()); !errors.Is(err, commerce.ErrConflict) {
		t.Errorf("a second relay: %v", err)
	}
}

func TestRelayLockIsFreeAfterClose(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
	db, store, dsn := newStore(t)
	key, text, err := db.CreateAPIKey(t.Context(), account.NewAPIKey{CompanyID: store.Sandbox.CompanyID, Name: "erp",
		Scopes: []account.Scope{account.WriteOrders}, Actor: "cli", Random: rand.Reader})
	if err != nil || !strings.HasPrefix(text, "trb_test_") || key.Hint != text[len(text)-4:] || key.Type != account.OwnPlatform {
		t.Fatalf("%+v %q %v", key, text, err)
	}
	found, err := db.APIKeyByHash(t.Context(), account.KeyHash(text))
	if err != nil || found.KeyID != key.KeyID || found.Environment != commerce.Sandbox || found.Country != "BR" ||
		!found.Has(account.WriteOrders) || found.Has(account.WriteCosts) {
		t.Errorf("%+v %v", found, err)
	}
	if _, err := db.APIKeyByHash(t.Context(), account.KeyHash(text+"x")); !errors.Is(err, commerce.ErrNotFound) {
		t.Errorf("an unknown key: %v", err)
	}
	for _, table := range []string{"api_key", "audit_log", "outbox"} {
		if holds(t, dsn, table, text) || holds(t, dsn, table, text[9:20]) {
			t.Errorf("%s holds the key's text", table)
		}
	}
	if _, _, err := db.CreateAPIKey(t.Context(),
		account.NewAPIKey{CompanyID: "c_none", Scopes: account.Scopes, Random: rand.Reader}); !errors.Is(err, commerce.ErrNotFound) {
		t.Errorf("a key of an unknown company: %v", err)
	}
}

func TestRevocationNeverMovesBackAndOnlyWhatIsStoredIsAudited(t *testing.T) {
	t.Parallel()
	db, store, dsn := newStore(t)
	now := time.Now().Truncate(time.Microsecond)
	newKey := func(expires time.Time) (keyID, text string) {
		t.Helper()
		key, text, err := db.CreateAPIKey(t.Context(), account.NewAPIKey{CompanyID: store.Live.CompanyID, Scopes: account.Scopes,
			ExpiresAt: expires, Actor: "cli", Random: rand.Reader})
		if err != nil {
			t.Fatal(err)
		}
		return key.KeyID, text
	}
	f := func(keyID string, at, want time.Time, wantAudits int) {
		t.Helper()
		ends, err := db.RevokeAPIKey(t.Context(), store.Live.CompanyID, keyID, at, "cli")
		if err != nil || !ends.Equal(want) {
			t.Errorf("revoked at %s: ends %s, %v; want %s", at, ends, err, want)
		}
		if got := audits(t, dsn, "api_key.revoke", keyID); got != wantAudits {
			t.Errorf("revoked at %s: %d revocations in the audit log, want %d", at, got, wantAudits)
		}
	}
	key, text := newKey(time.Time{})
	if _, err := db.RevokeAPIKey(t.Context(), store.Sandbox.CompanyID, key, now, "cli"); !errors.Is(err, commerce.ErrNotFound) {
		t.Errorf("another company's key: %v", err)
	}
	f(key, now.Add(time.Hour), now.Add(time.Hour), 1)
	f(key, now.Add(2*time.Hour), now.Add(time.Hour), 1)
	f(key, now, now, 2) // sooner than planned
	f(key, now.Add(2*time.Hour), now, 2)
	found, err := db.APIKeyByHash(t.Context(), account.KeyHash(text))
	if err != nil || found.ActiveAt(now.Add(time.Second)) || !found.ActiveAt(now.Add(-time.Second)) {
		t.Errorf("%+v %v", found, err)
	}
	expiring, _ := newKey(now.Add(time.Hour))
	f(expiring, now.Add(2*time.Hour), now.Add(time.Hour), 0)
	f(expiring, now.Add(time.Minute), now.Add(time.Minute), 1)
}

func audits(t *testing.T, dsn, action, subject string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if err := conn.QueryRow(t.Context(), `select count(*) from audit_log where action = $1 and subject = $2`, action,
		subject).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
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

// Every edge keeps all keys that work, so there is an end to them; those that work are
// listed before those that do not, however many there were.
func TestKeysThatWorkAreBoundedAndListed(t *testing.T) {
	t.Parallel()
	db, store, _ := newStore(t)
	company := store.Live.CompanyID
	create := func() (string, error) {
		key, _, err := db.CreateAPIKey(t.Context(),
			account.NewAPIKey{CompanyID: company, Scopes: account.Scopes, Actor: "cli", Random: rand.Reader})
		return key.KeyID, err
	}
	rotate := func(keyID string, grace time.Duration) error {
		_, _, err := db.RotateAPIKey(t.Context(),
			account.KeyRotation{CompanyID: company, KeyID: keyID, At: time.Now(), Grace: grace, Actor: "cli", Random: rand.Reader})
		return err
	}
	var made []string
	for range account.MaxAPIKeys {
		id, err := create()
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, id)
	}
	if _, err := create(); !errors.Is(err, account.ErrTooManyKeys) {
		t.Errorf("one more: %v", err)
	}
	if err := rotate(made[0], time.Hour); !errors.Is(err, account.ErrTooManyKeys) {
		t.Errorf("one more by a rotation: %v", err)
	}
	if err := rotate(made[0], 0); err != nil {
		t.Errorf("one for another: %v", err)
	}
	for _, id := range made[1 : account.MaxAPIKeys-1] {
		if _, err := db.RevokeAPIKey(t.Context(), company, id, time.Now(), "cli"); err != nil {
			t.Fatal(err)
		}
	}
	newest, err := create()
	if err != nil {
		t.Fatal(err)
	}
	list, err := db.ListAPIKeys(t.Context(), company, 3)
	if err != nil || len(list) != 3 || list[0].KeyID != made[account.MaxAPIKeys-1] || list[2].KeyID != newest {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestRotatedKeyHasASuccessorAndAGracePeriod(t *testing.T) {
	t.Parallel()
	db, store, _ := newStore(t)
	company := store.Live.CompanyID
	now := time.Now().Truncate(time.Microsecond)
	old, oldText, err := db.CreateAPIKey(t.Context(), account.NewAPIKey{CompanyID: company, Name: "shop", Type: account.Integration,
		Scopes: []account.Scope{account.WriteOrders}, ExpiresAt: now.Add(48 * time.Hour), Actor: "cli", Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	rotate := func(company, id string, at time.Time) (account.APIKey, string, error) {
		return db.RotateAPIKey(t.Context(),
			account.KeyRotation{CompanyID: company, KeyID: id, At: at, Grace: time.Hour, Actor: "cli", Random: rand.Reader})
	}
	made, text, err := rotate(company, old.KeyID, now)
	if err != nil {
		t.Fatal(err)
	}
	if found, err := db.APIKeyByHash(t.Context(), account.KeyHash(text)); err != nil || found.KeyID != made.KeyID || text == oldText {
		t.Errorf("the new text opens %+v, %v", found, err)
	}
	if made.KeyID == old.KeyID || made.Name != "shop" || made.Type != account.Integration || !slices.Equal(made.Scopes, old.Scopes) ||
		made.Environment != commerce.Live || !made.RevokedAt.IsZero() || made.ExpiresAt.Sub(now).Round(time.Hour) != 48*time.Hour {
		t.Errorf("made %+v of %+v", made, old)
	}
	was, err := db.APIKeyByHash(t.Context(), account.KeyHash(oldText))
	if err != nil || !was.ActiveAt(now.Add(time.Hour-time.Second)) || was.ActiveAt(now.Add(time.Hour)) {
		t.Errorf("the old key is %+v, %v", was, err)
	}
	f := func(company, id string, at time.Time) {
		t.Helper()
		if _, _, err := rotate(company, id, at); !errors.Is(err, commerce.ErrNotFound) {
			t.Errorf("rotate %s at %s: %v, want not found", id, at, err)
		}
	}
	f(company, "key_none", now)
	f(store.Sandbox.CompanyID, old.KeyID, now)
	f(company, old.KeyID, now.Add(2*time.Hour)) // over by then
}

// `tributary dev` adds its shop's address at each start, and takes nothing away.
func TestOriginsAreAddedToThoseThereAre(t *testing.T) {
	t.Parallel()
	db, store, _ := newStore(t)
	id := store.Live.CompanyID
	f := func(origins, hosts []string, wantOrigins, wantHosts string) {
		t.Helper()
		if err := db.AddOrigins(t.Context(), id, origins, hosts, "test"); err != nil {
			t.Fatal(err)
		}
		c, err := db.Company(t.Context(), id)
		if err != nil || strings.Join(c.Origins, " ") != wantOrigins || strings.Join(c.Hosts, " ") != wantHosts {
			t.Errorf("%q %q, %v; want %s and %s", c.Origins, c.Hosts, err, wantOrigins, wantHosts)
		}
	}
	f([]string{"http://127.0.0.1:1"}, []string{"127.0.0.1"}, "http://127.0.0.1:1 https://loja.example.com", "127.0.0.1")
	f([]string{"https://loja.example.com", "http://127.0.0.1:2"}, nil,
		"http://127.0.0.1:2 http://127.0.0.1:1 https://loja.example.com", "127.0.0.1")
	before, err := db.Company(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	f([]string{"http://127.0.0.1:2"}, []string{"127.0.0.1"}, "http://127.0.0.1:2 http://127.0.0.1:1 https://loja.example.com", "127.0.0.1")
	if after, err := db.Company(t.Context(), id); err != nil || after.RulesRev != before.RulesRev {
		t.Errorf("what was there already made revision %d of %d, %v", after.RulesRev, before.RulesRev, err)
	}
	var many []string
	for i := range commerce.MaxListed {
		many = append(many, fmt.Sprintf("http://127.0.0.1:%d", 1000+i))
	}
	f(many, nil, strings.Join(many, " "), "127.0.0.1")
}
