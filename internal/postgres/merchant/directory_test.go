package merchant_test

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/devtest"
)

// A tombstone that was lost on its way leaves an archived link in the
// directory. Republishing has to take it away again.
func TestRepublishingTakesArchivedLinksAndGoneCompaniesAway(t *testing.T) {
	t.Parallel()
	dsn, ctx := devtest.Postgres(t), t.Context()
	pool, err := postgres.Open(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	db := merchant.New(pool)
	keyCheck := func(string) string { return "check" }
	newStore := func(name string) commerce.Store {
		t.Helper()
		store, err := db.CreateStore(ctx, commerce.NewStore{Name: name, Actor: "test", Random: rand.Reader, KeyCheck: keyCheck})
		if err != nil {
			t.Fatal(err)
		}
		return store
	}
	register := func(companyID, name string, links int) []string {
		t.Helper()
		r := commerce.Registration{Name: name}
		for range links {
			r.Links = append(r.Links, "https://loja.example.com/")
		}
		made, err := db.RegisterInfluencer(ctx, commerce.Author{CompanyID: companyID, Actor: "test", At: time.Now()}, r, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return made.Codes
	}
	store, gone := newStore("Loja"), newStore("Loja fechada")
	company := store.Live.CompanyID
	kept := register(company, "Ana", 3)
	var archived []string
	for i := range 4 { // more than two pages
		name := "Bia " + strings.Repeat("x", i)
		archived = append(archived, register(company, name, 300)...)
		if _, err := db.ArchiveInfluencer(ctx, commerce.Author{CompanyID: company, Actor: "test", At: time.Now()}, name, ""); err != nil {
			t.Fatal(err)
		}
	}
	archived = append(archived, register(gone.Live.CompanyID, "Caio", 2)...)
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	for _, table := range []string{"link", "campaign", "influencer", "company"} {
		if _, err := conn.Exec(ctx, `delete from `+table+` where company_id = $1`, gone.Live.CompanyID); err != nil {
			t.Fatal(err)
		}
	}

	relay, err := db.AcquireRelay(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer relay.Close()
	published := map[string]bool{} // key → it is there, not taken away
	pages := 0
	err = relay.Directory(ctx, "go.example.com", keyCheck, func(page []account.OutboxRecord) error {
		pages++
		if len(page) == 0 || len(page) > 500 {
			t.Errorf("a page of %d records", len(page))
		}
		for _, r := range page {
			if _, twice := published[r.Key]; twice || r.Topic != wire.TopicDirectory {
				t.Errorf("%s %s is published, twice: %t", r.Topic, r.Key, twice)
			}
			published[r.Key] = r.Value != nil
			if r.Key == wire.InstallationKey && !strings.Contains(string(r.Value), `"shortBase":"go.example.com"`) {
				t.Errorf("%s", r.Value)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	f := func(what, key string, want bool) {
		t.Helper()
		if there, ok := published[key]; !ok || there != want {
			t.Errorf("%s %s: published %t, there %t; want there %t", what, key, ok, there, want)
		}
	}
	for _, id := range []string{company, store.Sandbox.CompanyID, gone.Sandbox.CompanyID} {
		f("company", wire.CompanyKeyPrefix+id, true)
	}
	f("gone company", wire.CompanyKeyPrefix+gone.Live.CompanyID, false)
	for _, code := range kept {
		f("link", wire.LinkKeyPrefix+code, true)
	}
	for _, code := range archived {
		f("archived link", wire.LinkKeyPrefix+code, false)
	}
	f("installation", wire.InstallationKey, true)
	if want := 5 + len(kept) + len(archived); len(published) != want || pages < 4 {
		t.Errorf("%d records in %d pages, want %d", len(published), pages, want)
	}
}

// Edges check keys by the directory, so that each change of a key is published
// with it, in the order of the changes.
func TestTheDirectoryLearnsOfEachChangeOfAnAPIKey(t *testing.T) {
	t.Parallel()
	db, store, dsn := newStore(t)
	ctx, company := t.Context(), store.Live.CompanyID
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	var before int64
	published := func() (keys []wire.APIKey, hashes []string) { // since the last call
		t.Helper()
		rows, err := conn.Query(ctx,
			`select outbox_id, key, value from outbox where topic = $1 and starts_with(key, 'key/') and outbox_id > $2 order by 1`,
			wire.TopicDirectory, before)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var key string
			var value []byte
			var k wire.APIKey
			if err := errors.Join(rows.Scan(&before, &key, &value), json.Unmarshal(value, &k)); err != nil {
				t.Fatal(err)
			}
			keys, hashes = append(keys, k), append(hashes, strings.TrimPrefix(key, wire.APIKeyPrefix))
		}
		return keys, hashes
	}
	ends := time.Now().Add(48 * time.Hour).Truncate(time.Microsecond).UTC()
	made, text, err := db.CreateAPIKey(ctx,
		account.NewAPIKey{CompanyID: company, Scopes: []account.Scope{account.ImportEvents}, ExpiresAt: ends, Actor: "cli",
			Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	keys, hashes := published()
	if len(keys) != 1 || hashes[0] != wire.APIKeyHash(text) || keys[0].V != 1 || keys[0].KeyID != made.KeyID || keys[0].CompanyID != company ||
		keys[0].ExpiresAt == nil || !keys[0].ExpiresAt.Equal(ends) || keys[0].RevokedAt != nil {
		t.Fatalf("created: %+v %v", keys, hashes)
	}
	if trust, ok := keys[0].Trust(); !ok || trust != wire.TrustImport {
		t.Errorf("trust %q %t", trust, ok)
	}
	rev := keys[0].Rev
	now := time.Now().Truncate(time.Microsecond).UTC()
	next, nextText, err := db.RotateAPIKey(ctx,
		account.KeyRotation{CompanyID: company, KeyID: made.KeyID, At: now, Grace: time.Hour, Actor: "cli", Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	keys, hashes = published()
	if len(keys) != 2 || hashes[0] != wire.APIKeyHash(text) || hashes[1] != wire.APIKeyHash(nextText) || keys[0].Rev <= rev ||
		keys[1].KeyID != next.KeyID ||
		keys[0].RevokedAt == nil || !keys[0].RevokedAt.Equal(now.Add(time.Hour)) || keys[1].RevokedAt != nil {
		t.Fatalf("rotated: %+v %v", keys, hashes)
	}
	rev = keys[1].Rev
	for range 2 { // the second time nothing is changed
		if _, err := db.RevokeAPIKey(ctx, company, next.KeyID, now, "cli"); err != nil {
			t.Fatal(err)
		}
	}
	keys, _ = published()
	if len(keys) != 1 || keys[0].Rev <= rev || keys[0].RevokedAt == nil || !keys[0].RevokedAt.Equal(now) {
		t.Fatalf("revoked: %+v", keys)
	}
	// Republished: what ended over a day ago is taken away.
	if _, err := conn.Exec(ctx, `update api_key set revoked_at = now() - interval '25 hours' where key_id = $1`, next.KeyID); err != nil {
		t.Fatal(err)
	}
	relay, err := db.AcquireRelay(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer relay.Close()
	there := map[string]bool{}
	if err := relay.Directory(ctx, "", func(string) string { return "" }, func(page []account.OutboxRecord) error {
		for _, r := range page {
			there[r.Key] = r.Value != nil
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	old, oldListed := there[wire.APIKeyPrefix+wire.APIKeyHash(nextText)]
	if !there[wire.APIKeyPrefix+wire.APIKeyHash(text)] || old || !oldListed {
		t.Errorf("republished: %v", there)
	}
}

// Both packages name the scopes, since the edge knows no commerce.
func TestScopesOfEventsAreTheDirectorys(t *testing.T) {
	t.Parallel()
	if account.WriteEvents != wire.ScopeWriteEvents || account.ImportEvents != wire.ScopeImportEvents {
		t.Error(account.Scopes)
	}
}
