package admin_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/tributary-io/tributary/admin"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
)

// anotherHasher is of the secret that takes the place of that of a service of these tests.
func anotherHasher(t *testing.T) *identity.Hasher {
	t.Helper()
	h, err := identity.NewHasher(bytes.Repeat([]byte("n"), 32))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// roll starts three services on one database: before a rotation of the hashing secret, while it lasts, and after it.
func roll(t *testing.T) (s, rotating, done *service) {
	t.Helper()
	dsn, broker := devtest.Postgres(t), devtest.Kafka(t)
	s = startOn(t, admin.Config{}, dsn, broker)
	another := anotherHasher(t)
	both, err := another.Rotating(s.hasher)
	if err != nil {
		t.Fatal(err)
	}
	rotating = startWith(t, admin.Config{}, dsn, broker, func(d *admin.Deps) { d.Hasher, d.Previous = both, s.hasher })
	done = startWith(t, admin.Config{}, dsn, broker, func(d *admin.Deps) { d.Hasher = another })
	return s, rotating, done
}

// Whichever service of a roll a request came to: the next one knows it again.
func TestARepeatedRequestIsKnownOverARotation(t *testing.T) {
	t.Parallel()
	s, rotating, done := roll(t)
	f := func(what string, first, second *service, known bool) {
		t.Helper()
		order := `{"orderId":"` + what + `","orderStatus":0,"createdAt":"2026-03-09T11:00:00Z","totalPrice":1,"currency":"BRL"}`
		s.want(first.call("POST", "/admin/v1/order", s.live, order, "Idempotency-Key", what), 200, "")
		again := second.call("POST", "/admin/v1/order", s.live, order, "Idempotency-Key", what)
		s.want(again, 200, "")
		if got := again.Header.Get("Idempotent-Replayed") == "true"; got != known {
			t.Errorf("%s: known again %v, want %v", what, got, known)
		}
		if known {
			s.want(second.call("POST", "/admin/v1/order", s.live, order+" ", "Idempotency-Key", what), 422, "idempotency_key_mismatch")
		}
	}
	f("before, then while", s, rotating, true)
	f("while, then before", rotating, s, true)
	f("while, then after", rotating, done, true)
	f("after, then while", done, rotating, true)
	f("while, twice", rotating, rotating, true)
	f("before, then after: both services never run together", s, done, false)

	form := `{"name":"Beto","links":[{"url":"https://loja.example.com/"}]}` // without a key
	s.want(s.call("POST", "/admin/v1/influencers", s.live, form), 200, "")
	if got := rotating.call("POST", "/admin/v1/influencers", s.live, form); got.Header.Get("Idempotent-Replayed") != "true" {
		t.Error("a form sent twice registers two influencers")
	}
	// A request that fails frees the keys of both secrets.
	s.want(rotating.call("POST", "/admin/v1/influencers", s.live, `{"name":""}`, "Idempotency-Key", "k"), 400, "validation_error")
	for _, service := range []*service{s, done} {
		s.want(service.call("POST", "/admin/v1/product", s.live, `{"productId":"p","productName":"p"}`, "Idempotency-Key", "k"), 200, "")
	}
}

// An order has the keys of both secrets, and the directory the checks of who publishes it.
func TestAnOrderAndTheDirectoryHaveBothSecrets(t *testing.T) {
	t.Parallel()
	s, rotating, _ := roll(t)
	id := s.store.Live.CompanyID
	s.want(rotating.call("POST", "/admin/v1/order", s.live,
		`{"orderId":"1","orderStatus":0,"createdAt":"2026-03-09T11:00:00Z","totalPrice":1,"currency":"BRL",
		"cartToken":"cart-123","browserIp":"192.0.2.7","userId":"u-77",
			"customer":{"customerId":"c-7","email":"ana@example.com","phone":"11988887777"}}`), 200, "")
	now, was := anotherHasher(t).Company(id, "BR"), s.hasher.Company(id, "BR")
	s.read(wire.TopicCommerce, 8, func(r kafka.Record) bool {
		var c wire.Commerce
		var o wire.Order
		if json.Unmarshal(r.Value, &c) != nil || c.Kind != wire.KindOrder {
			return false
		}
		if err := json.Unmarshal(c.Body, &o); err != nil {
			t.Fatal(err)
		}
		if o.EmailKey.Value != now.Email("ana@example.com") || o.VisitorID.Value != now.VisitorID("u-77") || len(o.Former) != 1 {
			t.Fatalf("the order is %s", c.Body)
		}
		want := wire.Former{
			EmailKey: was.Email("ana@example.com"), PhoneKey: was.Phone("11988887777"), CustomerKey: was.Customer("c-7"),
			CartNoKey: was.Cart("cart-123"),
			UserKey:   was.VisitorID("u-77"), NetKey: o.Former[0].NetKey,
		}
		if o.Former[0] != want || want.NetKey == "" || identity.Mark(want.NetKey) != identity.Mark(want.EmailKey) {
			t.Errorf("the former keys are %+v, want %+v", o.Former[0], want)
		}
		return true
	})
	s.stop() // the others publish now
	s.read(wire.TopicDirectory, 1, func(r kafka.Record) bool {
		var c wire.Company
		return string(r.Key) == wire.CompanyKeyPrefix+id && json.Unmarshal(r.Value, &c) == nil && c.KeyCheck == anotherHasher(t).Check(id)
	})
}

// Details that are saved again while a rotation lasts have the keys of both secrets, and again changes nothing.
func TestDetailsThatAreSavedAgainHaveTheKeysOfBothSecrets(t *testing.T) {
	t.Parallel()
	s, rotating, done := roll(t)
	keys := func() int {
		t.Helper()
		return s.count(`select count(*) from influencer_identity where company_id = $1 and until is null`, s.store.Live.CompanyID)
	}
	s.want(s.call("POST", "/admin/v1/influencers", s.live,
		`{"name":"Ana Prado","links":[{"url":"https://loja.example.com/"}],"details":`+anasDetails+`}`), 200, "")
	first := keys()
	for i, f := range []struct {
		by   *service
		want int
	}{{s, first}, {rotating, 2 * first}, {rotating, 2 * first}, {done, 2 * first}} {
		s.want(f.by.call("PUT", "/admin/v1/influencers", s.live, `{"name":"Ana Prado","details":`+anasDetails+`}`), 200, "")
		if got := keys(); first == 0 || got != f.want {
			t.Errorf("saved %d times: %d keys, want %d", i+1, got, f.want)
		}
	}
}

// Contacts that were saved before a rotation have the keys of both secrets soon after it began, without being saved again: an order
// that comes when it is over names its influencer as the customer. Who is archived is hashed too, and nothing is made twice.
func TestContactsAreHashedByTheNewSecret(t *testing.T) {
	t.Parallel()
	dsn, broker := devtest.Postgres(t), devtest.Kafka(t)
	s := startOn(t, admin.Config{}, dsn, broker)
	for i := range 45 { // more than are looked at together
		s.want(s.call("POST", "/admin/v1/influencers", s.live,
			fmt.Sprintf(`{"name":"Partner %d","links":[{"url":"https://loja.example.com/"}],"details":{"email":"p%d@example.com"}}`, i, i)),
			200, "")
	}
	s.want(s.call("POST", "/admin/v1/influencers", s.live,
		`{"name":"Ana Prado","links":[{"url":"https://loja.example.com/"}],"details":`+anasDetails+`}`), 200, "")
	keys := func() int {
		t.Helper()
		return s.count(`select count(*) from influencer_identity where company_id = $1 and until is null`, s.store.Live.CompanyID)
	}
	first := keys()
	another := anotherHasher(t)
	both, err := another.Rotating(s.hasher)
	if err != nil {
		t.Fatal(err)
	}
	startWith(t, admin.Config{}, dsn, broker, func(d *admin.Deps) { d.Hasher, d.Previous = both, s.hasher })
	await.Until(t, time.Minute, func() bool { return keys() == 2*first }, func() string { return fmt.Sprintf("%d keys", keys()) })
	third := startWith(t, admin.Config{}, dsn, broker, func(d *admin.Deps) { d.Hasher, d.Previous = both, s.hasher })
	done := startWith(t, admin.Config{}, dsn, broker, func(d *admin.Deps) { d.Hasher = another })
	third.want(third.call("GET", "/admin/v1/influencers", s.live, ""), 200, "")
	done.want(done.call("POST", "/admin/v1/order", s.live, `{"orderId":"own","createdAt":"2026-03-10T12:00:00Z","totalPrice":10,
		"currency":"BRL","orderStatus":0,"customer":{"email":"zq.prado@example.com"}}`), 200, "")
	s.read(wire.TopicCommerce, 8, func(r kafka.Record) bool {
		var c wire.Commerce
		var order wire.Order
		if json.Unmarshal(r.Value, &c) != nil || c.Kind != wire.KindOrder {
			return false
		}
		if err := json.Unmarshal(c.Body, &order); err != nil {
			t.Fatal(err)
		}
		known := 0
		for _, k := range facts.PersonKeys(&order) {
			known += s.count(`select count(*) from influencer_identity where company_id = $1 and kind = $2 and key = $3 and until is null`,
				s.store.Live.CompanyID, k.Kind.Code(), k.Pack())
		}
		if known != 1 {
			t.Errorf("an order of after the rotation has %d keys of its influencer, want 1", known)
		}
		return true
	})
	if got := s.count(`select count(*) from audit_log where company_id = $1 and action = 'influencer.hash'`,
		s.store.Live.CompanyID); got != 3 {
		t.Errorf("%d entries of the audit log, want one for each 20 influencers", got)
	}
	if keys() != 2*first {
		t.Errorf("%d keys, want %d", keys(), 2*first)
	}
}

// A company whose contacts cannot be hashed keeps those of no other company from it.
func TestACompanyThatCannotBeHashedIsPassed(t *testing.T) {
	t.Parallel()
	dsn, broker := devtest.Postgres(t), devtest.Kafka(t)
	s := startOn(t, admin.Config{}, dsn, broker)
	for path, key := range map[string]string{"/admin/v1/influencers": s.live, "/sandbox/admin/v1/influencers": s.test} {
		s.want(s.call("POST", path, key,
			`{"name":"Ana Prado","links":[{"url":"https://loja.example.com/"}],"details":`+anasDetails+`}`), 200, "")
	}
	failing, other := s.store.Live.CompanyID, s.store.Sandbox.CompanyID // in the order in which they are hashed
	if failing > other {
		failing, other = other, failing
	}
	keys := func(company string) int {
		t.Helper()
		return s.count(`select count(*) from influencer_identity where company_id = $1 and until is null`, company)
	}
	first := keys(other)
	s.sql(`create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$`)
	s.sql(`create trigger refuse before insert on influencer_identity for each row when (new.company_id = '` + failing + `')
		execute function refuse()`)
	another := anotherHasher(t)
	both, err := another.Rotating(s.hasher)
	if err != nil {
		t.Fatal(err)
	}
	startWith(t, admin.Config{}, dsn, broker, func(d *admin.Deps) { d.Hasher, d.Previous = both, s.hasher })
	await.Until(t, await.Long, func() bool { return keys(other) == 2*first }, func() string { return fmt.Sprintf("%d keys", keys(other)) })
	if got := keys(failing); first == 0 || got != first {
		t.Errorf("the company that fails has %d keys, want %d", got, first)
	}
}
