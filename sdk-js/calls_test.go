package sdkjs_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/go-rod/rod"

	"github.com/tributary-io/tributary/sdk/core"
)

// The public calls, in Chromium.
func TestCallsInChromium(t *testing.T) {
	t.Parallel()
	f := inChromium(t)
	f("an identity goes with the visit's events until reset", identify)
	f("what is no identity is left out", noIdentity)
	f("a denial ends the identity and the server's cookie", denialForgets)
	f("before_send changes and drops events", beforeSend)
	f("a before_send that answers nonsense stops no other event", oddHook)
	f("every option is an attribute", attributes)
	f("the page's init counts beside the tag's attributes", initBeside)
	f("init without a company starts nothing, and the console says so", initWithout)
	f("init after the start changes nothing, and the console says so", initLate)
	f("a page's own names do not stop it", clobbered)
	f("the script may have any name", anyName)
	f("a single-page shop: titles, anchors, unchanged paths", singlePage)
	f("a single-page shop that moves on before the second file is there", movedEarly)
	f("two tabs opened at once are one visitor", twoTabs)
	f("the console says what to mend, once", toldOnce)
	f("where no edge is the console says so", noEdge)
	f("an unknown company is not asked again in the tab", unknownCompany)
	f("a privacy signal is a denial where that is configured", privacySignal)
	f("a privacy signal counts beside an answer that is none", signalAndOdd)
	f("the old stub works with the new script", oldStub)
	f("the visitor's id can be asked for", visitorID)
	f("the overlay shows the events", overlay)
	f("another domain of the shop takes the visitor over", handOver)
	f("the worker starts from the second page of a visit on", workerAuto)
}

func identify(t *testing.T, e *edge, b *rod.Browser) {
	init := `tributary.init({companyId:"loja",linger:0,pageViews:false})`
	s := shop(t, map[string]string{
		"/": e.stubbed(`tributary.identify({email:"ana@example.com"});` + init +
			`;tributary.track("ONE");tributary.track("TWO", null, {cart_token:"c-1"})`),
		"/two": e.stubbed(init + `;tributary.track("THREE");tributary.reset();tributary.track("FOUR")`),
	})
	page := open(t, b, s.URL+"/")
	e.wait(t, "the first page's", func(s seen) bool { return len(s.events) == 2 })
	page.MustNavigate(s.URL + "/two")
	e.wait(t, "the second page's", func(s seen) bool { return len(s.events) == 4 })
	so := e.seen()
	f := func(name, email, cart string) {
		t.Helper()
		if who := so.named(name).Identity; who.Email != email || who.CartToken != cart {
			t.Errorf("%s: identity %+v", name, who)
		}
	}
	f("ONE", "ana@example.com", "")
	f("TWO", "ana@example.com", "c-1")
	f("THREE", "ana@example.com", "")
	f("FOUR", "", "")
	if so.named("ONE").VisitorID != so.named("THREE").VisitorID || so.named("THREE").VisitorID == so.named("FOUR").VisitorID {
		t.Errorf("visitors %s, %s, %s", so.named("ONE").VisitorID, so.named("THREE").VisitorID, so.named("FOUR").VisitorID)
	}
}

// Segment's identify(id, traits) is not spread into letters, before the second file is there and after.
func noIdentity(t *testing.T, e *edge, b *rod.Browser) {
	const wrong = `tributary.identify("c-42", {}); tributary.identify(["c-42"]); tributary.identify(42); tributary.identify(null); ` +
		`tributary.identify();`
	s := shop(t, map[string]string{"/": listen + e.stubbed(`var sent = [];
		tributary.init({companyId:"loja",linger:0,pageViews:false,before_send: (event) => (sent.push(JSON.stringify(event.identity)), event)});
		tributary.identify({email:"ana@example.com"});`+wrong+`tributary.track("ONE", null, "c-42")`)})
	page := open(t, b, s.URL+"/")
	ready(t, page)
	said := page.MustEval(`async () => { ` + wrong +
		` await tributary.track("TWO", null, ["c-42"]); return [...sent, sessionStorage.trb_u, ...errors].join() }`).Str()
	if want := strings.Repeat(`{"email":"ana@example.com"},`, 3) + "[tributary] identify() takes an object"; said != want {
		t.Errorf("got  %s\nwant %s", said, want)
	}
}

