package edge

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

// consentCase is one cell of docs/edge.md, "Visitors and consent".
type consentCase struct {
	policy wire.ConsentPolicy
	said   string // by the event; "": nothing
	signal string // header of the browser; "": none

	consent wire.Consent // recorded
	cookie  bool         // is set, and recorded
	named   bool         // identity and visitor are recorded
}

func consentCases() (cases []consentCase) {
	signals := []string{"Sec-GPC: 1", "DNT: 1"}
	f := func(policy wire.ConsentPolicy, said string, signalled bool, consent wire.Consent, cookie, named bool) {
		for _, signal := range signals {
			if !signalled {
				signal = ""
			}
			cases = append(cases, consentCase{policy, said, signal, consent, cookie, named})
			if !signalled {
				return
			}
		}
	}
	const none, with = false, true
	f("none", "", none, "unknown", true, true)
	f("none", "", with, "unknown", true, true)
	f("none", "granted", none, "granted", true, true)
	f("none", "granted", with, "granted", true, true)
	f("none", "denied", none, "denied", true, true)
	f("none", "denied", with, "denied", true, true)
	f("required", "", none, "unknown", false, true)
	f("required", "", with, "denied", false, false)
	f("required", "granted", none, "granted", true, true)
	f("required", "granted", with, "granted", true, true) // the shop's own question is the later word
	f("required", "denied", none, "denied", false, false)
	f("required", "denied", with, "denied", false, false)
	f("honor_gpc", "", none, "unknown", true, true)
	f("honor_gpc", "", with, "denied", false, false)
	f("honor_gpc", "granted", none, "granted", true, true)
	f("honor_gpc", "granted", with, "denied", false, false)
	f("honor_gpc", "denied", none, "denied", false, false)
	f("honor_gpc", "denied", with, "denied", false, false)
	return cases
}

func TestEveryCellOfTheConsentPolicies(t *testing.T) {
	s := newStand(t, func(c *Config, _ *Deps) { c.RewriteHosts = map[string]string{"loja.example.com": "http://127.0.0.1:9"} })
	company := map[wire.ConsentPolicy]string{}
	for _, policy := range []wire.ConsentPolicy{wire.ConsentNone, wire.ConsentRequired, wire.ConsentHonorGPC} {
		company[policy] = "co_" + string(policy)
		s.publishCompany(wire.Company{CompanyID: company[policy], ConsentPolicy: policy})
	}
	s.eventually("all companies are known", func() bool { return s.edge.directory.state().Companies == 4 })
	const same = "Sec-Fetch-Site: same-site"
	want := map[string]func(e wire.Event){} // by event id
	for i, c := range consentCases() {
		name := fmt.Sprintf("%s, said %q, %q", c.policy, c.said, c.signal)
		known := newID()
		cookie := "Cookie: trb_vid=" + testSigner(t).Sign(identity.SignedCookie, known)
		send := func(what, method, path, body string, headers ...string) *http.Response {
			t.Helper()
			if c.signal != "" {
				headers = append(headers, c.signal)
			}
			response, text := s.do(method, path, body, append(headers, "User-Agent: "+phone)...)
			if response.StatusCode != 200 && response.StatusCode != 302 {
				t.Fatalf("%s, %s: %d %s", name, what, response.StatusCode, text)
			}
			return response
		}
		// first is an event of a visitor without a cookie, again one of a visitor with.
		first := func(what, id string, response *http.Response, identified bool) {
			t.Helper()
			set := response.Header.Get("Set-Cookie")
			if strings.HasPrefix(set, "trb_vid=0") != c.cookie || !c.cookie && set != "" {
				t.Errorf("%s, %s: Set-Cookie %q", name, what, set)
			}
			want[id] = func(e wire.Event) {
				sale := "" // to whom sales may be told: of an event alone, and only with a consent
				if identified && c.consent == wire.ConsentGranted {
					sale = "ga4,meta"
				}
				if e.Consent != c.consent || e.ConsentFor != sale || (e.CookieID != "") != c.cookie || c.cookie && !strings.Contains(set, e.CookieID) ||
					(e.VisitorID != "" || e.SessionID != "") != (c.named && e.Event != core.LinkClick) ||
					(e.Identity != wire.Identity{}) != (c.named && identified) {
					t.Errorf("%s, %s: %+v", name, what, e)
				}
			}
		}
		again := func(what, id string, response *http.Response) {
			t.Helper()
			set := response.Header.Get("Set-Cookie")
			// What a picture's address says takes no cookie away: anybody can put one into a page.
			takes := !c.named && what != "a click" && (what != "a pixel" || c.signal != "")
			if expired := strings.HasPrefix(set, "trb_vid=;"); expired != takes || !expired && set != "" {
				t.Errorf("%s, %s with a cookie: Set-Cookie %q", name, what, set)
			}
			want[id] = func(e wire.Event) {
				if (e.CookieID == known) != c.cookie || !c.cookie && e.CookieID != "" {
					t.Errorf("%s, %s with a cookie: cookie id %q", name, what, e.CookieID)
				}
			}
		}
		body := func(id string) string {
			return fmt.Sprintf(`{"companyId":%q,"eventId":%q,"event":"PAGE_VIEW","consent":%q,"visitorId":"v-1","sessionId":"s-1",`+
				`"identity":{"email":"ana@example.com"}}`, company[c.policy], id, strings.Replace(c.said, "granted", "granted meta,ga4", 1))
		}
		id := newID()
		first("an event", id, send("an event", "POST", "/v1/events", body(id), same), true)
		id = newID()
		again("an event", id, send("an event", "POST", "/v1/events", body(id), same, cookie))
		pixel := func(id string) string {
			return "/v1/pixel.gif?companyId=" + company[c.policy] + "&visitorId=v-1&sessionId=s-1&eventId=" + id +
				"&consent=" + strings.Replace(c.said, "granted", "granted%20meta", 1)
		}
		id = newID()
		first("a pixel", id, send("a pixel", "GET", pixel(id), "", same), false)
		id = newID()
		again("a pixel", id, send("a pixel", "GET", pixel(id), "", same, cookie))

		if c.said != "" { // an opened link says nothing of consent
			continue
		}
		for _, with := range []bool{false, true} {
			code := fmt.Sprintf("Link%d%t", i, with)
			s.publish(wire.LinkKeyPrefix+code, wire.Link{V: 1, Rev: 1, CompanyID: company[c.policy], LinkID: code, URL: testLink})
			s.eventually("the link is known", func() bool { _, known := s.edge.directory.link(code); return known })
			headers := []string{"Sec-Fetch-Dest: document"}
			if with {
				headers = append(headers, cookie)
			}
			response := send("a click", "GET", "/s/"+code, "", headers...)
			location, err := url.Parse(response.Header.Get("Location"))
			if err != nil {
				t.Fatal(err)
			}
			click := strings.Split(location.Query().Get(core.TrbClick), ".") // <code>.<UUIDv7>.<mac>
			if len(click) != 3 {
				t.Fatalf("%s: a click leads to %s", name, location)
			}
			if with {
				again("a click", click[1], response)
			} else {
				first("a click", click[1], response, false)
			}
		}
	}
	for _, e := range s.events() {
		if check := want[e.EventID]; check != nil {
			check(e)
			delete(want, e.EventID)
		}
	}
	if len(want) > 0 {
		t.Errorf("%d events are not recorded", len(want))
	}
}
