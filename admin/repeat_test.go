package admin_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/tributary-io/tributary/admin"
)

func TestARegistrationSentAgainWithinAMinuteIsOne(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	const path = "/admin/v1/influencers"
	const body = `{"name":"Ana Prado","links":[{"url":"https://loja.example.com/"}],"costs":[{"var_fee":10,"start_date":"2026-01-01"}]}`
	links := func() int { return s.count(`select count(*) from link where archived_at is null`) }
	f := func(name, method, body string, wantReplayed bool, wantLinks int, headers ...string) answer {
		t.Helper()
		got := s.call(method, path, s.live, body, headers...)
		s.want(got, 200, "")
		if replayed := got.Header.Get("Idempotent-Replayed") == "true"; replayed != wantReplayed {
			t.Errorf("%s: replayed is %t, want %t", name, replayed, wantReplayed)
		}
		if n := links(); n != wantLinks {
			t.Errorf("%s: %d links, want %d", name, n, wantLinks)
		}
		return got
	}
	s.want(s.call("POST", path, s.live, strings.Replace(body, "var_fee", "x", 1)), 400, "validation_error")
	first := f("the first", "POST", body, false, 1)
	if again := f("the same", "POST", body, true, 1); string(again.Data) != string(first.Data) {
		t.Errorf("answered %s, want %s", again.Data, first.Data)
	}
	f("another campaign", "POST", strings.Replace(body, `"links"`, `"campaign":"Inverno","links"`, 1), false, 2)
	f("the first once more", "POST", body, true, 2)
	f("with a key of its own", "POST", body, false, 3, "Idempotency-Key", "k1")
	f("another category is another state", "PUT", `{"name":"Ana Prado","category":"moda"}`, false, 3)
	f("so the same is registered", "POST", body, false, 4)
	f("all is archived", "DELETE", `{"name":"Ana Prado"}`, false, 0)
	f("and registered again", "POST", body, false, 1)
	s.sql(`update idempotency set expires_at = now() where idempotency_key like 'repeat:%'`)
	f("a minute later", "POST", body, false, 2)
	s.want(s.call("POST", "/sandbox/admin/v1/influencers", s.test, body), 200, "")
	if n := links(); n != 3 {
		t.Errorf("%d links with the sandbox's, want 3", n)
	}
}

// A form that is sent twice at once: the second waits for the first one's answer.
func TestRegistrationsSentAtOnceAreOne(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	const body = `{"name":"Ana Prado","links":[{"url":"https://loja.example.com/"}]}`
	answers := make([]answer, 8)
	var sent sync.WaitGroup
	for i := range answers {
		sent.Go(func() { answers[i] = s.call("POST", "/admin/v1/influencers", s.live, body) })
	}
	sent.Wait()
	for _, got := range answers {
		s.want(got, 200, "")
		if string(got.Data) != string(answers[0].Data) {
			t.Errorf("%s and %s", got.Data, answers[0].Data)
		}
	}
	if n := s.count(`select count(*) from link`); n != 1 {
		t.Errorf("%d links, want 1", n)
	}
}
