package edge

import (
	"bytes"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/wire"
)

// onlyEvent sends one event and returns it as it is recorded.
func (s *stand) onlyEvent(event string, headers ...string) wire.Event {
	s.t.Helper()
	known := len(s.events())
	if answer := s.post(200, batchOf(event), headers...); answer.Results[0].Status != "ok" {
		s.t.Fatalf("%s: %+v", event, answer)
	}
	events := s.events()
	if len(events) != known+1 {
		s.t.Fatalf("%d events, want %d", len(events), known+1)
	}
	return events[known] // of one company, so of one partition
}

func TestAnEventSaysWhereItsSenderIsAndWhatItKnows(t *testing.T) {
	s := newStand(t, func(c *Config, _ *Deps) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	keys := testHasher(t).Company(testCompany, "BR")
	const secret = "0b6f5d2e4c1a4e9f"
	cart, number := keys.Cart(secret), keys.Cart("1001")
	f := func(who string, want wire.Identity) {
		t.Helper()
		e := s.onlyEvent(`{"event":"ADD_TO_CART","identity":`+who+`}`, "X-Forwarded-For: 203.0.113.9")
		if e.Identity != want {
			t.Errorf("%s: %+v, want %+v", who, e.Identity, want)
		}
		if want := keys.Network(netip.MustParseAddr("203.0.113.200")); e.NetKey != want || e.IP != "203.0.113.0" {
			t.Errorf("network %q of %s, want %q", e.NetKey, e.IP, want)
		}
	}
	f(`{"cart_token":"`+secret+`"}`, wire.Identity{CartKey: cart})
	f(`{"cart_token":"1001"}`, wire.Identity{CartNoKey: number})
	f(`{"email":"ana@example.com","verified":true}`, wire.Identity{EmailKey: keys.Email("ana@example.com"), Verified: true})
	f(`{"email":"ana@example.com","verified":false}`, wire.Identity{EmailKey: keys.Email("ana@example.com")})
	answer := s.post(200, batchOf(`{"event":"PAGE_VIEW","identity":{"verified":"yes"}}`))
	if r := answer.Results[0]; r.Code != "invalid_identity" {
		t.Errorf("verified that is no truth value: %+v", r)
	}
}

// A page that opens the shop in a hidden frame must leave a trace.
func TestAnEventFromAForeignFrameSaysSo(t *testing.T) {
	s := newStand(t, nil)
	f := func(what, event string, want bool, headers ...string) {
		t.Helper()
		if e := s.onlyEvent(event, headers...); e.Frame != want {
			t.Errorf("%s: frame %t, want %t", what, e.Frame, want)
		}
	}
	envelope := func(member string) string {
		return fmt.Sprintf(`["r1",%q,"2026-11-21T06:00:00.000Z","PAGE_VIEW",null,null,{"url":"https://loja.example.com/"%s}]`, newID(), member)
	}
	f("an envelope", envelope(""), false)
	f("an envelope of a page", envelope(`,"frame":false`), false)
	f("an envelope of a frame", envelope(`,"frame":true`), true)
	f("a canonical event of a frame", `{"event":"PAGE_VIEW","frame":true}`, true)
	f("a browser that knows of a frame", pageView(newID()), true, "Sec-Fetch-Site: same-site", "Sec-Fetch-Storage-Access: none")
	f("a page of the edge's site", pageView(newID()), false, "Sec-Fetch-Site: same-site")
	f("a page of another site than the edge", pageView(newID()), false, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Storage-Access: none")
	if r := s.post(200, batchOf(`{"event":"PAGE_VIEW","frame":1}`)).Results[0]; r.Code != "invalid_field" {
		t.Errorf("frame that is no truth value: %+v", r)
	}
}

// testSigner signs as an edge of the tests does; formerSigner as one did before
// the secret was changed.
func testSigner(t testing.TB) *identity.Signer { return identity.NewSigner(testHasher(t), nil) }

func formerHasher(t testing.TB) *identity.Hasher {
	t.Helper()
	h, err := identity.NewHasher(bytes.Repeat([]byte{6}, identity.MinSecret))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// A cookie that is made up, or sent because another site's page made the browser
// send it, must name no visitor.
func TestOnlyAVerifiedFirstPartyCookieNamesTheVisitor(t *testing.T) {
	s := newStand(t, func(_ *Config, d *Deps) { d.Previous = formerHasher(t) })
	victim := newID()
	signer, former := testSigner(t), identity.NewSigner(formerHasher(t), nil)
	signed := signer.Sign(identity.SignedCookie, victim)
	f := func(what, cookie string, want bool, headers ...string) {
		t.Helper()
		e := s.onlyEvent(pageView(newID()), append(headers, "Cookie: trb_vid="+cookie)...)
		if (e.CookieID == victim) != want {
			t.Errorf("%s: cookie id %q, want the victim's: %t", what, e.CookieID, want)
		}
	}
	const same = "Sec-Fetch-Site: same-site"
	f("a verified one", signed, true, same)
	f("a verified one, same origin", signed, true, "Sec-Fetch-Site: same-origin")
	f("a verified one of the former secret", former.Sign(identity.SignedCookie, victim), true, same)
	f("without a signature", victim, false, same)
	f("with a made-up one", victim+".1aaaaaaaaaaaa", false, same)
	f("with another visitor's", victim+signer.Sign(identity.SignedCookie, newID())[36:], false, same)
	f("with a click's", signer.Sign(identity.SignedClick, victim), false, same)
	f("from another site's page", signed, false, "Sec-Fetch-Site: cross-site")
	f("from no page", signed, false)
	f("from the address bar", signed, false, "Sec-Fetch-Site: none")

	// What the former secret signed is signed anew, and the visitor stays.
	response, _ := s.do("POST", "/v1/events", batchOf(pageView(newID())), same, "Cookie: trb_vid="+former.Sign(identity.SignedCookie, victim))
	if got := response.Header.Get("Set-Cookie"); !strings.HasPrefix(got, "trb_vid="+signed+";") {
		t.Errorf("an old cookie is replaced by %q", got)
	}
	response, _ = s.do("POST", "/v1/events", batchOf(pageView(newID())), same, "Cookie: trb_vid="+signed)
	if got := response.Header.Get("Set-Cookie"); got != "" {
		t.Errorf("a good cookie is replaced by %q", got)
	}
}

// A picture, a frame or a script with a short link's address is no visit: it must
// bring neither a click nor a landing that looks like one.
func TestAShortLinkThatIsNotOpenedAsADocumentIsNoClick(t *testing.T) {
	s := newStand(t, nil)
	f := func(dest string, opened bool, headers ...string) {
		t.Helper()
		cookie := newID() // another visitor each time
		headers = append(headers, "User-Agent: "+phone, "Cookie: trb_vid="+testSigner(t).Sign(identity.SignedCookie, cookie))
		if dest != "" {
			headers = append(headers, "Sec-Fetch-Dest: "+dest)
		}
		before := len(s.events())
		response, _ := s.do("GET", "/s/"+testCode, "", headers...)
		location := response.Header.Get("Location")
		if response.StatusCode != 302 || strings.Contains(location, "trb_click=") != opened || !opened && location != testLink {
			t.Errorf("%q: %d %s", dest, response.StatusCode, location)
		}
		events := s.events()
		if got := len(events) - before; got != map[bool]int{true: 1}[opened] {
			t.Errorf("%q: %d clicks", dest, got)
		}
		if opened && events[len(events)-1].CookieID != cookie {
			t.Errorf("%q: cookie %q", dest, events[len(events)-1].CookieID)
		}
	}
	f("", true) // an older browser, or an app
	f("document", true)
	f("document", true, "Accept: image/webp")
	f("", true, "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")
	f("", true, "Accept: */*")
	// a picture in Safari before 16.4
	f("", false, "Accept: image/webp,image/avif,video/*;q=0.8,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5")
	f("", false, "Accept: image/png,image/svg+xml,image/*;q=0.8,video/*;q=0.8,*/*;q=0.5")
	for _, dest := range []string{"image", "iframe", "frame", "script", "empty", "embed", "object", "style", "x"} {
		f(dest, false)
	}
}

// Anybody can write a trb_click into an address: what it says is kept, and
// whether we made it.
func TestALandingSaysWhetherItsClickIsOurs(t *testing.T) {
	s := newStand(t, func(_ *Config, d *Deps) { d.Previous = formerHasher(t) })
	id := newID()
	name := testCode + "." + id
	f := func(click string, want *wire.Click) {
		t.Helper()
		page := "https://loja.example.com/p?a=1&trb_click=" + url.QueryEscape(click) + "#frete"
		e := s.onlyEvent(`{"event":"PAGE_VIEW","context":{"page":{"url":"` + page + `"}}}`)
		if e.Context.Page.URL != page {
			t.Errorf("url %s, want %s", e.Context.Page.URL, page)
		}
		if (e.Click == nil) != (want == nil) || want != nil && *e.Click != *want {
			t.Errorf("%s: click %+v, want %+v", click, e.Click, want)
		}
	}
	f(testSigner(t).Sign(identity.SignedClick, name), &wire.Click{ID: id, Code: testCode, Verified: true})
	f(identity.NewSigner(formerHasher(t), nil).Sign(identity.SignedClick, name), &wire.Click{ID: id, Code: testCode, Verified: true})
	f(name, &wire.Click{ID: id, Code: testCode}) // as it was before signatures
	f(name+".1aaaaaaaaaaaa", &wire.Click{ID: id, Code: testCode})
	f("Zz"+testSigner(t).Sign(identity.SignedClick, name)[2:], &wire.Click{ID: id, Code: "Zz" + testCode[2:]})
	f("abc.1", nil)
	f(testSigner(t).Sign(identity.SignedClick, testCode+".x"), nil)
	f(strings.Repeat("c", 65)+"."+id, nil)
	f("a/b."+id, nil)

	// The click ids of the context are kept for days: they are no landing.
	if e := s.onlyEvent(`{"event":"PAGE_VIEW","context":{"page":{"url":"https://loja.example.com/"},"clickIds":{"trb_click":"` + name +
		`"}}}`); e.Click != nil {
		t.Errorf("a later page has the click %+v", e.Click)
	}
}

// A page that the buyer merely opens sends from the buyer's own network: a frame without an
// origin, a page of another site, a picture. Their network proves nothing, and a picture's
// address names no visitor beside the cookie of the browser that was made to load it.
func TestWhatAForeignPageMakesABrowserSendHasNoNetwork(t *testing.T) {
	s := newStand(t, func(_ *Config, d *Deps) { d.Previous = formerHasher(t) })
	s.publishCompany(wire.Company{Rev: 2, Origins: []string{testOrigin, "null"}})
	s.eventually("the origin null is listed", func() bool {
		c, _ := s.edge.directory.company(testCompany)
		return c.origins["null"]
	})
	f := func(what string, e wire.Event, network bool) {
		t.Helper()
		if (e.NetKey != "") != network || e.IP == "" {
			t.Errorf("%s: network %q of %s, want one: %t", what, e.NetKey, e.IP, network)
		}
	}
	sent := func(headers ...string) wire.Event { return s.onlyEvent(pageView(newID()), headers...) }
	f("a backend's", sent(), true)
	f("a page's", sent("Origin: "+testOrigin), true)
	f("a page's of the same site", sent("Origin: "+testOrigin, "Sec-Fetch-Site: same-site"), true)
	f("a page's of another site than the edge", sent("Origin: "+testOrigin, "Sec-Fetch-Site: cross-site"), false)
	f("of a frame without an origin", sent("Origin: null"), false)
	f("… as a browser sends it", sent("Origin: null", "Sec-Fetch-Site: cross-site"), false)
	f("… of the edge's own site", sent("Origin: null", "Sec-Fetch-Site: same-origin"), false)

	picture := func(headers ...string) wire.Event {
		t.Helper()
		known := len(s.events())
		address := "/v1/pixel.gif?companyId=" + testCompany + "&visitorId=c-42&url=" +
			url.QueryEscape("https://loja.example.com/?utm_campaign=Mallory")
		if response, text := s.do("GET", address, "", append(headers, "User-Agent: "+phone)...); response.StatusCode != 200 {
			t.Fatalf("%d %s", response.StatusCode, text)
		}
		return s.events()[known]
	}
	buyer := newID()
	cookie := "Cookie: trb_vid=" + testSigner(t).Sign(identity.SignedCookie, buyer)
	visitor := testHasher(t).Company(testCompany, "BR").VisitorID("c-42")
	g := func(what string, e wire.Event, visitorID, cookieID string) {
		t.Helper()
		f(what, e, false)
		if e.VisitorID != visitorID || e.CookieID != cookieID {
			t.Errorf("%s: visitor %q, cookie %q; want %q, %q", what, e.VisitorID, e.CookieID, visitorID, cookieID)
		}
	}
	g("a picture in a mail", picture(), visitor, "")
	g("a picture in another site's page", picture(cookie, "Sec-Fetch-Site: cross-site"), visitor, "")
	g("a picture in the shop's own page", picture(cookie, "Sec-Fetch-Site: same-site"), "", buyer)
}
