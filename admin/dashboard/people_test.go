package dashboard_test

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/account"
)

// anyKey is an API key's text.
var anyKey = regexp.MustCompile(`trb_(live|test)_[a-z0-9]+`)

var oneTimeLink = regexp.MustCompile(`http://[^<]*/dashboard/join\?token=([A-Za-z0-9_-]+)`)

func TestSomebodyComesInByALink(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, at := s.loggedIn(), "?company="+s.live
	status, text := s.makes(owner, "/dashboard/people/invite"+at, url.Values{"email": {" Bia@Loja.example"}, "role": {"analyst"}})
	found := oneTimeLink.FindStringSubmatch(text)
	if status != http.StatusSeeOther || found == nil {
		t.Fatalf("%d, no link", status)
	}
	token := found[1]
	if text := s.readAs(owner, "/dashboard/people"+at); strings.Contains(text, token) || !contains(text, "bia@loja.example") {
		t.Error("the link is shown again, or the invitation is not listed")
	}
	visitor := s.client()
	for range 3 { // a preview of the link uses nothing
		if text := s.readAs(visitor, "/dashboard/join?token="+token); !contains(text, "Loja Exemplo", "bia@loja.example", "Analyst") {
			t.Fatalf("the link's page reads %q", text)
		}
	}
	f := func(password string, want int, words string) {
		t.Helper()
		status, text, _ := s.send(visitor, "/dashboard/join", url.Values{"token": {token}, "password": {password}})
		if status != want || !contains(text, words) {
			t.Errorf("%q: %d, want %d with %q", password, status, want, words)
		}
	}
	f("short", http.StatusUnprocessableEntity, "10 characters or more, and 256 bytes")
	f(testPassword, http.StatusSeeOther, "")
	f(testPassword, http.StatusNotFound, "cannot be used")
	if text := s.readAs(visitor, "/dashboard/"); !contains(text, "Today") {
		t.Errorf("after it: %q", text)
	}
	if answer := s.logIn(s.client(), "bia@loja.example", testPassword); answer.StatusCode != http.StatusSeeOther {
		t.Errorf("log-in: %s", answer.Status)
	}
	for _, bad := range []string{"", "x", strings.Repeat("A", 43), strings.Repeat("x", 5000)} {
		answer, err := visitor.Get(s.url + "/dashboard/join?token=" + bad)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusNotFound {
			t.Errorf("token %.20q: %s", bad, answer.Status)
		}
	}
	if strings.Contains(s.logged(), token) {
		t.Error("the log has the token")
	}
}

func TestSomebodyWithALogInComesIntoAnotherStore(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	other := s.NewStore("Outra")
	carla := s.join(account.RoleOwner, "carla@outra.example", other.StoreID)
	_, text := s.makes(s.loggedIn(), "/dashboard/people/invite?company="+s.live,
		url.Values{"email": {"carla@outra.example"}, "role": {"analyst"}})
	token := oneTimeLink.FindStringSubmatch(text)[1]
	if status, text, _ := s.send(carla, "/dashboard/join", url.Values{"token": {token}, "password": {"not her password"}}); status !=
		http.StatusUnprocessableEntity || !contains(text, "is not its password") {
		t.Errorf("another password: %d", status)
	}
	if status, _, _ := s.send(carla, "/dashboard/join",
		url.Values{"token": {token}, "password": {testPassword}}); status != http.StatusSeeOther {
		t.Errorf("her password: %d", status)
	}
	if text := s.readAs(carla, "/dashboard/?company="+s.live); !contains(text, "Loja Exemplo") {
		t.Error("she is not in the store")
	}
}

// Who holds a link of the operator's needs no password of before: somebody else may have made
// the log-in. That one's sessions end.
func TestTheOperatorsLinkNeedsNoPasswordOfBefore(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	squatter := s.join(account.RoleOwner, "boss@loja.example", s.NewStore("Outra").StoreID)
	var token [32]byte
	token[0] = 7
	if err := s.DB.Invite(t.Context(),
		account.NewInvitation{StoreID: s.Store.StoreID, CompanyID: s.live, Email: "boss@loja.example", Role: account.RoleOwner,
			At: time.Now(), Life: time.Hour, Random: rand.Reader}, sha256.Sum256(token[:])); err != nil {
		t.Fatal(err)
	}
	boss := s.client()
	text := base64.RawURLEncoding.EncodeToString(token[:])
	if status, page, _ := s.send(boss, "/dashboard/join",
		url.Values{"token": {text}, "password": {"chosen by the boss"}}); status != http.StatusSeeOther {
		t.Fatalf("%d: %s", status, page)
	}
	if page := s.readAs(boss, "/dashboard/?company="+s.live); !contains(page, "Loja Exemplo") {
		t.Error("the boss is not in the store")
	}
	answer, err := squatter.Get(s.url + "/dashboard/?company=" + s.live)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusSeeOther {
		t.Errorf("the session of before: %s", answer.Status)
	}
}

