//go:build browsers

// The browsers that are no Chromium: `make test-browsers`.

package sdkjs_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/sdk/core"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/prove/visits"
	"github.com/tributary-io/tributary/test/webdriver"
)

func TestVisitsInOtherBrowsers(t *testing.T) {
	dist := build(t)
	f := func(name string, n int, open visits.Opener) {
		t.Run(name, func(t *testing.T) {
			for _, kind := range append(visits.Leaving(), visits.Offline()) {
				t.Run(kind.Name, func(t *testing.T) {
					o, err := visits.Do(t.Context(), kind, n, dist, open)
					if err != nil {
						t.Fatal(err)
					}
					t.Logf("%+v", o)
					if !o.Good() {
						t.Errorf("%d of %d lost, %.3f copies of an event", o.Lost, o.Visits, o.Copies)
					}
				})
			}
		})
	}
	f("Firefox", 50, visits.InFirefox(t.TempDir(), false))
	f("Firefox's private windows", 10, visits.InFirefox(t.TempDir(), true))
	f("WebKitGTK", 50, visits.InWebKit)
}

// driven is a tab, whose failures end the test.
type driven struct {
	t   *testing.T
	ctx context.Context
	tab *webdriver.Tab
}

func (d driven) open(url string) {
	d.t.Helper()
	if err := d.tab.Navigate(d.ctx, url); err != nil {
		d.t.Fatal(err)
	}
}

// eval returns the text that a function promises.
func (d driven) eval(function string) (text string) {
	d.t.Helper()
	if err := d.tab.Eval(d.ctx, &text, function); err != nil {
		d.t.Fatalf("%s: %v", function, err)
	}
	return text
}

func (d driven) ready() {
	d.t.Helper()
	await.Until(d.t, await.Long, func() bool {
		return d.eval(`() => "" + !!(window.tributary && tributary.loaded && !tributary._)`) == "true"
	}, func() string { return "the second file" })
}

func TestCallsInOtherBrowsers(t *testing.T) {
	dist := build(t)
	f := func(name string, start func(context.Context) (webdriver.Browser, error)) {
		t.Run(name, func(t *testing.T) {
			browser, err := start(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := browser.Close(); err != nil {
					t.Error(err)
				}
			}()
			for _, test := range []struct {
				name string
				run  func(*testing.T, *edge, driven)
			}{
				{"consent is asked for", drivenConsent}, // first: cookies of a host are of all its ports
				{"consent is denied", drivenDenial}, {"a single-page shop", drivenHistory},
				{"an identity until reset", drivenIdentity}, {"the worker", drivenWorker}, {"a policy with a nonce", drivenNonce},
			} {
				t.Run(test.name, func(t *testing.T) {
					ctx, cancel := context.WithTimeout(t.Context(), 2*await.Long)
					defer cancel()
					tab, err := browser.Tab(ctx)
					if err != nil {
						t.Fatal(err)
					}
					defer func() { _ = tab.Close(ctx) }()
					test.run(t, newEdge(t, dist), driven{t, ctx, tab})
				})
			}
		})
	}
	f("Firefox", func(ctx context.Context) (webdriver.Browser, error) {
		return webdriver.Firefox(ctx, t.TempDir(), false)
	})
	f("Firefox's private windows", func(ctx context.Context) (webdriver.Browser, error) {
		return webdriver.Firefox(ctx, t.TempDir(), true)
	})
	f("WebKitGTK", webdriver.WebKit)
}

func drivenHistory(t *testing.T, e *edge, d driven) {
	s := shop(t, map[string]string{"/": e.tag(`data-company="loja" data-linger="0"`)})
	d.open(s.URL + "/?utm_source=ana")
	d.ready()
	d.eval(`async () => {
		location.hash = "top";
		history.pushState({}, "", "/p/1?size=m");
		document.title = "One";
		history.replaceState({}, "", "/p/1?size=l");
		history.pushState({}, "", "/p/2");
		document.title = "Two";
		await tributary.track("LAST");
	}`)
	e.wait(t, "the last event", func(s seen) bool { return s.named("LAST") != nil && s.copies(core.PageView) >= 3 })
	var views []string
	for _, event := range e.seen().events {
		if event.Name == core.PageView {
			views = append(views, event.Context.Page.Path+" "+event.Context.Page.Title)
		}
		if event.Context.Campaign.Source != "ana" {
			t.Errorf("%s has no campaign: %s", event.Name, event.text)
		}
	}
	if got := strings.Join(views, ", "); got != "/ Loja /, /p/1 One, /p/2 Two" {
		t.Errorf("views of %s", got)
	}
}

