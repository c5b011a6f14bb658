package dashboard_test

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/tributary-io/tributary/admin/dashboard"
	"github.com/tributary-io/tributary/internal/account"
)

// ofEverybody are the forms that an analyst may send: they change nothing of the store.
var ofEverybody = map[string]bool{
	"POST /dashboard/account/password": true, "POST /dashboard/account/sessions": true,
	"POST /dashboard/account/factor": true, "POST /dashboard/account/factor/new": true,
	"POST /dashboard/account/failures": true,
}

// ofFinance are the forms that finance must be able to send. Others that it may send concern statements too.
var ofFinance = []string{"POST /dashboard/statements", "POST /dashboard/statements/pay", "POST /dashboard/statements/link",
	"POST /dashboard/statements/closing", "POST /dashboard/statements/chosen", "POST /dashboard/statements/pay-chosen"}

// join makes a person with a role in the store, and returns a client that is logged in.
func (s *site) join(role, email string, storeID string) *http.Client {
	s.t.Helper()
	hash, err := cheapHash(testPassword)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.DB.CreateMember(s.t.Context(), storeID, role, email, hash); err != nil {
		s.t.Fatal(err)
	}
	client := s.client()
	if answer := s.logIn(client, email, testPassword); answer.StatusCode != http.StatusSeeOther {
		s.t.Fatalf("log-in of %s: %s", email, answer.Status)
	}
	return client
}

