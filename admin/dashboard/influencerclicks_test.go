package dashboard_test

import (
	"net/http"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/test/devtest"
)

// Clicks are told by link and by day, of the last 30 days and of this influencer alone.
func TestAnInfluencersClicksAreTold(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.setClock(time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC))
	ana, beto := s.Influencer(s.live, "Ana Prado"), s.Influencer(s.live, "Beto Lima")
	outono := s.Campaign(s.live, ana, "Outono")
	s.Link(s.live, ana, outono, "aaaa1111")
	s.Link(s.live, ana, outono, "bbbb2222")
	s.Link(s.live, beto, s.Campaign(s.live, beto, "x"), "cccc3333")
	s.Traffic(s.live, nil, []facts.Clicks{
		{Day: "2026-11-20", Code: "aaaa1111", Clicks: 25}, {Day: "2026-10-22", Code: "aaaa1111", Clicks: 5},
		{Day: "2026-10-21", Code: "aaaa1111", Clicks: 1000},
		{Day: "2026-11-20", Code: "bbbb2222", Clicks: 1}, {Day: "2026-11-20", Code: "cccc3333", Clicks: 700},
	})
	owner := s.loggedIn()
	text := s.readAs(owner, "/dashboard/influencer?company="+s.live+"&id="+ana)
	if !contains(text, "31 clicks in 30 days", "30 clicks in 30 days", "1 click in 30 days", "20 Nov 2026 26", "22 Oct 2026 5") {
		t.Errorf("the page reads %s", text)
	}
	if contains(text, "1,031") || contains(text, "700") {
		t.Errorf("the page counts what is not of these days, or not hers: %s", text)
	}
	status, rows := s.download(owner, "/dashboard/influencer.csv?company="+s.live+"&id="+ana)
	if status != http.StatusOK || len(rows) != 3 || rows[0]["day"] != "2026-10-22" || rows[0]["clicks"] != "5" ||
		rows[1]["code"] != "aaaa1111" || rows[1]["clicks"] != "25" ||
		rows[2]["short_url"] != "https://go.example.com/bbbb2222" || rows[2]["url"] != "https://loja.example.com/" ||
		rows[2]["campaign_id"] != outono {
		t.Errorf("the file: %d %v", status, rows)
	}
	for _, id := range []string{"", "x", s.Store.StoreID} {
		if status, _ := s.download(owner, "/dashboard/influencer.csv?company="+s.live+"&id="+id); status != http.StatusNotFound {
			t.Errorf("the file of %q: %d", id, status)
		}
	}
	s.takePictures(t, "/dashboard/influencer?company="+s.live+"&id="+ana, "influencer-clicks")
}

// The influencer's own rule for links that nothing proves: shown, changed with its
// preview, and taken back.
func TestAnInfluencersOwnRuleForUnprovenLinks(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ana := s.Influencer(s.live, "Ana Prado")
	owner, at := s.loggedIn(), "?company="+s.live+"&id="+ana
	is := func() string {
		t.Helper()
		own, err := s.DB.UnprovenOf(t.Context(), s.live, ana)
		if err != nil {
			t.Fatal(err)
		}
		return own
	}
	for _, c := range []struct {
		value, want string
		status      int
	}{{"pay", "pay", http.StatusSeeOther}, {"ignore", "ignore", http.StatusSeeOther}, {"maybe", "ignore", http.StatusUnprocessableEntity},
		{"", "ignore", http.StatusUnprocessableEntity}, {"store", "", http.StatusSeeOther}} {
		status, _, _ := s.send(owner, "/dashboard/influencer/unproven"+at, url.Values{"own_unproven": {c.value}})
		if status != c.status || is() != c.want {
			t.Errorf("%q: %d, and it is %q", c.value, status, is())
		}
	}
	if status, _, _ := s.send(owner, "/dashboard/influencer/unproven?company="+s.box+"&id="+ana,
		url.Values{"own_unproven": {"pay"}}); status != http.StatusNotFound {
		t.Errorf("in the other environment: %d", status)
	}
}

// The page of signs tells those about one influencer.
func TestSignsOfOneInfluencer(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.leak(time.Now())
	owner := s.loggedIn()
	list, err := s.DB.Influencers(t.Context(), s.live, commerce.InfluencerCursor{}, 100)
	if err != nil || len(list) < 2 {
		t.Fatal(list, err)
	}
	for _, i := range list {
		text := s.readAs(owner, "/dashboard/signs?company="+s.live+"&influencer="+i.InfluencerID)
		spreads, late := contains(text, "A coupon spreads"), contains(text, "Links opened after the checkout began")
		if !contains(text, "These are about "+i.Name+" alone", "All signs") || spreads != (i.Name == "Lia Couto") ||
			late != (i.Name == "Extensão") {
			t.Errorf("%s: %s", i.Name, text)
		}
	}
	answer, err := owner.Get(s.url + "/dashboard/signs?company=" + s.live + "&influencer=x")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusBadRequest {
		t.Errorf("an influencer that is no id: %s", answer.Status)
	}
}

// takePictures shows a page to people who look at pictures, and checks that it fits a phone.
func (s *site) takePictures(t *testing.T, path, name string) {
	t.Helper()
	page := devtest.Shell(t).MustPage("").Timeout(3 * time.Minute)
	s.enter(page)
	page.MustNavigate(s.url + path).MustWaitLoad()
	page.MustEval(`() => document.querySelectorAll('details.adding, details.numbers').forEach(d => d.open = true)`)
	shooter{t: t, page: page, dir: os.Getenv("TRIBUTARY_SHOTS")}.take(name)
	if wide := page.MustSetViewport(390, 800, 1, true).MustEval(`() => document.documentElement.scrollWidth`).Int(); wide > 390 {
		t.Errorf("%s is %d px wide on a phone", path, wide)
	}
}
