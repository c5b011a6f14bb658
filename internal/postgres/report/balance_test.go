package report_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/report"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

// Held and payable are sums of entries, expected and in review of current outcomes;
// no two currencies are added, and another company's are left out.
func TestBalances(t *testing.T) {
	t.Parallel()
	fix := reporttest.New(t)
	live := fix.Store.Live.CompanyID
	ana, bia := fix.Influencer(live, "Ana Prado"), fix.Influencer(live, "Bia Reis")
	created := time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC) // entries of reporttest are held for 30 days
	put := func(id, company string, o reporttest.Order) {
		o.CompanyID, o.ID, o.Evidence, o.CreatedAt, o.TotalMinor = company, id, "link", created, 100000
		fix.Put(o)
	}
	put("1", live, reporttest.Order{InfluencerID: ana, CommissionMinor: 1000})
	put("2", live, reporttest.Order{InfluencerID: ana, CommissionMinor: 500, FixedFeeMinor: 70, Currency: "USD"})
	put("3", live, reporttest.Order{InfluencerID: ana, CommissionMinor: 300, Status: 1, State: "expected"})
	put("4", live, reporttest.Order{InfluencerID: bia, CommissionMinor: 40, FixedFeeMinor: 5, Currency: "USD",
		State: "review", Reason: "unproven"})
	put("5", live, reporttest.Order{InfluencerID: bia})
	put("6", fix.Store.Sandbox.CompanyID,
		reporttest.Order{InfluencerID: fix.Influencer(fix.Store.Sandbox.CompanyID, "Ana Prado"), CommissionMinor: 9})
	f := func(day string, limit int, want ...string) {
		t.Helper()
		list, err := fix.DB.Balances(t.Context(), live, day, commerce.BalanceCursor{}, limit)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, b := range list {
			got = append(got, fmt.Sprint(b.Influencer, " ", b.Currency, " ", b.ExpectedMinor, " ", b.ReviewMinor, " ", b.HeldMinor,
				" ", b.PayableMinor))
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s: %q, want %q", day, got, want)
		}
	}
	bias := []string{"Bia Reis BRL 0 5 0 0", "Bia Reis USD 0 40 0 0"}
	f("2026-03-30", 10, append([]string{"Ana Prado BRL 300 0 1070 0", "Ana Prado USD 0 0 500 0"}, bias...)...)
	f("2026-03-31", 10, append([]string{"Ana Prado BRL 300 0 0 1070", "Ana Prado USD 0 0 0 500"}, bias...)...)
	f("2026-03-31", 1, "Ana Prado BRL 300 0 0 1070")
	fix.SetAside(live, "2")
	fix.SetAside(fix.Store.Sandbox.CompanyID, "1")
	f("2026-03-31", 10, append([]string{"Ana Prado BRL 300 0 70 1000", "Ana Prado USD 0 0 500 0"}, bias...)...)
	list, err := fix.DB.Ledger(t.Context(), live, created.AddDate(0, 0, 40), commerce.LedgerFilter{State: "held"}, commerce.LedgerCursor{}, 10)
	if err != nil || len(list) != 2 || list[0].OrderID != "2" || list[1].OrderID != "2" {
		t.Errorf("held are %+v, %v", list, err)
	}
	left, err := fix.DB.PreviewStatements(t.Context(), commerce.Author{CompanyID: live, At: created.AddDate(0, 0, 40)},
		commerce.Closing{EndDate: "2026-03-31"})
	if err != nil || len(left) != 1 || left[0].TotalMinor.IntPart() != 1000 {
		t.Errorf("a statement would have %+v, %v", left, err)
	}
}