func drivenIdentity(t *testing.T, e *edge, d driven) {
	init := `tributary.init({companyId:"loja",linger:0,pageViews:false});`
	s := shop(t, map[string]string{
		"/":    e.stubbed(`tributary.identify({email:"ana@example.com"});` + init + `tributary.track("ONE")`),
		"/two": e.stubbed(init + `tributary.track("TWO");tributary.reset();tributary.track("THREE")`),
	})
	d.open(s.URL + "/")
	e.wait(t, "the first page's", func(s seen) bool { return len(s.events) == 1 })
	d.open(s.URL + "/two")
	e.wait(t, "the second page's", func(s seen) bool { return len(s.events) == 3 })
	one, two, three := e.seen().named("ONE"), e.seen().named("TWO"), e.seen().named("THREE")
	if one.Identity.Email != "ana@example.com" || two.Identity.Email != "ana@example.com" || three.Identity.Email != "" {
		t.Errorf("identities %q, %q, %q", one.Identity.Email, two.Identity.Email, three.Identity.Email)
	}
	if one.VisitorID != two.VisitorID || two.VisitorID == three.VisitorID {
		t.Errorf("visitors %s, %s, %s", one.VisitorID, two.VisitorID, three.VisitorID)
	}
}

func drivenConsent(t *testing.T, e *edge, d driven) {
	s := shop(t, map[string]string{"/": e.tag(`data-company="loja" data-linger="0" data-require-consent`)})
	d.open(s.URL + "/")
	d.ready()
	if kept := d.eval(kept); kept != "" || e.seen().requests != 0 {
		t.Errorf("before consent it keeps %s, and sent %d requests", kept, e.seen().requests)
	}
	d.eval(`() => tributary.consent("granted").then(() => "")`)
	e.wait(t, "the view", func(s seen) bool { return s.named(core.PageView) != nil })
	if view := e.seen().named(core.PageView); view.VisitorID == "" || view.Consent != "granted" {
		t.Errorf("the view %s", view.text)
	}
}

// kept is what a page stores of the SDK.
const kept = `() => Object.keys(localStorage).concat(Object.keys(sessionStorage)).filter((key) => key.startsWith("trb") && key != ` +
	`"trb_consent").join() + document.cookie`

func drivenDenial(t *testing.T, e *edge, d driven) {
	s := shop(t, map[string]string{"/": e.tag(`data-company="loja" data-linger="3600000"`), "/two": "another"})
	d.open(s.URL + "/")
	d.ready()
	d.eval(`() => tributary.identify({email: "ana@example.com"}).then(() => tributary.optOut()).then(() => ` +
		`tributary.track("NOTE")).then(() => "")`)
	e.wait(t, "the end of the server's cookie", func(s seen) bool { return s.forgotten == 1 })
	if kept := strings.ReplaceAll(d.eval(kept), "trb_n", ""); kept != "" { // trb_n counts pages
		t.Errorf("after the denial it keeps %s", kept)
	}
	d.open(s.URL + "/two") // leaving sends nothing
	d.open(s.URL + "/")    // the answer is remembered
	d.ready()
	d.eval(`() => tributary.flush().then(() => "")`)
	if e.seen().requests != 0 {
		t.Errorf("%d requests after the denial: %s", e.seen().requests, names(e.seen().events))
	}
}

func drivenWorker(t *testing.T, e *edge, d driven) {
	s := shop(t, map[string]string{"/": e.tag(`data-company="loja" data-linger="0" data-worker="true" data-page-views="false"`)})
	d.open(s.URL + "/")
	d.ready()
	await.Until(t, await.Long, func() bool {
		d.eval(`() => tributary.track("ADD_TO_CART", {items: [{id: "tee", quantity: 2}]}).then(() => tributary.flush()).then(() => "")`)
		for _, event := range e.seen().events {
			if event.Payload != `{"items":[{"item_id":"tee","item_quantity":2}]}` {
				t.Fatalf("payload %s", event.Payload)
			}
			if !event.raw {
				return true
			}
		}
		return false
	}, func() string { return "a canonical event of the worker" })
}

// The second file comes by import(), which must take the tag's nonce along.
func drivenNonce(t *testing.T, e *edge, d driven) {
	policy := fmt.Sprintf(`default-src 'none'; script-src 'nonce-abc'; connect-src %s; img-src data:`, e.URL)
	s := shop(t, map[string]string{"/": `<meta http-equiv="Content-Security-Policy" content="` + policy + `">` +
		e.tag(`nonce="abc" data-company="loja" data-linger="0"`)})
	d.open(s.URL + "/")
	d.ready()
	e.wait(t, "the view, sent by the second file", func(s seen) bool { return s.named(core.PageView) != nil })
}
