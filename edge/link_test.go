package edge

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

const phone = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 " +
	"Instagram 340.0"

func TestShortLinkRedirectsAndCountsTheClick(t *testing.T) {
	s := newStand(t, nil)
	response, _ := s.do("GET", "/s/"+testCode, "", "User-Agent: "+phone, "Referer: https://www.instagram.com/?e=ana%40example.com")
	if response.StatusCode != http.StatusFound || response.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %v", response.StatusCode, response.Header)
	}
	location := response.Header.Get("Location")
	u, err := url.Parse(location)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	click := q.Get("trb_click")
	code, rest, _ := strings.Cut(click, ".")
	id, _, _ := strings.Cut(rest, ".")
	if code != testCode || !core.ValidUUIDv7(id) || click != testSigner(t).Sign(identity.SignedClick, code+"."+id) {
		t.Errorf("trb_click %q", click)
	}
	want := "https://loja.example.com/p/camiseta?cor=azul&utm_source=influencer&utm_medium=link&utm_campaign=Ana+Prado&" +
		"utm_content=Ver%C3%A3o+26&trb_click=" + click + "#frete"
	if location != want {
		t.Errorf("Location %s\nwant     %s", location, want)
	}
	events := s.events()
	if len(events) != 1 {
		t.Fatalf("%d events", len(events))
	}
	e := events[0]
	if e.Event != "LINK_CLICK" || e.Via != "link" || e.Bot != "none" || e.EventID != id || e.Consent != "unknown" ||
		e.CompanyID != testCompany ||
		e.Context.UserAgent != phone || e.Context.Page.Referrer != "https://www.instagram.com/?e=(email)" ||
		e.Context.ClickIDs["trb_click"] != click {
		t.Errorf("event %+v", e)
	}
	if e.Click == nil || *e.Click != (wire.Click{ID: id, Code: testCode, Verified: true, LinkID: "link_1", Destination: location}) {
		t.Errorf("click %+v", e.Click)
	}
	if (e.Context.Campaign != wire.Campaign{Source: "influencer", Medium: "link", Name: "Ana Prado", Content: "Verão 26"}) {
		t.Errorf("campaign %+v", e.Context.Campaign)
	}
	if len(response.Header.Values("Set-Cookie")) != 0 {
		t.Error("a cookie was set for a destination of another site")
	}
}

func TestShortLinkOpenings(t *testing.T) {
	s := newStand(t, nil)
	clicks := 0
	f := func(name, method string, wantClick int, wantBot wire.Bot, headers ...string) {
		t.Helper()
		response, _ := s.do(method, "/s/"+testCode, "", headers...)
		if response.StatusCode != http.StatusFound || !strings.Contains(response.Header.Get("Location"), "trb_click=") {
			t.Errorf("%s: %d %s", name, response.StatusCode, response.Header.Get("Location"))
		}
		events := s.events()
		if got := len(events) - clicks; got != wantClick {
			t.Errorf("%s: %d clicks, want %d", name, got, wantClick)
		} else if got == 1 && !hasBot(events[clicks:], wantBot) {
			t.Errorf("%s: no click with bot %s", name, wantBot)
		}
		clicks = len(events)
	}
	f("HEAD", "HEAD", 0, "", "User-Agent: "+phone)
	f("prefetch", "GET", 0, "", "Sec-Purpose: prefetch;prerender")
	f("old prefetch", "GET", 0, "", "X-Moz: prefetch")
	f("person", "GET", 1, "none", "User-Agent: "+phone)
	f("card", "GET", 1, "preview", "User-Agent: WhatsApp/2.23.20.0 A")
	f("program", "GET", 1, "known", "User-Agent: python-requests/2.32.3")
	f("crawler", "GET", 1, "known", "User-Agent: Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)")
}

func hasBot(events []wire.Event, bot wire.Bot) bool {
	for _, e := range events {
		if e.Bot == bot {
			return true
		}
	}
	return false
}

func TestUnknownShortLinkIsAPage(t *testing.T) {
	s := newStand(t, nil)
	response, text := s.do("GET", "/s/nope", "")
	if response.StatusCode != 404 || !strings.HasPrefix(response.Header.Get("Content-Type"), "text/html") ||
		!strings.Contains(string(text), "Link not found") {
		t.Errorf("%d %s", response.StatusCode, text)
	}
	s.publish(wire.LinkKeyPrefix+testCode, nil)
	s.eventually("the deleted link is gone", func() bool { return s.edge.directory.state().Links == 0 })
	if response, _ = s.do("GET", "/s/"+testCode, ""); response.StatusCode != 404 {
		t.Errorf("deleted link: %d", response.StatusCode)
	}
}

