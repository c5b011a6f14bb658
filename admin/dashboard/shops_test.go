package dashboard_test

import (
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
)

// A merchant who cannot program connects a shop: keys, test, what would come, days.
func TestAShopIsConnectedFromThePages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, at := s.loggedIn(), "?company="+s.live
	service := s.connectService()
	if text := s.readAs(owner, "/dashboard/"+at); !contains(text, "Connect a shop", "Another platform, or by API") {
		t.Errorf("an empty store's first page: %s", text)
	}
	if text := s.readAs(owner, "/dashboard/shops"+at); !contains(text, "No shop is connected.") || contains(text, "not running") {
		t.Errorf("the empty list: %s", text)
	}
	if text := s.readAs(owner, "/dashboard/shops/connect"+at); !contains(text, "Nuvemshop", "VTEX") {
		t.Errorf("the platforms: %s", text)
	}
	form := s.readAs(owner, "/dashboard/shops/connect"+at+"&platform=vtex")
	if !contains(form, "Open the settings of the account.", "Orders and returns.", "It was not made in a real account", "Example: myshop",
		"It is shown once.") {
		t.Errorf("the steps: %s", form)
	}

	// Where an app is installed, who has an app of their own pastes its keys instead.
	if raw := s.readRaw(owner, "/dashboard/shops/connect"+at+"&platform=nuvemshop"); !contains(raw, "/dashboard/shops/install?",
		"With an app of your own", `name="token"`) {
		t.Errorf("an app of their own: %s", raw)
	}

	// What a platform does without may be left out.
	if raw := s.readRaw(owner, "/dashboard/shops/connect"+at+"&platform=vtex"); contains(inputOf(raw, "notices"), "required") ||
		!contains(inputOf(raw, "token"), "required") {
		t.Errorf("what must be given: %s and %s", inputOf(raw, "notices"), inputOf(raw, "token"))
	}
	for name, bad := range map[string]url.Values{
		"a bad secret":  {"platform": {"vtex"}, "account": {"myshop"}, "token": {secretToken}, "notices": {"short"}},
		"no token":      {"platform": {"vtex"}, "account": {"myshop"}},
		"own app":       {"platform": {"nuvemshop"}, "token": {secretToken + "!"}},
		"a bad account": {"platform": {"vtex"}, "account": {"My shop!"}, "token": {secretToken}},
		"bad statuses":  {"platform": {"vtex"}, "account": {"myshop"}, "token": {secretToken}, "statuses": {"1=approved"}},
	} {
		status, text, _ := s.send(owner, "/dashboard/shops/connect"+at, bad)
		if name == "a bad account" && !contains(text, "such as myshop: copy it whole") {
			t.Errorf("what to type is not said: %s", text)
		}
		if status != http.StatusUnprocessableEntity || !contains(text, "does not look like what the platform shows") ||
			contains(text, secretToken) {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	if list, err := s.DB.Connections(t.Context(), s.live); err != nil || len(list) != 0 {
		t.Fatalf("%v %v", list, err)
	}

	id, waits := s.paste(owner)
	page := s.readRaw(owner, waits)
	if !contains(page, "The keys are being tested…", `data-again="`, `<noscript><meta http-equiv="refresh" content="5"></noscript>`) ||
		contains(page, `action="/dashboard/shops/start`) {
		t.Errorf("while it waits: %s", page)
	}
	var opened map[string]string
	service.work(func(c commerce.LeasedConnection, task commerce.ConnectTask) (any, string, string) {
		plain, err := service.keys.Open(c.KeyID,
			account.SealedFor{CompanyID: s.live, ConnectionID: id, Purpose: account.SealCredentials}, c.Sealed)
		if err != nil {
			t.Error(err)
		}
		if err := json.Unmarshal(plain, &opened); err != nil || task.Kind != commerce.TaskTest {
			t.Errorf("%s, %v", task.Kind, err)
		}
		return myShop(c, task)
	})
	if opened["account"] != "myshop" || opened["token"] != secretToken {
		t.Errorf("the service reads %v", opened)
	}
	raw := s.readRaw(owner, waits)
	if text := s.readAs(owner, waits); !contains(text, "The keys work", "Vestidos da Ana",
		"1,243 orders", "R$ 184,230.55", "ANA10 120 orders",
		"HELLO 1 order", "links are proven by it", "tells of each order at once", "read_customers", "Orders have no customer.",
		"Connect Vestidos da Ana",
		"earn nobody a commission") || contains(raw, "data-again") {
		t.Errorf("what would come: %s", text)
	}
	if !contains(raw, `value="60"`, `value="`+s.today()+`"`) {
		t.Errorf("the days: %s", raw)
	}

	_, query, _ := strings.Cut(waits, "task=")
	start := url.Values{"id": {id}, "task": {query}, "days": {"30"}, "commissions_from": {s.today()}}
	for name, value := range map[string]string{"days": "731", "commissions_from": "2099-01-01"} {
		status, text, _ := s.send(owner, "/dashboard/shops/start"+at, changed(start, name, value))
		if status != http.StatusUnprocessableEntity || !contains(text, `href="#f-`+name+`"`, "ANA10") {
			t.Errorf("%s %s: %d %s", name, value, status, text)
		}
	}
	if status, text, to := s.send(owner, "/dashboard/shops/start"+at, start); status != http.StatusSeeOther ||
		!strings.Contains(to, "done=shop_started") {
		t.Fatalf("start: %d %s", status, text)
	}
	c, err := s.DB.Connection(t.Context(), s.live, id)
	if err != nil || c.State != commerce.ConnectionConnecting || c.Backfill.Days != 30 || c.Shop != "myshop" {
		t.Fatalf("%+v %v", c, err)
	}
	service.hold(id, func(one commerce.LeasedConnection) {
		key, err := service.keys.Open(one.APIKeyKeyID, account.SealedFor{CompanyID: s.live, ConnectionID: id, Purpose: account.SealAPIKey},
			one.SealedAPIKey)
		if err != nil || !strings.HasPrefix(string(key), "trb") {
			t.Errorf("the API key: %.4s %v", key, err)
		}
	})
	service.become(id, commerce.ConnectionBackfilling, "", "")
	if text := s.readAs(owner, s.shopPage(id)); !contains(text, "Reading earlier orders", "The platform does not tell of changes",
		"Commissions arise for orders from", "every 2 minutes") {
		t.Errorf("the page: %s", text)
	}
	if text := s.readAs(owner, "/dashboard/audit"+at+"&kind=connection."); !contains(text, "Shop connected", "Connection to a shop begun",
		"Days of earlier orders: 30", "Platform: vtex") {
		t.Errorf("the audit log: %s", text)
	}
	for _, path := range []string{s.shopPage(id), "/dashboard/shops" + at, "/dashboard/audit" + at, "/dashboard/audit.csv" + at, waits,
		"/dashboard/shops/connect" + at + "&platform=vtex&again=" + id} {
		if contains(s.readRaw(owner, path), secretToken) {
			t.Errorf("%s has the secret", path)
		}
	}
	if contains(s.logged(), secretToken) {
		t.Error("the log has the secret")
	}
}

// A shop that is connected again is proposed to earn from the day on from which it did before.
func TestAShopConnectedAgainEarnsFromItsFirstDay(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, at := s.loggedIn(), "?company="+s.live
	service := s.connectService()
	const before = "2026-01-02"
	for n, want := range []string{s.today(), before} {
		id, waits := s.paste(owner)
		service.work(myShop)
		if raw := s.readRaw(owner, waits); !contains(inputOf(raw, "commissions_from"), `value="`+want+`"`) {
			t.Fatalf("connected %d times before, the day is %s, want %s", n, inputOf(raw, "commissions_from"), want)
		}
		if n > 0 {
			break
		}
		if status, text, _ := s.send(owner, "/dashboard/shops/start"+at,
			url.Values{"id": {id}, "days": {"60"}, "commissions_from": {before}}); status != http.StatusSeeOther {
			t.Fatalf("start: %d %s", status, text)
		}
		if err := s.DB.EndConnection(t.Context(), commerce.Author{CompanyID: s.live, Actor: "test", At: time.Now()}, id); err != nil {
			t.Fatal(err)
		}
	}
}

// Where the platform refuses the keys, the page says what to do, and other keys take the place of those.
func TestKeysThatAreRefusedAreGivenAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner := s.loggedIn()
	service := s.connectService()
	id, waits := s.paste(owner)
	service.work(func(commerce.LeasedConnection, commerce.ConnectTask) (any, string, string) {
		return nil, commerce.ShopRefusedKey, "401"
	})
	page := s.readRaw(owner, waits)
	if !contains(page, "The test failed", "The platform refuses the keys.", "make new ones", "Reported: 401") ||
		contains(page, `action="/dashboard/shops/start`) {
		t.Errorf("%s", page)
	}
	again := "/dashboard/shops/connect?company=" + s.live + "&platform=vtex&again=" + id
	if !contains(html.UnescapeString(page), again) {
		t.Errorf("it leads not to %s", again)
	}
	form := url.Values{"platform": {"vtex"}, "account": {"other"}, "token": {secretToken}, "again": {id},
		"version": {s.versionAt(owner, again, "/dashboard/shops/connect")}}
	if status, text, to := s.send(owner, "/dashboard/shops/connect?company="+s.live, form); status != http.StatusSeeOther ||
		!strings.Contains(to, "id="+id) {
		t.Fatalf("%d to %q: %s", status, to, text)
	}
	list, err := s.DB.Connections(t.Context(), s.live)
	if err != nil || len(list) != 1 {
		t.Fatalf("%d connections, %v", len(list), err)
	}
	for name, bad := range map[string]string{"another platform's": "nuvemshop", "": "vtex"} {
		if status, _, _ := s.send(owner, "/dashboard/shops/connect?company="+s.live,
			url.Values{"platform": {bad}, "account": {"other"}, "token": {secretToken}, "again": {"aaaaaaaaaaaaaaaaaaaaaaaaaa"}}); status <
			http.StatusBadRequest {
			t.Errorf("%s: %d", name, status)
		}
	}
	// What was not tested cannot be connected.
	if status, text, _ := s.send(owner, "/dashboard/shops/start?company="+s.live,
		url.Values{"id": {id}, "days": {"60"}, "commissions_from": {s.today()}}); status != http.StatusConflict ||
		!contains(text, "in which this cannot be done") {
		t.Errorf("start: %d %s", status, text)
	}
}