func TestAnOwnerSetsAPasswordAnewByALink(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, at := s.loggedIn(), "?company="+s.live
	bia := s.join(account.RoleAnalyst, "bia@loja.example", s.Store.StoreID)
	person, err := s.DB.PersonByEmail(t.Context(), "bia@loja.example")
	if err != nil {
		t.Fatal(err)
	}
	_, text := s.makes(owner, "/dashboard/people/reset"+at, url.Values{"person": {person.ID}, "email": {person.Email}})
	found := oneTimeLink.FindStringSubmatch(text)
	if found == nil {
		t.Fatal("no link")
	}
	if text := s.readAs(bia, "/dashboard/"); !contains(text, "Today") {
		t.Error("a link that was only made ends nothing")
	}
	if status, _, _ := s.send(s.client(), "/dashboard/join",
		url.Values{"token": {found[1]}, "password": {"another long password"}}); status != http.StatusSeeOther {
		t.Fatalf("%d", status)
	}
	if answer, err := bia.Get(s.url + "/dashboard/"); err != nil || answer.StatusCode != http.StatusSeeOther {
		t.Errorf("the session of before: %v, %v", answer, err)
	}
	second := s.join(account.RoleOwner, "edu@loja.example", s.Store.StoreID)
	if text := s.readAs(second, "/dashboard/people"+at); !contains(text, testEmail+" made a link for bia@loja.example.",
		"bia@loja.example set a new password by a link.") {
		t.Errorf("another owner is not told: %s", text)
	}
	s.setAddress("198.51.100.1")
	if answer := s.logIn(s.client(), person.Email, testPassword); answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("the old password: %s", answer.Status)
	}
	if answer := s.logIn(s.client(), person.Email, "another long password"); answer.StatusCode != http.StatusSeeOther {
		t.Errorf("the new password: %s", answer.Status)
	}
	carla := s.join(account.RoleOwner, "carla@outra.example", s.NewStore("Outra").StoreID)
	_ = carla
	other, err := s.DB.PersonByEmail(t.Context(), "carla@outra.example")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.DB.SetMembership(t.Context(), s.Store.StoreID, other.ID, account.RoleAnalyst); err != nil {
		t.Fatal(err)
	}
	if status, text, _ := s.send(owner, "/dashboard/people/reset"+at,
		url.Values{"person": {other.ID}, "email": {other.Email}}); status != http.StatusConflict || oneTimeLink.MatchString(text) {
		t.Errorf("somebody who owns another store: %d", status)
	}
}

func TestOnesOwnPasswordAndSessions(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	mine, other, at := s.loggedIn(), s.loggedIn(), "?company="+s.live
	f := func(current, next string, want int, words string) {
		t.Helper()
		status, text, _ := s.send(mine, "/dashboard/account/password"+at, url.Values{"current": {current}, "new": {next}})
		if status != want || !contains(text, words) {
			t.Errorf("from %q to %q: %d, want %d with %q", current, next, status, want, words)
		}
	}
	if text := s.readAs(mine, "/dashboard/account"+at); !contains(text, testEmail, "(this one)", "End all others") {
		t.Errorf("the account reads %q", text)
	}
	f("wrong", "another long password", http.StatusUnprocessableEntity, "this is not your password")
	f(testPassword, "short", http.StatusUnprocessableEntity, "10 characters or more, and 256 bytes")
	f(testPassword, "another long password", http.StatusSeeOther, "")
	if answer, err := other.Get(s.url + "/dashboard/"); err != nil || answer.StatusCode != http.StatusSeeOther {
		t.Errorf("the other session: %v, %v", answer, err)
	}
	if text := s.readAs(mine, "/dashboard/account"+at+"&done=password_changed"); !contains(text, "Your password is changed") ||
		contains(text, "End all others") {
		t.Errorf("the account reads %q", text)
	}
	s.setClock(time.Now())
	for range 5 {
		f("guess", "another long password", http.StatusUnprocessableEntity, "not your password")
	}
	f("guess", "another long password", http.StatusTooManyRequests, "Too many attempts")
}

