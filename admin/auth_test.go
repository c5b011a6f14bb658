package admin_test

import (
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/admin"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
)

func TestKeysOpenTheirOwnEnvironmentAndScopeOnly(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	expired := func() string {
		_, text, err := s.db.CreateAPIKey(t.Context(), account.NewAPIKey{CompanyID: s.store.Live.CompanyID, Name: "old", Scopes: account.Scopes,
			ExpiresAt: time.Now().Add(-time.Second), Actor: "cli", Random: rand.Reader})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}()
	orders := s.key(s.store.Live.CompanyID, account.WriteOrders)
	unknown, err := account.NewKeyText(rand.Reader, commerce.Live)
	if err != nil {
		t.Fatal(err)
	}
	f := func(method, path, key string, status int, code string) {
		t.Helper()
		got := s.call(method, path, key, "")
		s.want(got, status, code)
		if challenge := got.Header.Get("WWW-Authenticate"); (status == 401) != strings.HasPrefix(challenge, "Bearer") {
			t.Errorf("%s %s: WWW-Authenticate %q", method, path, challenge)
		}
	}
	f("GET", "/admin/v1/influencers", s.live, 200, "")
	f("GET", "/sandbox/admin/v1/influencers", s.test, 200, "")
	f("GET", "/admin/v1/influencers", s.test, 401, "unauthorized")
	f("GET", "/sandbox/admin/v1/influencers", s.live, 401, "unauthorized")
	f("GET", "/admin/v1/influencers", "", 401, "unauthorized")
	f("GET", "/admin/v1/influencers", "x", 401, "unauthorized")
	f("GET", "/admin/v1/influencers", unknown, 401, "unauthorized")
	f("GET", "/admin/v1/influencers", expired, 401, "unauthorized")
	f("GET", "/admin/v1/influencers", s.live[:len(s.live)-1], 401, "unauthorized")
	f("GET", "/admin/v1/influencers", orders, 403, "insufficient_scope")
	f("POST", "/admin/v1/product", orders, 403, "insufficient_scope")
	if got := s.call("GET", "/admin/v1/order/1/attribution", orders, ""); !strings.Contains(got.Error.Message, "influencers.read") {
		t.Errorf("the message names no scope: %q", got.Error.Message)
	}
	s.want(s.call("GET", "/admin/v1/influencers", "", "", "Authorization", "Basic "+s.live), 401, "unauthorized")
	s.want(s.call("GET", "/admin/v1/influencers", "", "", "Authorization", "bearer "+s.live), 200, "")
}

func TestARevokedKeyIsRefused(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	s.want(s.call("GET", "/admin/v1/influencers", s.live, ""), 200, "")
	keys, err := s.db.ListAPIKeys(t.Context(), s.store.Live.CompanyID, 10)
	if err != nil || len(keys) != 1 {
		t.Fatalf("%v %v", keys, err)
	}
	if _, err := s.db.RevokeAPIKey(t.Context(), s.store.Live.CompanyID, keys[0].KeyID, time.Now(), "cli"); err != nil {
		t.Fatal(err)
	}
	await.Until(t, await.Long, func() bool { return s.call("GET", "/admin/v1/influencers", s.live, "").Status == 401 },
		func() string { return "a revoked key still works" })
}

// An archived company's keys are refused within the time in which a revoked key is, and work
// again once it is taken back. Those of the other environment go on.
func TestKeysOfAnArchivedCompanyAreRefused(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	archive := func(back bool) {
		t.Helper()
		if _, _, err := s.db.Archive(t.Context(),
			commerce.Archiving{CompanyIDs: []string{s.store.Live.CompanyID}, Back: back, Actor: "cli"}); err != nil {
			t.Fatal(err)
		}
	}
	becomes := func(status int) {
		t.Helper()
		await.Until(t, await.Long, func() bool { return s.call("GET", "/admin/v1/influencers", s.live, "").Status == status },
			func() string { return fmt.Sprintf("the key's requests are not answered %d", status) })
	}
	becomes(200)
	archive(false)
	becomes(403)
	for _, path := range []string{"/order", "/product", "/influencers", "/preview", "/statements", "/erasures"} {
		got := s.call("POST", "/admin/v1"+path, s.live, order1001)
		s.want(got, 403, "company_archived")
		if !strings.Contains(got.Error.Message, "the store is archived") {
			t.Errorf("%s: %q", path, got.Error.Message)
		}
	}
	s.want(s.call("GET", "/admin/v1/reports/sales?start_date=2026-03-01&end_date=2026-03-31", s.live, ""), 403, "company_archived")
	s.want(s.call("GET", "/sandbox/admin/v1/influencers", s.test, ""), 200, "")
	archive(true)
	becomes(200)
}

func TestLastUseIsStoredAtTheLatestWhenTheServiceStops(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	s.want(s.call("GET", "/admin/v1/influencers", s.live, ""), 200, "")
	s.stop()
	keys, err := s.db.ListAPIKeys(t.Context(), s.store.Live.CompanyID, 10)
	if err != nil || len(keys) != 1 || time.Since(keys[0].LastUsedAt) > time.Minute {
		t.Errorf("%+v %v", keys, err)
	}
}

func TestEmptyBucketIs429AndTellsWhenToComeBack(t *testing.T) {
	t.Parallel()
	now := time.Now() // it stands still: on a busy machine a second passes between two requests
	s := startWith(t, admin.Config{RuleRate: admin.Rate{PerSecond: 1, Burst: 3}, IngestRate: admin.Rate{PerSecond: 1, Burst: 1}},
		devtest.Postgres(t), devtest.Kafka(t), func(d *admin.Deps) { d.Now = func() time.Time { return now } })
	for i := range 3 {
		got := s.call("GET", "/admin/v1/influencers", s.live, "")
		s.want(got, 200, "")
		if limit, left := got.Header.Get("RateLimit-Limit"), got.Header.Get("RateLimit-Remaining"); limit != "3" || left != string(rune('2'-i)) {
			t.Errorf("limit %s, remaining %s", limit, left)
		}
	}
	got := s.call("GET", "/admin/v1/influencers", s.live, "")
	s.want(got, 429, "rate_limit_exceeded")
	if got.Header.Get("Retry-After") != "1" || got.Header.Get("RateLimit-Remaining") != "0" || got.Header.Get("RateLimit-Reset") == "" {
		t.Errorf("headers %v", got.Header)
	}
	// Orders draw on their own bucket, and another key on its own.
	s.want(s.call("POST", "/admin/v1/order", s.live, order1001), 200, "")
	s.want(s.call("POST", "/admin/v1/order", s.live, order1001), 429, "rate_limit_exceeded")
	s.want(s.call("GET", "/sandbox/admin/v1/influencers", s.test, ""), 200, "")
}
