package admin_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/admin"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
)

// erasure is what POST /erasures answers.
type erasure struct{ ID, State string }

func TestAnErasureIsAskedForOnceAndKeepsNobodysName(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	ask := func(key, base, body string) (e erasure) {
		t.Helper()
		a := s.call("POST", base+"/erasures", key, body)
		s.want(a, 200, "")
		if err := json.Unmarshal(a.Data, &e); err != nil || e.ID == "" || e.State != commerce.Erasing {
			t.Fatalf("%s: %s, %v", body, a.Data, err)
		}
		return e
	}
	for _, environment := range []struct{ key, base, company string }{
		{s.live, "/admin/v1", s.store.Live.CompanyID}, {s.test, "/sandbox/admin/v1", s.store.Sandbox.CompanyID},
	} {
		const body = `{"email":" Ana@Example.com ","phone":"(11) 98765-4321","customer_id":"4711"}`
		first := ask(environment.key, environment.base, body)
		if again := ask(environment.key, environment.base,
			`{"customer_id":"4711","email":"ana@example.com","phone":"+5511987654321"}`); again != first {
			t.Errorf("the same person again is %v, before %v", again, first)
		}
		if other := ask(environment.key, environment.base, `{"email":"bia@example.com"}`); other == first {
			t.Error("another person is the same erasure")
		}
		if n := s.count(`select count(*) from erasure where company_id = $1`, environment.company); n != 2 {
			t.Errorf("%d erasures", n)
		}
	}
	if n := s.count(`select count(*) from audit_log where action = 'customer.erase' and detail->>'by' = '["email", "phone", ` +
		`"customer_id"]'`); n != 2 {
		t.Errorf("%d lines of the audit log", n)
	}
	for _, table := range []string{"select a::text as text from audit_log a", "select e::text from erasure e",
		"select e::text from erasure_key e", "select convert_from(value, 'UTF8') from outbox where value is not null"} {
		for _, name := range []string{"ana@", "bia@", "98765", "4711"} {
			if n := s.count(`select count(*) from (`+table+`) t (text) where strpos(lower(t.text), $1) > 0`, name); n > 0 {
				t.Errorf("%d rows of %s have %s", n, table, name)
			}
		}
	}
}

func TestAnErasureSaysWhichFieldNamesNobody(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	f := func(body, want string) {
		t.Helper()
		a := s.call("POST", "/admin/v1/erasures", s.live, body)
		var fields []string
		if a.Error != nil {
			for _, d := range a.Error.Details {
				fields = append(fields, d.Field)
			}
		}
		if got := fmt.Sprint(a.Status, " ", fields); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	f(`{}`, "400 [email]")
	f(`{"email":null}`, "400 [email]")
	f(`{"email":"nobody"}`, "400 [email]")
	f(`{"phone":"12"}`, "400 [phone]")
	f(`{"customer_id":"null","visitor":"0"}`, "400 [customer_id visitor]")
	f(`{"email":7}`, "400 [email]")
	f(`{"visitor":"`+strings.Repeat("x", 256)+`"}`, "400 [visitor]")
	if n := s.count(`select count(*) from erasure`); n != 0 {
		t.Errorf("%d erasures were stored", n)
	}
}

// Each erasure costs the processor a look at many events: one store does not ask for as many
// as it likes.
func TestTheErasuresThatWaitAreBounded(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	first := s.call("POST", "/admin/v1/erasures", s.live, `{"email":"ana@example.com"}`)
	s.want(first, 200, "")
	s.count(`with more as (
			insert into erasure (company_id, erasure_id, rev, asked_at, actor, kinds)
			select $1, gen_random_uuid(), n, now(), 'test', 'phone' from generate_series(2, $2) n returning 1
		) select count(*) from more`, s.store.Live.CompanyID, commerce.MaxErasing)
	a := s.call("POST", "/admin/v1/erasures", s.live, `{"phone":"+5511987654321"}`)
	if a.Status != 400 || len(a.Error.Details) != 1 || a.Error.Details[0].Field != "phone" ||
		a.Error.Details[0].Code != string(commerce.CodeTooMany) {
		t.Errorf("one more: %+v", a)
	}
	if again := s.call("POST", "/admin/v1/erasures", s.live, `{"email":"ana@example.com"}`); string(again.Data) != string(first.Data) {
		t.Errorf("one that waits is asked for again: %+v", again)
	}
	s.want(s.call("POST", "/sandbox/admin/v1/erasures", s.test, `{"phone":"+5511987654321"}`), 200, "")
	s.count(`with done as (update erasure set done_at = now() where company_id = $1 and kinds = 'phone' returning 1) select `+
		`count(*) from done`, s.store.Live.CompanyID)
	s.want(s.call("POST", "/admin/v1/erasures", s.live, `{"phone":"+5511987654321"}`), 200, "")
}

// TestWhoMayErase: the scope alone counts, and no key has it that was not given it by name.
func TestWhoMayErase(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	for _, scope := range account.Scopes {
		want := 403
		if scope == account.EraseCustomers {
			want = 200
		}
		if a := s.call("POST", "/admin/v1/erasures", s.key(s.store.Live.CompanyID, scope), `{"email":"ana@example.com"}`); a.Status != want {
			t.Errorf("%s: %d, want %d", scope, a.Status, want)
		}
	}
	if a := s.call("POST", "/admin/v1/erasures", s.key(s.store.Live.CompanyID, account.AdminScopes...),
		`{"email":"ana@example.com"}`); a.Status != 403 {
		t.Errorf("a key with the usual scopes: %d", a.Status)
	}
	if a := s.call("POST", "/admin/v1/erasures", s.test, `{"email":"ana@example.com"}`); a.Status != 401 {
		t.Errorf("a key of the sandbox: %d", a.Status)
	}
}
