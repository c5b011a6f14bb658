package sdkjs_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-rod/rod"

	"github.com/tributary-io/tributary/sdk/core"
)

// The cookies of three networks, as browsers have them, and what counts of each.
const networkCookies = `<script>
document.cookie = "_ga=GA1.1.1902279557.1738782858";
document.cookie = "_ga_AB12CD34EF=GS2.1.o3$g1$s1738782990$t1738783000$j60$l0$h0";
document.cookie = "_ga_ZZ9XX8YY7W=GS1.1.1738782991.2.1.1738783000.0.0.0";
document.cookie = "_fbp=fb.1.1738782878094.854442062512751170";
document.cookie = "_ttp=01K1A8BXG7CFS8QC92XKKJD081_.tt.1";
</script>`

var (
	onlyGA      = core.NetworkIDs{GA: "1902279557.1738782858", GASession: "AB12CD34EF.1738782990 ZZ9XX8YY7W.1738782991"}
	onlyFBP     = core.NetworkIDs{FBP: "fb.1.1738782878094.854442062512751170"}
	onlyTTP     = core.NetworkIDs{TTP: "01K1A8BXG7CFS8QC92XKKJD081_.tt.1"}
	allNetworks = core.NetworkIDs{GA: onlyGA.GA, GASession: onlyGA.GASession, FBP: onlyFBP.FBP, TTP: onlyTTP.TTP}
)

// hasNetworks checks how an event says that networks know the browser, as it was sent.
func (g *got) hasNetworks(t *testing.T, want core.NetworkIDs) {
	t.Helper()
	if g == nil || g.Context.Networks != want {
		t.Errorf("want %+v of %+v", want, g)
		return
	}
	for id, known := range map[string]string{"1902279557": want.GA, "1738782990": want.GASession, "8544420625": want.FBP,
		"01K1A8BXG7": want.TTP} {
		if (strings.Contains(g.text, id)) != (known != "") {
			t.Errorf("%s is sent in %s, want %+v", id, g.text, want)
		}
	}
}

// No event says how a network knows the browser before the shopper agreed to that network, nor after that was taken back.
func networksByConsent(t *testing.T, e *edge, b *rod.Browser) {
	const start = `tributary.init({companyId:"loja",linger:0,pageViews:false});`
	s := shop(t, map[string]string{"/": networkCookies + e.stubbed(start+`tributary.track("BEFORE")`),
		"/again": e.stubbed(start + `tributary.track("AGAIN")`)})
	page := open(t, b, s.URL+"/")
	ready(t, page)
	track := func(answer, event string) *got {
		t.Helper()
		page.MustEval(`(answer, event) => { answer && tributary.consent(answer); tributary.track(event); return tributary.flush() }`,
			answer, event)
		e.wait(t, event, func(s seen) bool { return s.named(event) != nil })
		return e.seen().named(event)
	}
	none := core.NetworkIDs{}
	track("", "UNKNOWN").hasNetworks(t, none)
	e.seen().named("BEFORE").hasNetworks(t, none)
	track("granted", "GRANTED").hasNetworks(t, none)
	track("granted google", "ANOTHER").hasNetworks(t, none)
	track("granted meta", "META").hasNetworks(t, onlyFBP)
	track("granted tiktok,google", "TIKTOK").hasNetworks(t, onlyTTP)
	track("granted meta, ga4,tiktok", "ALL").hasNetworks(t, allNetworks)
	page.MustNavigate(s.URL + "/again") // the answer is remembered; the event is taken before the second file is there
	e.wait(t, "the second page's event", func(s seen) bool { return s.named("AGAIN") != nil })
	again := e.seen().named("AGAIN")
	if again.Context.Networks != none { // a beacon may have been faster than the second file
		again.hasNetworks(t, allNetworks)
	}
	ready(t, page)
	track("granted ga4", "LESS").hasNetworks(t, onlyGA)
	page.MustEval(`() => tributary.consent("denied")`)
	track("granted", "AFTER").hasNetworks(t, none)
	page.MustEval(`() => {
		for (const set of ["_ga=amp-x", "_ga_AB12CD34EF=x", "_ga_ZZ9XX8YY7W=x", "_fbp=; max-age=0"]) document.cookie = set
	}`)
	track("granted meta,ga4", "NO_COOKIE").hasNetworks(t, none) // nothing of a form that the core takes
}

