package merchant_test

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// Of an archived company nothing is changed but what is owed and what the law asks for. Its
// other environment goes on.
func TestAnArchivedCompanyIsNotChanged(t *testing.T) {
	t.Parallel()
	db, store, dsn := newStore(t)
	ctx, live := t.Context(), store.Live.CompanyID
	author := commerce.Author{CompanyID: live, Actor: "cli", At: time.Now()}
	made, err := db.RegisterInfluencer(ctx, author, commerce.Registration{Name: "Ana"}, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, text, err := db.CreateAPIKey(ctx,
		account.NewAPIKey{CompanyID: live, Name: "erp", Scopes: account.Scopes, Actor: "cli", Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	cost := commerce.AdditionalCost{ID: "01938a4e-6f5a-7c11-a6c1-0d3cf5a0a5b2", Name: "Aluguel", ValueMinor: 100, Frequency: "daily",
		StartDate: "2026-01-01"}
	if err := db.AddAdditionalCost(ctx, author, cost); err != nil {
		t.Fatal(err)
	}
	archive := func(back bool, want ...string) commerce.Company {
		t.Helper()
		list, changed, err := db.Archive(ctx, commerce.Archiving{CompanyIDs: []string{live}, Back: back, Actor: "cli"})
		if err != nil || len(list) != 1 || list[0].ArchivedAt.IsZero() != back || !slices.Equal(changed, want) {
			t.Fatalf("%+v, changed %v, %v", list, changed, err)
		}
		return list[0]
	}
	first := archive(false, live)
	if again := archive(false); !again.ArchivedAt.Equal(first.ArchivedAt) || again.RulesRev != first.RulesRev {
		t.Errorf("archived again at %v, revision %d; first %v, %d", again.ArchivedAt, again.RulesRev, first.ArchivedAt, first.RulesRev)
	}
	refused := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, commerce.ErrArchived) {
			t.Errorf("%s of an archived company: %v", what, err)
		}
	}
	_, err = db.RegisterInfluencer(ctx, author, commerce.Registration{Name: "Beto"}, rand.Reader)
	refused("an influencer", err)
	_, err = db.ArchiveInfluencer(ctx, author, "ana", "")
	refused("the end of an influencer", err)
	_, err = db.AddCoupon(ctx, author, made.CampaignID, commerce.CouponTerms{Code: "ANA"}, rand.Reader)
	refused("a coupon", err)
	refused("a decision",
		db.DecideEvidence(ctx, author, commerce.EvidenceDecision{OrderID: "1", InfluencerID: made.InfluencerID, Decision: "accept"}))
	refused("an influencer's own setting", db.SetUnproven(ctx, author, "ana", "pay"))
	_, _, err = db.ChangeSettings(ctx,
		commerce.SettingsChange{CompanyID: live, Actor: "cli", Change: func(s *commerce.Settings) { s.HoldDays = 3 }})
	refused("a setting", err)
	_, _, err = db.CreateAPIKey(ctx,
		account.NewAPIKey{CompanyID: live, Name: "x", Scopes: account.Scopes, Actor: "cli", Random: rand.Reader})
	refused("a key", err)
	_, _, err = db.RotateAPIKey(ctx,
		account.KeyRotation{CompanyID: live, KeyID: key.KeyID, At: time.Now(), Actor: "cli", Random: rand.Reader})
	refused("a rotated key", err)
	refused("an additional cost",
		db.AddAdditionalCost(ctx, author,
			commerce.AdditionalCost{ID: "01938a4e-6f5a-7c11-a6c1-0d3cf5a0a5b3", Name: "x", ValueMinor: 1, Frequency: "daily",
				StartDate: "2026-01-01"}))
	refused("a changed cost", db.ChangeAdditionalCost(ctx, author, cost.ID, "daily", func(*commerce.AdditionalCost) error { return nil }))
	refused("a removed cost", db.DeleteAdditionalCost(ctx, author, cost.ID, "daily"))

	allowed := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s of an archived company: %v", what, err)
		}
	}
	_, err = db.AskStatements(ctx, author, commerce.Closing{EndDate: "2026-01-31"}, rand.Reader)
	allowed("statements", err)
	_, err = db.AskErasure(ctx, author, []string{"email"}, []facts.Key{{Kind: facts.KeyEmail, Value: "k1:x"}}, rand.Reader)
	allowed("an erasure", err)
	_, err = db.RevokeAPIKey(ctx, live, key.KeyID, time.Now().Add(time.Hour), "cli")
	allowed("a revocation", err)
	found, err := db.APIKeyByHash(ctx, account.KeyHash(text))
	if err != nil || !found.ArchivedAt.Equal(first.ArchivedAt) {
		t.Errorf("the key says that its company is archived at %v, %v", found.ArchivedAt, err)
	}
	box := commerce.Author{CompanyID: store.Sandbox.CompanyID, Actor: "cli", At: time.Now()}
	_, err = db.RegisterInfluencer(ctx, box, commerce.Registration{Name: "Ana"}, rand.Reader)
	allowed("an influencer of the sandbox beside the live company", err)

	archive(true, live)
	archive(true)
	_, err = db.RegisterInfluencer(ctx, author, commerce.Registration{Name: "Beto"}, rand.Reader)
	allowed("an influencer, once it is back,", err)
	if _, _, err := db.Archive(ctx, commerce.Archiving{CompanyIDs: []string{live, "c_nobody"}, Actor: "cli"}); !errors.Is(err,
		commerce.ErrNotFound) {
		t.Errorf("an unknown company: %v", err)
	}
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	told(t, conn, live, first.ArchivedAt)
}

