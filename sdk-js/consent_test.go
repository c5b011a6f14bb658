package sdkjs_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/go-rod/rod"

	"github.com/tributary-io/tributary/sdk/core"
)

func consentRequired(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{
		"/":      e.stubbed(`tributary.init({companyId:"loja",linger:0,requireConsent:true})`),
		"/again": e.stubbed(`tributary.init({companyId:"loja",linger:0,requireConsent:true})`),
	})
	page := open(t, b, s.URL+"/?utm_source=x")
	ready(t, page)
	page.MustEval(`() => { tributary.track("NOTE"); return tributary.flush() }`)
	n, cookie := page.MustEval(`() => localStorage.length + sessionStorage.length`).Int(), page.MustEval(`() => document.cookie`).Str()
	if n != 0 || cookie != "" || e.seen().requests != 0 {
		t.Errorf("before consent: %d stored, cookie %q, %d requests", n, cookie, e.seen().requests)
	}
	page.MustEval(`() => tributary.consent("granted meta,ga4")`)
	e.wait(t, "what was kept in memory", func(s seen) bool { return len(s.events) == 2 })
	page.MustNavigate(s.URL + "/again") // the answer is remembered with its destinations
	e.wait(t, "the second page's view", func(s seen) bool { return len(s.events) == 3 })
	for _, event := range e.seen().events {
		if event.VisitorID == "" || event.Consent != "granted" || event.ConsentFor != "ga4,meta" {
			t.Errorf("event %s", core.AppendEvent(nil, &event.Event))
		}
	}
	if first := e.seen().events[0]; first.Context.Campaign.Source != "x" {
		t.Errorf("the first event %s", core.AppendEvent(nil, &first.Event))
	}
}

// An answer that is none is said, and forgotten: also one that came before the second file, or that an earlier page kept.
func consentOdd(t *testing.T, e *edge, b *rod.Browser) {
	for i, answer := range []string{"yes", "granted Meta Ads"} {
		event := fmt.Sprint("EVENT_", i)
		s := shop(t, map[string]string{"/": listen +
			e.stubbed(`tributary.consent("`+answer+`");tributary.init({companyId:"loja",linger:0,pageViews:false});tributary.track("`+event+`")`)})
		page := open(t, b, s.URL+"/")
		e.wait(t, "the event", func(s seen) bool { return s.named(event) != nil })
		said := page.MustEval(`() => errors.join("|") + (localStorage.trb_consent || "")`).Str()
		if said != `[tributary] consent() takes "granted", "granted meta,ga4" or "denied"` ||
			e.seen().named(event).Consent != "" {
			t.Errorf("%s: the console says %q, the event %q", answer, said, e.seen().named(event).Consent)
		}
	}
}

// An answer that is none is no consent to take over the visitor of the shop's other domain, which is localhost here.
func consentOddHandedOver(t *testing.T, e *edge, b *rod.Browser) {
	pages := map[string]string{"/no": listen + e.stubbed(
		`tributary.consent("no");tributary.init({companyId:"loja",linger:0,requireConsent:true,domains:["127.0.0.1","localhost"]})`)}
	s := shop(t, pages)
	other := strings.Replace(s.URL, "127.0.0.1", "localhost", 1) + "/no"
	pages["/"] = e.tag(`data-company="loja" data-linger="0" data-domains="127.0.0.1,localhost"`) +
		`<meta name="referrer" content="unsafe-url"><body><a href="` + other + `">pay</a>`
	page := open(t, b, s.URL+"/")
	ready(t, page)
	e.wait(t, "the first view", func(s seen) bool { return len(s.events) == 1 })
	page.MustElement("a").MustClick()
	until(t, page, `() => location.pathname === "/no" && errors.length > 0`)
	if kept := page.MustEval(`() => (localStorage.trb_id || "") + document.cookie.replace(/trb_vid=[^;]*/, "")`).Str(); kept != "" {
		t.Errorf("it keeps %s", kept)
	}
}

func consentDenied(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": e.stubbed(`tributary.init({companyId:"loja",linger:3600000})`)})
	page := open(t, b, s.URL+"/")
	until(t, page, `() => Object.keys(localStorage).some(k => k.startsWith("trb:"))`)
	page.MustEval(`() => { tributary.consent("denied"); tributary.track("NOTE") }`)
	if cookie := page.MustEval(`() => document.cookie`).Str(); stored(page) != 0 || cookie != "" {
		t.Errorf("after denial: %d stored, cookie %q", stored(page), cookie)
	}
	page.MustNavigate(s.URL + "/") // the answer is remembered; leaving sends nothing
	until(t, page, `() => tributary.loaded`)
	page.MustEval(`() => tributary.flush()`)
	if e.seen().requests != 0 {
		t.Errorf("%d requests after denial", e.seen().requests)
	}
}

func consentDeniedFirst(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{
		"/":   e.stubbed(`tributary.init({companyId:"loja",linger:3600000})`),
		"/no": e.stubbed(`tributary.consent("denied");tributary.init({companyId:"loja",linger:0})`),
	})
	e.answer(http.StatusServiceUnavailable) // the beacon brings no answer: the event stays stored
	page := open(t, b, s.URL+"/")
	until(t, page, `() => Object.keys(localStorage).some(k => k.startsWith("trb:"))`)
	page.MustNavigate(s.URL + "/no")
	until(t, page, `() => tributary.loaded`)
	if cookie := page.MustEval(`() => document.cookie`).Str(); stored(page) != 0 || cookie != "" {
		t.Errorf("after denial: %d stored, cookie %q", stored(page), cookie)
	}
}

func consentDeniedElsewhere(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": e.stubbed(`tributary.init({companyId:"loja",linger:3600000,pageViews:false})`)})
	one, two := open(t, b, s.URL+"/"), open(t, b, s.URL+"/")
	for _, page := range []*rod.Page{one, two} {
		until(t, page, `() => tributary.loaded && !tributary._`)
		page.MustEval(`() => tributary.track("NOTE")`)
		until(t, page, `() => Object.keys(localStorage).some(k => k.startsWith("trb:"))`)
	}
	two.MustEval(`() => { addEventListener("storage", e => { if (e.key == "trb_consent") window.heard = true }) }`)
	one.MustEval(`() => tributary.consent("denied")`)
	until(t, two, `() => window.heard`)
	two.MustEval(`() => { tributary.track("NOTE"); return tributary.flush() }`)
	if cookie := two.MustEval(`() => document.cookie`).Str(); stored(two) != 0 || cookie != "" || e.seen().requests != 0 {
		t.Errorf("after denial in another tab: %d stored, cookie %q, %d requests", stored(two), cookie, e.seen().requests)
	}
}
