package dashboard_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-rod/rod"
	"github.com/go-rod/rod/lib/proto"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/preview"
	"github.com/tributary-io/tributary/test/devtest"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

// soldWith stores orders that used a code, which is nobody's yet.
func (s *site) soldWith(code string, ids ...string) {
	s.t.Helper()
	for i, id := range ids {
		s.Put(reporttest.Order{CompanyID: s.live, ID: id, TotalMinor: 20000, DiscountCode: code,
			CreatedAt: time.Now().Add(-time.Duration(i+1) * time.Hour)})
		s.FindBy(s.live, id, code)
	}
}

// fresh is a registration with a coupon that is valid since some days.
func fresh() url.Values {
	since := time.Now().AddDate(0, 0, -9).Format(time.DateOnly)
	return url.Values{"name": {"Ana Prado"}, "campaign": {"Outono"}, "links": {"https://loja.example.com/a"}, "code": {"FRESH10"},
		"coupon_start": {since},
		"var_fee":      {"10"}, "cost_start": {since}}
}

// A form that moves orders shows them first, saves nothing, and goes back to what was
// typed; from there it is saved as it was typed.
func TestAFormShowsWhatItWouldMove(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.soldWith("FRESH10", "1001", "1002")
	owner, path := s.loggedIn(), "/dashboard/influencers?company="+s.live
	list := func() int {
		t.Helper()
		found, err := s.DB.Influencers(t.Context(), s.live, commerce.InfluencerCursor{}, 10)
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	status, text, _ := s.send(owner, path, fresh())
	if status != http.StatusOK ||
		!contains(html.UnescapeString(text), "What this would move", "Ana Prado", "+R$\u00a040.00", "1001", "1002", "Ana Prado: R$\u00a020.00",
			"Nobody", `name="code" value="FRESH10"`) {
		t.Errorf("%d %s", status, text)
	}
	if n := list(); n != 0 {
		t.Errorf("the preview saved %d influencers", n)
	}
	with := func(step string) (int, string, string) {
		t.Helper()
		return s.send(owner, path, changed(fresh(), "step", step))
	}
	if status, text, _ := with("edit"); status != http.StatusUnprocessableEntity ||
		!contains(text, "Nothing was saved yet", `value="FRESH10"`, `value="Ana Prado"`) || list() != 0 {
		t.Errorf("back to the form: %d", status)
	}
	if status, text, _ := s.send(owner, path, changed(fresh(), "var_fee", "101")); status != http.StatusUnprocessableEntity ||
		!contains(text, "must be between 0 and 100") {
		t.Errorf("what is refused is previewed: %d", status)
	}
	if status, _, to := with("save"); status != http.StatusSeeOther || !strings.HasPrefix(to, "/dashboard/influencer?") || list() != 1 {
		t.Errorf("saved: %d to %q", status, to)
	}
	// The same code is taken now: what the change refuses is told at its field, before
	// and after the preview.
	taken := changed(fresh(), "name", "Beto Lima")
	for _, step := range []string{"", "save"} {
		if status, text, _ := s.send(owner, path, changed(taken, "step", step)); status != http.StatusUnprocessableEntity ||
			!contains(text, "FRESH10 is already Ana Prado") {
			t.Errorf("a code that is taken, step %q: %d", step, status)
		}
	}
}

// soldByOther stores an order with the code FRESH10, and registers the one influencer there
// is with another code.
func (s *site) soldByOther(owner *http.Client) []commerce.Influencer {
	s.t.Helper()
	s.soldWith("FRESH10", "1001")
	if status, _, _ := s.send(owner, "/dashboard/influencers?company="+s.live,
		changed(changed(fresh(), "code", "OTHER"), "step", "save")); status != http.StatusSeeOther {
		s.t.Fatal(status)
	}
	list, err := s.DB.Influencers(s.t.Context(), s.live, commerce.InfluencerCursor{}, 10)
	if err != nil || len(list) != 1 {
		s.t.Fatal(list, err)
	}
	return list
}

// Every form that moves attribution has the step.
func TestEveryFormThatMovesOrdersShowsThem(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner := s.loggedIn()
	list := s.soldByOther(owner)
	of := "?company=" + s.live + "&id=" + list[0].InfluencerID
	f := func(path string, values url.Values, want ...string) {
		t.Helper()
		if status, text, _ := s.send(owner, path, values); status != http.StatusOK ||
			!contains(html.UnescapeString(text), append(want, "What this would move", "Nothing is saved yet")...) {
			t.Errorf("%s: %d\n%s", path, status, words(text))
		}
		if status, _, to := s.send(owner, path, changed(values, "step", "save")); status != http.StatusSeeOther {
			t.Errorf("%s saved: %d to %q", path, status, to)
		}
	}
	since := time.Now().AddDate(0, 0, -9).Format(time.DateOnly)
	f("/dashboard/influencer/coupons"+of,
		url.Values{"campaign_id": {list[0].Campaigns[0].CampaignID}, "code": {"FRESH10"}, "coupon_start": {since}}, "+R$\u00a020.00")
	// As the processor does once the coupon is there.
	s.Key(s.live, "1001", facts.Key{Kind: facts.KeyInfluencer, Value: list[0].InfluencerID}, time.Now().Add(-time.Hour))
	f("/dashboard/influencer/costs"+of, url.Values{"campaign_id": {""}, "var_fee": {"2,5"}, "cost_start": {since}}, "−R$\u00a015.00")
	// Settings count from now on: an order of the next days is moved.
	s.Put(reporttest.Order{CompanyID: s.live, ID: "2001", TotalMinor: 10000, DiscountCode: "FRESH10",
		CreatedAt: time.Now().Add(48 * time.Hour)})
	s.FindBy(s.live, "2001", "FRESH10")
	f("/dashboard/settings?company="+s.live, typedSettings(map[string]string{"hold_days": "60", "step": ""}), "2001", "payable on",
		"R$\u00a01,050.50")
	// What is removed ends now: the order of the next days is moved, those of the past are not.
	f("/dashboard/influencer/coupons/remove"+of,
		url.Values{"campaign_id": {list[0].Campaigns[0].CampaignID}, "code": {"FRESH10"}}, "2001", "Nobody")
}

// Somebody else archives the influencer while a person looks at what a form would move:
// nothing is saved for it, and nobody of that name comes back.
func TestAnInfluencerIsArchivedBeforeThePreviewIsSaved(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner := s.loggedIn()
	before := s.soldByOther(owner)
	id, since := before[0].InfluencerID, time.Now().AddDate(0, 0, -9).Format(time.DateOnly)
	forms := map[string]url.Values{
		"coupons": {"campaign_id": {before[0].Campaigns[0].CampaignID}, "code": {"FRESH10"}, "coupon_start": {since}},
		"costs":   {"campaign_id": {""}, "var_fee": {"2,5"}, "cost_start": {since}},
		"links":   {"links": {"https://loja.example.com/b"}},
		"archive": {},
	}
	if status, text, _ := s.send(owner, "/dashboard/influencer/coupons?company="+s.live+"&id="+id,
		forms["coupons"]); status != http.StatusOK || !contains(text, "What this would move") {
		t.Fatalf("%d %s", status, words(text))
	}
	if _, err := s.DB.ArchiveInfluencer(t.Context(), commerce.Author{CompanyID: s.live, Actor: "cli", At: time.Now()},
		before[0].Name, ""); err != nil {
		t.Fatal(err)
	}
	for path, values := range forms {
		if status, text, _ := s.send(owner, "/dashboard/influencer/"+path+"?company="+s.live+"&id="+id,
			changed(values, "step", "save")); status != http.StatusNotFound || !contains(text, "No such influencer", "archived meanwhile") {
			t.Errorf("%s: %d %s", path, status, words(text))
		}
	}
	after, err := s.DB.Influencer(t.Context(), s.live, id)
	if err != nil || after.ArchivedAt.IsZero() {
		t.Fatal(after, err)
	}
	for _, c := range after.Coupons {
		if c.Code == "FRESH10" {
			t.Error("the coupon was added to an influencer who is archived")
		}
	}
	if list, err := s.DB.Influencers(t.Context(), s.live, commerce.InfluencerCursor{}, 10); err != nil || len(list) != 0 ||
		strings.Contains(fmt.Sprint(after.Links), "loja.example.com/b") {
		t.Errorf("%+v, %+v, %v", list, after.Links, err)
	}
}

// Where a big store's orders are too many, the page says how many were computed; where
// nothing can be found out, it says that, and the form can still be saved.
func TestAPreviewSaysWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	s := newSiteWith(t, preview.Limits{Orders: 2})
	s.soldWith("FRESH10", "1001", "1002", "1003")
	owner, path := s.loggedIn(), "/dashboard/influencers?company="+s.live
	if status, text, _ := s.send(owner, path, fresh()); status != http.StatusOK ||
		!contains(text, "The change concerns 3 orders. Only the newest 2 were computed", "the other 1 is not") {
		t.Errorf("%d %s", status, text)
	}
	// Finding S3-12: a setting that counts from now on concerns no order that is there; the shop's own hosts concern all.
	settings := func(change map[string]string) (int, string) {
		t.Helper()
		status, text, _ := s.send(owner, "/dashboard/settings?company="+s.live, typedSettings(change))
		return status, text
	}
	settings(nil)
	if status, text := settings(map[string]string{"hold_days": "60", "step": ""}); status != http.StatusSeeOther {
		t.Errorf("another hold: %d %s", status, words(text))
	}
	if company, err := s.DB.Company(t.Context(), s.live); err != nil || company.HoldDays != 60 {
		t.Errorf("%+v, %v", company.Settings, err)
	}
	if status, text := settings(map[string]string{"hold_days": "60", "hosts": "loja.example.com blog.example.com", "step": ""}); status !=
		http.StatusOK || !contains(text, "The change concerns 3 orders. Only the newest 2 were computed") ||
		contains(text, "These are the orders") {
		t.Errorf("another host: %d %s", status, words(text))
	}
	release := s.HoldRules(s.live)
	status, text, _ := s.send(owner, path, fresh())
	release()
	if status != http.StatusOK || !contains(text, "could not be found out just now", "Look again", `value="FRESH10"`) {
		t.Errorf("beside another change: %d %s", status, text)
	}
	if status, _, _ := s.send(owner, path, changed(fresh(), "step", "save")); status != http.StatusSeeOther {
		t.Errorf("saved: %d", status)
	}
}