func TestDestination(t *testing.T) {
	s := &Server{config: Config{RewriteHosts: map[string]string{"loja.example.com": "http://127.0.0.1:9"}}}
	f := func(link, campaign, want string) {
		t.Helper()
		got, err := s.destination(&wire.Link{URL: link, Influencer: "Ana & Bia", Campaign: campaign}, "c.1", true)
		if err != nil || got.String() != want {
			t.Errorf("%s: %s, %v\nwant %s", link, got, err, want)
		}
	}
	const ours = "utm_source=influencer&utm_medium=link&utm_campaign=Ana+%26+Bia"
	f("https://x.com", "", "https://x.com?"+ours+"&trb_click=c.1")
	f("https://x.com/a?b=1&b=2&c=%20d", "", "https://x.com/a?b=1&b=2&c=%20d&"+ours+"&trb_click=c.1")
	f("https://x.com/?utm_content=old&utm%5Fmedium=old&trb_click=old&x", "", "https://x.com/?x&"+ours+"&trb_click=c.1")
	f("https://x.com/#/p?x=1", "C", "https://x.com/?"+ours+"&utm_content=C&trb_click=c.1#/p?x=1")
	f("https://x.com/caf%C3%A9", "", "https://x.com/caf%C3%A9?"+ours+"&trb_click=c.1")
	f("https://loja.example.com/p", "", "http://127.0.0.1:9/p?"+ours+"&trb_click=c.1")
}

func TestVisitorCookieIsFirstParty(t *testing.T) {
	s := newStand(t, func(c *Config, _ *Deps) { c.RewriteHosts = map[string]string{"loja.example.com": "http://127.0.0.1:9"} })
	f := func(name string, want bool, headers ...string) {
		t.Helper()
		response, text := s.do("POST", "/v1/events", batchOf(pageView(newID())), append([]string{"Origin: " + testOrigin}, headers...)...)
		if response.StatusCode != 200 {
			t.Fatalf("%s: %d %s", name, response.StatusCode, text)
		}
		cookie := response.Header.Get("Set-Cookie")
		if (cookie != "") != want {
			t.Errorf("%s: Set-Cookie %q", name, cookie)
		}
		if want {
			for _, attribute := range []string{"trb_vid=", "HttpOnly", "secure", "SameSite=Lax", "max-age=34560000", "path=/"} {
				if !strings.Contains(strings.ToLower(cookie), strings.ToLower(attribute)) {
					t.Errorf("%s: %q lacks %s", name, cookie, attribute)
				}
			}
		}
	}
	const same, cross = "Sec-Fetch-Site: same-site", "Sec-Fetch-Site: cross-site"
	known := "Cookie: trb_vid=" + testSigner(t).Sign(identity.SignedCookie, newID())
	f("same site", true, same)
	f("by host", true, "Host: t.example.com")
	f("another site", false, cross)
	f("has one", false, same, known)
	f("made up", true, same, "Cookie: trb_vid=1")
	f("not signed", true, same, "Cookie: trb_vid="+newID())

	response, _ := s.do("GET", "/s/"+testCode, "", "User-Agent: "+phone)
	cookie, _, _ := strings.Cut(strings.TrimPrefix(response.Header.Get("Set-Cookie"), "trb_vid="), ";")
	found := false
	for _, e := range s.events() {
		found = found || e.Event == "LINK_CLICK" && cookie != "" && testSigner(t).Sign(identity.SignedCookie, e.CookieID) == cookie
	}
	if !found {
		t.Errorf("no click with the cookie %q that the redirect set", cookie)
	}
}

func TestRedirectDoesNotWaitForKafka(t *testing.T) {
	// A redirect that waited for its produce would take longer than the client's time-out.
	s := newStand(t, func(c *Config, _ *Deps) { c.ProduceTimeout, c.DrainTimeout = 2*testClient.Timeout, time.Second })
	s.post(200, batchOf(pageView(newID())))
	s.broker.Stop()
	if response, _ := s.do("GET", "/s/"+testCode, "", "User-Agent: "+phone); response.StatusCode != http.StatusFound {
		t.Errorf("%d", response.StatusCode)
	}
	s.eventually("the late click is counted", func() bool {
		_, text := s.do("GET", "/metrics", "")
		return strings.Contains(string(text), `tributary_edge_clicks_total{outcome="late"} 1`)
	})
}

func TestAClickThatKafkaNeverTakesIsCountedAsLost(t *testing.T) {
	s := newStand(t, func(c *Config, _ *Deps) { c.ProduceTimeout = 100 * time.Millisecond })
	s.post(200, batchOf(pageView(newID())))
	s.broker.Stop()
	s.do("GET", "/s/"+testCode, "", "User-Agent: "+phone)
	s.eventually("the lost click is counted", func() bool {
		_, text := s.do("GET", "/metrics", "")
		return strings.Contains(string(text), `tributary_edge_clicks_total{outcome="lost"} 1`)
	})
}
