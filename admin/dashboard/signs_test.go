package dashboard_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/preview"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

// leak puts the orders of 20 days: Lia's code spreads after ten of them, and on the last
// day an extension opens its link in the middle of nine checkouts.
func (s *site) leak(last time.Time) {
	s.t.Helper()
	lia, extension := s.Influencer(s.live, "Lia Couto"), s.Influencer(s.live, "Extensão")
	code := s.Coupon(s.live, lia, "", "LIA10")
	touch := func(id, name string, reason facts.Reason) facts.Explanation {
		return facts.Explanation{Touches: []facts.ExplainedTouch{{At: "2026-03-01T12:00:00.000Z", Channel: name,
			Influencer: name, InfluencerID: id,
			Arrival: facts.ByClick, Proof: facts.Proof(facts.KeyCart), Used: true, Reason: reason.Words()}}}
	}
	site := facts.Explanation{Touches: []facts.ExplainedTouch{{Channel: "Referral", Source: "coupons.example.com", Arrival: facts.ByReferrer}}}
	put := func(n, before int, what string, o reporttest.Order) {
		for i := range n {
			o.CompanyID, o.CreatedAt, o.TotalMinor, o.CommissionMinor, o.State = s.live,
				last.AddDate(0, 0, -before).Add(time.Duration(i)*time.Second), 10_000, 1_000, "earned"
			o.ID, o.EmailKey = fmt.Sprintf("%s%02d-%d", what, before, i), fmt.Sprintf("k1:%s-%d-%d", what, before, i)
			s.Put(o)
		}
	}
	touched := reporttest.Order{InfluencerID: lia, Evidence: commerce.EvidenceCoupon, CouponID: code, Explanation: touch(lia, "Lia Couto", "")}
	without := touched
	without.Explanation = site
	for day := range 10 {
		put(8, 20-day, "t", touched)
		put(1, 20-day, "u", without)
		put(6, 10-day, "t", touched)
		put(9, 10-day, "u", without)
	}
	put(9, 0, "x", reporttest.Order{InfluencerID: extension, Evidence: commerce.EvidenceLink,
		Explanation: touch(extension, "Extensão", facts.ReasonAfterCheckout)})
}

func TestSignsAreShownWithTheirEvidence(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.setClock(time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC))
	client := s.loggedIn()
	if page := s.readAs(client, "/dashboard/signs"); !contains(page, "0 orders were looked at", "No signs in these days") {
		t.Errorf("without orders it reads %q", page)
	}
	s.leak(time.Date(2026, 11, 20, 14, 0, 0, 0, time.UTC))
	r, err := s.DB.Signs(t.Context(), s.live, "2026-10-22", "2026-11-20")
	if err != nil || len(r.Signs) != 2 || r.Orders != 249 {
		t.Fatalf("%+v, %v", r, err)
	}
	page := s.readAs(client, "/dashboard/signs")
	for _, text := range []string{
		"249 orders were looked at", "A coupon spreads Lia Couto · LIA10",
		"Since 10 Nov 2026 the buyers of 90 of 150 orders with the code LIA10 never came by Lia Couto; before, those of 10 of 90.",
		"Seen 90 of 150 (60.0%)", "Usual 10 of 90 (11.1%)", "Referral: coupons.example.com 90 orders", "R$ 733.33 of R$ 7,333.33 in sales",
		"90 orders since 10 Nov 2026 u01-8",
		"In 9 of 9 orders the link of Extensão was opened after the checkout had begun; with other influencers in 0 of 140.",
		"R$ 90.00 of R$ 900.00 in sales", "x00-8",
	} {
		if !contains(page, text) {
			t.Errorf("no %q in %q", text, page)
		}
	}
	if file := s.readRaw(client, "/dashboard/signs.csv?company="+s.live); file != string(r.CSV()) {
		t.Errorf("the file has %q", file)
	}
}

// A report that takes long is made in the background, and its page loads itself again.
func TestThePageOfSignsWaitsForALongReport(t *testing.T) {
	t.Parallel()
	s := newSiteWith(t, preview.Limits{}, func(c *dashboard.Config) { c.SignsWait = time.Nanosecond })
	s.setClock(time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC))
	s.leak(time.Date(2026, 11, 20, 14, 0, 0, 0, time.UTC))
	client := s.loggedIn()
	answer, err := client.Get(s.url + "/dashboard/signs")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Refresh") != "3" {
		t.Errorf("%s, %v", answer.Status, answer.Header)
	}
	if page := s.readAs(client, "/dashboard/signs"); !contains(page, "The signs of these days are being looked for.") ||
		contains(page, "No signs in these days", "orders were looked at") {
		t.Errorf("it reads %q", page)
	}
	select {
	case <-s.DB.SignsWanted():
	default:
		t.Error("nobody is told to make the report")
	}
	if err := s.DB.RenewSigns(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if r, err := s.DB.Signs(t.Context(), s.live, "2026-10-22", "2026-11-20"); err != nil || r.Orders != 249 {
		t.Errorf("%+v, %v", r, err)
	}
}
