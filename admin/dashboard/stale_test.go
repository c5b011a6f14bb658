package dashboard_test

import (
	"html"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
)

var versionInput = regexp.MustCompile(`<input type="hidden" name="version" value="([^"]+)">`)

// versionAt is the version of the first form of a page whose action begins so.
func (s *site) versionAt(client *http.Client, path, action string) string {
	s.t.Helper()
	page := s.readRaw(client, path)
	for _, form := range strings.Split(page, `action="`+action)[1:] {
		form, _, _ = strings.Cut(form, "</form>")
		if found := versionInput.FindStringSubmatch(form); found != nil {
			return html.UnescapeString(found[1])
		}
	}
	s.t.Fatalf("%s has no form %s with a version", path, action)
	return ""
}

// sendFrom sends a form as a browser does from a page.
func (s *site) sendFrom(client *http.Client, page, path string, values url.Values) (status int, text string) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+path, strings.NewReader(values.Encode()))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Referer", s.url+page)
	return s.answer(client, request)
}

// One tab changes the hold; another, that was open before, changes the minimum payout.
func TestSettingsOfAnotherTabAreNotOverwritten(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, path := s.loggedIn(), "/dashboard/settings?company="+s.live
	form := func(version string, change map[string]string) url.Values {
		values := typedSettings(change)
		values.Set("version", version)
		return values
	}
	if status, _, _ := s.send(owner, path, typedSettings(nil)); status != http.StatusSeeOther {
		t.Fatalf("saved: %d", status)
	}
	shown := s.versionAt(owner, path, "/dashboard/settings")
	bia := s.join(account.RoleOwner, "bia@loja.example", s.Store.StoreID)
	if status, _, _ := s.send(bia, path, form(shown, map[string]string{"hold_days": "15"})); status != http.StatusSeeOther {
		t.Fatalf("the first tab: %d", status)
	}
	status, text, _ := s.send(owner, path, form(shown, map[string]string{"minimum_payout": "60"}))
	if status != http.StatusConflict || !contains(text, "bia@loja.example changed this on", "Stored now", "Hold in days", "<dd>15<",
		`value="60"`, `value="30"`) {
		t.Errorf("the second tab: %d %q", status, text)
	}
	company, err := s.DB.Company(t.Context(), s.live)
	if err != nil || company.HoldDays != 15 || company.MinimumPayout != "1050.5" {
		t.Errorf("hold %d, minimum %s, %v", company.HoldDays, company.MinimumPayout, err)
	}
	again := s.versionAt(owner, path, "/dashboard/settings")
	if status, _, _ := s.send(owner, path, form(again, map[string]string{"minimum_payout": "60", "hold_days": "15"})); status !=
		http.StatusSeeOther {
		t.Errorf("saved after looking: %d", status)
	}
	for _, bad := range []string{"x", "-1.a", "1", "9999999999999999999.a", "1.\x00"} {
		if status, _, _ := s.send(owner, path, form(bad, nil)); status != http.StatusBadRequest {
			t.Errorf("version %q: %d", bad, status)
		}
	}
}

// One tab accepts a link; another, that was open before, refuses it.
func TestADecisionOfAnotherTabIsNotOverridden(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, at := s.loggedIn(), "?company="+s.live
	putOdd(s)
	list, err := s.DB.Reviews(t.Context(), s.live, commerce.Cursor{}, 10)
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, page := range []string{"/dashboard/reviews" + at, "/dashboard/order" + at + "&id=waits"} {
		shown := s.versionAt(owner, page, "/dashboard/order/evidence")
		send := func(decision string) (int, string) {
			return s.sendFrom(owner, page, "/dashboard/order/evidence"+at+"&id=waits", url.Values{"influencer": {list[0].InfluencerID},
				"decision": {decision}, "version": {shown}})
		}
		if status, _ := send("accept"); status != http.StatusSeeOther {
			t.Fatalf("accept: %d", status)
		}
		if status, text := send("refuse"); status != http.StatusConflict || !contains(text, "You changed this on", "Ana Prado") {
			t.Errorf("refuse from %s: %d %q", page, status, text)
		}
	}
	if log, err := s.DB.AuditLog(t.Context(), s.live, "", "order.evidence", 10); err != nil || len(log) != 2 {
		t.Errorf("%d decisions, %v", len(log), err)
	}
}