// told wants two records of the directory, of which the first says that the company is archived, and
// two lines of the audit log.
func told(t *testing.T, conn *pgx.Conn, live string, at time.Time) {
	t.Helper()
	rows, err := conn.Query(t.Context(), `select value from outbox where topic = $1 and key = $2 order by outbox_id desc limit 2`,
		wire.TopicDirectory, wire.CompanyKeyPrefix+live)
	if err != nil {
		t.Fatal(err)
	}
	values, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	if err != nil || len(values) != 2 {
		t.Fatalf("%d records, %v", len(values), err)
	}
	var back, archived wire.Company
	if err := errors.Join(json.Unmarshal(values[0], &back), json.Unmarshal(values[1], &archived)); err != nil {
		t.Fatal(err)
	}
	if back.ArchivedAt != nil || archived.ArchivedAt == nil || !archived.ArchivedAt.Equal(at) || back.Rev <= archived.Rev {
		t.Errorf("the directory gets %+v, then %+v", archived, back)
	}
	rows, err = conn.Query(t.Context(),
		`select action from audit_log where company_id = $1 and action like 'company.%archive' order by audit_id`, live)
	if err != nil {
		t.Fatal(err)
	}
	if actions, err := pgx.CollectRows(rows, pgx.RowTo[string]); err != nil ||
		!slices.Equal(actions, []string{"company.archive", "company.unarchive"}) {
		t.Errorf("%v, %v", actions, err)
	}
}

// A repeated request for the same erasure, and one for statements that are closing or of which there are
// none, change nothing: the rules stay as they are, and nobody has to read them again.
func TestWhatChangesNothingMakesNoRevision(t *testing.T) {
	t.Parallel()
	db, store, _ := newStore(t)
	author := commerce.Author{CompanyID: store.Live.CompanyID, Actor: "cli", At: time.Now()}
	rev := func() int64 {
		t.Helper()
		c, err := db.Company(t.Context(), author.CompanyID)
		if err != nil {
			t.Fatal(err)
		}
		return c.RulesRev
	}
	before := rev()
	for i := range 3 {
		if _, err := db.AskErasure(t.Context(), author, []string{"email"}, []facts.Key{{Kind: facts.KeyEmail, Value: "k1:x"}},
			rand.Reader); err != nil {
			t.Fatal(err)
		}
		if _, err := db.AskStatements(t.Context(), author, commerce.Closing{EndDate: "2026-01-31"}, rand.Reader); err != nil {
			t.Fatal(err)
		}
		if got := rev(); got != before+1 {
			t.Errorf("after %d requests: revision %d, %d before", i+1, got, before)
		}
	}
}
