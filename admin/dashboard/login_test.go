package dashboard_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

func TestLogInAndOut(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	get := func(client *http.Client, path string) *http.Response {
		t.Helper()
		answer, err := client.Get(s.url + path)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer
	}
	client := s.client()
	for _, path := range []string{"/", "/dashboard"} {
		if answer := get(client, path); answer.Header.Get("Location") != "/dashboard/" {
			t.Errorf("%s leads to %s %q", path, answer.Status, answer.Header.Get("Location"))
		}
	}
	if answer := get(client, "/dashboard/?day=2026-11-20"); answer.StatusCode != http.StatusSeeOther ||
		answer.Header.Get("Location") != "/dashboard/login?next=%2Fdashboard%2F%3Fday%3D2026-11-20" {
		t.Errorf("a stranger is sent to %s %q", answer.Status, answer.Header.Get("Location"))
	}
	refused := func(email, password string) string {
		t.Helper()
		answer, err := client.PostForm(s.url+"/dashboard/login", url.Values{"email": {email}, "password": {password}})
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		page, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusUnauthorized || len(answer.Cookies()) != 1 ||
			answer.Cookies()[0].Name != "trb_mistyped" { // which the browser has of its own mistakes

			t.Errorf("%s: %s, cookies %v, %v", email, answer.Status, answer.Cookies(), err)
		}
		return strings.ReplaceAll(string(page), email, "")
	}
	if refused(testEmail, "wrong password") != refused("nobody@loja.example", testPassword) {
		t.Error("the answer tells whether an e-mail is known")
	}
	answer := s.logIn(client, " ANA@loja.example ", testPassword)
	if log := s.logged(); strings.Count(log, "dashboard: a log-in failed") != 2 || !strings.Contains(log, "dashboard: logged in") ||
		!strings.Contains(log, `"failed_since_last":1`) || strings.Contains(strings.ToLower(log), testEmail) {
		t.Errorf("the log says of these attempts: %s", log)
	}
	paths := map[string]string{
		"trb_access": "/dashboard/", "trb_refresh": "/dashboard/", "trb_device": "/dashboard/login", "trb_failed": "/dashboard/",
		"trb_mistyped": "/dashboard/login",
	}
	if answer.StatusCode != http.StatusSeeOther || len(answer.Cookies()) != len(paths) {
		t.Fatalf("log-in: %s, %v", answer.Status, answer.Cookies())
	}
	for _, cookie := range answer.Cookies() {
		if !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.Secure || cookie.Path != paths[cookie.Name] {
			t.Errorf("cookie %s", cookie)
		}
	}
	page := get(client, "/dashboard/")
	if page.StatusCode != http.StatusOK || !strings.Contains(page.Header.Get("Content-Security-Policy"), "default-src 'none'") ||
		page.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("the page: %s, %v", page.Status, page.Header)
	}
	other := s.NewStore("Another store")
	for path, want := range map[string]int{
		"/dashboard/?company=" + s.box:                                   http.StatusOK,
		"/dashboard/?company=" + other.Live.CompanyID:                    http.StatusNotFound,
		"/dashboard/order?id=1&company=" + other.Live.CompanyID:          http.StatusNotFound,
		"/dashboard/order?id=1":                                          http.StatusNotFound,
		"/dashboard/?day=yesterday":                                      http.StatusBadRequest,
		"/dashboard/?before=x":                                           http.StatusBadRequest,
		"/dashboard/nowhere":                                             http.StatusNotFound,
		"/dashboard/session":                                             http.StatusNoContent,
		"/dashboard/live?day=2026-11-21&company=" + other.Live.CompanyID: http.StatusForbidden, // no Origin
	} {
		if answer := get(client, path); answer.StatusCode != want {
			t.Errorf("%s: %s, want %d", path, answer.Status, want)
		}
	}
	forged, err := http.NewRequest(http.MethodPost, s.url+"/dashboard/logout", nil)
	if err != nil {
		t.Fatal(err)
	}
	forged.Header.Set("Origin", "https://evil.example")
	if answer, err := client.Do(forged); err != nil || answer.StatusCode != http.StatusForbidden {
		t.Errorf("a form of another site: %v, %v", answer, err)
	}
	if answer, err := client.PostForm(s.url+"/dashboard/logout", nil); err != nil || answer.StatusCode != http.StatusSeeOther {
		t.Errorf("log-out: %v, %v", answer, err)
	}
	if answer := get(client, "/dashboard/session"); answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("after the log-out: %s", answer.Status)
	}
}

