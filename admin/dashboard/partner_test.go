package dashboard_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/rollup"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

// An influencer's page shows first what they brought in the chosen days, and what is owed now.
func TestAnInfluencersPageShowsResultsFirst(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.setClock(time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC))
	ana, beto := s.Influencer(s.live, "Ana Prado"), s.Influencer(s.live, "Beto Lima")
	s.Product(s.live, "p1", "Vestido Lira", "v1")
	sale := func(id, day, influencer string, state facts.PayoutState, total, commission int64) {
		t.Helper()
		at, err := time.Parse(time.DateOnly, day)
		if err != nil {
			t.Fatal(err)
		}
		s.Put(reporttest.Order{CompanyID: s.live, ID: id, CreatedAt: at.Add(15 * time.Hour), TotalMinor: total, InfluencerID: influencer,
			Evidence: commerce.EvidenceCoupon, CommissionMinor: commission, State: string(state), Sent: func(o *wire.Order) {
				o.Items = wire.Some([]wire.Item{{ProductID: "p1", Quantity: 2, Price: "40.50"}, {ItemID: "meia-7", Quantity: 1, Price: "9"}})
			}})
		payout := facts.Payout{State: state, InfluencerID: influencer, CommissionMinor: commission}
		s.Sum(s.live, rollup.Order{Outcome: &facts.Outcome{Day: day, Currency: commerce.BRL, TotalMinor: total, Payout: payout}})
	}
	sale("a1", "2026-11-18", ana, facts.PayoutEarned, 9000, 900)
	sale("a2", "2026-11-19", ana, facts.PayoutEarned, 9000, 900)
	sale("old", "2026-09-02", ana, facts.PayoutEarned, 70000, 7000)
	sale("review", "2026-11-19", ana, facts.PayoutReview, 50000, 0)
	sale("beto", "2026-11-19", beto, facts.PayoutEarned, 330000, 33000)
	at := "/dashboard/influencer?company=" + s.live + "&id=" + ana
	client := s.loggedIn()
	page := s.readAs(client, at)
	if !contains(page, "Sales R$ 180.00", "Orders 2", "Average order R$ 90.00", "Commission R$ 18.00", "Balance today",
		"Vestido Lira p1 2 4 R$ 162.00", "meia-7 2 2 R$ 18.00") || contains(page, "3,300") {
		t.Errorf("30 days: %s", page)
	}
	if page := s.readAs(client, at+"&from=2026-09-01&to=2026-09-30"); !contains(page, "Sales R$ 700.00", "Orders 1", "Commission R$ 70.00",
		"Vestido Lira p1 1 2 R$ 81.00") {
		t.Errorf("September: %s", page)
	}
	if page := s.readAs(client, at+"&from=2026-09-30&to=2026-09-01"); !contains(page, "Sales R$ 180.00") {
		t.Errorf("days that end before they begin: %s", page)
	}
	for path, want := range map[string]string{"/dashboard/?company=" + s.live + "&day=2026-11-19": "Ana Prado",
		"/dashboard/orders?company=" + s.live: "Ana Prado"} {
		if html := s.readRaw(client, path); !contains(html, `href="/dashboard/influencer?company=`+s.live+`&amp;id=`+ana+`"`) {
			t.Errorf("%s does not lead to %s: %s", path, want, html)
		}
	}
	s.takePictures(t, at, "partner")
}