// Every page and form × everybody who may ask: a page that is added is tested by
// being in the table of routes.
func TestWhoMayDoWhat(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner := s.loggedIn()
	analyst := s.join(account.RoleAnalyst, "bia@loja.example", s.Store.StoreID)
	finance := s.join(account.RoleFinance, "duda@loja.example", s.Store.StoreID)
	stranger := s.join(account.RoleOwner, "carla@outra.example", s.NewStore("Outra").StoreID)
	forged := s.client()
	s.give(forged, "trb_access", s.forgedToken(t))
	s.give(forged, "trb_refresh", base64.RawURLEncoding.EncodeToString(make([]byte, 32)))
	revoked, expired := s.copyOf(s.loggedIn(), "trb_access"), s.client()
	s.give(expired, "trb_access", s.expiredToken(t))

	ask := func(client *http.Client, method, path string, header map[string]string) *http.Response {
		t.Helper()
		var body io.Reader
		if method == http.MethodPost {
			body = strings.NewReader("x=y")
		}
		request, err := http.NewRequestWithContext(t.Context(), method, s.url+path+"?company="+s.live, body)
		if err != nil {
			t.Fatal(err)
		}
		if method == http.MethodPost {
			request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		for name, value := range header {
			request.Header.Set(name, value)
		}
		answer, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer
	}
	// The copy's session is ended from elsewhere.
	s.endAll(t, revoked)
	routes := dashboard.MemberRoutes()
	if len(routes) < 10 {
		t.Fatalf("only %d routes", len(routes))
	}
	for _, pattern := range ofFinance {
		if !slices.ContainsFunc(routes, func(r dashboard.Route) bool { return r.Pattern == pattern && r.Owner && r.Pays }) {
			t.Errorf("%s: finance may not send this form", pattern)
		}
	}
	for _, route := range routes {
		method, path, _ := strings.Cut(route.Pattern, " ")
		path = strings.TrimSuffix(path, "{$}")
		if method == http.MethodPost && !route.Owner && !ofEverybody[route.Pattern] {
			t.Errorf("%s: an analyst may send this form", route.Pattern)
		}
		for name, client := range map[string]*http.Client{"nobody": s.client(), "a forged token": forged, "an expired token": expired,
			"an ended session": revoked} {
			answer := ask(client, method, path, nil)
			if where := answer.Header.Get("Location"); answer.StatusCode != http.StatusSeeOther || !strings.HasPrefix(where, "/dashboard/login") {
				t.Errorf("%s by %s: %s to %q, want the log-in", route.Pattern, name, answer.Status, where)
			}
		}
		if answer := ask(stranger, method, path, nil); answer.StatusCode != http.StatusNotFound {
			t.Errorf("%s by an owner of another store: %s, want 404", route.Pattern, answer.Status)
		}
		if method == http.MethodPost {
			for _, header := range []map[string]string{{"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"},
				{"Sec-Fetch-Site": "same-site"}} {
				if answer := ask(owner, method, path, header); answer.StatusCode != http.StatusForbidden {
					t.Errorf("%s from another site %v: %s, want 403", route.Pattern, header, answer.Status)
				}
			}
		}
		answer := ask(analyst, method, path, nil)
		if route.Owner != (answer.StatusCode == http.StatusForbidden) {
			t.Errorf("%s by an analyst: %s, owners only: %t", route.Pattern, answer.Status, route.Owner)
		}
		if route.Pays && !strings.HasPrefix(path, "/dashboard/statements") && path != "/dashboard/order/proposal/confirm" &&
			path != "/dashboard/order/proposal/end" && path != "/dashboard/mails/own" {
			t.Errorf("%s: finance may do more than close and pay statements, be a second person and choose its own mails", route.Pattern)
		}
		answer = ask(finance, method, path, nil)
		if forbidden := route.Owner && !route.Pays; forbidden != (answer.StatusCode == http.StatusForbidden) {
			t.Errorf("%s by finance: %s, forbidden: %t", route.Pattern, answer.Status, forbidden)
		}
		if method == http.MethodGet {
			if answer := ask(owner, method, path, nil); answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusNotFound {
				t.Errorf("%s by an owner: %s", route.Pattern, answer.Status)
			}
		}
	}
}

// give puts a cookie into a client.
func (s *site) give(client *http.Client, name, value string) {
	home, err := url.Parse(s.url + "/dashboard/")
	if err != nil {
		s.t.Fatal(err)
	}
	client.Jar.SetCookies(home, []*http.Cookie{{Name: name, Value: value, Path: "/dashboard/"}})
}

// copyOf is another client with one of the cookies.
func (s *site) copyOf(client *http.Client, name string) *http.Client {
	copied := s.client()
	home, err := url.Parse(s.url + "/dashboard/")
	if err != nil {
		s.t.Fatal(err)
	}
	for _, cookie := range client.Jar.Cookies(home) {
		if cookie.Name == name {
			s.give(copied, name, cookie.Value)
		}
	}
	return copied
}

// endAll ends the session of a client, by its own access token.
func (s *site) endAll(t *testing.T, client *http.Client) {
	t.Helper()
	answer, err := s.copyOf(client, "trb_access").PostForm(s.url+"/dashboard/logout", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
}

func (s *site) forgedToken(t *testing.T) string {
	t.Helper()
	return s.token(t, "another secret of 32 bytes or more", time.Now().Add(time.Hour))
}

func (s *site) expiredToken(t *testing.T) string {
	t.Helper()
	return s.token(t, "0123456789abcdef0123456789abcdef", time.Now().Add(-time.Hour))
}

func (s *site) token(t *testing.T, secret string, until time.Time) string {
	t.Helper()
	person, err := s.DB.PersonByEmail(t.Context(), testEmail)
	if err != nil {
		t.Fatal(err)
	}
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"iss": "tributary", "aud": "dashboard", "sub": person.ID, "sid": "0195b2c0-0000-7000-8000-000000000000", "exp": until.Unix(),
	})
	signed, err := token.SignedString([]byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// send posts a form of a page and returns the answer's status and text.
func (s *site) send(client *http.Client, path string, values url.Values) (status int, text string, location string) {
	s.t.Helper()
	answer, err := client.PostForm(s.url+path, values)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.StatusCode, string(body), answer.Header.Get("Location")
}

// makes sends a form that makes a secret, and reads the page that shows it. A reload of that page shows it no more.
func (s *site) makes(client *http.Client, path string, values url.Values) (status int, text string) {
	s.t.Helper()
	status, text, to := s.send(client, path, values)
	if status != http.StatusSeeOther {
		return status, text
	}
	text = s.readRaw(client, to)
	if again := s.readRaw(client, to); strings.Contains(text, `class="card secret`) && strings.Contains(again, `class="card secret`) {
		s.t.Errorf("%s shows the secret twice", to)
	}
	return status, text
}

// A role that is taken, and a membership that ends, count from the next request on.
func TestARoleEndsAtOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner := s.loggedIn()
	bia := s.join(account.RoleOwner, "bia@loja.example", s.Store.StoreID)
	person, err := s.DB.PersonByEmail(t.Context(), "bia@loja.example")
	if err != nil {
		t.Fatal(err)
	}
	at := "?company=" + s.live
	f := func(path string, want int) {
		t.Helper()
		answer, err := bia.Get(s.url + path + at)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: %s, want %d", path, answer.Status, want)
		}
	}
	f("/dashboard/keys", http.StatusOK)
	if status, _, to := s.send(owner, "/dashboard/people/role"+at,
		url.Values{"person": {person.ID}, "role": {"analyst"}}); status != http.StatusSeeOther {
		t.Fatalf("%d %s", status, to)
	}
	f("/dashboard/keys", http.StatusForbidden)
	f("/dashboard/", http.StatusOK)
	if status, _, to := s.send(owner, "/dashboard/people/remove"+at, url.Values{"person": {person.ID}}); status != http.StatusSeeOther {
		t.Fatalf("%d %s", status, to)
	}
	f("/dashboard/", http.StatusForbidden) // "no store has let you in"
	me, err := s.DB.PersonByEmail(t.Context(), testEmail)
	if err != nil {
		t.Fatal(err)
	}
	if status, text, _ := s.send(owner, "/dashboard/people/remove"+at, url.Values{"person": {me.ID}}); status != http.StatusConflict ||
		!contains(text, "at least one owner") {
		t.Errorf("the last owner leaves: %d", status)
	}
}