// Whatever is changed by a form that does not know of the change before is refused, and the
// page shows what there is now.
func TestAStaleFormOverwritesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, at := s.loggedIn(), "?company="+s.live
	if status, _, _ := s.send(owner, "/dashboard/influencers"+at, ana()); status != http.StatusSeeOther {
		t.Fatal(status)
	}
	influencers, err := s.DB.Influencers(t.Context(), s.live, commerce.InfluencerCursor{}, 10)
	if err != nil || len(influencers) != 1 {
		t.Fatalf("%+v, %v", influencers, err)
	}
	s.join(account.RoleAnalyst, "bia@loja.example", s.Store.StoreID)
	members, err := s.DB.Members(t.Context(), s.Store.StoreID, 10)
	if err != nil {
		t.Fatal(err)
	}
	person := members[0].PersonID
	for _, m := range members {
		if m.Role == account.RoleAnalyst {
			person = m.PersonID
		}
	}
	rent := url.Values{"name": {"Aluguel"}, "value": {"3100"}, "frequency": {"monthly"}, "start_date": {"2026-01-01"}, "step": {"save"}}
	if status, _, _ := s.send(owner, "/dashboard/costs"+at, rent); status != http.StatusSeeOther {
		t.Fatal(status)
	}
	costs, err := s.DB.AdditionalCosts(t.Context(), s.live, commerce.CostFilter{}, 10)
	if err != nil || len(costs) != 1 {
		t.Fatal(err)
	}
	of, edit := at+"&id="+influencers[0].InfluencerID, changed(changed(rent, "id", costs[0].ID), "was", "monthly")
	agreement := url.Values{"cost_start": {"2026-05-01"}, "var_fee": {"15"}, "step": {"save"}}
	for _, c := range []struct {
		page, path    string
		first, second url.Values
		want          []string
	}{
		{"/dashboard/costs" + at + "&edit=" + costs[0].ID, "/dashboard/costs", changed(edit, "value", "3200"), changed(edit, "name", "Loja"),
			[]string{"Stored now", "Aluguel", "3,200", `value="Loja"`}},
		{"/dashboard/influencer" + of, "/dashboard/influencer/costs", agreement, changed(agreement, "var_fee", "20"),
			[]string{"15% of sales", `value="20"`}},
		{"/dashboard/influencer" + of, "/dashboard/influencer/unproven", url.Values{"own_unproven": {"ignore"}},
			url.Values{"own_unproven": {"pay"}}, []string{"Stored now"}},
		{"/dashboard/influencer" + of, "/dashboard/influencer/category", url.Values{"category": {"moda"}},
			url.Values{"category": {"beleza"}}, []string{"moda"}},
		{"/dashboard/people" + at, "/dashboard/people/role", url.Values{"person": {person}, "role": {"owner"}},
			url.Values{"person": {person}, "role": {"analyst"}}, []string{"bia@loja.example"}},
	} {
		path := c.path + at
		if strings.Contains(c.page, "influencer?") {
			path = c.path + of
		}
		version := s.versionAt(owner, c.page, c.path)
		if c.path == "/dashboard/people/role" {
			version = s.versionOf(person)
		}
		c.first.Set("version", version)
		c.second.Set("version", version)
		if status, text := s.sendFrom(owner, c.page, path, c.first); status != http.StatusSeeOther {
			t.Errorf("%s: %d %q", c.path, status, text)
		}
		if status, text := s.sendFrom(owner, c.page, path, c.second); status != http.StatusConflict ||
			!contains(text, append(c.want, "You changed this on")...) {
			t.Errorf("%s from the other tab: %d, without %q: %q", c.path, status, c.want, text)
		}
	}
	// Where the page is not known, the answer says it alone.
	stale := url.Values{"category": {"beleza"}, "version": {"0." + influencers[0].InfluencerID}}
	for _, from := range []string{"", "/dashboard/logout", "/elsewhere", "/dashboard/nowhere"} {
		if status, text := s.sendFrom(owner, from, "/dashboard/influencer/category"+of, stale); status != http.StatusConflict ||
			!contains(text, "This was changed meanwhile") {
			t.Errorf("from %q: %d %q", from, status, text)
		}
	}
}

