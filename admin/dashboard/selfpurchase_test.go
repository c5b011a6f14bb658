package dashboard_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/test/devtest"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

// putSelf stores an order whose customer is the influencer Ana Prado, with what was decided about her, or "".
func putSelf(s *site, id, ana string, state facts.PayoutState, decision string) {
	ten := []facts.ExplainedSum{{Amount: "10", Currency: "BRL"}}
	x := facts.Explanation{
		Order:  facts.ExplainedOrder{CustomerIs: []facts.ExplainedCustomer{{Influencer: "Ana Prado", InfluencerID: ana}}},
		Payout: facts.ExplainedPayout{Base: "100", Commission: "0", State: state, Reason: facts.ReasonSelfPurchase},
	}
	x.Counterfactual.WithoutCoupon.State, x.Counterfactual.WithoutLink = facts.PayoutNone, x.Payout
	o := reporttest.Order{CompanyID: s.live, ID: id, TotalMinor: 10000, State: string(state), Reason: string(facts.ReasonSelfPurchase)}
	if state != facts.PayoutNone {
		x.Payout.Winner = &facts.ExplainedWinner{Influencer: "Ana Prado", InfluencerID: ana, Evidence: facts.EvidenceCoupon}
		x.Payout.Commission, x.Payout.Commissions = "10", ten
		o.InfluencerID, o.Evidence, o.CommissionMinor = ana, commerce.EvidenceCoupon, 1000
	}
	if state == facts.PayoutEarned {
		x.Payout.Reason, o.Reason = "", ""
	}
	if decision != "" {
		x.Decisions = []facts.ExplainedDecision{{Influencer: "Ana Prado", InfluencerID: ana, Decision: decision, By: "cli",
			At: "2026-03-10T12:00:00.000Z"}}
	}
	o.Explanation = x
	s.Put(o)
}

// What an influencer bought waits on the pages as what nothing proves does, says why, and leads to the influencer.
func TestAnInfluencersOwnPurchaseWaitsOnThePages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.Influencer(s.live, "Ana Prado")
	putSelf(s, "waits", id, "review", "")
	putSelf(s, "denied", id, "none", "refuse")
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
		"Accept and pay", "Refuse: they get nothing for this order.") || strings.Contains(text, "Take back the decision") {
		t.Errorf("the order reads %q", text)
	}
	if text := s.readAs(owner, orderOf("denied")); !contains(text, "No influencer gets a commission: the customer of this order is Ana Prado.",
		"Ana Prado was refused", "Take back the decision about Ana Prado") {
		t.Errorf("the denied order reads %q", text)
	}
	// A coupon has no visit that shows the decision.
	if text := s.readAs(owner, orderOf("accepted")); !contains(text, "Ana Prado was accepted", "Take back the decision about Ana Prado") {
		t.Errorf("the accepted order reads %q", text)
	}
}

// The same as people see it, in Portuguese, from the list to the order and the influencer.
func TestAnInfluencersOwnPurchaseIsShownInPortuguese(t *testing.T) {
	s := newSite(t)
	id := s.Influencer(s.live, "Ana Prado")
	putSelf(s, "waits", id, "review", "")
	putSelf(s, "denied", id, "none", "refuse")
	putSelf(s, "accepted", id, "earned", "accept")
	page := devtest.Shell(t).MustPage("").Timeout(3 * time.Minute)
	shots := shooter{t: t, page: page, dir: os.Getenv("TRIBUTARY_SHOTS")}
	s.enter(page)
	page.MustNavigate(s.url + "/dashboard/reviews?company=" + s.live).MustWaitLoad()
	page.MustElement(`button[value="pt-BR"]`).MustEval(`() => this.click()`)
	page.MustElementR("p.sub", "O cliente deste pedido é o próprio influenciador.")
	axeInBothSchemes(t, page, "an own purchase in review")
	shots.take("self-review")
	page.MustElementR("section a", "^Ana Prado$").MustClick()
	page.MustElementR("h1", "Ana Prado")
	for _, order := range []string{"waits", "accepted", "denied"} {
		page.MustNavigate(s.url + "/dashboard/order?company=" + s.live + "&id=" + order).MustWaitLoad()
		shots.take("self-" + order)
	}
	page.MustNavigate(s.url + "/dashboard/settings?company=" + s.live).MustWaitLoad()
	page.MustElementR("label", "Compra do próprio influenciador").MustScrollIntoView()
	shots.take("self-settings")
}