// The page as people see it: a form is typed, looked at, and saved.
func TestAPreviewIsShownBeforeSaving(t *testing.T) {
	s := newSite(t)
	s.soldWith("FRESH10", "gid://shop/Order/550000000001", "1002", "1003")
	page := devtest.Shell(t).MustPage("").Timeout(3 * time.Minute)
	shots := shooter{t: t, page: page, dir: os.Getenv("TRIBUTARY_SHOTS")}
	s.enter(page)
	page.MustNavigate(s.url + "/dashboard/influencers?company=" + s.live).MustWaitLoad()
	page.MustElement("details.adding summary").MustClick()
	for name, values := range fresh() {
		if strings.HasSuffix(name, "_start") {
			page.MustElement(`[name="`+name+`"]`).MustEval(`(v) => { this.value = v }`, values[0])
			continue
		}
		page.MustElement(`[name="` + name + `"]`).MustWaitVisible().MustInput(values[0])
	}
	page.MustElementR("button.main", "Register").MustClick()
	page.MustElementR("h1", "What this would move")
	axeInBothSchemes(t, page, "what a form would move")
	shots.take("moves")
	if wide := page.MustSetViewport(390, 800, 1, true).MustEval(`() => document.documentElement.scrollWidth`).Int(); wide > 390 {
		t.Errorf("the page is %d px wide on a phone", wide)
	}
	page.MustElementR("button.main", "^Save$").MustClick()
	page.MustElementR("h1", "Ana Prado")
	page.MustElementR(".done-notice", "Registered")
	// An amount is shown before it is saved, also where no order moves.
	page.MustNavigate(s.url + "/dashboard/costs?company=" + s.live).MustWaitLoad()
	page.MustElement("#f-name").MustInput("Aluguel")
	page.MustElement("#f-value").MustInput("3,100")
	page.MustElement("form .actions button.main").MustClick()
	page.MustElementR("h1", "What would be saved")
	page.MustElementR(".said", "R\\$.3,100\\.00 a month")
	axeInBothSchemes(t, page, "what was typed")
	if wide := page.MustSetViewport(320, 800, 1, true).MustEval(`() => document.documentElement.scrollWidth`).Int(); wide > 320 {
		t.Errorf("the page is %d px wide on a phone", wide)
	}
	shots.take("typed")
	page.MustElementR("button.main", "^Save$").MustClick()
	page.MustElementR(".done-notice", "Saved")
}

// enter logs a browser in.
func (s *site) enter(page *rod.Page) {
	s.t.Helper()
	page.MustNavigate(s.url + "/").MustWaitLoad()
	page.MustElement("#email").MustInput(testEmail)
	page.MustElement("#password").MustInput(testPassword)
	page.MustElement("button.main").MustClick()
	page.MustElement(".pages")
}

// words is the text of a page's main part.
func words(page string) string {
	_, main, _ := strings.Cut(page, "<main")
	return strings.Join(strings.Fields(html.UnescapeString(tags.ReplaceAllString("<main"+main, " "))), " ")
}

// axeInBothSchemes looks at a page with axe-core, in light and dark.
func axeInBothSchemes(t *testing.T, page *rod.Page, at string) {
	t.Helper()
	devtest.Axe(t, page, at)
	for _, scheme := range []string{"dark", "light"} {
		if err := (proto.EmulationSetEmulatedMedia{Features: []*proto.EmulationMediaFeature{{Name: "prefers-color-scheme",
			Value: scheme}}}).Call(page); err != nil {
			t.Fatal(err)
		}
		if scheme == "dark" {
			devtest.Axe(t, page, at+", dark", "color-contrast")
		}
	}
}