// What may be paid is what closed statements say is due, what they carry, and what none has. The parts add up to
// it, for each influencer: what one has to give back takes nothing from what another is paid.
func TestWhatMayBePaidIsSplit(t *testing.T) {
	t.Parallel()
	fix := reporttest.New(t)
	live := fix.Store.Live.CompanyID
	created := time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC)
	put := func(id, influencer string, commission int64) {
		fix.Put(reporttest.Order{CompanyID: live, ID: id, InfluencerID: influencer, CommissionMinor: commission, Evidence: "coupon",
			CreatedAt: created, TotalMinor: 100000})
	}
	ana, bia, caio := fix.Influencer(live, "Ana"), fix.Influencer(live, "Bia"), fix.Influencer(live, "Caio")
	put("1", ana, 25317)
	put("2", bia, -12500)
	put("3", caio, 3000)
	f := func(want string) {
		t.Helper()
		list, err := fix.DB.Balances(t.Context(), live, "2026-05-31", commerce.BalanceCursor{}, 10)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, b := range list {
			got = append(got, fmt.Sprint(b.Influencer, " ", b.PayableMinor, " = ", b.DueMinor, " + ", b.CarriedMinor, " + ", b.OpenMinor()))
		}
		if text := strings.Join(got, ", "); text != want {
			t.Errorf("%s, want %s", text, want)
		}
	}
	f("Ana 25317 = 0 + 0 + 25317, Bia -12500 = 0 + 0 + -12500, Caio 3000 = 0 + 0 + 3000")
	for _, id := range []string{ana, bia, caio} {
		fix.Ask(live, id, "BRL", "2026-04-30", 5000)
	}
	f("Ana 25317 = 0 + 0 + 25317, Bia -12500 = 0 + 0 + -12500, Caio 3000 = 0 + 0 + 3000")
	fix.Close(live)
	put("4", caio, 700)
	f("Ana 25317 = 25317 + 0 + 0, Bia -12500 = 0 + -12500 + 0, Caio 3700 = 0 + 3000 + 700")
	totals, err := fix.DB.StatementTotals(t.Context(), live, commerce.StatementFilter{})
	if err != nil || fmt.Sprint(totals) != "[{closed false BRL 1 25317} {closed true BRL 2 -9500}]" {
		t.Errorf("%v, %v", totals, err)
	}
	if totals, err = fix.DB.StatementTotals(t.Context(), live, commerce.StatementFilter{Name: "CÁI"}); err != nil ||
		fmt.Sprint(totals) != "[{closed true BRL 1 3000}]" {
		t.Errorf("%v, %v", totals, err)
	}
}

// Balances read the entries that are in no statement from an index alone, with the order that may be set aside.
func TestBalancesReadOpenEntriesFromAnIndex(t *testing.T) {
	t.Parallel()
	devtest.NotOnCitus(t, "its workers count what they read")
	fix := reporttest.New(t)
	live := fix.Store.Live.CompanyID
	created := time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC)
	fix.Put(reporttest.Order{CompanyID: live, ID: "1", InfluencerID: fix.Influencer(live, "Ana"), CommissionMinor: 100, Evidence: "coupon",
		CreatedAt: created, TotalMinor: 1000})
	fix.Multiply(live, "1", 3_000-1, 24*time.Hour)
	fix.Analyze()
	db, err := postgres.Open(t.Context(), fix.DSN+"&enable_seqscan=off&enable_bitmapscan=off")
	if err != nil {
		t.Fatal(err)
	}
	list, err := report.New(db).Balances(t.Context(), live, "2026-06-01", commerce.BalanceCursor{}, 10)
	db.Close() // its connections' counts are written when they end
	if err != nil || len(list) != 1 || list[0].PayableMinor.IntPart() != 300_000 {
		t.Fatalf("%+v, %v", list, err)
	}
	await.Until(t, await.Long, func() bool { return fix.IndexReads("ledger_payable") >= 3_000 },
		func() string { return "the entries were not read by ledger_payable" })
	if n := fix.Count(`select idx_tup_fetch from pg_stat_user_indexes where indexrelname = 'ledger_payable'`); n != 0 {
		t.Errorf("%d entries were looked up in the table", n)
	}
}
