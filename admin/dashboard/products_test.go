package dashboard_test

import (
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/reports"
	"github.com/tributary-io/tributary/internal/rollup"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

// The pages of products, paths and delivery show the numbers of their reports.
func TestPagesShowTheirReportsNumbers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.setClock(time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC))
	client := s.loggedIn()
	f := func(path string, want ...string) {
		t.Helper()
		page := s.readAs(client, path)
		for _, text := range want {
			if !contains(page, text) {
				t.Errorf("%s: no %q in %q", path, text, page)
			}
		}
	}
	f("/dashboard/products", "No product was looked at or bought in these days")
	f("/dashboard/paths", "No order has a journey in these days")
	f("/dashboard/delivery", "No event came in these days", "Prepare your shop")

	s.Product(s.live, "p1", "Vestido longo", "v1")
	s.sumDay("2026-11-19")
	s.sumDay("2026-10-01")
	s.deliverDay("2026-11-18")
	s.deliverDay("2026-11-19")
	total := func(name reports.Name, metric string) string {
		t.Helper()
		r, err := s.DB.Report(t.Context(), reports.Query{CompanyID: s.live, Name: name, Start: "2026-10-22", End: "2026-11-20"})
		if err != nil {
			t.Fatal(err)
		}
		d, _ := r.Value(r.Totals, r.Spec.Column(metric))
		return d.String()
	}
	f("/dashboard/products", "Viewed "+total(reports.Funnel, "viewed")+" 100.0%",
		"Into the cart "+total(reports.Funnel, "added_to_cart")+" 37.5%",
		"Bought "+total(reports.Funnel, "bought")+" 7.5%", "1 item is not in the catalogue", "Vestido longo p1 30 12 5 2 6.7% 2 4 R$ 1,600.00",
		"unknown-7 not in the catalogue 10 3 1 1 10.0% 2 2 R$ 400.00")
	f("/dashboard/products?show=unresolved", "Show all", "unknown-7")
	if page := s.readAs(client, "/dashboard/products?show=unresolved"); contains(page, "Vestido longo") {
		t.Error("a product of the catalogue is among what is not in it")
	}
	f("/dashboard/paths", "Ana Prado 2026-11-19 Organic Search 1 50.0% R$ 1,000.00", "Direct 1 50.0% R$ 500.00")
	if n := total(reports.Delivery, "events"); n != "2480" {
		t.Fatalf("%s events", n)
	}
	f("/dashboard/delivery", "Stored 2,400 96.8%", "Came again 60 2.4%", "Late 8 0.3%", "Rejected 12 0.5%", "19 Nov 2026 1,200 30 4 6",
		"invalid_json The text is no JSON")
	f("/dashboard/delivery?from=2026-11-19&to=2026-11-19", "Stored 1,200")
}

// Orders by coupon, and the codes that are nobody's: one that was typed beside a coupon counts too.
func TestCouponsAndCodesOfNobody(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.setClock(time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC))
	client := s.loggedIn()
	if page := s.readAs(client, "/dashboard/coupons"); !contains(page, "No order was made with an influencer's coupon in these days") {
		t.Errorf("%q", page)
	}
	ana, at := s.Influencer(s.live, "Ana Prado"), time.Date(2026, 11, 18, 15, 0, 0, 0, time.UTC)
	coupon := s.Coupon(s.live, ana, "", "ANA10")
	put := func(id, code string, o reporttest.Order) {
		o.CompanyID, o.ID, o.DiscountCode, o.TotalMinor, o.CreatedAt = s.live, id, code, 10_000, at
		s.Put(o)
	}
	put("1", "ana10", reporttest.Order{InfluencerID: ana, Evidence: commerce.EvidenceCoupon, CouponID: coupon, CommissionMinor: 1000})
	put("2", "ana10, VERAO", reporttest.Order{InfluencerID: ana, Evidence: commerce.EvidenceCoupon, CouponID: coupon, CommissionMinor: 1000})
	put("3", "verao", reporttest.Order{})
	put("4", "<b>x", reporttest.Order{})
	put("5", "verao", reporttest.Order{Status: commerce.OrderCancelled})
	page := s.readAs(client, "/dashboard/coupons")
	if !contains(page, "Codes that are nobody's", "VERAO 2 R$ 200.00", "&lt;B&gt;X 1 R$ 100.00") || contains(page, "ANA10 2") {
		t.Errorf("%q", page)
	}
	unknown, err := s.DB.UnknownCodes(t.Context(), reports.Query{CompanyID: s.live, Start: "2026-11-18", End: "2026-11-18",
		Currency: commerce.BRL}, 1)
	if err != nil || len(unknown) != 1 || unknown[0].Code != "VERAO" || unknown[0].Orders != 2 {
		t.Errorf("%+v, %v", unknown, err)
	}
}

// A long journey is shown by its first and its last steps.
func TestALongJourneyIsCutInTheMiddle(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.setClock(time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC))
	o := rollup.Order{Outcome: &facts.Outcome{Day: "2026-11-20", Currency: commerce.BRL, TotalMinor: 1000,
		Payout: facts.Payout{State: facts.PayoutNone}}}
	for i, channel := range []string{"Email", "Direct", "Display", "Referral", "Other", "Email", "Affiliates", "Direct",
		"Paid Search", "Email"} {
		c := facts.Credit{Position: i + 1, Channel: channel}
		for j := range c.Parts {
			c.Parts[j] = facts.Part{Given: true, Minor: 100}
		}
		o.Outcome.Credits = append(o.Outcome.Credits, c)
	}
	s.Sum(s.live, o)
	if page := s.read("/dashboard/paths"); !contains(page,
		"Email Direct Display Referral 2 more steps Affiliates Direct Paid Search Email 1 100.0%") {
		t.Errorf("it reads %q", page)
	}
}
