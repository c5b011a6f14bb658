package report_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

// leaking lets a coupon of a company leak in its last days.
func leaking(f *reporttest.Fixture, company string) {
	ana := f.Influencer(company, "Ana Prado")
	code := f.Coupon(company, ana, "", "ANA10")
	sell := func(n, day int, touched bool) {
		for i := range n {
			o := reporttest.Order{CompanyID: company, ID: fmt.Sprint(day, "-", i, "-", touched), InfluencerID: ana, CouponID: code,
				CreatedAt: time.Now().AddDate(0, 0, day-20).Add(time.Duration(i) * time.Second), TotalMinor: 10_000, CommissionMinor: 1_000,
				State: "earned", Evidence: commerce.EvidenceCoupon, EmailKey: fmt.Sprintf("k1:%d-%d-%t", day, i, touched),
				Explanation: facts.Explanation{Touches: []facts.ExplainedTouch{{Channel: "Referral", Source: "coupons.example.com",
					Arrival: facts.ByReferrer}}}}
			if touched {
				o.Explanation = touchBy(ana, "Ana Prado", "")
			}
			f.Put(o)
		}
	}
	for day := range 10 {
		sell(8, day, true)
		sell(1, day, false)
		sell(6, 10+day, true)
		sell(9, 10+day, false)
	}
}

func TestALeakIsToldOnce(t *testing.T) {
	t.Parallel()
	f := reporttest.New(t)
	company := f.Store.Live.CompanyID
	conn, err := pgx.Connect(t.Context(), f.DSN)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(err)
	defer conn.Close(context.Background())
	exec := func(sql string) {
		t.Helper()
		_, err := conn.Exec(t.Context(), sql)
		must(err)
	}
	leaking(f, company)
	must(f.DB.AddEndpoint(t.Context(), commerce.Author{CompanyID: company, Actor: "test", At: time.Now()}, commerce.Endpoint{ID: "whe_1",
		Name: "ERP", URL: "https://erp.example.com", Types: commerce.EventTypes, Active: true}, commerce.SealedSecret{}))
	told := func(what string, want int) {
		t.Helper()
		if n := f.Count(`select count(*) from outgoing where type = 'coupon.leaking' and key = 'coupon:ANA10'`); n != want {
			t.Fatalf("%s: told %d times, want %d", what, n, want)
		}
	}
	days := func(from, to int) (string, string) {
		return time.Now().AddDate(0, 0, from).Format(time.DateOnly), time.Now().AddDate(0, 0, to).Format(time.DateOnly)
	}
	// Somebody looks at other days: what leaks in them, and since when, is no news.
	from, to := days(-22, 1)
	report, err := f.DB.Signs(t.Context(), company, from, to)
	if must(err); len(report.Signs) == 0 {
		t.Fatal("nothing leaks")
	}
	told("of other days", 0)
	renew := func() {
		t.Helper()
		exec(`update sign_report set as_of = now() - interval '7 hours'`)
		must(f.DB.RenewSigns(t.Context(), 9))
	}
	renew()
	told("a report of other days is new, and the leak is told", 1)
	exec(`update outgoing set state = 'delivered', done_at = now() - interval '29 days'`)
	exec(`update payout set day = day - 1, processed_at = now(); update orders set day = day - 1,
		created_at = ((created_at at time zone 'UTC') - interval '1 day') at time zone 'UTC'`)
	renew()
	told("a day later it has begun on another day", 1)
	exec(`update outgoing set state = 'delivered', done_at = now() - interval '31 days'`)
	renew()
	told("a month later it leaks still", 2)
}

// What is wrong with one company's orders is no reason to leave the others out.
func TestACompanyWhoseReportFailsHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	f := reporttest.New(t)
	broken, fine := f.Store.Live.CompanyID, f.Store.Sandbox.CompanyID
	for _, company := range []string{broken, fine} {
		leaking(f, company)
		if err := f.DB.AddEndpoint(t.Context(), commerce.Author{CompanyID: company, Actor: "test", At: time.Now()}, commerce.Endpoint{
			ID: "whe_" + company, Name: "ERP", URL: "https://erp.example.com", Types: commerce.EventTypes, Active: true},
			commerce.SealedSecret{}); err != nil {
			t.Fatal(err)
		}
	}
	conn, err := pgx.Connect(t.Context(), f.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), `update payout set explanation = '\x00' where company_id = $1`, broken); err != nil {
		t.Fatal(err)
	}
	hurried, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	_, _ = f.DB.Signs(hurried, fine, "2026-03-01", "2026-03-31") // somebody waits for it
	if err := f.DB.RenewSigns(t.Context(), 9); err == nil || !strings.Contains(err.Error(), broken) {
		t.Errorf("%v", err)
	}
	if n := f.Count(`select count(*) from sign_report where as_of > '-infinity'`); n != 2 {
		t.Errorf("%d reports are made", n)
	}
	if n := f.Count(`select count(distinct company_id) from outgoing where type = 'coupon.leaking'`); n != 1 {
		t.Errorf("%d companies are told", n)
	}
}
