package admin_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/admin"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/devtest"
)

// sql runs a statement on the service's database.
func (s *service) sql(statement string, args ...any) {
	s.t.Helper()
	conn, err := pgx.Connect(s.t.Context(), s.dsn)
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close(s.t.Context())
	if _, err := conn.Exec(s.t.Context(), statement, args...); err != nil {
		s.t.Fatal(err)
	}
}

func (s *service) count(query string, args ...any) (n int) {
	s.t.Helper()
	conn, err := pgx.Connect(s.t.Context(), s.dsn)
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close(s.t.Context())
	if err := conn.QueryRow(s.t.Context(), query, args...).Scan(&n); err != nil {
		s.t.Fatal(err)
	}
	return n
}

func TestIdempotencyKeyReplaysTheStoredAnswerOfEveryWrite(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	f := func(method, path, body string) answer {
		t.Helper()
		key := method + " " + path
		first := s.call(method, "/admin/v1"+path, s.live, body, "Idempotency-Key", key)
		s.want(first, 200, "")
		if first.Header.Get("Idempotent-Replayed") != "" {
			t.Errorf("%s: the first answer says it is replayed", key)
		}
		again := s.call(method, "/admin/v1"+path, s.live, gzipped(body), "Idempotency-Key", key, "Content-Encoding", "gzip")
		s.want(again, 200, "")
		if again.Header.Get("Idempotent-Replayed") != "true" || string(again.Data) != string(first.Data) {
			t.Errorf("%s: replayed %q, data %s, want %s", key, again.Header.Get("Idempotent-Replayed"), again.Data, first.Data)
		}
		s.want(s.call(method, "/admin/v1"+path, s.live, strings.TrimSuffix(body, "}")+`,"x":1}`, "Idempotency-Key", key), 422,
			"idempotency_key_mismatch")
		return first
	}
	id := func(a answer, name string) string {
		var data map[string]string
		if err := json.Unmarshal(a.Data, &data); err != nil || data[name] == "" {
			t.Fatalf("%s: %v", a.Data, err)
		}
		return data[name]
	}
	f("POST", "/influencers", anaPrado)
	f("PUT", "/influencers", `{"name":"Ana Prado","category":"viagem"}`)
	cost := f("POST", "/influencers/costs", `{"name":"Ana Prado","var_fee":5,"start_date":"2026-02-01"}`)
	f("DELETE", "/influencers/costs", `{"cost_id":"`+id(cost, "cost_id")+`"}`)
	f("POST", "/influencers/coupons", `{"campaign_id":"inv26","cupom":"ANA20"}`)
	f("DELETE", "/influencers/coupons", `{"campaign_id":"inv26","cupom":"ANA20"}`)
	f("DELETE", "/influencers", `{"name":"Ana Prado"}`)
	rent := id(f("POST", "/costs", `{"name":"Aluguel","value":1,"frequency":"monthly","start_date":"2026-01-01"}`), "additional_cost_id")
	f("PUT", "/costs", `{"additional_cost_id":"`+rent+`","frequency":"monthly","value":2}`)
	f("DELETE", "/costs", `{"additional_cost_id":"`+rent+`","frequency":"monthly"}`)
	f("POST", "/order", order1001)
	f("POST", "/product", `{"productId":"p1","productName":"Camiseta"}`)

	// The same key on another path, and in the other environment.
	s.want(s.call("POST", "/admin/v1/product", s.live, order1001, "Idempotency-Key", "POST /order"), 422, "idempotency_key_mismatch")
	if got := s.call("POST", "/sandbox/admin/v1/order", s.test, order1001, "Idempotency-Key",
		"POST /order"); got.Header.Get("Idempotent-Replayed") != "" {
		t.Error("the sandbox replays an answer of the live environment")
	}
	for _, query := range []string{`select count(*) from influencer`, `select count(*) from additional_cost`} {
		if n := s.count(query); n != 1 {
			t.Errorf("%s: %d", query, n)
		}
	}
	orders := 0
	s.produced(wire.KindOrder, s.store.Live.CompanyID, func() bool { orders++; return true })
	if orders != 1 {
		t.Errorf("%d orders are on Kafka", orders)
	}
}

// produced calls f with each commerce record of a kind and company up to a
// mark that it puts behind them.
func (s *service) produced(kind wire.Kind, companyID string, f func() bool) {
	s.t.Helper()
	s.want(s.call("POST", "/admin/v1/product", s.live, `{"productId":"mark","productName":"mark"}`), 200, "")
	s.read(wire.TopicCommerce, devtest.Partitions, func(r kafka.Record) bool {
		var c wire.Commerce
		if json.Unmarshal(r.Value, &c) == nil && c.Kind == kind && c.CompanyID == companyID {
			f()
		}
		return c.ID == "mark"
	})
}

