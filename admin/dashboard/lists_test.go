package dashboard_test

import (
	"encoding/csv"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

// download reads a list's file: its header, and its rows by column.
func (s *site) download(client *http.Client, path string) (status int, rows []map[string]string) {
	s.t.Helper()
	answer, err := client.Get(s.url + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return answer.StatusCode, nil
	}
	if !strings.HasPrefix(answer.Header.Get("Content-Disposition"), "attachment; filename=") {
		s.t.Errorf("%s is shown, not downloaded", path)
	}
	lines, err := csv.NewReader(answer.Body).ReadAll()
	if err != nil || len(lines) == 0 {
		s.t.Fatalf("%s: %v", path, err)
	}
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, cell := range line {
			row[lines[0][i]] = cell
		}
		rows = append(rows, row)
	}
	return answer.StatusCode, rows
}

// Each list is a file too: all of its rows under the page's filters, with numbers that a
// program reads, and no formulas.
func TestEveryListIsAFile(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ana := s.Influencer(s.live, "=Ana")
	now := time.Now()
	for i := range 520 { // more than are read at once
		o := reporttest.Order{CompanyID: s.live, ID: fmt.Sprintf("o%03d", i), TotalMinor: 123450,
			CreatedAt: now.Add(-time.Duration(i) * time.Second)}
		if i == 0 {
			o.InfluencerID, o.Evidence, o.CommissionMinor, o.DiscountCode = ana, "coupon", 1234, "+ANA10"
		}
		s.Put(o)
	}
	s.FindBy(s.live, "o000", "+ANA10")
	s.Put(reporttest.Order{CompanyID: s.live, ID: "waits", TotalMinor: 100, InfluencerID: ana, Evidence: "link", CommissionMinor: 10,
		State: "review", Reason: "unproven"})
	s.Put(reporttest.Order{CompanyID: s.box, ID: "sandbox", TotalMinor: 100})
	owner := s.loggedIn()
	registerSample(s)
	cost := commerce.AdditionalCost{ID: "0199f3a0-0000-7000-8000-00000000000c", Name: "Aluguel", ValueMinor: 120050,
		Frequency: commerce.Monthly, StartDate: "2026-01-01"}
	if err := s.DB.AddAdditionalCost(t.Context(), commerce.Author{CompanyID: s.live, Actor: "cli", At: now}, cost); err != nil {
		t.Fatal(err)
	}
	s.fillStatements(now)
	f := func(list, more string, rows int, column, value string) []map[string]string {
		t.Helper()
		status, got := s.download(owner, "/dashboard/"+list+".csv?company="+s.live+more)
		if status != http.StatusOK || rows >= 0 && len(got) != rows || len(got) == 0 || !strings.Contains(fmt.Sprint(got), column+":"+value) {
			t.Errorf("%s%s: %d, %d rows, want %d with %s:%s", list, more, status, len(got), rows, column, value)
		}
		return got
	}
	orders := f("orders", "", -1, "total", "1234.50")
	if len(orders) < 521 || strings.Contains(fmt.Sprint(orders), "sandbox") {
		t.Errorf("%d orders", len(orders))
	}
	seen := map[string]bool{}
	for _, o := range orders {
		if seen[o["order_id"]] {
			t.Fatalf("%s is there twice", o["order_id"])
		}
		seen[o["order_id"]] = true
	}
	if text := s.readAs(owner, "/dashboard/?company="+s.live); !contains(text, "Download as CSV") {
		t.Error("a day leads to no file")
	}
	first := f("orders", "&coupon=%2BANA10", 1, "commission", "12.34")
	if len(first) == 1 &&
		(first[0]["influencer"] != "'=Ana" || first[0]["discount_code"] != "'+ANA10" || first[0]["evidence"] != "coupon" ||
			first[0]["status"] != "approved") {
		t.Errorf("%v", first[0])
	}
	// One row for each of her coupons, agreements and campaigns.
	f("influencers", "&q=Carla", 4, "influencer", "Carla Souza")
	f("payouts", "", -1, "review", "0.10")
	f("reviews", "", -1, "order_id", "waits")
	f("statements", "", -1, "state", "closed")
	f("costs", "", 1, "value_brl", "1200.50")
	f("audit", "&kind=additional_cost.", 1, "action", "additional_cost.create")
	if status, _, _ := s.send(owner, "/dashboard/people/invite?company="+s.live,
		url.Values{"email": {"bia@loja.example"}, "role": {"analyst"}}); status != http.StatusSeeOther {
		t.Fatal(status)
	}
	if status, _, _ := s.send(owner, "/dashboard/keys?company="+s.live,
		url.Values{"name": {"ERP"}, "environment": {"sandbox"}, "type": {"own_platform"}, "scopes": {"write_orders", "costs.read"},
			"life": {"0"}}); status != http.StatusSeeOther {
		t.Fatal(status)
	}
	people := f("people", "", 2, "email", testEmail)
	if people[0]["role"] != "owner" || people[0]["invited_until"] != "" || people[1]["email"] != "bia@loja.example" ||
		people[1]["role"] != "analyst" || people[1]["person_id"] != "" || people[1]["invited_until"] == "" {
		t.Errorf("%v", people)
	}
	for _, k := range f("keys", "", 1, "name", "ERP") {
		if k["environment"] != "sandbox" || k["scopes"] != "write_orders costs.read" || len(k["ends_with"]) > 4 || k["revoked_at"] != "" {
			t.Errorf("%v", k)
		}
	}
	for _, bad := range []string{"orders.csv?status=9&", "orders.csv?q=1&", "influencers.csv?sort=x&", "audit.csv?kind=x&"} {
		if status, _ := s.download(owner, "/dashboard/"+bad+"company="+s.live); status != http.StatusBadRequest {
			t.Errorf("%s: %d", bad, status)
		}
	}
	// The page leads to its file with its filters.
	answer, err := owner.Get(s.url + "/dashboard/orders?company=" + s.live + "&coupon=%2BANA10&status=0")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(body); !strings.Contains(text, `href="/dashboard/orders.csv?company=`+s.live+`&amp;status=0&amp;coupon=%2BANA10"`) {
		t.Errorf("the page of orders does not lead to its file: %s", text)
	}
}

