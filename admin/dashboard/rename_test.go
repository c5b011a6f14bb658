package dashboard_test

import (
	"html"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/test/devtest"
)

// A rename is shown before it is saved, with what it moves; the page then has the name of before, and the log both.
func TestAnInfluencerIsRenamedOnItsPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ana, bia := s.Influencer(s.live, "Ana Prado"), s.Influencer(s.live, "Bia")
	owner, of := s.loggedIn(), "?company="+s.live+"&id="+ana
	page := "/dashboard/influencer" + of
	rename := func(name string, others ...string) (int, string) {
		t.Helper()
		values := url.Values{"new_name": {name}}
		for i := 0; i < len(others); i += 2 {
			values.Set(others[i], others[i+1])
		}
		status, text, _ := s.send(owner, "/dashboard/influencer/name"+of, values)
		return status, html.UnescapeString(text)
	}
	named := func(want string) {
		t.Helper()
		if i, err := s.DB.Influencer(t.Context(), s.live, ana); err != nil || i.Name != want {
			t.Errorf("the name is %q, %v; want %q", i.Name, err, want)
		}
	}
	stale := s.versionAt(owner, page, "/dashboard/influencer/name")
	if status, text := rename(" Ana Lima "); status != http.StatusOK ||
		!contains(text, "What would be saved", "Ana Prado → Ana Lima", "No order and no commission changes by it.") {
		t.Errorf("shown: %d %s", status, words(text))
	}
	named("Ana Prado")
	if status, text := rename("Ana Lima", "step", "edit"); status != http.StatusUnprocessableEntity || !contains(text, `value="Ana Lima"`) {
		t.Errorf("back to the form: %d %s", status, words(text))
	}
	if status, text := rename("Ana Lima", "step", "save", "version", stale); status != http.StatusSeeOther {
		t.Errorf("saved: %d %s", status, words(text))
	}
	named("Ana Lima")
	if text := s.readAs(owner, page); !contains(text, "Ana Lima", "Called before: Ana Prado") {
		t.Errorf("the page: %s", words(text))
	}
	if list := s.readAs(owner, "/dashboard/influencers?q=ana+prado&company="+s.live); !contains(list, "Ana Lima") || contains(list, "Bia") {
		t.Errorf("looked for by the name of before: %s", words(list))
	}
	if status, text := rename("Ana Reis", "step", "save", "version", stale); status != http.StatusConflict || !contains(text, "Ana Lima") {
		t.Errorf("from a tab of before: %d %s", status, words(text))
	}
	for name, want := range map[string]string{"bia": "this is or was the name of Bia", "": "is empty",
		strings.Repeat("x", commerce.MaxName+1): "is longer than 200 characters"} {
		for _, step := range []string{"", "save"} {
			if status, text := rename(name, "step", step); status != http.StatusUnprocessableEntity || !contains(text, want) {
				t.Errorf("%.10q: %d %s", name, status, words(text))
			}
		}
	}
	if status, text := rename("Ana Lima"); status != http.StatusSeeOther {
		t.Errorf("the same name: %d %s", status, words(text))
	}
	named("Ana Lima")
	if log := s.readAs(owner, "/dashboard/audit?company="+s.live); !contains(log, "Influencer renamed", "Ana Prado → Ana Lima") {
		t.Errorf("the log: %s", words(log))
	}
	status, text, _ := s.send(owner, "/dashboard/influencer/name?company="+s.live+"&id="+bia, url.Values{"new_name": {"ana prado"}})
	if status != http.StatusUnprocessableEntity || !contains(text, "this is or was the name of Ana Lima") {
		t.Errorf("a name that was given up: %d %s", status, words(text))
	}
	analyst := s.join(account.RoleAnalyst, "caio@loja.example", s.Store.StoreID)
	if status, _, _ := s.send(analyst, "/dashboard/influencer/name"+of, url.Values{"new_name": {"X"}}); status != http.StatusForbidden {
		t.Errorf("an analyst: %d", status)
	}
}

// The forms of a rename as people see them, in Portuguese.
func TestARenameIsShownInPortuguese(t *testing.T) {
	s := newSite(t)
	ana := s.Influencer(s.live, "Ana Prado")
	err := s.DB.UpdateInfluencer(t.Context(), commerce.Author{CompanyID: s.live, Actor: "cli", At: time.Now()}, "Ana Prado",
		commerce.InfluencerChange{Name: "Ana Lima"})
	if err != nil {
		t.Fatal(err)
	}
	page := devtest.Shell(t).MustPage("").Timeout(3 * time.Minute)
	shots := shooter{t: t, page: page, dir: os.Getenv("TRIBUTARY_SHOTS")}
	s.enter(page)
	page.MustNavigate(s.url + "/dashboard/influencer?company=" + s.live + "&id=" + ana).MustWaitLoad()
	page.MustElement(`button[value="pt-BR"]`).MustEval(`() => this.click()`)
	page.MustElementR("p.sub", "Nomes anteriores: Ana Prado")
	page.MustElementR("details.adding summary", "Mudar o nome").MustClick()
	shots.take("rename")
	page.MustElement("#r-new_name").MustSelectAllText().MustInput("Ana Reis")
	page.MustElementR("button.main", "Continuar").MustClick()
	page.MustElementR("h1", "O que seria salvo")
	axeInBothSchemes(t, page, "a rename")
	shots.take("rename-moves")
	page.MustElementR("button.main", "^Salvar$").MustClick()
	page.MustElementR("h1", "Ana Reis")
}

// Who is registered without an agreement earns nothing: the page says so at once, and no more once there is one.
func TestARegistrationWithoutAnAgreementSaysSo(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, path := s.loggedIn(), "/dashboard/influencers?company="+s.live
	none := url.Values{"name": {"Caio"}, "links": {"https://loja.example.com/a"}, "step": {"save"}}
	paid := changed(changed(none, "var_fee", "10"), "cost_start", "2026-03-01")
	for _, c := range []struct {
		values url.Values
		done   string
	}{{none, "influencer_unpaid"}, {paid, "influencer_registered"}, {none, "influencer_registered"}} {
		if status, text, to := s.send(owner, path, c.values); status != http.StatusSeeOther || !strings.Contains(to, "done="+c.done) {
			t.Errorf("%d to %s, want %s: %s", status, to, c.done, words(text))
		}
	}
}