func TestIdempotencyKeyAndRequestAreStoredAsKeyedDigests(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	s.want(s.call("POST", "/admin/v1/order", s.live, order1001, "Idempotency-Key", "ana@example.com 11987654321"), 200, "")
	keys := s.hasher.Company(s.store.Live.CompanyID, "BR")
	if n := s.count(`select count(*) from idempotency where idempotency_key = $1`,
		keys.IdempotencyKey("ana@example.com 11987654321")); n != 1 {
		t.Errorf("%d rows have the key's digest, want 1", n)
	}
	plain := sha256.Sum256([]byte("POST /admin/v1/order\n" + order1001))
	if n := s.count(`select count(*) from idempotency where idempotency_key like '%ana@%' or idempotency_key like '%11987654321%' or `+
		`fingerprint = $1`, plain[:]); n != 0 {
		t.Errorf("%d rows show the key, or a hash of the request without a secret", n)
	}
}

func TestIdempotencyKeyIsOneTextOfAtMost255Characters(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	f := func(key string, status int, code string) {
		t.Helper()
		s.want(s.call("POST", "/admin/v1/product", s.live, `{"productId":"p","productName":"p"}`, "Idempotency-Key", key), status, code)
	}
	f(strings.Repeat("k", 255), 200, "")
	f(strings.Repeat("ç", 255), 200, "")
	f(strings.Repeat("k", 256), 400, "validation_error")
	f("", 400, "validation_error")
	f("\xff", 400, "validation_error")
}

func TestConcurrentTwinsOfOneIdempotencyKeyAreDoneOnce(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	var done, replayed, busy atomic.Int64
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			switch got := s.call("POST", "/admin/v1/influencers", s.live, `{"name":"Beto","links":[{"url":"https://loja.example.com/"}]}`,
				"Idempotency-Key", "twin"); {
			case got.Status == 200 && got.Header.Get("Idempotent-Replayed") == "true":
				replayed.Add(1)
			case got.Status == 200:
				done.Add(1)
			case got.Status == 409 && got.Error.Code == "idempotency_in_progress" && got.Header.Get("Retry-After") != "":
				busy.Add(1)
			default:
				t.Errorf("%d %+v", got.Status, got.Error)
			}
		})
	}
	group.Wait()
	if links := s.count(`select count(*) from link`); done.Load() != 1 || links != 1 {
		t.Errorf("%d done, %d replayed, %d busy, %d links", done.Load(), replayed.Load(), busy.Load(), links)
	}
}

func TestRefusedWriteFreesItsIdempotencyKey(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	f := func(body string, status int, code string) {
		t.Helper()
		s.want(s.call("POST", "/admin/v1/influencers", s.live, body, "Idempotency-Key", "k"), status, code)
	}
	const beto = `{"name":"Beto","links":[{"url":"https://loja.example.com/"}],"coupons":[{"cupom":"ANA10"}]}`
	s.want(s.call("POST", "/admin/v1/influencers", s.live, anaPrado), 200, "")
	f(`{"name":"Beto"}`, 400, "validation_error")
	f(beto, 409, "coupon_period_conflict")
	if n := s.count(`select count(*) from influencer`); n != 1 {
		t.Errorf("%d influencers after a conflict", n)
	}
	s.want(s.call("DELETE", "/admin/v1/influencers", s.live, `{"name":"Ana Prado"}`), 200, "")
	f(beto, 200, "")
}

func TestExpiredAnswersAndLeasesAreNoObstacle(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	f := func(body string, status int, code string) answer {
		t.Helper()
		got := s.call("POST", "/admin/v1/costs", s.live, body, "Idempotency-Key", "k")
		s.want(got, status, code)
		return got
	}
	const rent = `{"name":"Aluguel","value":1,"frequency":"monthly","start_date":"2026-01-01"}`
	const fair = `{"name":"Feira","value":1,"frequency":"daily","start_date":"2026-01-01"}`
	f(rent, 200, "")
	if n := s.count(`select count(*) from idempotency where expires_at between now() + interval '23 hours 59 minutes' and now() + interval ` +
		`'24 hours'`); n != 1 {
		t.Error("the answer is not kept for 24 h")
	}
	// A process that died in the middle: its lease ends, its request goes on.
	s.sql(`update idempotency set answer = null, leased_until = now() + interval '1 hour'`)
	f(rent, 409, "idempotency_in_progress")
	s.sql(`update idempotency set leased_until = now()`)
	f(fair, 422, "idempotency_key_mismatch")
	if got := f(rent, 200, ""); got.Header.Get("Idempotent-Replayed") != "" {
		t.Error("replayed what nobody answered")
	}
	s.sql(`update idempotency set expires_at = now()`)
	f(fair, 200, "")
}

