package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

// typedSettings is the settings' form of a new store, as a browser sends it.
func typedSettings(change map[string]string) url.Values {
	form := url.Values{
		"origins": {"https://loja.example.com\r\nhttps://checkout.example.com"}, "hosts": {"loja.example.com"}, "passing_hosts": {""},
		"consent_policy": {"none"}, "payout_rule": {"coupon_first"}, "unproven": {"review"}, "self_purchase": {"review"},
		"window_days": {"30"}, "hold_days": {"30"},
		"delivered_hold_days": {"15"},
		"minimum_payout":      {"1.050,50"}, "half_life_days": {"7"}, "timezone": {"America/Sao_Paulo"}, "currency": {"BRL"}, "country": {"BR"},
		"events_per_second": {"0"}, "burst": {"0"}, "pay_recurring": {"yes"}, "retention_days": {"0"}, "step": {"save"},
	}
	for name, value := range change {
		form.Set(name, value)
	}
	return form
}

func TestSettingsAreCheckedAndStored(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, at := s.loggedIn(), "?company="+s.live
	save := func(change map[string]string) (int, string) {
		t.Helper()
		status, text, _ := s.send(owner, "/dashboard/settings"+at, typedSettings(change))
		return status, text
	}
	if status, _ := save(nil); status != http.StatusSeeOther {
		t.Fatalf("saved: %d", status)
	}
	company, err := s.DB.Company(t.Context(), s.live)
	if err != nil || len(company.Origins) != 2 || company.MinimumPayout != "1050.5" || !company.PayRecurring || company.CountDirect ||
		company.Hosts[0] != "loja.example.com" {
		t.Errorf("%+v, %v", company.Settings, err)
	}
	for name, c := range map[string]struct{ value, want string }{
		"window_days":         {"366", "must be from 1 to 365"},
		"hold_days":           {"soon", "must be a whole number"},
		"delivered_hold_days": {"366", "must be from 0 to 365"},
		"origins":             {"https://*.example.com", "is no origin"},
		"hosts":               {"https://loja.example.com", "is no host"},
		"consent_policy":      {"maybe", "choose one of the list"},
		"unproven":            {"", "choose one of the list"},
		"self_purchase":       {"perhaps", "choose one of the list"},
		"timezone":            {"Mars", "is no IANA time zone"},
		"currency":            {"Reais", "ISO 4217"},
		"events_per_second":   {"x", "must be a number"},
		"burst":               {"511", "must be from 512"},
		"retention_days":      {"30", "must be from 70"},
		"minimum_payout":      {"-1", "must be an amount"},
	} {
		status, text := save(map[string]string{name: c.value})
		if status != http.StatusUnprocessableEntity || !contains(text, c.want, `href="#f-`+name) {
			t.Errorf("%s %q: %d, without %q at it", name, c.value, status, c.want)
		}
	}
	if after, err := s.DB.Company(t.Context(), s.live); err != nil || after.RulesRev != company.RulesRev {
		t.Errorf("a refused form changed something: %v", err)
	}
	if other, err := s.DB.Company(t.Context(), s.box); err != nil || len(other.Origins) != 0 {
		t.Errorf("the sandbox has %v, %v", other.Origins, err)
	}
	analyst := s.join(account.RoleAnalyst, "bia@loja.example", s.Store.StoreID)
	if text := s.readAs(analyst, "/dashboard/settings"+at); !contains(text, "An owner may change them") || strings.Contains(text, ">Save<") {
		t.Error("an analyst is shown a form to save")
	}
}

