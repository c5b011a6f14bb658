package dashboard_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

// putSelf stores an order whose customer is the influencer: with what was decided about it, as JSON, or "".
func putSelf(s *site, id, influencer, state, decision string) {
	winner := fmt.Sprintf(`{"influencer":"Ana Prado","influencer_id":%q,"campaign":"","evidence":"coupon","proof":"order"}`, influencer)
	reason := `,"reason":"self_purchase"`
	if state == "earned" {
		reason = ""
	}
	payout := fmt.Sprintf(`{"winner":%s,"rule":"coupon_first","losers":[],"costs":[],"base":100,"commission":10,
		"commissions":[{"amount":10,"currency":"BRL"}],"state":%q%s}`, winner, state, reason)
	decisions := "[]"
	if decision != "" {
		decisions = fmt.Sprintf(`[{"influencer":"Ana Prado","influencer_id":%q,"decision":%q,"by":"cli","at":"2026-03-10T12:00:00.000Z",
			"reason":""}]`, influencer, decision)
	}
	o := reporttest.Order{CompanyID: s.live, ID: id, TotalMinor: 10000, InfluencerID: influencer, Evidence: "coupon", CommissionMinor: 1000,
		State: state, Explanation: json.RawMessage(fmt.Sprintf(`{"order":{"customer_is":[{"influencer":"Ana Prado","influencer_id":%q}]},
		"keys":[],"touches":[],"decisions":%s,"payout":%s,"models":{},"counterfactual":{"without_coupon":%s,"without_link":%s}}`,
			influencer, decisions, payout, nobodyWins, payout))}
	if state == "review" {
		o.Reason = "self_purchase"
	}
	s.Put(o)
}

// What an influencer bought waits on the pages as what nothing proves does, says why, and leads to the influencer.
func TestAnInfluencersOwnPurchaseWaitsOnThePages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.Influencer(s.live, "Ana Prado")
	putSelf(s, "waits", id, "review", "")
	putSelf(s, "accepted", id, "earned", "accept")
	owner, at := s.loggedIn(), "?company="+s.live
	if text := s.readAs(owner, "/dashboard/reviews"+at); !contains(text, "Ana Prado would get R$ 10.00",
		"The customer of this order is the influencer.", "Accept and pay", "Refuse") {
		t.Errorf("reviews read %q", text)
	}
	link := `/dashboard/influencer?company=` + s.live + `&amp;id=` + id + `">Ana Prado</a>`
	if page := s.readRaw(owner, "/dashboard/reviews"+at); !strings.Contains(page, link) {
		t.Errorf("the name leads nowhere: %s", page)
	}
	if text := s.readAs(owner, orderOf("waits")); !contains(text, "The customer of this order is Ana Prado. Nothing is owed until you decide.",
		"Accept and pay") || strings.Contains(text, "Take back the decision") {
		t.Errorf("the order reads %q", text)
	}
	// A coupon has no visit that shows the decision.
	if text := s.readAs(owner, orderOf("accepted")); !contains(text, "Ana Prado was accepted", "Take back the decision about Ana Prado") {
		t.Errorf("the accepted order reads %q", text)
	}
}
