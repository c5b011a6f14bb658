package admin_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

func TestSignsAreAReport(t *testing.T) {
	t.Parallel()
	s, f := reading(t)
	company := f.Store.Live.CompanyID
	for i, name := range []string{"Ana Prado", "=Extension"} {
		id := f.Influencer(company, name)
		for n := range 30 {
			touch := facts.ExplainedTouch{Channel: name, Influencer: name, InfluencerID: id, Arrival: facts.ByClick, Proof: "cart"}
			if i == 1 {
				touch.Reason = facts.ReasonAfterCheckout.Words()
			}
			f.Put(reporttest.Order{CompanyID: company, ID: fmt.Sprintf("o%d-%02d", i, n), CreatedAt: time.Date(2026, 3, 1+n, 15, 0, 0, 0, time.UTC),
				TotalMinor: 10_000, CommissionMinor: 1_050,
				InfluencerID: id, Evidence: commerce.EvidenceLink, State: "earned",
				Explanation: facts.Explanation{Touches: []facts.ExplainedTouch{touch}}})
		}
	}
	const days = "?start_date=2026-03-01&end_date=2026-03-31"
	var report struct {
		Orders int
		Cut    bool
		Signs  []struct {
			Kind, Text, Influencer, Since string
			Code                          *string
			Observed, Usual               struct{ Count, Of int }
			Orders                        int
			Newest                        []string `json:"newest_orders"`
			Costs                         []struct {
				Currency             string
				Commission, Turnover json.Number
			}
		}
	}
	s.get("/reports/signs"+days, &report)
	if report.Orders != 60 || report.Cut || len(report.Signs) != 1 {
		t.Fatalf("%+v", report)
	}
	sign := report.Signs[0]
	const text = "In 30 of 30 orders the link of =Extension was opened after the checkout had begun; with other influencers in 0 of 30."
	if sign.Kind != "after_checkout" || sign.Text != text || sign.Influencer != "=Extension" || sign.Since != "2026-03-01" ||
		sign.Code != nil || sign.Orders != 30 ||
		len(sign.Newest) != 20 || sign.Newest[0] != "o1-29" || len(sign.Costs) != 1 || sign.Costs[0].Commission != "315" ||
		sign.Costs[0].Turnover != "3000" {
		t.Errorf("%+v", sign)
	}

	table, _ := s.table("/reports/signs" + days + "&format=csv")
	lines := strings.Split(strings.TrimSpace(table), "\r\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[1], "after_checkout,'=Extension,") ||
		!strings.HasSuffix(lines[1], ",,2026-03-01,30,30,0,30,30,BRL,315.00,3000.00") {
		t.Errorf("CSV\n%s", table)
	}

	wrong := func(query string, status int, fields ...string) {
		t.Helper()
		got := s.call("GET", "/admin/v1/reports/signs"+query, s.live, "")
		var named []string
		for _, d := range got.Error.Details {
			named = append(named, d.Field)
		}
		slices.Sort(named)
		if got.Status != status || !slices.Equal(named, fields) {
			t.Errorf("%s: %d about %v, want %d about %v", query, got.Status, named, status, fields)
		}
	}
	wrong("", 400, "end_date", "start_date")
	wrong("?start_date=2026-03-02&end_date=2026-03-01&format=xml", 400, "end_date", "format")
	wrong("?start_date=2025-01-01&end_date=2026-03-01", 400, "end_date")
	s.live = s.key(company, account.ReadInfluencers)
	wrong(days, 403)
}
