package admin_test

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/admin"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
)

// anasDetails are those of one influencer, and secrets what of them is nowhere but in their table.
const anasDetails = `{"email":"Zq.Prado@example.com","phone":"(11) 98888-7766","document":"529.982.247-25",
	"pix":{"type":"random","key":"123E4567-E89B-42D3-A456-426655440000"},"handles":["@zqana"],"notes":"zq fala com a Bia"}`

var secrets = []string{"zq.prado", "988887766", "98888-7766", "52998224725", "529.982.247-25", "123e4567", "zqana", "zq fala"}

type detailsJSON struct {
	Email, Phone, Document, Notes string
	Pix                           struct{ Type, Key string }
	Handles                       []string
	Changed                       map[string]struct{ At, By string }
	Masked                        bool
}

// detailsOf reads the details of an influencer with a key; nil: there are none.
func (s *service) detailsOf(name, key string) *detailsJSON {
	s.t.Helper()
	var list []struct {
		Name    string
		Details *detailsJSON
	}
	if err := json.Unmarshal(s.call("GET", "/admin/v1/influencers", key, "").Data, &list); err != nil {
		s.t.Fatal(err)
	}
	for _, i := range list {
		if i.Name == name {
			return i.Details
		}
	}
	s.t.Fatalf("there is no %s", name)
	return nil
}

func TestDetailsAreWrittenByTheirScopeAndMaskedForOthers(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	plain := s.key(s.store.Live.CompanyID, account.AdminScopes...)
	reader := s.key(s.store.Live.CompanyID, account.ReadInfluencers, account.ReadPayees)
	ana := func(details string) string {
		return `{"name":"Ana Prado","links":[{"url":"https://loja.example.com/"}],"details":` + details + `}`
	}
	for _, field := range []string{`{"email":"a@example.com"}`, `{"document":"52998224725"}`, `{"pix":{"type":"cpf","key":"52998224725"}}`,
		`{"pix":null}`,
		`{"email":""}`} {
		s.want(s.call("POST", "/admin/v1/influencers", plain, ana(field)), 403, "insufficient_scope")
		s.want(s.call("PUT", "/admin/v1/influencers", plain, `{"name":"Ana Prado","details":`+field+`}`), 403, "insufficient_scope")
	}
	if n := s.count(`select count(*) from influencer where company_id = $1`, s.store.Live.CompanyID); n != 0 {
		t.Fatalf("%d influencers were made by refused requests", n)
	}
	s.want(s.call("POST", "/admin/v1/influencers", plain, ana(`{"phone":"11 98888-7766","handles":["@zqana"]}`)), 200, "")
	s.want(s.call("PUT", "/admin/v1/influencers", s.live, `{"name":"ana prado","details":`+anasDetails+`}`), 200, "")

	whole := s.detailsOf("Ana Prado", reader)
	if whole == nil || whole.Masked || whole.Email != "zq.prado@example.com" || whole.Phone != "+5511988887766" ||
		whole.Document != "52998224725" ||
		whole.Pix.Type != "random" || whole.Pix.Key != "123e4567-e89b-42d3-a456-426655440000" || whole.Handles[0] != "@zqana" ||
		whole.Notes != "zq fala com a Bia" || len(whole.Changed) != 3 || !strings.HasPrefix(whole.Changed["pix"].By, "key/") {
		t.Errorf("%+v", whole)
	}
	cut := s.detailsOf("Ana Prado", plain)
	if cut == nil || !cut.Masked || cut.Email != "z…@example.com" || cut.Phone != "…7766" || cut.Document != "…4725" ||
		cut.Pix.Key != "…0000" ||
		cut.Notes != "…" {
		t.Errorf("%+v", cut)
	}
	// A registration of the same name overwrites nothing of where money goes; what is the same is no change.
	refused := s.call("POST", "/admin/v1/influencers", s.live,
		ana(`{"email":"other@example.com","pix":{"type":"cpf","key":"52998224725"},"notes":"x"}`))
	s.want(refused, 400, "validation_error")
	if len(refused.Error.Details) != 2 || refused.Error.Details[0].Field != "details.email" ||
		refused.Error.Details[1].Field != "details.pix" {
		t.Errorf("%+v", refused.Error.Details)
	}
	s.want(s.call("POST", "/admin/v1/influencers", s.live, ana(anasDetails)), 200, "")
	before := *s.detailsOf("Ana Prado", reader)
	s.want(s.call("PUT", "/admin/v1/influencers", s.live, `{"name":"Ana Prado","details":{"notes":null,"phone":"+5511977776655"}}`), 200, "")
	after := *s.detailsOf("Ana Prado", reader)
	if after.Notes != "" || after.Phone != "+5511977776655" || after.Email != before.Email ||
		after.Changed["email"] != before.Changed["email"] {
		t.Errorf("%+v", after)
	}
	s.want(s.call("PUT", "/admin/v1/influencers", s.live, `{"name":"Nobody","details":{"notes":"x"}}`), 404, "not_found")
	s.want(s.call("PUT", "/admin/v1/influencers", s.live, `{"name":"Ana Prado"}`), 400, "validation_error")
	bad := s.call("PUT", "/admin/v1/influencers", s.live, `{"name":"Ana Prado","details":{"email":"zq","document":"1","phone":"9",
		"pix":{"type":"cpf","key":"11987654308"},"handles":[" "]}}`)
	s.want(bad, 400, "validation_error")
	if len(bad.Error.Details) != 5 {
		t.Errorf("%+v", bad.Error.Details)
	}
}