// Without a service nothing can be connected, and the pages say so.
func TestWithoutAConnectServiceThePagesSaySo(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, at := s.loggedIn(), "?company="+s.live
	for _, path := range []string{"/dashboard/shops", "/dashboard/shops/connect"} {
		if text := s.readAs(owner, path+at); !contains(text, "The service that reads shops is not running.", "tributary connect") {
			t.Errorf("%s: %s", path, text)
		}
	}
	s.connectService()
	s.setClock(time.Now().Add(time.Hour)) // it has not said since that it runs
	if page := s.readRaw(owner, "/dashboard/shops/connect"+at+"&platform=vtex"); !contains(page, "is not running") ||
		contains(page, `name="token"`) {
		t.Errorf("it stopped: %s", page)
	}
	for _, path := range []string{"connect", "install"} {
		if status, text, _ := s.send(owner, "/dashboard/shops/"+path+at, url.Values{"platform": {"vtex"}, "account": {"myshop"},
			"token": {secretToken}}); status != http.StatusConflict || !contains(text, "is not running") {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	if list, err := s.DB.Connections(t.Context(), s.live); err != nil || len(list) != 0 {
		t.Errorf("%v %v", list, err)
	}
}

// What a platform gives back counts once, in the log-in that began it, for its company, within ten minutes.
func TestAnInstallationComesBackOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner := s.loggedIn()
	service := s.connectService()
	state := s.begin(owner)
	back := func(client *http.Client, state, code string) (int, string) {
		t.Helper()
		answer, err := client.Get(s.url + "/dashboard/shops/installed?" + url.Values{"code": {code}, "state": {state}}.Encode())
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.StatusCode, answer.Header.Get("Location")
	}
	stranger := s.join(account.RoleOwner, "carla@outra.example", s.NewStore("Outra").StoreID)
	analyst := s.join(account.RoleAnalyst, "bia@loja.example", s.Store.StoreID)
	parts := strings.Split(state, ".")
	otherCompany := strings.Join([]string{s.box, parts[1], parts[2]}, ".")
	for name, c := range map[string]struct {
		client      *http.Client
		state, code string
		want        int
	}{
		"an owner of another store":  {stranger, state, "c0de", http.StatusNotFound},
		"an analyst":                 {analyst, state, "c0de", http.StatusForbidden},
		"another log-in of the same": {s.loggedIn(), state, "c0de", http.StatusNotFound},
		"another company":            {owner, otherCompany, "c0de", http.StatusNotFound},
		"a guess":                    {owner, parts[0] + "." + parts[1] + ".AAAA", "c0de", http.StatusNotFound},
		"refused there":              {owner, state, "", http.StatusNotFound},
		"a long code":                {owner, state, strings.Repeat("c", 3000), http.StatusNotFound},
		"no state":                   {owner, "", "c0de", http.StatusNotFound},
	} {
		if status, to := back(c.client, c.state, c.code); status != c.want {
			t.Errorf("%s: %d to %q, want %d", name, status, to, c.want)
		}
	}
	status, to := back(owner, state, "c0de")
	if status != http.StatusSeeOther || !strings.HasPrefix(to, "/dashboard/shops/shop?company="+s.live) {
		t.Fatalf("%d to %q", status, to)
	}
	if status, to := back(owner, state, "c0de"); status != http.StatusNotFound {
		t.Errorf("a second time: %d to %q", status, to)
	}
	service.work(func(c commerce.LeasedConnection, task commerce.ConnectTask) (any, string, string) {
		plain, err := service.keys.Open(task.KeyID,
			account.SealedFor{CompanyID: s.live, ConnectionID: c.ID, Purpose: account.SealInstall}, task.Sealed)
		var code commerce.InstallCode
		if err == nil {
			err = json.Unmarshal(plain, &code)
		}
		if err != nil || code.Code != "c0de" || task.Kind != commerce.TaskInstall {
			t.Errorf("%+v %v", code, err)
		}
		return myShop(c, task)
	})
	if text := s.readAs(owner, to); !contains(text, "The app is installed", "Vestidos da Ana", "Connect Vestidos da Ana") {
		t.Errorf("%s", text)
	}
	late := s.begin(owner)
	s.exec("update connection set created_at = created_at - interval '11 minutes' where state = 'installing'")
	if status, to := back(owner, late, "c0de"); status != http.StatusNotFound {
		t.Errorf("after ten minutes: %d to %q", status, to)
	}
	if contains(s.logged(), "c0de") {
		t.Error("the log has the code")
	}
}
