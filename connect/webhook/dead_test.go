package webhook_test

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/tributary-io/tributary/connect/webhook"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
)

// An endpoint failed once, and nothing was sent for days: the service was stopped, or nothing happened. The next attempt that fails says
// no more than the first one.
func TestAnEndpointIsDeadAfterFiveDaysOfFailures(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	db, err := postgres.Open(ctx, devtest.Postgres(t))
	must(err)
	t.Cleanup(db.Close)
	shops := merchant.New(db)
	store, err := shops.CreateStore(ctx, commerce.NewStore{Name: "Loja", Actor: "cli", KeyCheck: func(id string) string { return id },
		Random: rand.Reader})
	must(err)
	keys, err := account.NewSealKeys()
	must(err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
	}))
	t.Cleanup(server.Close)
	company := store.Live.CompanyID
	var offer commerce.ConnectOffer
	offer.KeyID, offer.PublicKey = keys.Newest()
	// How many days ago the first failure was, how many there were, and how often its message was tried.
	cases := map[string]struct {
		days, failures, tries int
		dead                  bool
	}{
		"whe_once":  {days: 6, failures: 1, tries: 1},
		"whe_early": {days: 4, failures: 6, tries: 6},
		"whe_tried": {days: 6, failures: 6, tries: 6, dead: true},
		"whe_many":  {days: 6, failures: 200, tries: 0, dead: true},
	}
	for id, c := range cases {
		_, secret, err := account.NewWebhookSecret(rand.Reader, offer, company, id)
		must(err)
		must(shops.AddEndpoint(ctx, commerce.Author{CompanyID: company, Actor: "cli", At: time.Now()}, commerce.Endpoint{ID: id, Name: id,
			URL: server.URL, Types: commerce.EventTypes, Active: true}, secret))
		_, err = db.Pool().Exec(ctx, `update destination set failures = $2, failing_since = now() - $3::int * interval '1 day'
			where destination_id = $1`, id, c.failures, c.days)
		must(err)
		_, err = db.Pool().Exec(ctx, `insert into outgoing (company_id, destination_id, number, key, type, at, message_id, data, due_at, attempts)
			values ($1, $2, 1, 'order:1', 'payout.changed', now(), 'msg_1', '{}', now(), $3)`, company, id, c.tries)
		must(err)
	}
	sender, err := webhook.New(webhook.Config{AllowLocal: true, LookEvery: 20 * time.Millisecond}, webhook.Deps{Database: shops, Keys: keys})
	must(err)
	sending, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- sender.Run(sending) }()
	for id, c := range cases {
		var e commerce.Endpoint
		await.Until(t, await.Long, func() bool {
			e, err = shops.Endpoint(ctx, company, id)
			return err == nil && e.Failures > c.failures && (!c.dead || !e.Active)
		}, func() string { return id + " is not tried, or not disabled" })
		if e.Active == c.dead || c.dead && e.Reason != commerce.EndpointDead {
			t.Errorf("%s: active %t, %q", id, e.Active, e.Reason)
		}
	}
	stop()
	must(<-done)
}