// versionOf is a subject's version in the live company, as a form has it.
func (s *site) versionOf(subject string) string {
	s.t.Helper()
	list, err := s.DB.Versions(s.t.Context(), s.live, []string{subject})
	if err != nil {
		s.t.Fatal(err)
	}
	return list[subject].String()
}

// Two forms that are sent at the same time are not both saved.
func TestOfFormsSentTogetherOneIsSaved(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, path := s.loggedIn(), "/dashboard/settings?company="+s.live
	if status, _, _ := s.send(owner, path, typedSettings(nil)); status != http.StatusSeeOther {
		t.Fatal(status)
	}
	version, days := s.versionAt(owner, path, "/dashboard/settings"), []string{"10", "11", "12", "13", "14"}
	saved := make(chan int, len(days))
	for _, n := range days {
		go func() {
			values := typedSettings(map[string]string{"hold_days": n})
			values.Set("version", version)
			status, _, _ := s.send(owner, path, values)
			saved <- status
		}()
	}
	count := map[int]int{}
	for range days {
		select {
		case status := <-saved:
			count[status]++
		case <-time.After(time.Minute):
			t.Fatal("no answer")
		}
	}
	if count[http.StatusSeeOther] != 1 || count[http.StatusConflict] != len(days)-1 {
		t.Errorf("%v", count)
	}
}

// addsOnly are the forms that overwrite nothing: they add, ask for something, or are of the
// person alone.
var addsOnly = []string{"/dashboard/join", "/dashboard/login", "/dashboard/logout", "/dashboard/language", "/dashboard/install/",
	"/dashboard/influencers?", "/dashboard/people/invite", "/dashboard/people/withdraw", "/dashboard/account/", "/dashboard/keys?",
	"/dashboard/influencers/import", "/dashboard/shops/install?", "/dashboard/privacy?", "/dashboard/statements?",
	"/dashboard/statements/closing", "{{.To `chosen`}}", "{{$.To `link`}}", "/dashboard/statements/confirm", "{{.Action}}",
	"{{$.Base}}?"}

func TestEveryFormThatChangesSomethingHasAVersion(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("site/templates/*.html")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	action := regexp.MustCompile(`action="([^"]+)"`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range strings.Split(string(text), "<form")[1:] {
			form, _, _ = strings.Cut(form, "</form>")
			if !strings.Contains(form, `method="post"`) || strings.Contains(form, `{{template "version" `) ||
				strings.Contains(form, `value="{{.Version}}"`) { // of each chosen one
				continue
			}
			to := action.FindStringSubmatch(form)
			if to == nil {
				t.Errorf("%s: a form without an action", file)
				continue
			}
			known := false
			for _, one := range addsOnly {
				known = known || strings.HasPrefix(to[1], one)
			}
			if !known {
				t.Errorf("%s: the form %s changes something, and does not say which version it showed", file, to[1])
			}
		}
	}
}

// answer sends a request, and returns the answer's status and body.
func (s *site) answer(client *http.Client, request *http.Request) (status int, text string) {
	s.t.Helper()
	answer, err := client.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.StatusCode, strings.ReplaceAll(string(body), "\u00a0", " ")
}