func TestKeysAreMadeRotatedAndRevoked(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, at := s.loggedIn(), "?company="+s.live
	asked := url.Values{"name": {"ERP"}, "environment": {"sandbox"}, "type": {"integration"},
		"scopes": {"write_orders", "costs.read"}, "life": {"30"}}
	key := anyKey
	status, text := s.makes(owner, "/dashboard/keys"+at, asked)
	made := key.FindString(text)
	if status != http.StatusSeeOther || !strings.HasPrefix(made, "trb_test_") {
		t.Fatalf("%d, key %q", status, made)
	}
	stored, err := s.DB.APIKeyByHash(t.Context(), account.KeyHash(made))
	if err != nil || stored.CompanyID != s.box || stored.Type != account.Integration || len(stored.Scopes) != 2 ||
		stored.ExpiresAt.Before(s.clock().AddDate(0, 0, 29)) {
		t.Errorf("%+v, %v", stored, err)
	}
	page := s.readAs(owner, "/dashboard/keys"+at)
	if strings.Contains(page, made) || !contains(page, "ERP", "Sandbox", "costs.read: read additional costs", "Never", "Until") {
		t.Errorf("the page reads %q", page)
	}
	for name, value := range map[string]string{"name": " ", "environment": "x", "type": "x", "scopes": "all", "life": "7"} {
		bad := url.Values{}
		for field, values := range asked {
			bad[field] = values
		}
		bad.Set(name, value)
		if status, text, _ := s.send(owner, "/dashboard/keys"+at, bad); status != http.StatusUnprocessableEntity ||
			!contains(text, `aria-invalid="true"`) && name != "scopes" || key.MatchString(text) {
			t.Errorf("%s %q: %d", name, value, status)
		}
	}
	rotate := func(company string, values url.Values) (int, string) {
		t.Helper()
		status, text := s.makes(owner, "/dashboard/keys/rotate?company="+company, values)
		return status, key.FindString(text)
	}
	if status, _ := rotate(s.live, url.Values{"key": {stored.KeyID}, "grace": {"24"}}); status != http.StatusNotFound {
		t.Errorf("a key of the other environment: %d", status)
	}
	status, second := rotate(s.box, url.Values{"key": {stored.KeyID}, "grace": {"24"}})
	if status != http.StatusSeeOther || second == "" || second == made {
		t.Errorf("rotated: %d, %q", status, second)
	}
	if old, err := s.DB.APIKeyByHash(t.Context(), account.KeyHash(made)); err != nil || !old.ActiveAt(time.Now().Add(23*time.Hour)) ||
		old.ActiveAt(time.Now().Add(25*time.Hour)) {
		t.Errorf("the old key: %+v, %v", old, err)
	}
	if status, _, _ := s.send(owner, "/dashboard/keys/revoke?company="+s.box,
		url.Values{"key": {stored.KeyID}}); status != http.StatusSeeOther {
		t.Errorf("revoked: %d", status)
	}
	if old, err := s.DB.APIKeyByHash(t.Context(), account.KeyHash(made)); err != nil || old.ActiveAt(time.Now().Add(time.Second)) {
		t.Errorf("the revoked key: %+v, %v", old, err)
	}
	if text := s.readAs(owner, "/dashboard/audit?company="+s.box); !contains(text, "API key created", "API key rotated",
		"API key revoked", testEmail) {
		t.Errorf("the audit log reads %q", text)
	}
}

