package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
)

// hostile are values that no page of ours writes, as they stand in an address.
var hostile = []string{
	"%00", "a%00b", "%ff", "%c3%28", "%ed%a0%80", "%0a", "%1b%5b31m", "'", "%25", "%F0%9F%92%A9", "-1", "0", "1e9", "NaN",
	strings.Repeat("x", 10_000), strings.Repeat("%F0%9F%92%A9", 2_000),
	// Days.
	"0000-01-01", "0000-00-00", "0001-01-01", "1969-12-31", "2200-01-01", "9999-12-31", "10000-01-01", "-0044-03-15", "2026-02-30",
	"2026-11-21%00", "infinity", "today",
	// Cursors.
	".", "0.", "1.%00", "1.%ff", "1.x", "-1.x", "9223372036854775807.x", "99999999999999999999.x", "1763700000000000",
	"1763700000000000.%00", "1763700000000000.%ff", "1763700000000000." + strings.Repeat("x", 10_000),
	"1763700000000000.00000000-0000-0000-0000-000000000000",
	// Places to return to.
	"/dashboard/%00", "/dashboard/?id=%2500", "//evil.example", "%5c%5cevil.example",
}

// A visit's campaign, or a name of before they were refused, may hold what turns the direction of the
// text behind it.
func TestNoPageTurnsTheDirectionOfText(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.exec(`update store set name = $1`, "Ana\u202egpj\u2066")
	page := s.readRaw(s.loggedIn(), "/dashboard/?company="+s.live)
	if !strings.Contains(page, `Ana\u202egpj\u2066`) || strings.ContainsAny(page, "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069") {
		t.Error("a page has a mark that turns text, or does not write it out")
	}
}

func TestNoAddressBreaksAPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	client := s.loggedIn()
	for page, parameters := range map[string][]string{
		"/dashboard/":            {"company", "day", "before"},
		"/dashboard/order":       {"company", "id"},
		"/dashboard/influencers": {"company", "q", "sort", "page"},
		"/dashboard/influencer":  {"company", "id"},
		"/dashboard/orders":      {"q", "status", "from", "to", "coupon", "influencer", "after"},
		"/dashboard/audit":       {"before", "kind"},
		"/dashboard/reviews":     {"before"},
		"/dashboard/statements":  {"after"},
		"/dashboard/costs":       {"edit", "range", "from", "to", "by"},
		"/dashboard/keys":        {"done"},
		"/dashboard/join":        {"token"},
		"/dashboard/login":       {"next"},
		"/dashboard/session":     {"any"},
		"/dashboard/assets/x":    {"v"},
	} {
		for _, parameter := range parameters {
			for _, value := range hostile {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+page+"?"+parameter+"="+value, nil)
				if err != nil {
					t.Fatal(err)
				}
				s.notBroken(client, request)
			}
		}
	}
	for _, path := range []string{"/dashboard/%00", "/dashboard/%ff", "/dashboard/assets/%00",
		"/dashboard/assets/..%2f..%2fserver.go", "/%00"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		s.notBroken(client, request)
	}
}

func TestNoAddressBreaksTheLiveView(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	dialer := websocket.Dialer{Jar: s.loggedIn().Jar}
	for _, parameter := range []string{"company", "day", "cursor"} {
		for _, value := range hostile {
			address := "ws" + strings.TrimPrefix(s.url, "http") + "/dashboard/live?" + parameter + "=" + value
			for name, good := range map[string]string{"company": s.live, "day": "2026-11-21"} {
				if name != parameter { // the other parameters are as they should be
					address += "&" + name + "=" + good
				}
			}
			conn, answer, err := dialer.Dial(address, http.Header{"Origin": {s.url}})
			if err != nil {
				if answer == nil || answer.StatusCode >= 500 {
					t.Errorf("%.200s: %v, %v", address, answer, err)
				}
				continue
			}
			if _, _, err := conn.ReadMessage(); err != nil {
				t.Errorf("%.200s was opened, and then: %v", address, err)
			}
			conn.Close()
		}
	}
}

func TestNoFormBreaksTheLogIn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for i, value := range hostile {
		s.setAddress(testAddress(i)) // the limits of attempts are another test's
		for _, field := range []string{"email", "password", "next"} {
			form := "email=" + url.QueryEscape(testEmail) + "&password=wrong+password"
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/dashboard/login",
				strings.NewReader(field+"="+value+"&"+form))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			s.notBroken(s.client(), request)
		}
	}
}

// notBroken makes a request of which the answer must not be an error of ours,
// in the answer or in the log.
func (s *site) notBroken(client *http.Client, request *http.Request) {
	s.t.Helper()
	before := len(s.logged())
	answer, err := client.Do(request)
	if err != nil {
		s.t.Errorf("%.200s: %v", request.URL, err)
		return
	}
	answer.Body.Close()
	if line := s.logged()[before:]; answer.StatusCode >= 500 || strings.Contains(line, `"level":"ERROR"`) {
		s.t.Errorf("%.200s: %s, log: %.500s", request.URL, answer.Status, line)
	}
}

func TestAddressesThatSayNothingAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	client := s.loggedIn()
	f := func(address string, want int) {
		t.Helper()
		answer, err := client.Get(s.url + address)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%.100s: %s, want %d", address, answer.Status, want)
		}
	}
	f("/dashboard/order?id=%00", http.StatusNotFound)
	f("/dashboard/order?id=%ff", http.StatusNotFound)
	f("/dashboard/order?id="+strings.Repeat("x", 5000), http.StatusNotFound)
	f("/dashboard/order", http.StatusNotFound)
	f("/dashboard/?day=0000-01-01", http.StatusBadRequest)
	f("/dashboard/?day=9999-12-31", http.StatusBadRequest)
	f("/dashboard/?before=1763700000000000.%00", http.StatusBadRequest)
	f("/dashboard/?before=9223372036854775807.x", http.StatusBadRequest)
	f("/dashboard/influencers?page=0", http.StatusBadRequest)
	f("/dashboard/influencers?q=%ff", http.StatusBadRequest)
	f("/dashboard/influencer?id=x", http.StatusNotFound)
	f("/dashboard/costs?edit=x", http.StatusNotFound)
	f("/dashboard/live?day=0000-01-01&company="+s.live, http.StatusBadRequest)
	f("/dashboard/live?day=2026-11-21&cursor=1763700000000000.%ff&company="+s.live, http.StatusBadRequest)
}
