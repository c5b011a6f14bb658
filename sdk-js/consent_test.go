package sdkjs_test

import (
	"net/http"
	"testing"

	"github.com/go-rod/rod"

	"github.com/tributary-io/tributary/sdk/core"
)

func consentRequired(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": e.stubbed(`tributary.init({companyId:"loja",linger:0,requireConsent:true})`)})
	page := open(t, b, s.URL+"/?utm_source=x")
	ready(t, page)
	page.MustEval(`() => { tributary.track("NOTE"); return tributary.flush() }`)
	n, cookie := page.MustEval(`() => localStorage.length + sessionStorage.length`).Int(), page.MustEval(`() => document.cookie`).Str()
	if n != 0 || cookie != "" || e.seen().requests != 0 {
		t.Errorf("before consent: %d stored, cookie %q, %d requests", n, cookie, e.seen().requests)
	}
	page.MustEval(`() => tributary.consent("granted")`)
	e.wait(t, "what was kept in memory", func(s seen) bool { return len(s.events) == 2 })
	for _, event := range e.seen().events {
		if event.VisitorID == "" || event.Consent != "granted" || event.Context.Campaign.Source != "x" {
			t.Errorf("event %s", core.AppendEvent(nil, &event.Event))
		}
	}
}

// An answer that is none is said, and forgotten: also one that came before the second file, or that an earlier page kept.
func consentOdd(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": listen +
		e.stubbed(`tributary.consent("yes");tributary.init({companyId:"loja",linger:0,pageViews:false});tributary.track("ONE")`)})
	page := open(t, b, s.URL+"/")
	e.wait(t, "the event", func(s seen) bool { return s.named("ONE") != nil })
	said := page.MustEval(`() => errors.join("|") + (localStorage.trb_consent || "")`).Str()
	if said != `[tributary] consent() takes "granted" or "denied"` || e.seen().named("ONE").Consent != "" {
		t.Errorf("the console says %q, the event %q", said, e.seen().named("ONE").Consent)
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