// What names an influencer's person is in one table, and not in the log, the outbox or the audit log.
func TestDetailsAreInTheirTableAlone(t *testing.T) {
	t.Parallel()
	var log await.Buffer
	dsn := devtest.Postgres(t)
	s := startWith(t, admin.Config{}, dsn, devtest.Kafka(t), func(d *admin.Deps) {
		d.Producer = awayKafka{} // the outbox keeps all
		d.Log = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	s.want(s.call("POST", "/admin/v1/influencers", s.live,
		`{"name":"Ana Prado","links":[{"url":"https://loja.example.com/"}],"details":`+anasDetails+`}`,
		"Idempotency-Key", "one"), 200, "")
	s.want(s.call("PUT", "/admin/v1/influencers", s.live, `{"name":"Ana Prado","details":{"email":"zq.prado@example.org"}}`), 503,
		"unavailable") // it is stored, and answered once Kafka has it
	s.want(s.call("PUT", "/admin/v1/influencers", s.live, `{"name":"Ana Prado","details":{"email":"zq.prado@@example.org"}}`), 400,
		"validation_error")
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), `select tablename::text from pg_tables where schemaname = 'public'`)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	found, outbox := map[string]int{}, 0
	for _, table := range tables {
		rows, err := conn.Query(t.Context(), `select concat(t::text, case when '`+table+`' = 'outbox' then
			(select convert_from(value, 'UTF8') from outbox o
			where o.outbox_id = (to_jsonb(t) ->> 'outbox_id')::bigint and '`+table+`' = 'outbox') end) from `+table+` t`)
		if err != nil {
			t.Fatal(err)
		}
		texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatalf("%s: %v", table, err)
		}
		for _, text := range texts {
			if table == "outbox" && strings.Contains(text, "influencer") {
				outbox++
			}
			for _, secret := range secrets {
				if strings.Contains(strings.ToLower(text), secret) {
					found[table]++
					if table != "influencer_personal" {
						t.Errorf("%s has %s: %s", table, secret, text)
					}
				}
			}
		}
	}
	if found["influencer_personal"] < 5 || outbox < 2 {
		t.Errorf("found %v, %d records of the outbox: the search sees nothing", found, outbox)
	}
	for _, secret := range secrets {
		if strings.Contains(strings.ToLower(log.String()), secret) {
			t.Errorf("the log has %s", secret)
		}
	}
	if log.String() == "" {
		t.Error("nothing was logged")
	}
}

// Without a link the request says so, and has a coupon.
func TestAnInfluencerMayHaveACouponAlone(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	s.want(s.call("POST", "/admin/v1/influencers", s.live, `{"name":"Ana","coupons":[{"cupom":"ANA10"}]}`), 400, "validation_error")
	s.want(s.call("POST", "/admin/v1/influencers", s.live, `{"name":"Ana","links":[],"coupons":[{"cupom":"ANA10"}]}`), 400, "validation_error")
	s.want(s.call("POST", "/admin/v1/influencers", s.live, `{"name":"Ana","coupon_only":true}`), 400, "validation_error")
	made := s.call("POST", "/admin/v1/influencers", s.live, `{"name":"Ana","coupon_only":true,"coupons":[{"cupom":"ANA10"}]}`)
	s.want(made, 200, "")
	if string(made.Data) != "[]" {
		t.Errorf("links %s", made.Data)
	}
	if n := s.count(`select count(*) from coupon where company_id = $1`, s.store.Live.CompanyID); n != 1 {
		t.Errorf("%d coupons", n)
	}
}

// Erasing an influencer's person leaves the name alone, of one who is archived too.
func TestAPersonOfAnInfluencerIsErased(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	register := `{"name":"Ana Prado","links":[{"url":"https://loja.example.com/"}],"details":` + anasDetails + `}`
	s.want(s.call("POST", "/admin/v1/influencers", s.live, register), 200, "")
	kept := func(table string) int {
		t.Helper()
		return s.count(`select count(*) from `+table+` where company_id = $1`, s.store.Live.CompanyID)
	}
	if kept("influencer_personal") != 1 || kept("influencer_identity") == 0 {
		t.Fatal("nothing of the person was stored")
	}
	eraser := s.key(s.store.Live.CompanyID, account.EraseCustomers)
	writer := s.key(s.store.Live.CompanyID, account.WriteInfluencers, account.WritePayees)
	const path, ana = "/admin/v1/influencers/details", `{"name":"ANA prado"}`
	s.want(s.call("DELETE", path, writer, ana), 403, "insufficient_scope")
	s.want(s.call("DELETE", path, eraser, `{"name":"Beto"}`), 404, "not_found")
	s.want(s.call("DELETE", path, eraser, `{}`), 400, "validation_error")
	s.want(s.call("DELETE", "/sandbox"+path, eraser, ana), 401, "unauthorized")
	if kept("influencer_personal") != 1 {
		t.Fatal("a refused request erased the person")
	}
	s.want(s.call("DELETE", "/admin/v1/influencers", s.live, ana), 200, "")
	for range 2 { // the second changes nothing
		s.want(s.call("DELETE", path, eraser, ana), 200, "")
	}
	if kept("influencer_personal") != 0 || kept("influencer_identity") != 0 || kept("influencer") != 1 {
		t.Error("the person is not erased, or the influencer is")
	}
	if n := s.count(`select count(*) from audit_log where company_id = $1 and action = 'influencer.erase'`, s.store.Live.CompanyID); n != 2 {
		t.Errorf("the audit log has it %d times", n)
	}
}
