package dashboard_test

import (
	"fmt"
	"io"
	"net/url"
	"testing"
	"time"

	"github.com/go-rod/rod"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

// What is under way shows by itself once it is there: statements that are being closed, an
// order that was decided about, an explanation.
func TestPagesShowByThemselvesWhatIsDone(t *testing.T) {
	s := newSite(t)
	putOdd(s)
	ana := s.Influencer(s.live, "Carla Souza")
	now := time.Now()
	for _, id := range []string{"old-1", "old-2"} {
		s.Put(reporttest.Order{CompanyID: s.live, ID: id, CreatedAt: now.AddDate(0, 0, -60), TotalMinor: 10000, InfluencerID: ana,
			Evidence: "coupon", CommissionMinor: 1000})
	}
	s.Ask(s.live, ana, "BRL", now.AddDate(0, 0, -50).Format(time.DateOnly), 0)
	s.Close(s.live)
	s.Ask(s.live, ana, "BRL", now.AddDate(0, 0, -1).Format(time.DateOnly), 0)

	page := devtest.Shell(t).MustPage("").Timeout(2 * time.Minute)
	s.enter(page)

	page.MustNavigate(s.url + "/dashboard/statements?company=" + s.live).MustWaitLoad()
	page.MustElement("[data-again]")
	s.Close(s.live)
	page.MustWait(`() => !document.querySelector('[data-again]') && document.readyState === 'complete'`)
	if got := page.MustElement("main").MustText(); contains(got, "Closing", "being closed") {
		t.Errorf("the statements read %q", got)
	}

	page.MustNavigate(s.url + "/dashboard/reviews?company=" + s.live).MustWaitLoad()
	loaded := page.MustWaitNavigation()
	page.MustElement("button[value=accept]").MustClick()
	loaded()
	if got := page.MustElement("main").MustText(); !contains(got, "Decided. The order leaves here within moments.") ||
		page.MustHas("button[value=accept]") {
		t.Errorf("a decided order reads %q", got)
	}
	s.Put(reporttest.Order{CompanyID: s.live, ID: "waits", TotalMinor: 10000, InfluencerID: ana, Evidence: "link", CommissionMinor: 1000,
		Explanation: explainedWith(trusted, trusted, nobodyWins)})
	wait(page, "main", "Nothing waits for you")

	s.Put(reporttest.Order{CompanyID: s.live, ID: "new", TotalMinor: 10000})
	page.MustNavigate(s.url + orderOf("new")).MustWaitLoad()
	page.MustElementR("main", "The explanation is being made")
	s.Put(reporttest.Order{CompanyID: s.live, ID: "new", TotalMinor: 10000, Explanation: explainedWith(nobodyWins, nobodyWins, nobodyWins)})
	wait(page, ".verdict", "No influencer is credited")
}

// What somebody has opened to fill in is not taken from them, nor is the answer to a form that
// they have sent, and where there is too much to do the page stays.
func TestAPageThatAsksForItselfTakesNothingAway(t *testing.T) {
	s := newSite(t)
	putOdd(s)
	carla, dora := s.Influencer(s.live, "Carla Souza"), s.Influencer(s.live, "Dora Reis")
	s.Put(reporttest.Order{CompanyID: s.live, ID: "old-1", CreatedAt: time.Now().AddDate(0, 0, -60), TotalMinor: 10000, InfluencerID: carla,
		Evidence: "coupon", CommissionMinor: 1000})
	s.Ask(s.live, carla, "BRL", time.Now().AddDate(0, 0, -1).Format(time.DateOnly), 0)
	s.Close(s.live)
	s.Ask(s.live, dora, "BRL", time.Now().AddDate(0, 0, -1).Format(time.DateOnly), 0)

	page := devtest.Shell(t).MustPage("").Timeout(2 * time.Minute)
	s.enter(page)
	// Of the page's own timers and requests, how many there were; a request may be given an answer.
	page.MustEvalOnNewDocument(`
		window.turns = 0; window.asked = 0; window.instead = 0;
		const [timer, ask] = [setTimeout, fetch];
		setTimeout = (f, ...more) => timer(() => { turns++; f(); }, ...more);
		fetch = async (...of) => { asked++; return instead ? new Response('', {status: instead}) : ask(...of); };`)
	turn := func() {
		page.MustEval(`() => { window.since = turns }`)
		page.MustWait(`() => turns > since + 1`)
	}
	page.MustNavigate(s.url + "/dashboard/statements?company=" + s.live).MustWaitLoad()
	page.MustElement("[data-again]")
	page.MustEval(`() => { instead = 429; asked = 0; window.same = true }`)
	page.MustWait(`() => asked > 1`) // after the first refusal it has asked again
	if !page.MustEval(`() => !!window.same`).Bool() {
		t.Error("a refusal that passes has taken the page away")
	}
	page.MustElement("td.do details summary").MustClick()
	page.MustElement("input[name=reference]").MustInput("PIX 77")
	page.MustEval(`() => { instead = 0 }`)
	s.Close(s.live)
	turn()
	if got := page.MustElement("input[name=reference]").MustProperty("value").Str(); got != "PIX 77" || !page.MustHas("[data-again]") {
		t.Errorf("the reference is %q, the page came again: %t", got, !page.MustHas("[data-again]"))
	}
	// It has been left: the answer to the form is on its way.
	page.MustEval(`() => { dispatchEvent(new Event('beforeunload')); document.querySelector('td.do details').open = false; asked = 0 }`)
	turn()
	if n := page.MustEval(`() => asked`).Int(); n != 0 || !page.MustHas("[data-again]") {
		t.Errorf("a page that is being left has asked %d times", n)
	}
}

// wait waits until an element has a text, over reloads of the page.
func wait(page *rod.Page, selector, text string) {
	page.MustWait(`(selector, text) => document.querySelector(selector)?.innerText.includes(text)`, selector, text)
}

// A decision about an order's link is told on the order's page too, until it is applied.
func TestADecidedOrderIsNotAskedAboutAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	putOdd(s)
	path := orderOf("waits") + "&company=" + s.live
	if got := s.read(path + "&done=decided_accept"); contains(got, "Accept and pay") || !contains(got, "This order is being computed again.") {
		t.Errorf("just decided: %s", got)
	}
	if got := s.read(path); !contains(got, "Accept and pay") {
		t.Errorf("not decided: %s", got)
	}
}

