package postgres_test

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	pgpreview "github.com/tributary-io/tributary/internal/postgres/preview"
	"github.com/tributary-io/tributary/internal/preview"
	"github.com/tributary-io/tributary/test/devtest"
	"github.com/tributary-io/tributary/test/statements"
)

// previewStatements sends what a preview reads.
func previewStatements(t *testing.T, recorder *statements.Recorder) {
	must := mustOf(t)
	db, err := postgres.Open(t.Context(), devtest.Postgres(t), postgres.WithTracer(recorder))
	must(err)
	defer db.Close()
	rules, store, ctx := merchant.New(db), pgpreview.New(db), t.Context()
	stores, err := rules.CreateStore(ctx,
		commerce.NewStore{Name: "Loja", Actor: "test", Random: rand.Reader, KeyCheck: func(string) string { return "" }})
	must(err)
	company := stores.Live.CompanyID
	tried, err := store.Try(ctx, company, func(ctx context.Context) error {
		_, err := rules.RegisterInfluencer(ctx, commerce.Author{CompanyID: company, Actor: "test", At: noon},
			commerce.Registration{Name: "Ana"}, rand.Reader)
		return err
	})
	must(err)
	if len(tried.Before.Influencers) != 0 || len(tried.After.Influencers) != 1 || len(tried.Changes) == 0 {
		t.Errorf("%+v", tried)
	}
	must(store.Read(ctx, company, func(v preview.View) error {
		_, err := v.OrdersByKeys(ctx, []facts.KeySpan{{Key: facts.RuleKey(facts.KeyCode, "A"), From: noon, To: noon}}, 10)
		must(err)
		_, err = v.OrdersCreated(ctx, noon, noon.Add(time.Hour), 10)
		must(err)
		_, err = v.Newest(ctx, []string{"1"}, 10)
		must(err)
		return v.AcceptedEvents(ctx, &facts.Decision{})
	}))
}
