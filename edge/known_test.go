package edge

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/wire"
)

// A page that sent by beacon asks what has arrived.
func TestAPageLearnsWhichEventsAreKnown(t *testing.T) {
	s := newStand(t, nil)
	s.publishCompany(wire.Company{CompanyID: "co_other"})
	s.eventually("both companies are known", func() bool { return s.edge.directory.state().Companies == 2 })
	one, two, lost := newID(), newID(), newID()
	s.post(200, batchOf(pageView(one), pageView(two)), "Origin: "+testOrigin)

	ask := func(company string, ids ...string) string {
		text, err := json.Marshal(map[string]any{"companyId": company, "eventIds": ids})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	f := func(name, body string, status int, want ...string) {
		t.Helper()
		response, text := s.do("POST", "/v1/known", body, "Origin: "+testOrigin, "Content-Type: text/plain")
		var answer struct {
			Known []string
			Error struct{ Code string }
		}
		if err := json.Unmarshal(text, &answer); err != nil {
			t.Fatalf("%s: %v in %s", name, err, text)
		}
		if got := append(answer.Known, answer.Error.Code); response.StatusCode != status ||
			!slices.Equal(slices.DeleteFunc(got, func(s string) bool { return s == "" }), want) {
			t.Errorf("%s: %d %v, want %d %v", name, response.StatusCode, got, status, want)
		}
	}
	f("two of three", ask(testCompany, one, lost, two), 200, one, two)
	f("an id in capitals is the same", ask(testCompany, strings.ToUpper(one)), 200, strings.ToUpper(one))
	f("another company's", ask("co_other", one), 200)
	f("no id", ask(testCompany, "x", "", "0199f3a0-0000-4000-8000-000000000001"), 200)
	f("none asked", ask(testCompany), 200)
	f("an unknown company", ask("co_nobody", one), 401, "unknown_company")
	f("no JSON", "{", 400, "invalid_json")
	f("another shape", `{"companyId":"co_test","eventIds":"x"}`, 400, "invalid_json")
	f("too many", ask(testCompany, slices.Repeat([]string{"x"}, 501)...), 400, "too_many_events")
	f("too large", ask(testCompany, strings.Repeat("x", maxKnownBody)), 413, "payload_too_large")

	if response, _ := s.do("POST", "/v1/known", ask(testCompany, one), "Origin: https://evil.example"); response.StatusCode != 403 {
		t.Errorf("a page that is not listed: %d", response.StatusCode)
	}
	if response, _ := s.do("GET", "/v1/known", ""); response.StatusCode != 405 {
		t.Errorf("GET: %d", response.StatusCode)
	}
}

func TestOnlyAPageOfTheSiteEndsTheCookie(t *testing.T) {
	s := newStand(t, nil)
	f := func(name string, ends bool, headers ...string) {
		t.Helper()
		response, _ := s.do("POST", "/v1/forget", "", headers...)
		cookie := strings.Join(response.Header.Values("Set-Cookie"), ";")
		if response.StatusCode != 204 || strings.HasPrefix(cookie, "trb_vid=;") != ends {
			t.Errorf("%s: %d, cookie %q", name, response.StatusCode, cookie)
		}
	}
	f("same site", true, "Origin: "+testOrigin, "Sec-Fetch-Site: same-site")
	f("same origin", true, "Sec-Fetch-Site: same-origin")
	f("another site", false, "Origin: https://evil.example", "Sec-Fetch-Site: cross-site")
	f("a typed address", false, "Sec-Fetch-Site: none")
	f("a client that says nothing", false)
}
