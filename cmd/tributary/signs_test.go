package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/fraud"
)

func TestSignsAreWrittenForPeople(t *testing.T) {
	var out strings.Builder
	report := &fraud.Report{Start: "2026-03-01", End: "2026-03-31", Orders: 50_000, Cut: true, Names: map[string]string{"ana": "Ana\x1b[31m"},
		Signs: []fraud.Signal{{
			Kind: fraud.CouponSpread, Influencer: "ana", Code: "ANA10", Since: "2026-03-09", Observed: fraud.Rate{Count: 210, Of: 360},
			Usual:   fraud.Rate{Count: 40, Of: 240},
			Orders:  []string{"1", "2", "3", "4", "5", "6"},
			Sources: []fraud.Source{{Name: "Referral: coupons.example.com", Orders: 171}, {Orders: 9}},
			Total:   6, Costs: []fraud.Cost{{Currency: "BRL", Commission: 150_000, Turnover: 1_500_000}},
		}}}
	const want = `Signs in 50000 orders from 2026-03-01 to 2026-03-31: 1
There are more orders: those before 2026-03-01 were not looked at.

Since 2026-03-09 the buyers of 210 of 360 orders with code ANA10 never came by Ana�[31m; before, those of 40 of 240.
  cost     1500.00 BRL commission, 15000.00 BRL turnover
  came by  Referral: coupons.example.com: 171
  came by  unknown: 9
  orders   6 since 2026-03-09; the newest: 2,3,4,5,6
`
	if err := writeSigns(&out, report); err != nil || out.String() != want {
		t.Errorf("%v\n%s\nwant\n%s", err, out.String(), want)
	}
}

func TestSignsOfAStoreWithoutOrders(t *testing.T) {
	live, _ := installation(t)
	out, status := command(t, "signs", "--company", live.CompanyID, "--days", "1")
	if status != 0 || !strings.HasPrefix(out, "Signs in 0 orders from ") {
		t.Errorf("exit status %d and\n%s", status, out)
	}
	out, status = command(t, "signs", "--company", live.CompanyID, "--json")
	var report struct{ Signs []any }
	if err := json.Unmarshal([]byte(out), &report); status != 0 || err != nil || report.Signs == nil {
		t.Errorf("exit status %d, %v and\n%s", status, err, out)
	}
	for _, days := range []string{"0", "367"} {
		if out, status := command(t, "signs", "--company", live.CompanyID, "--days", days); status != statusUsage ||
			!strings.Contains(out, "--days must be from 1 to 366") {
			t.Errorf("exit status %d and\n%s", status, out)
		}
	}
}