func denialForgets(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": e.stubbed(`tributary.init({companyId:"loja",` +
		`linger:0});tributary.identify({email:"ana@example.com"})`)})
	page := open(t, b, s.URL+"/")
	ready(t, page)
	e.wait(t, "a view", func(s seen) bool { return len(s.events) == 1 })
	page.MustEval(`() => tributary.reset()`)
	e.wait(t, "reset ends the server's cookie", func(s seen) bool { return s.forgotten == 1 })
	page.MustEval(`() => tributary.optOut()`)
	e.wait(t, "a denial ends the server's cookie", func(s seen) bool { return s.forgotten == 2 })
	left := page.MustEval(`() => document.cookie + Object.keys(localStorage) + Object.keys(sessionStorage).filter(k => k != "trb_n")`).Str()
	if left != "trb_consent" {
		t.Errorf("left are %q", left)
	}
	page.MustEval(`() => { tributary.track("NO"); tributary.optIn(); tributary.track("YES") }`)
	e.wait(t, "an event after opting in", func(s seen) bool { return s.named("YES") != nil })
	if yes := e.seen().named("YES"); yes.Identity.Email != "" || yes.Consent != core.ConsentGranted || e.seen().named("NO") != nil {
		t.Errorf("after a denial: %+v", yes.Event)
	}
}