// Finding S3-2: an address as people type it is taken, or refused with one that may be typed. The page of the connection and
// that of the import have their own tests.
func TestAShopsAddressIsTakenAsPeopleTypeIt(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, at := s.loggedIn(), "?company="+s.live
	const typed = "www.minhaloja.com.br"
	save := func(change map[string]string) (int, string) {
		t.Helper()
		status, text, _ := s.send(owner, "/dashboard/settings"+at, typedSettings(change))
		return status, text
	}
	addresses := map[string]string{"origins": typed + "\r\nhttps://açaí.com.br/produtos\r\nHttps://Minhaloja.com.br/\r\nnull", "hosts": typed,
		"passing_hosts": typed}
	if status, text := save(addresses); status != http.StatusSeeOther {
		t.Fatalf("%d %s", status, words(text))
	}
	company, err := s.DB.Company(t.Context(), s.live)
	if err != nil || strings.Join(company.Origins, " ") !=
		"https://www.minhaloja.com.br https://xn--aa-4iaz.com.br https://minhaloja.com.br null" ||
		strings.Join(company.Hosts, " ") != typed || strings.Join(company.PassingHosts, " ") != typed {
		t.Errorf("%+v, %v", company.Settings, err)
	}
	for name, want := range map[string]string{"origins": "such as https://loja.example.com", "hosts": "such as loja.example.com",
		"passing_hosts": "such as pay.example.com"} {
		if status, text := save(map[string]string{name: "https://minha*loja.com.br"}); status != http.StatusUnprocessableEntity ||
			!contains(text, want) {
			t.Errorf("%s: %d, without %q", name, status, want)
		}
	}

	registration := url.Values{"name": {"Ana Prado"}, "links": {typed}, "step": {"save"}}
	status, text, page := s.send(owner, "/dashboard/influencers"+at, registration)
	if status != http.StatusSeeOther || !strings.HasPrefix(page, "/dashboard/influencer?") {
		t.Fatalf("%d %s", status, words(text))
	}
	list, err := s.DB.Influencers(t.Context(), s.live, commerce.InfluencerCursor{}, 1)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	if status, text, _ := s.send(owner, "/dashboard/influencer/links"+at+"&id="+list[0].InfluencerID,
		url.Values{"links": {typed + "/vestidos"}, "step": {"save"}}); status != http.StatusSeeOther {
		t.Fatalf("%d %s", status, words(text))
	}
	influencer, err := s.DB.Influencer(t.Context(), s.live, list[0].InfluencerID)
	if err != nil || len(influencer.Links) != 2 || influencer.Links[0].URL != "https://"+typed ||
		influencer.Links[1].URL != "https://"+typed+"/vestidos" {
		t.Errorf("%+v, %v", influencer.Links, err)
	}
	if status, text, _ := s.send(owner, "/dashboard/influencers"+at, url.Values{"name": {"Beto Lima"}, "links": {"ftp://" + typed},
		"step": {"save"}}); status != http.StatusUnprocessableEntity || !contains(text, "https://") {
		t.Errorf("%d %s", status, words(text))
	}
}

// The specification, Authentication 2: choosing "API" shows two integration tokens.
func TestAStoreIsConnected(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, at := s.loggedIn(), "?company="+s.live
	_, text := s.makes(owner, "/dashboard/install/tokens"+at, nil)
	tokens := anyKey.FindAllString(tags.ReplaceAllString(text, " "), -1)
	if len(tokens) != 2 {
		t.Fatalf("tokens: %q", tokens)
	}
	for i, scope := range []account.Scope{account.WriteOrders, account.WriteProducts} {
		key, err := s.DB.APIKeyByHash(t.Context(), account.KeyHash(tokens[i]))
		if err != nil || key.Type != account.Integration || len(key.Scopes) != 1 || !key.Has(scope) || key.CompanyID != s.live {
			t.Errorf("token %d: %+v, %v", i, key, err)
		}
	}
	if page := s.readAs(owner, "/dashboard/install"+at); anyKey.MatchString(page) ||
		!contains(page, "Waiting for your first event", `data-company="`+s.live, "These tokens are there and work",
			"…"+tokens[0][len(tokens[0])-4:], "Make two other tokens") {
		t.Errorf("the page reads %q", page)
	}
	add := func(address string, want int) {
		t.Helper()
		if status, _, _ := s.send(owner, "/dashboard/install/origin"+at, url.Values{"origin": {address}}); status != want {
			t.Errorf("%q: %d, want %d", address, status, want)
		}
	}
	add("Loja.example.com/produtos?x=1", http.StatusSeeOther)
	add("https://loja.example.com", http.StatusSeeOther)
	add("http://localhost:8080/", http.StatusSeeOther)
	add("www.minhaloja.com.br", http.StatusSeeOther) // finding S3-2
	add("https://açaí.com.br/", http.StatusSeeOther)
	if page := s.readRaw(owner, "/dashboard/install"+at); strings.Contains(page, `type="url"`) {
		t.Error("the browser refuses an address without https://")
	}
	add("javascript:alert(1)", http.StatusUnprocessableEntity)
	add("", http.StatusUnprocessableEntity)
	company, err := s.DB.Company(t.Context(), s.live)
	if err != nil || strings.Join(company.Origins, " ") != "https://loja.example.com http://localhost:8080 "+
		"https://www.minhaloja.com.br https://xn--aa-4iaz.com.br" ||
		strings.Join(company.Hosts, " ") != "loja.example.com localhost www.minhaloja.com.br xn--aa-4iaz.com.br" {
		t.Errorf("%v %v, %v", company.Origins, company.Hosts, err)
	}
	s.Event(s.live, "PAGE_VIEW", time.Now())
	s.Put(reporttest.Order{CompanyID: s.live, ID: "1001"})
	if text := s.readAs(owner, "/dashboard/install/signals"+at); !contains(text, "Events arrive: Page view", "Orders arrive: 1001") {
		t.Errorf("the signals are %s", text)
	}
	s.Put(reporttest.Order{CompanyID: s.live, ID: "871237392", Name: "#1392"}) // what the shop calls it
	if text := s.readAs(owner, "/dashboard/install/signals"+at); !contains(text, "Orders arrive: #1392,") {
		t.Errorf("the signals are %s", text)
	}
}