func TestAStolenRefreshTokenEndsTheSession(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	start := time.Now()
	s.setClock(start)
	client := s.loggedIn()
	home, err := url.Parse(s.url + "/dashboard/")
	if err != nil {
		t.Fatal(err)
	}
	thief := s.client()
	for _, cookie := range client.Jar.Cookies(home) {
		if cookie.Name == "trb_refresh" {
			cookie.Path = "/dashboard/"
			thief.Jar.SetCookies(home, []*http.Cookie{cookie})
		}
	}
	f := func(who string, client *http.Client, after time.Duration, want int) {
		t.Helper()
		s.setClock(start.Add(after))
		answer, err := client.Get(s.url + "/dashboard/session")
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s after %s: %s, want %d", who, after, answer.Status, want)
		}
	}
	f("the owner, with an access token", client, time.Minute, http.StatusNoContent)
	f("the owner, renewing", client, 11*time.Minute, http.StatusNoContent)
	f("the thief, with the spent token", thief, 12*time.Minute, http.StatusUnauthorized)
	f("the owner, renewing again", client, 22*time.Minute, http.StatusUnauthorized)
}

func TestASocketRenewsTheLogIn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	start := time.Now()
	s.setClock(start)
	client := s.loggedIn()
	s.setClock(start.Add(11 * time.Minute)) // the access token is too old, the refresh token is not
	dialer := websocket.Dialer{Jar: client.Jar}
	socket := "ws" + strings.TrimPrefix(s.url, "http") + "/dashboard/live?day=2026-11-21&company=" + s.live
	conn, answer, err := dialer.Dial(socket, http.Header{"Origin": {s.url}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if got := len(answer.Cookies()); got != 2 {
		t.Errorf("the socket's answer sets %d cookies, want a new pair", got)
	}
	if _, _, err := conn.ReadMessage(); err != nil {
		t.Error(err)
	}
	if conn, answer, err := websocket.DefaultDialer.Dial(socket, http.Header{"Origin": {s.url}}); err == nil ||
		answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a log-in: %v, %v, %v", conn, answer, err)
	}
}

// "Access ends with the session": not when the access token expires.
func TestAnEndedSessionIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	client := s.loggedIn()
	home, err := url.Parse(s.url + "/dashboard/")
	if err != nil {
		t.Fatal(err)
	}
	copied := s.client() // another browser with the same cookies
	for _, cookie := range client.Jar.Cookies(home) {
		cookie.Path = "/dashboard/"
		copied.Jar.SetCookies(home, []*http.Cookie{cookie})
	}
	f := func(who string, client *http.Client, path string, want int) {
		t.Helper()
		answer, err := client.Get(s.url + path)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s, %s: %s, want %d", who, path, answer.Status, want)
		}
	}
	f("the copy, before", copied, "/dashboard/", http.StatusOK)
	if _, err := client.PostForm(s.url+"/dashboard/logout", nil); err != nil {
		t.Fatal(err)
	}
	f("the copy, after the log-out", copied, "/dashboard/session", http.StatusUnauthorized)
	f("the copy, after the log-out", copied, "/dashboard/login", http.StatusOK)
	f("the copy, after the log-out", copied, "/dashboard/", http.StatusSeeOther)
}

func TestASocketEndsWithTheSession(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	client, other := s.loggedIn(), s.loggedIn()
	open := func(client *http.Client) *websocket.Conn {
		t.Helper()
		dialer := websocket.Dialer{Jar: client.Jar}
		conn, _, err := dialer.Dial("ws"+strings.TrimPrefix(s.url, "http")+"/dashboard/live?day=2026-11-21&company="+s.live,
			http.Header{"Origin": {s.url}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		if _, _, err := conn.ReadMessage(); err != nil {
			t.Fatal(err)
		}
		return conn
	}
	ends, stays := open(client), open(other)
	if _, err := client.PostForm(s.url+"/dashboard/logout", nil); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ends.ReadMessage(); !websocket.IsCloseError(err, 4001) {
		t.Errorf("the socket of the ended session: %v", err)
	}
	s.Put(reporttest.Order{CompanyID: s.live, ID: "1", CreatedAt: time.Date(2026, 11, 21, 15, 0, 0, 0, time.UTC)})
	s.hint(s.live, "1")
	if _, _, err := stays.ReadMessage(); err != nil {
		t.Errorf("the socket of the other session: %v", err)
	}
}