func TestTooManyKeysAreSaid(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, at := s.loggedIn(), "?company="+s.live
	var last account.APIKey
	for range account.MaxAPIKeys {
		var err error
		if last, _, err = s.DB.CreateAPIKey(t.Context(),
			account.NewAPIKey{CompanyID: s.live, Name: "ERP", Scopes: account.AdminScopes, Actor: "cli", Random: rand.Reader}); err != nil {
			t.Fatal(err)
		}
	}
	asked := url.Values{"name": {"One more"}, "environment": {"live"}, "type": {"integration"}, "scopes": {"costs.read"}, "life": {"0"}}
	for path, values := range map[string]url.Values{"/dashboard/keys": asked, "/dashboard/keys/rotate": {"key": {last.KeyID}, "grace": {"24"}},
		"/dashboard/install/tokens": nil} {
		if status, text, _ := s.send(owner, path+at, values); status != http.StatusConflict || !contains(text, "200 keys work already") ||
			anyKey.MatchString(text) {
			t.Errorf("%s: %d", path, status)
		}
	}
	rotation := url.Values{"key": {last.KeyID}, "grace": {"0"}}
	if status, _, _ := s.send(owner, "/dashboard/keys/rotate"+at, rotation); status != http.StatusSeeOther {
		t.Errorf("one for another: %d", status)
	}
	asked["scopes"] = slices.Repeat([]string{"costs.read"}, 100)
	asked.Set("environment", "sandbox")
	if status, text, _ := s.send(owner, "/dashboard/keys"+at, asked); status != http.StatusUnprocessableEntity ||
		!contains(text, "has one twice") {
		t.Errorf("one scope a hundred times: %d", status)
	}
}

// Finance closes and pays, by the forms of the pages; nothing else of them is shown.
func TestFinancePays(t *testing.T) {
	t.Parallel()
	s := newLinkedSite(t, 1)
	s.Close(s.live)
	finance, at := s.join(account.RoleFinance, "duda@loja.example", s.Store.StoreID), "?company="+s.live
	if text := s.readAs(finance, "/dashboard/statements"+at); !contains(text, "Mark as paid", "Finance") {
		t.Errorf("statements: %s", text)
	}
	if text := s.readAs(finance, "/dashboard/costs"+at); contains(text, "New cost") {
		t.Errorf("costs: %s", text)
	}
	if status, text, _ := s.send(finance, "/dashboard/statements/pay"+at,
		url.Values{"statement": {s.statement}, "paid_on": {"2026-04-30"}, "reference": {"PIX 1"}}); status != http.StatusSeeOther {
		t.Errorf("%d %s", status, text)
	}
	if text := s.readAs(s.loggedIn(), "/dashboard/audit"+at); !contains(text, "duda@loja.example") {
		t.Errorf("the audit log: %s", text)
	}
}

// Finding S3-1: a new invitation ends the former one of the same e-mail; one of another's stays.
func TestTheLastInvitationOfAnEmailWorks(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, at := s.loggedIn(), "?company="+s.live
	invite := func(email, role string) string {
		t.Helper()
		_, text := s.makes(owner, "/dashboard/people/invite"+at, url.Values{"email": {email}, "role": {role}})
		found := oneTimeLink.FindStringSubmatch(text)
		if found == nil {
			t.Fatalf("no link: %s", text)
		}
		return found[1]
	}
	first, other := invite("bia@loja.example", "owner"), invite("edu@loja.example", "analyst")
	second := invite(" BIA@loja.example", "analyst")
	for token, want := range map[string]bool{first: false, other: true, second: true} {
		if text := s.readAs(s.client(), "/dashboard/join?token="+token); contains(text, "Loja Exemplo") != want {
			t.Errorf("%v: %s", want, text)
		}
	}
}

// What a form made is shown to the log-in that made it, on the page of the company, and in no address.
func TestASecretIsShownToWhoMadeIt(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, other := s.loggedIn(), s.loggedIn()
	path := "/dashboard/keys?company=" + s.live
	_, _, to := s.send(owner, path, url.Values{"name": {"ERP"}, "environment": {"live"}, "type": {"integration"},
		"scopes": {"costs.read"}, "life": {"0"}})
	if anyKey.MatchString(to) {
		t.Errorf("the address has it: %s", to)
	}
	u, err := url.Parse(s.url + "/dashboard/keys")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range owner.Jar.Cookies(u) {
		if c.Name != "trb_made" {
			continue
		}
		other.Jar.SetCookies(u, []*http.Cookie{{Name: c.Name, Value: c.Value, Path: "/dashboard/keys"}})
		if anyKey.MatchString(c.Value) {
			t.Error("the cookie is not sealed")
		}
	}
	if anyKey.MatchString(s.readRaw(other, to)) || anyKey.MatchString(s.readRaw(owner, "/dashboard/keys?company="+s.box)) {
		t.Error("another log-in, or the page of another company, shows it")
	}
	if !anyKey.MatchString(s.readRaw(owner, to)) {
		t.Error("it is not shown")
	}
}
