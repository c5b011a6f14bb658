package dashboard_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/test/devtest"
)

// ruledSite is a store whose decisions need a second person, with an order.
type ruledSite struct {
	*payeeSite
	order string
}

func newRuledSite(t *testing.T) *ruledSite {
	t.Helper()
	s := &ruledSite{payeeSite: newPayeeSite(t), order: "d1"}
	s.sell(s.order)
	s.rule(true, "cli")
	return s
}

// sell stores an order with a code that is nobody's.
func (s *ruledSite) sell(id string) { s.soldWith("FRESH10", id) }

func (s *ruledSite) rule(on bool, actor string) {
	s.t.Helper()
	if _, _, err := s.DB.ChangeSettings(s.t.Context(), commerce.SettingsChange{CompanyID: s.live, Actor: actor,
		Change: func(now *commerce.Settings) { now.ConfirmDecisions = on }}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *ruledSite) author(actor string) commerce.Author {
	return commerce.Author{CompanyID: s.live, Actor: actor, At: s.now}
}

func (s *ruledSite) decision(kind string) commerce.EvidenceDecision {
	d := commerce.EvidenceDecision{OrderID: s.order, InfluencerID: s.ana, Decision: kind, Reason: "she forgot the coupon"}
	if kind == commerce.RuleOff {
		d.OrderID, d.InfluencerID = "", ""
	}
	return d
}

func (s *ruledSite) propose(actor, kind string) error {
	return s.DB.ProposeDecision(s.t.Context(), s.author(actor), commerce.Proposal{EvidenceDecision: s.decision(kind)})
}

func (s *ruledSite) waiting(actor string) []commerce.Proposal { return s.proposalsOf(actor) }

// proposalsOf is what waits for a second person, as an actor sees it.
func (s *site) proposalsOf(actor string) []commerce.Proposal {
	s.t.Helper()
	list, err := s.DB.Proposals(s.t.Context(), commerce.Author{CompanyID: s.live, Actor: actor, At: s.clock()})
	if err != nil {
		s.t.Fatal(err)
	}
	return list
}

// seen is what somebody sees of the one proposal that waits.
func (s *ruledSite) seen() commerce.SeenProposal {
	s.t.Helper()
	list := s.waiting("cli")
	if len(list) != 1 {
		s.t.Fatalf("%+v wait", list)
	}
	return commerce.SeenProposal{OrderID: list[0].OrderID, At: list[0].At, OrderAt: list[0].OrderAt}
}

// later moves the clock.
func (s *ruledSite) later(by time.Duration) {
	s.now = s.now.Add(by)
	s.setClock(s.now)
}

// sent is how many decisions are on their way to the processor.
func (s *ruledSite) sent() int {
	return s.Count(`select count(*) from outbox where convert_from(value, 'UTF8') like '%"kind":"evidence"%'`)
}

// Nobody decides alone, by another account of theirs, by one whose log-in or password they made, or by a key.
func TestNobodyConfirmsTheirOwnDecision(t *testing.T) {
	t.Parallel()
	s := newRuledSite(t)
	thief, thiefID := s.member("thief@loja.example")
	honest, honestID := s.member("honest@loja.example")
	puppet, _ := s.link(thiefID, "puppet@loja.example", "", s.now)
	s.setClock(s.now)
	made := account.NewAPIKey{CompanyID: s.live, Name: "k", Scopes: []account.Scope{account.AssignOrders}, Actor: thief, Random: rand.Reader}
	if _, _, err := s.DB.CreateAPIKey(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{commerce.EvidenceAccept, commerce.EvidenceRefuse, commerce.EvidenceWithdraw, commerce.DisputeAssign,
		commerce.DisputeDeny, commerce.DisputeRelease} {
		for _, who := range []string{thief, "key/any", "cli"} {
			if err := s.DB.DecideEvidence(t.Context(), s.author(who), s.decision(kind)); !errors.Is(err, commerce.ErrNeedsSecond) {
				t.Errorf("%s decides %s alone: %v", who, kind, err)
			}
		}
	}
	for _, who := range []string{"key/any", "cli"} {
		if err := s.propose(who, commerce.DisputeAssign); !errors.Is(err, commerce.ErrSamePerson) {
			t.Errorf("%s proposes: %v", who, err)
		}
	}
	if err := s.propose(thief, commerce.DisputeAssign); err != nil {
		t.Fatal(err)
	}
	if err := s.propose(honest, commerce.DisputeDeny); !errors.Is(err, commerce.ErrProposed) {
		t.Errorf("a proposal is overwritten: %v", err)
	}
	seen := s.seen()
	f := func(who string, seen commerce.SeenProposal, want error) {
		t.Helper()
		if err := s.DB.ConfirmProposal(t.Context(), s.author(who), seen); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
		for _, p := range s.waiting(who) {
			if (want == nil || errors.Is(want, commerce.ErrSamePerson)) && p.Second != (want == nil) {
				t.Errorf("may confirm: %v", p.Second)
			}
		}
	}
	for _, who := range []string{thief, puppet, "key/any", "cli"} {
		f(who, seen, commerce.ErrSamePerson)
	}
	s.link(thiefID, "", honestID, s.now.AddDate(0, 0, -29)) // the thief made honest's password anew
	f(honest, seen, commerce.ErrSamePerson)
	s.exec(`delete from log_in_made where person_id = $1`, honestID)

	stale := seen
	stale.At = stale.At.Add(time.Microsecond)
	f(honest, stale, commerce.ErrConflict)
	stale = seen
	stale.OrderAt = stale.OrderAt.Add(time.Second)
	f(honest, stale, commerce.ErrOrderChanged)
	s.later(commerce.ProposalLife)
	f(honest, seen, commerce.ErrProposalEnded)
	if list := s.waiting(honest); len(list) != 0 {
		t.Errorf("%+v wait after their time", list)
	}
	s.later(-time.Second)
	if n := s.sent(); n != 0 {
		t.Fatalf("%d decisions were sent before one was confirmed", n)
	}
	f(honest, seen, nil)
	if n, left := s.sent(), s.waiting(honest); n != 1 || len(left) != 0 {
		t.Errorf("confirmed: %d decisions were sent, %+v wait", n, left)
	}
	if err := s.DB.ConfirmProposal(t.Context(), s.author(honest), seen); !errors.Is(err, commerce.ErrNotFound) {
		t.Errorf("confirmed twice: %v", err)
	}
	if n := s.Count(`select count(*) from outbox where convert_from(value, 'UTF8') like '%"actor":"` + thief +
		`","body":{%"confirmedBy":"` + honest + `"%'`); n != 1 {
		t.Errorf("%d records say who decided and who confirmed", n)
	}
}

// The rule cannot be turned off by one person, and what waits is never made by turning it off.
func TestOnePersonCannotTurnTheRuleOff(t *testing.T) {
	t.Parallel()
	s := newRuledSite(t)
	thief, thiefID := s.member("thief@loja.example")
	honest, _ := s.member("honest@loja.example")
	puppet, _ := s.link(thiefID, "puppet@loja.example", "", s.now)
	on := func() bool {
		t.Helper()
		company, err := s.DB.Company(t.Context(), s.live)
		if err != nil {
			t.Fatal(err)
		}
		return company.ConfirmDecisions
	}
	for _, who := range []string{thief, "key/any"} {
		_, _, err := s.DB.ChangeSettings(t.Context(), commerce.SettingsChange{CompanyID: s.live, Actor: who,
			Change: func(now *commerce.Settings) { now.ConfirmDecisions, now.HoldDays = false, 3 }})
		var refused *commerce.SettingsError
		if !errors.As(err, &refused) || !on() {
			t.Errorf("%s turns it off: %v", who, err)
		}
	}
	if err := s.propose(thief, commerce.DisputeAssign); err != nil {
		t.Fatal(err)
	}
	assign := s.seen()
	if err := s.propose(thief, commerce.RuleOff); err != nil {
		t.Fatal(err)
	}
	off := commerce.SeenProposal{At: s.waiting("cli")[1].At}
	for _, who := range []string{thief, puppet} {
		if err := s.DB.ConfirmProposal(t.Context(), s.author(who), off); !errors.Is(err, commerce.ErrSamePerson) || !on() {
			t.Errorf("%s confirms it: %v", who, err)
		}
	}
	if err := s.DB.ConfirmProposal(t.Context(), s.author(honest), off); err != nil || on() {
		t.Fatalf("two people turn it off: %v", err)
	}
	s.rule(true, honest)
	if err := s.DB.ConfirmProposal(t.Context(), s.author(honest), assign); !errors.Is(err, commerce.ErrNotFound) {
		t.Errorf("a proposal outlives the rule: %v", err)
	}
	if err := s.propose(thief, commerce.DisputeAssign); err != nil {
		t.Fatal(err)
	}
	s.rule(false, "cli")
	if list := s.waiting("cli"); len(list) != 0 || s.sent() != 0 {
		t.Errorf("the command line ends what waits: %+v, %d", list, s.sent())
	}
	if err := s.propose(thief, commerce.DisputeAssign); !errors.Is(err, commerce.ErrNoSecondNeeded) {
		t.Errorf("proposed without the rule: %v", err)
	}
	if err := s.DB.DecideEvidence(t.Context(), s.author(thief), s.decision(commerce.DisputeAssign)); err != nil {
		t.Errorf("decided without the rule: %v", err)
	}
}

// Proposals are bounded, are of orders that are there, and leave when somebody ends them.
func TestProposalsAreBounded(t *testing.T) {
	t.Parallel()
	s := newRuledSite(t)
	first, _ := s.member("first@loja.example")
	second, _ := s.member("second@loja.example")
	unknown := s.decision(commerce.DisputeAssign)
	unknown.OrderID = "nobody's"
	if err := s.DB.ProposeDecision(t.Context(), s.author(first), commerce.Proposal{EvidenceDecision: unknown}); !errors.Is(err,
		commerce.ErrNotFound) {
		t.Errorf("of no order: %v", err)
	}
	for _, who := range []string{first, second} {
		if err := s.propose(first, commerce.DisputeAssign); err != nil {
			t.Fatal(err)
		}
		seen := s.seen()
		stale := seen
		stale.At = stale.At.Add(time.Microsecond)
		if err := s.DB.EndProposal(t.Context(), s.author(who), stale, "no"); !errors.Is(err, commerce.ErrConflict) {
			t.Errorf("another one is ended: %v", err)
		}
		if err := s.DB.EndProposal(t.Context(), s.author(who), seen, "no"); err != nil {
			t.Fatal(err)
		}
	}
	for action, want := range map[string]int{"order.propose": 2, "order.withdraw_proposal": 1, "order.refuse_proposal": 1} {
		if log, err := s.DB.AuditLog(t.Context(), s.live, "", action, 10); err != nil || len(log) != want {
			t.Errorf("%s: %+v, %v", action, log, err)
		}
	}
	s.exec(`insert into proposal (company_id, order_id, influencer_id, decision, proposed_at, proposed_by)
		select $1, 'full' || n, $2, 'assign', $3, $4 from generate_series(1, $5) n`, s.live, s.ana, s.now, first, commerce.MaxProposals)
	if err := s.propose(first, commerce.DisputeAssign); !errors.Is(err, commerce.ErrTooManyProposals) {
		t.Errorf("beyond the bound: %v", err)
	}
	s.exec(`update proposal set proposed_at = $1`, s.now.Add(-commerce.ProposalLife))
	if err := s.propose(first, commerce.DisputeAssign); err != nil {
		t.Errorf("those that ended still count: %v", err)
	}
}

// A decision is proposed on the page, and stands where people look for work until a second person confirms it.
func TestASecondPersonConfirmsOnThePage(t *testing.T) {
	t.Parallel()
	s := newRuledSite(t)
	owner, at := s.loggedIn(), "?company="+s.live+"&id="+s.order
	form := url.Values{"influencer": {s.ana}, "decision": {"assign"}, "reason": {"she forgot the coupon"}}
	decide := "/dashboard/order/decide" + at
	if status, text, _ := s.send(owner, decide, form); status != http.StatusOK ||
		!contains(text, "This is a proposal: nothing changes until a second person confirms it.", "Propose it") {
		t.Fatalf("asked: %d %s", status, text)
	}
	form.Set("step", "save")
	if status, text, to := s.send(owner, decide, form); status != http.StatusSeeOther || !contains(to, "done=proposed") {
		t.Fatalf("proposed: %d to %q %s", status, to, text)
	}
	if status, text, _ := s.send(owner, decide, form); status != http.StatusConflict || !contains(text, "waits already") {
		t.Errorf("proposed twice: %d", status)
	}
	page := "/dashboard/order/proposal" + at
	alone := []string{"Give the order to Ana Prado", "she forgot the coupon", "Proposed by " + testEmail,
		"Nobody of this store can confirm it now"}
	for _, path := range []string{"/dashboard/order" + at, "/dashboard/reviews" + at, page} {
		if text := s.readAs(owner, path); !contains(text, alone...) {
			t.Errorf("%s: %s", path, text)
		}
	}
	if text := s.readAs(owner, "/dashboard/payouts"+at); !contains(text, "1 decision waits for a second person") {
		t.Errorf("what is owed: %s", text)
	}
	finance := s.join(account.RoleFinance, "bia@loja.example", s.Store.StoreID)
	analyst := s.join(account.RoleAnalyst, "caio@loja.example", s.Store.StoreID)
	if text := s.readAs(owner, page); !contains(text, "You proposed it: somebody else confirms it.", "Withdraw my proposal") ||
		contains(text, "I confirm this decision") {
		t.Errorf("who proposed it reads %s", text)
	}
	if text := s.readAs(analyst, page); !contains(text, "An owner or finance confirms it.") {
		t.Errorf("an analyst reads %s", text)
	}
	if text := s.readAs(finance, page); !contains(text, "I confirm this decision", "What it changes, as things are now") {
		t.Errorf("a second person reads %s", text)
	}
	answer := func() url.Values {
		seen := s.seen()
		return url.Values{"at": {strconv.FormatInt(seen.At.UnixMicro(), 10)}, "order_at": {strconv.FormatInt(seen.OrderAt.UnixMicro(), 10)},
			"version": {s.versionAt(finance, page, "/dashboard/order/proposal/end")}}
	}
	confirm, end := "/dashboard/order/proposal/confirm"+at, "/dashboard/order/proposal/end"+at
	f := func(who *http.Client, path string, values url.Values, want int, says string) {
		t.Helper()
		if status, text, to := s.send(who, path, values); status != want || !contains(text+to, says) {
			t.Errorf("%s: %d to %q, want %d: %s", path, status, to, want, text)
		}
	}
	f(analyst, confirm, answer(), http.StatusForbidden, "")
	f(owner, confirm, answer(), http.StatusForbidden, "Somebody else must do it")
	f(finance, confirm, changed(answer(), "at", "x"), http.StatusBadRequest, "")
	f(finance, confirm, changed(answer(), "at", "1"), http.StatusConflict, "This proposal is over")
	f(finance, confirm, changed(answer(), "version", "0."+s.order), http.StatusConflict, testEmail+" changed this on")
	f(finance, confirm, changed(answer(), "order_at", "1"), http.StatusConflict, "the shop sent the order anew")
	f(finance, end, answer(), http.StatusUnprocessableEntity, "Why you refuse it")
	f(finance, end, changed(answer(), "reason", "the coupon was typed"), http.StatusSeeOther, "done=proposal_ended")
	if text := s.readAs(owner, "/dashboard/order"+at); !contains(text, "bia@loja.example refused what was proposed", "the coupon was typed") {
		t.Errorf("after the refusal: %s", text)
	}
	f(owner, decide, form, http.StatusSeeOther, "done=proposed")
	f(owner, end, answer(), http.StatusSeeOther, "done=proposal_ended")
	f(owner, decide, form, http.StatusSeeOther, "done=proposed")
	s.mu.Lock()
	s.kafkaAway = fmt.Errorf("%w: away", commerce.ErrNotOnKafka)
	s.mu.Unlock()
	if n := s.sent(); n != 0 {
		t.Fatalf("%d decisions were sent", n)
	}
	f(finance, confirm, answer(), http.StatusServiceUnavailable, "") // stored, and not answered as done before Kafka has it
	if n := s.sent(); n != 1 {
		t.Errorf("%d decisions were sent", n)
	}
	if text := s.readAs(owner, "/dashboard/audit"+at); !contains(text, "Decision proposed", "Proposal refused", "Proposed by: "+testEmail) {
		t.Errorf("the audit log: %s", text)
	}
}

// Of a review, too: a stranger's events make one, so that one person could make it and accept it.
func TestAReviewIsProposedToo(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, at := s.loggedIn(), "?company="+s.live
	putOdd(s)
	settings := "/dashboard/settings" + at
	form := typedSettings(map[string]string{"confirm_decisions": "yes"})
	if status, text, _ := s.send(owner, settings, form); status != http.StatusSeeOther {
		t.Fatalf("turned on: %d %s", status, text)
	}
	list, err := s.DB.Reviews(t.Context(), s.live, commerce.Cursor{}, 10)
	if err != nil || len(list) != 1 {
		t.Fatal(err)
	}
	accept := url.Values{"influencer": {list[0].InfluencerID}, "decision": {"accept"}, "from": {"reviews"}}
	if status, _, to := s.send(owner, "/dashboard/order/evidence"+at+"&id=waits", accept); status != http.StatusSeeOther ||
		!contains(to, "/dashboard/reviews", "done=proposed") {
		t.Errorf("proposed: %d to %q", status, to)
	}
	if text := s.readRaw(owner, "/dashboard/reviews"+at); !contains(text, "Accept that Ana Prado brought this order") ||
		contains(text, `name="decision"`) {
		t.Errorf("it waits: %s", text)
	}
	// A form without the box leaves it on: browsers send no box that is fixed.
	form = typedSettings(map[string]string{"hold_days": "9"})
	if status, _, _ := s.send(owner, settings, form); status != http.StatusSeeOther {
		t.Error("saved:", status)
	}
	if company, err := s.DB.Company(t.Context(), s.live); err != nil || !company.ConfirmDecisions || company.HoldDays != 9 {
		t.Errorf("%+v, %v", company.Settings, err)
	}
	reviews := "/dashboard/reviews" + at
	off := url.Values{"version": {s.versionAt(owner, reviews, "/dashboard/order/proposal/off")}}
	if status, _, _ := s.send(owner, "/dashboard/order/proposal/off"+at, off); status != http.StatusSeeOther {
		t.Error("proposed to end it:", status)
	}
	finance := s.join(account.RoleFinance, "bia@loja.example", s.Store.StoreID)
	page, waiting := "/dashboard/order/proposal"+at+"&id=", s.proposalsOf("cli")
	if len(waiting) != 2 {
		t.Fatalf("%+v wait", waiting)
	}
	form = url.Values{"at": {strconv.FormatInt(waiting[1].At.UnixMicro(), 10)}, "order_at": {"0"},
		"version": {s.versionAt(finance, page, "/dashboard/order/proposal/confirm")}}
	if status, _, to := s.send(finance, "/dashboard/order/proposal/confirm"+at+"&id=", form); status != http.StatusSeeOther {
		t.Errorf("ended by two: %d to %q", status, to)
	}
	if text := s.readRaw(owner, reviews); contains(text, "second person") || !contains(text, `name="decision"`) {
		t.Errorf("the rule is over: %s", text)
	}
}

// The same as people see it, in Portuguese, on a wide screen and on a phone.
func TestAProposalIsShownInPortuguese(t *testing.T) {
	s := newRuledSite(t)
	s.exec(`delete from influencer_personal`)
	putSelf(s.site, "1001", s.ana, "review", "")
	first, _ := s.member("carla@loja.example")
	s.order = "1001"
	moves := `[{"From":null,"To":{"influencer":"Ana Prado","minor":"2000","state":"earned","payable_on":"2026-06-20"},"Currency":"BRL"}]`
	p := commerce.Proposal{EvidenceDecision: s.decision(commerce.DisputeAssign), Moves: []byte(moves)}
	p.Reason = "A cliente esqueceu o cupom"
	if err := s.DB.ProposeDecision(t.Context(), s.author(first), p); err != nil {
		t.Fatal(err)
	}
	if err := s.propose(first, commerce.RuleOff); err != nil {
		t.Fatal(err)
	}
	page := devtest.Shell(t).MustPage("").Timeout(3 * time.Minute)
	shots := shooter{t: t, page: page, dir: os.Getenv("TRIBUTARY_SHOTS")}
	s.enter(page)
	at := "?company=" + s.live
	page.MustNavigate(s.url + "/dashboard/reviews" + at).MustWaitLoad()
	page.MustElement(`button[value="pt-BR"]`).MustEval(`() => this.click()`)
	page.MustElementR("h2", "2 decisões esperam uma segunda pessoa")
	for name, path := range map[string]string{"reviews": "/dashboard/reviews" + at, "order": "/dashboard/order" + at + "&id=1001",
		"page": "/dashboard/order/proposal" + at + "&id=1001", "off": "/dashboard/order/proposal" + at + "&id=",
		"payouts": "/dashboard/payouts" + at} {
		page.MustNavigate(s.url + path).MustWaitLoad()
		axeInBothSchemes(t, page, name)
		shots.take("proposal-" + name)
		page.MustSetViewport(320, 800, 1, true)
		if wide := page.MustEval(`() => document.documentElement.scrollWidth > innerWidth`).Bool(); wide {
			t.Errorf("%s is wider than a screen of 320 px", name)
		}
		page.MustSetViewport(1280, 800, 1, false)
	}
	page.MustNavigate(s.url + "/dashboard/order/proposal" + at + "&id=1001").MustWaitLoad()
	page.MustElementR("button", "Confirmo esta decisão").MustClick()
	page.MustElementR("p", "Confirmado. O pedido é decidido de novo em instantes.")
}