func beforeSend(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": e.stubbed(`tributary.init({companyId:"loja",linger:0,before_send(event) {
		if (event.event == "SECRET") return null;
		if (event.event == "BROKEN") throw new Error("a bug");
		event.context.url = event.context.url.split("?")[0];
		if (event.payload) event.payload = {...event.payload, added: 1};
		return event;
	}});
	tributary.track("SECRET"); tributary.track("BROKEN"); tributary.track("NOTE", {n: 1})`)})
	open(t, b, s.URL+"/?token=1")
	e.wait(t, "two events", func(s seen) bool { return len(s.events) == 2 })
	so := e.seen()
	if url := so.named(core.PageView).Context.Page.URL; strings.Contains(url, "token") {
		t.Errorf("url %s", url)
	}
	if payload := so.named("NOTE").Payload; payload != `{"n":1,"added":1}` {
		t.Errorf("payload %s", payload)
	}
}

func attributes(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{
		"/": stub() + e.tag(`data-company="loja" data-page-views="false" data-linger="0" data-debug data-worker="false" `+
			`data-endpoint="`+e.URL+`/t/"`) + `<script>tributary.track("ONE")</script>`,
		"/asks": e.tag(`data-company="loja" data-require-consent data-linger="0"`),
	})
	page := open(t, b, s.URL+"/")
	e.wait(t, "the event", func(s seen) bool { return s.named("ONE") != nil })
	page.MustNavigate(s.URL + "/asks")
	ready(t, page)
	page.MustEval(`() => tributary.flush()`)
	if n := len(e.seen().events); n != 1 {
		t.Errorf("%d events, want 1: %s", n, names(e.seen().events))
	}
	page.MustEval(`() => tributary.consent("granted")`)
	e.wait(t, "the view, after consent", func(s seen) bool { return s.named(core.PageView) != nil })
}

func oddHook(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": listen +
		`<script>window.thrown = []; addEventListener("error", (e) => thrown.push(e.message)); addEventListener("unhandledrejection", (e) => ` +
		`thrown.push("" + e.reason))</script>` + e.stubbed(`
		const loop = {}; loop.loop = loop;
		const answers = [0, "", undefined, () => 1, Symbol(), loop, 1n, {event: "BIG", context: {n: 1n}}, {event: "LOOP", payload: loop},
			{toJSON() { throw new Error("no") }},
			{get event() { throw new Error("no") }}, {event: "BARE"}, {event: "TEXT", context: "text"}];
		let n = 0;
		tributary.init({companyId: "loja", pageViews: false, linger: 0, before_send(event) {
			if (event.event != "ODD") return event;
			if (n == answers.length) throw new Error("no");
			return answers[n++];
		}});
		for (let i = 0; i <= answers.length; i++) tributary.track("ODD");
		tributary.track("GOOD");
		addEventListener("load", () => setTimeout(() => { n = 0; for (let i = 0; i <= answers.length; i++) tributary.track("ODD");
			tributary.track("LATE") }))`)})
	page := open(t, b, s.URL+"/")
	ready(t, page)
	e.wait(t, "the events of a sane answer", func(s seen) bool {
		return s.named("GOOD") != nil && s.named("LATE") != nil && s.copies("BARE") == 2
	})
	if got := page.MustEval(`() => thrown.join("|")`).Str(); got != "" || e.seen().named("BIG") != nil || e.seen().named("LOOP") != nil ||
		e.seen().named("ODD") != nil {
		t.Errorf("the page sees %q, the edge %s", got, names(e.seen().events))
	}
}

// What only init can say, as before_send, is heard from a page whose tag has the company.
func initBeside(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": stub() + `<script>
		tributary.track("EARLY");
		tributary.init({linger: 0, before_send(event) { event.context.url = event.context.url.split("?")[0]; return event }});
	</script>` + e.tag(`data-company="loja" data-page-views="false" data-linger="3600000"`)})
	open(t, b, s.URL+"/?token=1")
	e.wait(t, "the event", func(s seen) bool { return len(s.events) == 1 })
	if early := e.seen().named("EARLY"); early == nil || strings.Contains(early.text, "token") {
		t.Errorf("events %s: %s", names(e.seen().events), e.seen().events[0].text)
	}
}

func initWithout(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": listen + e.stubbed(`tributary.init({companyID:"loja"});tributary.track("ONE")`)})
	page := open(t, b, s.URL+"/")
	until(t, page, `() => window.errors && errors.length > 0`)
	said := page.MustEval(`() => errors.join("|")`).Str()
	if !strings.Contains(said, "data-company") || strings.Contains(said, "|") || e.seen().requests != 0 || stored(page) != 0 {
		t.Errorf("the console says %q; %d requests, %d stored", said, e.seen().requests, stored(page))
	}
	page.MustEval(`() => tributary.init({companyId: "loja", linger: 0})`) // and it can be mended
	e.wait(t, "the event", func(s seen) bool { return s.named("ONE") != nil })
}

// Else a before_send that comes too late would seem to be heard. A page that says the same twice is told nothing.
func initLate(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": listen + e.tag(`data-company="loja" data-page-views="false" data-linger="0"`)})
	page := open(t, b, s.URL+"/")
	ready(t, page)
	page.MustEval(`() => tributary.init({companyId: "loja", linger: 0})`)
	if said := page.MustEval(`() => errors.join("|")`).Str(); said != "" {
		t.Errorf("of the same again the console says %q", said)
	}
	page.MustEval(`() => tributary.init({before_send: () => null})`)
	page.MustEval(`() => tributary.init()`)
	if said := page.MustEval(`() => errors.join("|")`).Str(); !strings.Contains(said, "came too late") || strings.Contains(said, "|") ||
		strings.Contains(said, "no company") {
		t.Errorf("the console says %q", said)
	}
	page.MustEval(`() => tributary.track("ONE")`)
	e.wait(t, "the event", func(s seen) bool { return s.named("ONE") != nil })
}

// A browser makes window.tributary of an element with that id or name; and a page may call something self.
func clobbered(t *testing.T, e *edge, b *rod.Browser) {
	for _, element := range []string{`<section id="tributary"></section>`, `<form name="tributary"></form>`,
		`<script>tributary = "text"</script>`, `<script>tributary = {}</script>`, `<script>const self = {}</script>`} {
		s := shop(t, map[string]string{"/": "<body>" + element + e.tag(`data-company="loja" data-page-views="false" data-linger="0"`)})
		page := open(t, b, s.URL+"/")
		until(t, page, `() => window.tributary && tributary.loaded === true`)
		before := len(e.seen().events)
		page.MustEval(`() => tributary.track("ONE")`)
		e.wait(t, "the event beside "+element, func(s seen) bool { return len(s.events) > before })
	}
}

// A shop serves the first file under a name of its own, and says where the edge is.
func anyName(t *testing.T, e *edge, b *rod.Browser) {
	to, err := url.Parse(e.URL)
	if err != nil {
		t.Fatal(err)
	}
	page := shop(t, map[string]string{"/": `<script async src="/c/loja.js" data-company="loja" data-linger="0" data-endpoint="` + e.URL +
		`/t"></script>`}).Config.Handler
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.URL.Path = "/t/sdk/v1/tributary.js"
	}}
	mux := http.NewServeMux()
	mux.Handle("/", page)
	mux.Handle("/c/loja.js", proxy)
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	ready(t, open(t, b, s.URL+"/")) // the second file has come from the edge
	e.wait(t, "the view", func(s seen) bool { return s.named(core.PageView) != nil })
}

