package merchant_test

import (
	"crypto/rand"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	"github.com/tributary-io/tributary/internal/wire"
)

func TestEachChangeLeavesAnAuditRowWithItsActor(t *testing.T) {
	t.Parallel()
	db, store, dsn := newStore(t)
	author := commerce.Author{CompanyID: store.Live.CompanyID, Actor: "key/k1", At: time.Now()}
	made, err := db.RegisterInfluencer(t.Context(), author,
		commerce.Registration{Name: "Ana", Links: []string{"https://loja.example.com/"}}, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	coupon := commerce.CouponTerms{Code: "ANA10"}
	if _, err := db.AddCoupon(t.Context(), author, made.CampaignID, coupon, rand.Reader); err != nil {
		t.Fatal(err)
	}
	if _, err := db.DeleteCoupon(t.Context(), author, made.CampaignID, "ana10"); err != nil {
		t.Fatal(err)
	}
	_, cost, err := db.AddCost(t.Context(), author, "ana", "", commerce.CostTerms{FixedFeeMinor: 1, StartDate: "2026-01-01"}, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.DeleteCost(t.Context(), author, cost.CostID, false); err != nil {
		t.Fatal(err)
	}
	if err := db.UpdateInfluencer(t.Context(), author, "ana", commerce.InfluencerChange{Category: wire.Some("moda")}); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ArchiveInfluencer(t.Context(), author, "ana", ""); err != nil {
		t.Fatal(err)
	}
	// A change that fails leaves none.
	if err := db.UpdateInfluencer(t.Context(), author, "ana", commerce.InfluencerChange{Category: wire.Some("moda")}); err == nil {
		t.Fatal("an archived influencer was changed")
	}

	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(),
		`select action from audit_log where company_id = $1 and actor = 'key/k1' order by audit_id`, author.CompanyID)
	if err != nil {
		t.Fatal(err)
	}
	actions, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(actions,
		" "); got != "influencer.create coupon.create coupon.delete cost.create cost.delete influencer.update influencer.archive" {
		t.Errorf("audit: %s", got)
	}
	var rev int64
	if err := conn.QueryRow(t.Context(), `select rules_rev from company where company_id = $1`, author.CompanyID).Scan(&rev); err != nil ||
		rev != store.Live.RulesRev+7 {
		t.Errorf("revision %d after 7 changes from %d: %v", rev, store.Live.RulesRev, err)
	}
}

// A page of the audit log must not read every person and key of the installation to name a few.
func TestTheNamesOfActorsAreFoundByIndex(t *testing.T) {
	t.Parallel()
	_, store, dsn := newStore(t)
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	// Small tables are read whole: with this PostgreSQL does so only where no index helps.
	if _, err := conn.Exec(t.Context(), `set enable_seqscan = off`); err != nil {
		t.Fatal(err)
	}
	rows, err := conn.Query(t.Context(), `explain `+merchant.NamesOfActors, pgx.NamedArgs{"company_id": store.Live.CompanyID,
		"people": []string{"01938a4e-6f5a-7c11-a6c1-0d3cf5a0a5b2"}, "keys": []string{"key_1"}})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if text := strings.Join(plan, "\n"); err != nil || strings.Contains(text, "Seq Scan") || !strings.Contains(text, "Index") {
		t.Errorf("%v:\n%s", err, text)
	}
}

// The log says of an agreement what it pays.
func TestTheLogSaysWhatAnAgreementPays(t *testing.T) {
	t.Parallel()
	n := newNaming(t)
	_, err := n.register("Ana")
	n.must(err)
	_, _, err = n.db.AddCost(t.Context(), n.author, "Ana", "", commerce.CostTerms{VarFee: decimal.RequireFromString("12.5"),
		FixedFeeMinor: 500, StartDate: "2026-01-01"}, rand.Reader)
	n.must(err)
	list, err := n.db.AuditLog(t.Context(), n.author.CompanyID, "", "cost.", 10)
	n.must(err)
	var detail map[string]any
	n.must(json.Unmarshal([]byte(list[0].Detail), &detail))
	if detail["var_fee"] != "12.5" || detail["fixed_fee_minor"] != 500.0 || detail["start_date"] != "2026-01-01" ||
		detail["value_minor"] != nil {
		t.Errorf("%v", detail)
	}
}