// An owner changes the store's own name, from either of its companies. Pages, log and the other company have it at once.
func TestTheStoreIsRenamed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, at := s.loggedIn(), "?company="+s.live
	version := func(company string) string {
		return s.versionAt(owner, "/dashboard/settings?company="+company, "/dashboard/settings/name")
	}
	first := version(s.live)
	f := func(company, name, seen string, want int, words string) {
		t.Helper()
		status, text, _ := s.send(owner, "/dashboard/settings/name?company="+company, url.Values{"store_name": {name}, "version": {seen}})
		if status != want || !contains(text, words) {
			t.Errorf("%q: %d, want %d with %q: %s", name, status, want, words, text)
		}
	}
	f(s.live, " ", first, http.StatusUnprocessableEntity, "Name of the store")
	f(s.live, strings.Repeat("x", 300), first, http.StatusUnprocessableEntity, "Name of the store")
	f(s.live, " Ateliê da Júlia ", first, http.StatusSeeOther, "")
	f(s.live, "Another tab", first, http.StatusConflict, "")
	f(s.box, "Loja da Júlia", version(s.box), http.StatusSeeOther, "")
	for _, id := range []string{s.live, s.box} {
		if company, err := s.DB.Company(t.Context(), id); err != nil || company.Name != "Loja da Júlia" {
			t.Errorf("%+v, %v", company, err)
		}
		if page := s.readAs(owner, "/dashboard/settings?company="+id); strings.Count(page, "Loja da Júlia") < 1 {
			t.Errorf("the page: %s", page)
		}
	}
	f(s.live, "Loja da Júlia", version(s.live), http.StatusSeeOther, "") // nothing changes
	if log := s.readAs(owner, "/dashboard/audit"+at); !contains(log, "Store renamed", "Ateliê da Júlia → Loja da Júlia") {
		t.Errorf("the log: %s", log)
	}
	s.inPortuguese(owner)
	if page := s.readAs(owner, "/dashboard/settings"+at); !contains(page, "Nome da loja", "Mudar o nome") {
		t.Errorf("%s", page)
	}
	for i, role := range []string{account.RoleFinance, account.RoleAnalyst} {
		client := s.join(role, []string{"bia@loja.example", "caio@loja.example"}[i], s.Store.StoreID)
		if status, _, _ := s.send(client, "/dashboard/settings/name"+at, url.Values{"store_name": {"x"}}); status != http.StatusForbidden {
			t.Errorf("%s: %d", role, status)
		}
		if page := s.readAs(client, "/dashboard/settings"+at); strings.Contains(page, "Change the name") {
			t.Errorf("%s may change the name", role)
		}
	}
}