// A member of the store reads a statement as its influencer does, and comes from it to its orders.
func TestAStoreReadsItsStatements(t *testing.T) {
	t.Parallel()
	s := newLinkedSite(t, 2)
	path := "/dashboard/statement?" + url.Values{"company": {s.live}, "id": {s.statement}}.Encode()
	analyst := s.join(account.RoleAnalyst, "bia@loja.example", s.Store.StoreID)
	if got := s.readAs(analyst, path); !contains(got, "This statement is being closed.") {
		t.Errorf("while it is being closed: %s", got)
	}
	s.Close(s.live)
	if got := s.readAs(analyst, path); !contains(got, "This is how Ana Prado sees the statement", "Closed: to be paid", "R$ 2,469.00") ||
		contains(got, "made for you alone") {
		t.Errorf("%s", got)
	}
	if got := s.readRaw(analyst, path); !contains(got, `href="/dashboard/order?`, `href="/dashboard/statements?company=`) {
		t.Errorf("it leads nowhere: %s", got)
	}
	if list := s.readRaw(analyst, "/dashboard/statements?company="+s.live); !contains(list, `href="/dashboard/statement?company=`) {
		t.Errorf("the list leads nowhere: %s", list)
	}
	if got := s.readAs(analyst, "/dashboard/statement.csv?"+url.Values{"company": {s.live}, "id": {s.statement}}.Encode()); !contains(got,
		"order,100000,2026-03-22,200.00,200.00,,coupon,,1234.50,BRL,100000") {
		t.Errorf("its CSV: %s", got)
	}
	if got := s.readAs(analyst, "/dashboard/statement?company="+s.box+"&id="+s.statement); !contains(got, "No such statement") {
		t.Errorf("by another company: %s", got)
	}
}

// The files of statements that one person asks for at the same time are few: further ones wait.
func TestFilesOfStatementsWaitForTheirTurn(t *testing.T) {
	t.Parallel()
	s := newLinkedSite(t, 2)
	s.Close(s.live)
	owner := s.loggedIn()
	me, err := s.DB.PersonByEmail(t.Context(), testEmail)
	if err != nil {
		t.Fatal(err)
	}
	end, waiting, err := s.server.HoldStatements(t.Context(), me.ID)
	if err != nil {
		t.Fatal(err)
	}
	path := "/dashboard/statement.csv?" + url.Values{"company": {s.live}, "id": {s.statement}}.Encode()
	file := make(chan string, 1)
	go func() {
		answer, err := owner.Get(s.url + path)
		if err != nil {
			file <- err.Error()
			return
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		file <- fmt.Sprint(string(body), err)
	}()
	await.Until(t, await.Long, func() bool { return waiting() == 1 || len(file) == 1 }, func() string { return "no request waits" })
	if len(file) != 0 {
		t.Error("a file was sent though none was in turn")
	}
	end()
	if got := <-file; !contains(got, "order,100000,2026-03-22,200.00,200.00,,coupon,,1234.50,BRL,100000") {
		t.Errorf("its turn came, and it reads %q", got)
	}
}
