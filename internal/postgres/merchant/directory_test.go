package merchant_test

import (
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/devstack/devtest"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	"github.com/tributary-io/tributary/internal/wire"
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
	err = relay.Directory(ctx, keyCheck, func(page []commerce.OutboxRecord) error {
		pages++
		if len(page) == 0 || len(page) > 500 {
			t.Errorf("a page of %d records", len(page))
		}
		for _, r := range page {
			if _, twice := published[r.Key]; twice || r.Topic != wire.TopicDirectory {
				t.Errorf("%s %s is published, twice: %t", r.Topic, r.Key, twice)
			}
			published[r.Key] = r.Value != nil
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
	if want := 4 + len(kept) + len(archived); len(published) != want || pages < 4 {
		t.Errorf("%d records in %d pages, want %d", len(published), pages, want)
	}
}