func toldOnce(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{
		"/none": listen + e.tag(""),
		"/": listen + e.stubbed(`tributary.init({companyId:"loja",linger:0,pageViews:false});tributary.track("lower `+
			`case");tributary.track("lower case")`),
	})
	page := open(t, b, s.URL+"/none")
	until(t, page, `() => window.errors && errors.length > 0`)
	if said := page.MustEval(`() => errors.join("|")`).Str(); !strings.Contains(said, "data-company") || strings.Contains(said, "|") {
		t.Errorf("without a company the console says %q", said)
	}
	page.MustNavigate(s.URL + "/")
	until(t, page, `() => window.errors && errors.length > 0`)
	page.MustEval(`() => tributary.flush()`)
	until(t, page, noneStored)
	said := page.MustEval(`() => errors.join("|")`).Str()
	if !strings.Contains(said, "rejected lower case") || !strings.Contains(said, "[A-Z][A-Z0-9_]") || strings.Contains(said, "|") {
		t.Errorf("of an invalid event the console says %q", said)
	}
}

// The package, with the shop's own address as the edge's.
func noEdge(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": listen + `<script type="module">
		import { init, flush } from "` + e.URL + `/t/sdk/v1/tributary.mjs";
		init({ companyId: "loja", endpoint: location.origin, linger: 0 });
		await flush();
		await flush();
	</script>`})
	page := open(t, b, s.URL+"/")
	until(t, page, `() => errors.length > 0`)
	if said := page.MustEval(`() => errors.join("|")`).Str(); !strings.Contains(said, "404 is no answer of the edge") ||
		!strings.Contains(said, "endpoint of init()") || strings.Contains(said, "|") {
		t.Errorf("the console says %q", said)
	}
}

func unknownCompany(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": e.stubbed(`tributary.init({companyId:"loja",linger:0,pageViews:false});tributary.track("ONE")`)})
	e.answer(401)
	page := open(t, b, s.URL+"/")
	ready(t, page)
	e.wait(t, "the refusal", func(s seen) bool { return len(s.refused) == 1 })
	until(t, page, noneStored)
	page.MustEval(`() => { tributary.track("TWO"); return tributary.flush() }`)
	until(t, page, noneStored)
	page.MustNavigate(s.URL + "/") // leaving sends nothing either
	ready(t, page)
	until(t, page, noneStored)
	if n := e.seen().requests; n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

func privacySignal(t *testing.T, e *edge, b *rod.Browser) {
	const signal = `<script>Object.defineProperty(navigator, "globalPrivacyControl", {value: true})</script>`
	s := shop(t, map[string]string{
		"/":      signal + e.tag(`data-company="loja" data-honor-g-p-c data-linger="0"`),
		"/plain": signal + e.tag(`data-company="loja" data-linger="0"`),
	})
	page := open(t, b, s.URL+"/")
	ready(t, page)
	page.MustEval(`() => tributary.flush()`)
	if cookie := page.MustEval(`() => document.cookie`).Str(); e.seen().requests != 0 || cookie != "" {
		t.Errorf("%d requests, cookie %q", e.seen().requests, cookie)
	}
	page.MustNavigate(s.URL + "/plain")
	e.wait(t, "a view where it is not configured", func(s seen) bool { return len(s.events) == 1 })
}

func signalAndOdd(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": `<script>Object.defineProperty(navigator, "globalPrivacyControl", {value: true})</script>` + listen +
		stub() +
		`<script>tributary.consent("yes")</script>` + e.tag(`data-company="loja" data-honor-g-p-c data-linger="0"`)})
	page := open(t, b, s.URL+"/")
	ready(t, page)
	page.MustEval(`() => { tributary.track("ONE"); return tributary.flush() }`)
	got := page.MustEval(`() => document.cookie + Object.keys(localStorage).filter((key) => key.startsWith("trb")).join()`).Str()
	if said := page.MustEval(`() => errors.length`).Int(); e.seen().requests != 0 || got != "" || said != 1 {
		t.Errorf("%d requests, %q is kept, %d lines in the console", e.seen().requests, got, said)
	}
}

// oldStub is the stub that the READMEs showed before this script.
const oldStubText = `<script>
  window.tributary = window.tributary || [];
  ["init", "track", "consent", "reset", "flush"].forEach(function (call) {
    tributary[call] = tributary[call] || function () {
      tributary.length > 999 || tributary.push([call, Date.now(), arguments]);
      return Promise.resolve(false);
    };
  });
</script>`

func oldStub(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": oldStubText + `<script>
		tributary.track("EARLY"); tributary.consent("denied"); tributary.consent("granted");
		// An event that an older version has stored.
		const id = "01a20000-0000-7000-8000-000000000001";
		localStorage["trb:loja:0123456789ab:" +
			id] = JSON.stringify(["r1", id, new Date().toISOString(), "STORED", null, null, {url: location.href}]);
	</script>` + e.tag(`data-company="loja" data-linger="0"`)})
	page := open(t, b, s.URL+"/")
	e.wait(t, "view, early and stored event", func(s seen) bool {
		return s.named(core.PageView) != nil && s.named("EARLY") != nil
	})
	ready(t, page)
	page.MustEval(`() => tributary.identify({email: "a@example.com"})`)
}

func visitorID(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": e.tag(`data-company="loja" data-linger="0"`),
		"/asks": e.tag(`data-company="loja" data-require-consent`)})
	page := open(t, b, s.URL+"/")
	ready(t, page)
	e.wait(t, "a view", func(s seen) bool { return len(s.events) == 1 })
	if id := page.MustEval(`() => tributary.getVisitorId()`).Str(); id == "" || id != e.seen().events[0].VisitorID {
		t.Errorf("visitor %q, the event's %q", id, e.seen().events[0].VisitorID)
	}
	page.MustEval(`() => { localStorage.clear(); document.cookie = "trb_id=; max-age=0; path=/" }`)
	page.MustNavigate(s.URL + "/asks")
	ready(t, page)
	if id := page.MustEval(`() => tributary.getVisitorId()`); !id.Nil() {
		t.Errorf("before consent the visitor is %v", id)
	}
}