func TestExpiredAnswersAreForgottenInBoundedChunks(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	s.sql(`insert into idempotency (company_id, idempotency_key, fingerprint, lease, leased_until, expires_at)
		select (array[$1, $2])[1 + n % 2], n::text, '', gen_random_uuid(), now(), now() + case when n > 30 then interval '1 hour'
		else interval '-1 hour' end
		from generate_series(1, 33) n`, s.store.Live.CompanyID, s.store.Sandbox.CompanyID)
	after, steps := "", 0
	for {
		company, removed, err := s.db.ForgetAnswers(t.Context(), after, 4)
		if err != nil {
			t.Fatal(err)
		}
		if company == "" {
			break
		}
		if removed > 4 {
			t.Errorf("%d removed at once", removed)
		}
		if removed < 4 {
			after = company
		}
		steps++
	}
	if left := s.count(`select count(*) from idempotency`); left != 3 || steps != 8 {
		t.Errorf("%d left after %d steps", left, steps)
	}
}

func TestAnswerIsStoredInTheTransactionOfItsChange(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	// The answer cannot be stored: the change must not be either.
	s.sql(`alter table idempotency add constraint no_answer check (answer is null)`)
	const beto = `{"name":"Beto","links":[{"url":"https://loja.example.com/"}]}`
	s.want(s.call("POST", "/admin/v1/influencers", s.live, beto, "Idempotency-Key", "k"), 500, "internal_error")
	if n := s.count(`select (select count(*) from influencer) + (select count(*) from outbox where key = $1) + (select count(*) from `+
		`audit_log where action like 'influencer%')`, s.store.Live.CompanyID); n != 0 {
		t.Errorf("%d rows are left", n)
	}
	s.sql(`alter table idempotency drop constraint no_answer`)
	s.want(s.call("POST", "/admin/v1/influencers", s.live, beto, "Idempotency-Key", "k"), 200, "")
}

func TestLostLeaseUndoesTheChange(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	claim := account.Claim{CompanyID: s.store.Live.CompanyID, Key: "k", Keep: 1e9 * 60}
	first, err := s.db.ClaimKey(t.Context(), claim) // a lease of no time
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.db.ClaimKey(t.Context(), claim)
	if err != nil || second.Attempt == nil {
		t.Fatalf("%+v %v", second, err)
	}
	add := func(n int, a account.Attempt) error {
		err := s.db.AddAdditionalCost(a.Within(t.Context()), commerce.Author{CompanyID: claim.CompanyID, Actor: "cli"},
			commerce.AdditionalCost{ID: fmt.Sprintf("01890a5d-ac96-774b-bcce-b302099a805%d", n), Name: "x", ValueMinor: 1, Frequency: "daily",
				StartDate: "2026-01-01"})
		if err != nil {
			t.Fatal(err)
		}
		return a.Finish(t.Context(), []byte(`"done"`))
	}
	if err := add(1, first.Attempt); err == nil {
		t.Error("an attempt without its lease was stored")
	}
	if err := add(2, second.Attempt); err != nil {
		t.Error(err)
	}
	if err := first.Attempt.Abandon(t.Context()); err != nil {
		t.Error(err)
	}
	if got, err := s.db.ClaimKey(t.Context(), claim); err != nil || string(got.Answer) != `"done"` {
		t.Errorf("%s %v", got.Answer, err)
	}
	if n := s.count(`select count(*) from additional_cost`); n != 1 {
		t.Errorf("%d costs", n)
	}
}

// What a caller learns who did not hear of the commit, and that the change is
// not seen without its answer.
func TestChangeAndAnswerAreCommittedTogetherAndReplayed(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	claim := account.Claim{CompanyID: s.store.Live.CompanyID, Key: "k", Lease: 1e9 * 60, Keep: 1e9 * 60}
	claimed, err := s.db.ClaimKey(t.Context(), claim)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.db.AddAdditionalCost(claimed.Attempt.Within(t.Context()), commerce.Author{CompanyID: claim.CompanyID, Actor: "cli"},
		commerce.AdditionalCost{ID: "01890a5d-ac96-774b-bcce-b302099a8051", Name: "x", ValueMinor: 1, Frequency: "daily",
			StartDate: "2026-01-01"}); err != nil {
		t.Fatal(err)
	}
	if n := s.count(`select count(*) from additional_cost`); n != 0 {
		t.Errorf("%d costs are seen before the answer is stored", n)
	}
	if err := claimed.Attempt.Finish(t.Context(), []byte(`{"additional_cost_id":"1"}`)); err != nil {
		t.Fatal(err)
	}
	if err := claimed.Attempt.Abandon(t.Context()); err != nil {
		t.Error(err)
	}
	again, err := s.db.ClaimKey(t.Context(), claim)
	if err != nil || again.Attempt != nil || string(again.Answer) != `{"additional_cost_id":"1"}` {
		t.Errorf("%+v %v", again, err)
	}
}
