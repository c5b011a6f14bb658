package dashboard_test

import (
	"crypto/rand"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
)

// Finding S3-19: what an archived store owes is closed and paid in the dashboard, as it is by commands.
func TestWhatAnArchivedStoreOwesIsPaid(t *testing.T) {
	t.Parallel()
	s := newPayeeSite(t)
	owner, at := s.loggedIn(), "?company="+s.live
	archive := commerce.Archiving{CompanyIDs: []string{s.live}, Actor: "cli"}
	if _, _, err := s.DB.Archive(t.Context(), archive); err != nil {
		t.Fatal(err)
	}
	page := "/dashboard/statements" + at
	if text := s.readAs(owner, page); !contains(text, "This store is archived since", "What is owed can be closed and paid", "Mark as paid") {
		t.Errorf("the page of an archived store: %s", text)
	}
	if text := s.readRaw(owner, "/dashboard/payouts"+at); !contains(text, `action="/dashboard/statements`) {
		t.Error("a month of an archived store cannot be closed")
	}
	pay := url.Values{"statement": {s.statement}, "paid_on": {s.now.Format(time.DateOnly)}, "reference": {"PIX 1"},
		"version": {s.versionAt(owner, page, "/dashboard/statements/pay")}}
	if status, text, _ := s.send(owner, "/dashboard/statements/pay"+at, pay); status != http.StatusSeeOther {
		t.Errorf("paying: %d %s", status, text)
	}
	if text := s.readAs(owner, page); !contains(text, "PIX 1") {
		t.Errorf("paid: %s", text)
	}
	if status, text, _ := s.send(owner, "/dashboard/statements/closing"+at, url.Values{"end_date": {"2026-05-31"}}); status !=
		http.StatusUnprocessableEntity || !contains(text, "there is nothing to close up to this day") {
		t.Errorf("closing a month of which all is closed: %d", status)
	}
	if status, text, _ := s.send(owner, "/dashboard/costs"+at, url.Values{"name": {"Aluguel"}}); status != http.StatusForbidden ||
		!contains(text, "This store is archived") {
		t.Errorf("a cost of an archived store: %d", status)
	}
}

// An archived company is shown to those who may see it, and takes no form but those about people and about what is owed.
func TestAnArchivedCompanyIsReadOnly(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner := s.loggedIn()
	at := "?company=" + s.live
	archive := func(back bool) {
		t.Helper()
		if _, _, err := s.DB.Archive(t.Context(), commerce.Archiving{CompanyIDs: []string{s.live}, Back: back, Actor: "cli"}); err != nil {
			t.Fatal(err)
		}
	}
	page := func(path string) string {
		t.Helper()
		answer, err := owner.Get(s.url + path)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s, %v", path, answer.Status, err)
		}
		return string(body)
	}
	putOdd(s)
	key := func(company, name string) {
		t.Helper()
		if _, _, err := s.DB.CreateAPIKey(t.Context(),
			account.NewAPIKey{CompanyID: company, Name: name, Type: account.OwnPlatform, Scopes: account.AdminScopes, Actor: "test",
				Random: rand.Reader}); err != nil {
			t.Fatal(err)
		}
	}
	key(s.live, "live-key")
	archive(false)
	forms := 0
	for _, route := range dashboard.MemberRoutes() {
		method, path, _ := strings.Cut(route.Pattern, " ")
		if method == http.MethodGet || strings.HasPrefix(path, "/dashboard/account/") {
			continue
		}
		forms++
		status, text, _ := s.send(owner, path+at, url.Values{})
		if refused := status == http.StatusForbidden && contains(text, "This store is archived"); refused == (route.Always || route.Pays) {
			t.Errorf("%s: %d, to be refused: %t", route.Pattern, status, !route.Always && !route.Pays)
		}
	}
	if forms < 15 {
		t.Errorf("only %d forms", forms)
	}
	const settings = "/dashboard/settings"
	for _, path := range []string{"/dashboard/", "/dashboard/overview", "/dashboard/orders", "/dashboard/payouts", "/dashboard/statements",
		"/dashboard/keys", "/dashboard/install", settings, "/dashboard/influencers", "/dashboard/costs", "/dashboard/audit"} {
		text := page(path + at)
		if !contains(text, "This store is archived since ", "nothing else can be changed") {
			t.Errorf("%s says not that the store is archived", path)
		}
		// The settings' form is there with all of its fields disabled, as for analysts.
		pays := path == "/dashboard/payouts" || path == "/dashboard/statements"
		if _, main, _ := strings.Cut(text, "<main"); strings.Contains(main, `method="post"`) && path != settings && !pays ||
			path == settings && strings.Contains(main, "<button") {
			t.Errorf("%s has a form in an archived store", path)
		}
	}
	if text := page("/dashboard/audit" + at); !contains(text, "Store archived") {
		t.Errorf("the audit log says nothing of it: %s", text)
	}
	// Who has another company comes there first; the sandbox is as it was.
	if text := page("/dashboard/keys?company=" + s.box); contains(text, "archived since") ||
		!strings.Contains(text, `action="/dashboard/keys?company=`) {
		t.Error("the sandbox is shown as archived")
	}
	// The sandbox's page lists the keys of both: those of the archived company have no form.
	key(s.box, "box-key")
	if text := s.readRaw(owner, "/dashboard/keys?company="+s.box); !contains(text, "live-key", "Refused: the store is archived",
		`action="/dashboard/keys/revoke?company=`+s.box) ||
		contains(text, `action="/dashboard/keys/revoke?company=`+s.live) || contains(text, `<option value="live"`) {
		t.Errorf("the keys of the archived company: %s", text)
	}
	analyst := s.join(account.RoleAnalyst, "bia@loja.example", s.Store.StoreID)
	for _, path := range []string{orderOf("waits") + "&company=" + s.live, "/dashboard/reviews" + at} {
		if text := s.readAs(analyst, path); contains(text, "An owner of the store decides") ||
			!contains(text, "Nothing more is decided about it: the store is archived.") {
			t.Errorf("%s to an analyst: %s", path, text)
		}
	}
	// A key of the archived company by a form that was opened before.
	form := url.Values{"name": {"orders"}, "environment": {commerce.Live}, "type": {account.OwnPlatform},
		"scopes": {string(account.ReadReports)}, "life": {"0"}}
	if status, text, _ := s.send(owner, "/dashboard/keys?company="+s.box, form); status != http.StatusForbidden ||
		!contains(text, "This store is archived") {
		t.Errorf("a key of the archived company, by the sandbox's page: %d", status)
	}
	if text := page("/dashboard/"); contains(text, "archived since") {
		t.Error("an archived company is shown first, before the sandbox")
	}
	archive(true)
	if text := page("/dashboard/keys" + at); contains(text, "archived since") || !strings.Contains(text, `action="/dashboard/keys?company=`) {
		t.Error("a company taken back is shown as archived")
	}
}