// What is taken back while events wait goes from these too: of the page's own, and of those that an earlier page left.
func networksTakenBack(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/other": "",
		"/": networkCookies + e.stubbed(`tributary.init({companyId:"loja",linger:0,pageViews:false})`)})
	e.answer(http.StatusServiceUnavailable)
	page := open(t, b, s.URL+"/")
	ready(t, page)
	page.MustEval(`() => { tributary.consent("granted meta,ga4,tiktok"); tributary.track("WAITS"); return tributary.flush() }`)
	kept := func() string {
		return page.MustEval(`() => Object.keys(localStorage).filter(k => k.startsWith("trb:")).map(k => localStorage[k]).join()`).Str()
	}
	if text := kept(); !strings.Contains(text, onlyTTP.TTP) || !strings.Contains(text, onlyFBP.FBP) {
		t.Errorf("stored: %s", text)
	}
	page.MustEval(`() => tributary.consent("granted meta,ga4,google")`)
	if text := kept(); !strings.Contains(text, "granted meta,ga4") || strings.Contains(text, "google") || strings.Contains(text, "tiktok") {
		t.Errorf("what waits agrees to more, or to less, than both answers: %s", text)
	}
	if text := kept(); strings.Contains(text, onlyTTP.TTP) || !strings.Contains(text, onlyFBP.FBP) {
		t.Errorf("stored after the second answer: %s", text)
	}
	page.MustEval(`() => { navigator.sendBeacon = () => true }`) // that brings nothing
	page.MustNavigate(s.URL + "/other").MustEval(`() => { localStorage.trb_consent = "granted ga4" }`)
	e.answer(http.StatusOK)
	page.MustNavigate(s.URL + "/")
	e.wait(t, "what the first page left", func(s seen) bool { return s.named("WAITS") != nil })
	e.seen().named("WAITS").hasNetworks(t, onlyGA)
	if text := e.seen().named("WAITS").text; strings.Contains(text, "meta") || !strings.Contains(text, "ga4") {
		t.Errorf("it agrees to more than the last answer: %s", text)
	}
}

// Who agreed to a network and says no is told of once, by the visitor's id and nothing else: also where the page is loaded anew for it, and
// where another page of the shop, which knows the cookies alone, is told the answer.
func networksDenied(t *testing.T, e *edge, b *rod.Browser) {
	const start = `tributary.init({companyId:"loja",linger:0,pageViews:false})`
	pages := map[string]string{"/other": "", "/": networkCookies + e.stubbed(start), "/no": e.stubbed(`tributary.consent("denied");` + start)}
	s, elsewhere := shop(t, pages), shop(t, pages) // two ports: cookies are the same
	const former = "00000000-0000-4000-8000-000000000001"
	for _, where := range []string{"here", "anew", "elsewhere"} {
		page := open(t, b, s.URL+"/")
		ready(t, page)
		page.MustEval(`() => { tributary.consent("granted meta"); tributary.track("YES"); return tributary.flush() }`)
		e.wait(t, "the event", func(s seen) bool { return s.named("YES") != nil })
		visitor := page.MustEval(`() => localStorage.trb_id`).Str()
		told := func(s seen) *got { // of this visitor
			i := slices.IndexFunc(s.events, func(g got) bool { return g.Name == core.ConsentWithdrawn && g.VisitorID == visitor })
			if i < 0 {
				return nil
			}
			return &s.events[i]
		}
		switch where {
		case "anew": // and the edge is away at first
			e.answer(http.StatusServiceUnavailable)
			page.MustNavigate(s.URL + "/no")
			ready(t, page)
			until(t, page, `() => new Promise((done) => setTimeout(() => done(!!localStorage.tr_agreed), 500))`)
			e.answer(http.StatusOK)
			page.MustNavigate(s.URL + "/no")
		case "elsewhere": // which has somebody who agreed before, too
			page.MustNavigate(elsewhere.URL+"/other").MustEval(`(id) => { localStorage.tr_agreed = id }`, former)
			page.MustNavigate(elsewhere.URL + "/no")
		default:
			page.MustEval(`() => { tributary.consent("denied"); tributary.consent("denied") }`)
		}
		e.wait(t, "the withdrawal", func(s seen) bool { return told(s) != nil })
		last := told(e.seen())
		if last.Consent != core.ConsentDenied || last.Context.Page.URL != "" || last.SessionID != "" || visitor == "" {
			t.Errorf("it is %s of %q", last.text, visitor)
		}
		until(t, page, `() => Object.keys(localStorage).every(k => k == "trb_consent") && !/tr_agreed/.test(document.cookie)`)
		page.MustEval(`() => { localStorage.clear() }`)
	}
	if !slices.ContainsFunc(e.seen().events, func(g got) bool { return g.Name == core.ConsentWithdrawn && g.VisitorID == former }) {
		t.Error("who agreed there before is not told of")
	}
}