// The page says whose orders it shows, and leads to all of them with the other filters.
func TestOrdersOfOneInfluencer(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ana := s.Influencer(s.live, "Ana Prado")
	s.Put(reporttest.Order{CompanyID: s.live, ID: "1001", InfluencerID: ana, Evidence: "coupon"})
	s.Put(reporttest.Order{CompanyID: s.live, ID: "1002"})
	owner, at := s.loggedIn(), "/dashboard/orders?company="+s.live
	if text := s.readAs(owner, at+"&status=0&influencer="+ana); !contains(text, "Only orders of Ana Prado", "All orders", "1001") ||
		contains(text, "1002") {
		t.Errorf("hers: %s", text)
	}
	if text := s.readAs(owner, at+"&influencer=0199f3a0-0000-7000-8000-00000000000c"); !contains(text,
		"Only orders of an influencer who is archived") {
		t.Errorf("nobody's: %s", text)
	}
	if text := s.readAs(owner, at); contains(text, "Only orders of") || !contains(text, "1001", "1002") {
		t.Errorf("all: %s", text)
	}
}

// The list says how many orders fit and what they add up to, goes back page by page, and marks an order of the future.
func TestTheListOfOrdersAddsUpAndGoesBack(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ana := s.Influencer(s.live, "Ana Prado")
	start := time.Now().Add(-1000 * time.Hour)
	for i := range 110 {
		o := reporttest.Order{CompanyID: s.live, ID: fmt.Sprintf("n%03d", i), TotalMinor: 1000,
			CreatedAt: start.Add(time.Duration(i) * time.Hour)}
		if i < 10 {
			o.Status, o.InfluencerID, o.Evidence = commerce.OrderCancelled, ana, "coupon"
		}
		s.Put(o)
	}
	s.Put(reporttest.Order{CompanyID: s.live, ID: "ahead", TotalMinor: 1000, CreatedAt: time.Now().Add(48 * time.Hour)})
	owner, at := s.loggedIn(), "/dashboard/orders?company="+s.live
	read := func(path string) string { return strings.ReplaceAll(s.readRaw(owner, path), "\u00a0", " ") }
	first := read(at)
	if !contains(first, "111 orders · R$ 1,110.00 · R$ 1,010.00 approved", "date in the future", ">ahead<") ||
		contains(first, "Later orders") {
		t.Errorf("the first page: %s", first)
	}
	second := read(linkOf(t, first, "Earlier orders"))
	third := read(linkOf(t, second, "Earlier orders"))
	if !contains(third, "n010", "n000", "Later orders") || contains(third, "Earlier orders", "date in the future") {
		t.Errorf("the last page: %s", third)
	}
	if back := read(linkOf(t, third, "Later orders")); !contains(back, "n060", "n011", "Earlier orders", "Later orders") ||
		contains(back, ">n010<", ">n061<") {
		t.Errorf("back to the second page: %s", back)
	} else if begin := read(linkOf(t, back, "Later orders")); !contains(begin, ">ahead<", ">n061<") || contains(begin, ">n060<",
		"Later orders") {
		t.Errorf("back to the first page: %s", begin)
	}
	// An influencer is chosen by name.
	option := regexp.MustCompile(`<option value="(` + ana + `)">Ana Prado</option>`).FindStringSubmatch(first)
	if option == nil {
		t.Fatal("Ana cannot be chosen")
	}
	if hers := read(at + "&credited=" + option[1]); !contains(hers, "10 orders · R$ 100.00", "Only orders of Ana Prado",
		`<option value="`+ana+`" selected>`) || contains(hers, ">n010<", "approved ·") {
		t.Errorf("hers: %s", hers)
	}
	for _, bad := range []string{"&before=x", "&after=x", "&credited=x"} {
		if status, _ := s.download(owner, at+bad); status != http.StatusBadRequest {
			t.Errorf("%s: %d", bad, status)
		}
	}
}

// linkOf is where the page's link of that text leads.
func linkOf(t *testing.T, page, text string) string {
	t.Helper()
	found := regexp.MustCompile(`<a href="([^"]+)">` + text + `</a>`).FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("no link %q", text)
	}
	return html.UnescapeString(found[1])
}