// Who is archived has a list of their own, and is taken back from their page, which says first what that does.
func TestAnArchivedInfluencerIsTakenBack(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ana := s.Influencer(s.live, "Ana Prado")
	s.Influencer(s.live, "Beto Lima")
	owner, at := s.loggedIn(), "?company="+s.live+"&id="+ana
	_, err := s.DB.ArchiveInfluencer(t.Context(), commerce.Author{CompanyID: s.live, Actor: "cli", At: time.Now()}, "Ana Prado", "")
	if err != nil {
		t.Fatal(err)
	}
	list := "/dashboard/influencers?company=" + s.live
	if page := s.readAs(owner, list); contains(page, "Ana Prado") || !contains(page, "Beto Lima") {
		t.Errorf("the list: %s", page)
	}
	if page := s.readAs(owner, list+"&state=archived"); !contains(page, "Ana Prado") || contains(page, "Beto Lima") {
		t.Errorf("the list of those who are archived: %s", page)
	}
	page := s.readAs(owner, "/dashboard/influencer"+at)
	if !contains(page, "Archived on", "Agreements do not come back", "Take back") {
		t.Errorf("the page: %s", page)
	}
	s.takePictures(t, "/dashboard/influencer"+at, "partner-archived")
	if status, text, _ := s.send(owner, "/dashboard/influencer/restore"+at, nil); status != http.StatusSeeOther {
		t.Fatalf("%d %s", status, text)
	}
	if page := s.readAs(owner, list); !contains(page, "Ana Prado") {
		t.Errorf("the list after it: %s", page)
	}
	for _, id := range []string{ana, "x"} { // who is not archived, and nobody
		if status, _, _ := s.send(owner, "/dashboard/influencer/restore?company="+s.live+"&id="+id, nil); status != http.StatusNotFound {
			t.Errorf("%q: %d", id, status)
		}
	}
	// Whose name somebody else has now, or had, is not taken back: the page says who that is, and what to do.
	author := commerce.Author{CompanyID: s.live, Actor: "cli", At: time.Now()}
	if _, err := s.DB.ArchiveInfluencer(t.Context(), author, "Ana Prado", ""); err != nil {
		t.Fatal(err)
	}
	s.Influencer(s.live, "ana prado")
	refused := func(words string) {
		t.Helper()
		if status, text, _ := s.send(owner, "/dashboard/influencer/restore"+at, nil); status != http.StatusConflict || !contains(text, words) {
			t.Errorf("%d, want %q in %s", status, words, text)
		}
	}
	refused("“Ana Prado” is now the name of an influencer who was registered later. Archive that one first")
	if err := s.DB.UpdateInfluencer(t.Context(), author, "ana prado", commerce.InfluencerChange{Name: "Ana Lima"}); err != nil {
		t.Fatal(err)
	}
	refused("“Ana Prado” was the name of Ana Lima before a rename")
	s.inPortuguese(owner)
	refused("“Ana Prado” foi o nome de Ana Lima antes de ser renomeado")
	s.inEnglish(owner)
}

// The person of an influencer is erased by an owner who types the name.
func TestAnInfluencersPersonIsErased(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ana := s.Influencer(s.live, "Ana Prado")
	owner, at := s.loggedIn(), "?company="+s.live+"&id="+ana
	details := url.Values{"email": {"ana@example.com"}, "phone": {""}, "document": {""}, "pix_type": {""}, "pix_key": {""}, "handles": {""},
		"notes": {"zq"}}
	if status, text, _ := s.send(owner, "/dashboard/influencer/details"+at, details); status != http.StatusSeeOther {
		t.Fatalf("%d %s", status, text)
	}
	email := func() string {
		t.Helper()
		i, err := s.DB.Influencer(t.Context(), s.live, ana)
		if err != nil {
			t.Fatal(err)
		}
		return i.Details.Email
	}
	for _, name := range []string{"", "Ana", "Beto Lima"} {
		status, text, _ := s.send(owner, "/dashboard/influencer/erase"+at, url.Values{"confirm_name": {name}})
		if status != http.StatusUnprocessableEntity || !contains(text, "this is not the name") || email() == "" {
			t.Errorf("%q: %d %s", name, status, text)
		}
	}
	status, text, _ := s.send(owner, "/dashboard/influencer/erase"+at, url.Values{"confirm_name": {"ana prado"}})
	if status != http.StatusSeeOther || email() != "" {
		t.Errorf("%d, e-mail %q: %s", status, email(), text)
	}
	if page := s.readAs(owner, "/dashboard/influencer"+at); !contains(page, "No contact, document or Pix key is known.", "Ana Prado") {
		t.Errorf("the page: %s", page)
	}
}
