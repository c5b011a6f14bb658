package report_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
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
}
