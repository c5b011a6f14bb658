package sdkjs_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/go-rod/rod"
	"github.com/go-rod/rod/lib/proto"

	"github.com/tributary-io/tributary/sdk/core"
)

// Where the SDK holds back, and what a tab that hangs may not cost, in Chromium.
func TestLimitsInChromium(t *testing.T) {
	t.Parallel()
	f := inChromium(t)
	f("the worker is not fetched where data or memory are scarce", workerRules)
	f("what is taken is stored in the same task, also of a new visitor", storedAtOnce)
	f("what is stored before there is a visitor has its bound too", boundedAtOnce)
	f("what is stored before there is a visitor says of consent and frame what is known", wholeAtOnce)
	f("a before_send that returns nonsense harms its own event alone", nonsense)
}

// Each case is a page that the browser says something else about. The visit has had pages
// before.
func workerRules(t *testing.T, e *edge, b *rod.Browser) {
	cases := map[string]string{
		"/save-data": `override(navigator, "connection", {saveData: true})`,
		"/slow-2g":   `override(navigator, "connection", {effectiveType: "slow-2g"})`,
		"/2g":        `override(navigator, "connection", {effectiveType: "2g"})`,
		"/3g":        `override(navigator, "connection", {effectiveType: "3g", type: "wifi"})`,
		"/cellular":  `override(navigator, "connection", {effectiveType: "4g", type: "cellular"})`,
		"/reduced":   `override(window, "matchMedia", (query) => ({matches: query == "(prefers-reduced-data: reduce)"}))`,
		"/memory":    `override(navigator, "connection", undefined); override(navigator, "deviceMemory", 2)`,
		"/wifi":      `override(navigator, "connection", {effectiveType: "4g", type: "wifi"}); override(navigator, "deviceMemory", 4)`,
		"/unknown":   `override(navigator, "connection", undefined); override(navigator, "deviceMemory", undefined)`,
	}
	pages := map[string]string{}
	for path, script := range cases {
		pages[path] = `<script>
			sessionStorage.trb_n = 5;
			window.workers = 0;
			window.Worker = class extends Worker { constructor(...args) { super(...args); workers++ } };
			const override = (of, name, value) => Object.defineProperty(of, name, {value, configurable: true});
			` + script + `</script>` + e.tag(`data-company="loja" data-linger="0"`)
	}
	s := shop(t, pages)
	for path := range cases {
		page := open(t, b, s.URL+path)
		ready(t, page)
		if path == "/wifi" || path == "/unknown" {
			until(t, page, `() => workers === 1`)
			continue
		}
		// The worker would start in the first idle time after the load.
		page.MustWaitLoad()
		if n := page.MustEval(`() => new Promise((done) => requestIdleCallback(() => requestIdleCallback(() => done(workers))))`).Int(); n != 0 {
			t.Errorf("%s gets the worker", strings.TrimPrefix(path, "/"))
		}
	}
}

// The browser gives a page that is left for another site half a second for its pagehide; then the page has gone.
// Where the machine is busy, or a task of the shop is long, there is no last turn: only what is
// stored by then is left. A new visitor waits for other tabs before it gets its id: here for one that hangs
// with the lock and never gives it back.
func storedAtOnce(t *testing.T, e *edge, b *rod.Browser) {
	// Microtasks run before anything else does; the first is the SDK's own.
	track := func(name string) string {
		// A busy machine may take longer than the SDK waits for the lock: it never stops waiting here.
		return `<script>
			const later = setTimeout;
			window.setTimeout = (f, ms, ...more) => (ms >= 1000 ? 0 : later(f, ms, ...more));
			function go() {
				tributary.track("` + name + `");
				Promise.resolve().then(() => { window.there = Object.keys(localStorage)
					.filter((key) => key.startsWith("trb:") && localStorage[key].includes("` + name + `")).length });
			}
		</script>` + e.tag(`data-company="loja" data-page-views="false" data-linger="3600000" onload="go()"`)
	}
	s := shop(t, map[string]string{
		"/hangs": hangs,
		"/new":   track("NEW"),
		"/known": `<script>document.cookie = "trb_id=0199f3a0-0000-7000-8000-00000000000a"</script>` + track("KNOWN"),
		"/quiet": e.tag(`data-company="loja" data-linger="0" data-page-views="false"`),
		"/next":  e.tag(`data-company="loja" data-linger="0"`),
	})
	until(t, open(t, b, s.URL+"/hangs"), `() => !!window.held`)
	crash := func(name string) {
		t.Helper()
		page := open(t, b, s.URL+"/"+strings.ToLower(name))
		until(t, page, `() => window.there !== undefined`)
		if n := page.MustEval(`() => window.there`).Int(); n != 1 {
			t.Errorf("%s is stored %d times at the end of its task", name, n)
		}
		page.MustEval(`() => new Promise((done) => setTimeout(done, 10))`) // localStorage leaves the renderer
		page.EnableDomain(&proto.PageEnable{})
		crashed := make(chan struct{})
		wait := page.EachEvent(func(*proto.InspectorTargetCrashed) bool { return true })
		page.EnableDomain(&proto.InspectorEnable{})
		go func() { defer close(crashed); wait() }()
		go func() { _ = proto.PageCrash{}.Call(page) }() // it has no answer
		<-crashed
	}
	crash("NEW")
	// A page that takes no event has no visitor: what waits for one is left to the next.
	quiet := open(t, b, s.URL+"/quiet")
	until(t, quiet, `() => window.tributary && tributary.loaded && performance.now() > 3500`)
	quiet.MustEval(`() => tributary.flush()`)
	if n := len(e.seen().events); n != 0 {
		t.Errorf("%d events are sent without a visitor", n)
	}
	quiet.MustClose()
	crash("KNOWN")
	next := open(t, b, s.URL+"/next")
	e.wait(t, "the events of the crashed tabs", func(s seen) bool { return s.named("NEW") != nil && s.named("KNOWN") != nil })
	until(t, next, noneStored)
	visitor := next.MustEval(`() => tributary.getVisitorId()`).Str()
	for _, name := range []string{"NEW", "KNOWN"} {
		if got := e.seen().named(name); got.VisitorID != visitor || visitor == "" {
			t.Errorf("%s is of the visitor %q, want %q", name, got.VisitorID, visitor)
		}
	}
}

// hangs is a page that holds the lock of new visitors and never gives it back.
const hangs = `<script>navigator.locks.request("trb", () => new Promise(() => { window.held = true }))</script>`

// More events than may be stored, all before the page has a visitor. What is not stored is sent from memory.
func boundedAtOnce(t *testing.T, e *edge, b *rod.Browser) {
	const most = 1 << 18 // UTF-16 units
	s := shop(t, map[string]string{"/hangs": hangs, "/": `<script>
		function units() {
			return Object.keys(localStorage).filter((key) => key.startsWith("trb:")).reduce((sum, key) => sum + localStorage[key].length, 0);
		}
		function go() {
			for (let i = 0; i < 400; i++) tributary.track("NOTE", {text: "x".repeat(1000)});
			Promise.resolve().then(() => { window.there = units(); window.cookie = document.cookie });
		}
	</script>` + e.tag(`data-company="loja" data-page-views="false" data-linger="0" onload="go()"`)})
	until(t, open(t, b, s.URL+"/hangs"), `() => !!window.held`)
	e.answer(http.StatusServiceUnavailable)
	page := open(t, b, s.URL+"/")
	until(t, page, `() => window.there !== undefined`)
	if cookie := page.MustEval(`() => window.cookie`).Str(); cookie != "" {
		t.Fatalf("there is a visitor already: %s", cookie)
	}
	if n := page.MustEval(`() => window.there`).Int(); n > most || n < most/2 {
		t.Errorf("%d units are stored at the end of the task, at most %d", n, most)
	}
	until(t, page, `() => !!document.cookie`)
	if n := page.MustEval(`() => units()`).Int(); n > most {
		t.Errorf("%d units are stored once there is a visitor, at most %d", n, most)
	}
	e.answer(http.StatusOK)
	page.MustEval(`async () => { while (!(await tributary.flush())); }`)
	if n := e.seen().copies("NOTE"); n != 400 {
		t.Errorf("%d of 400 events arrive", n)
	}
}

// A page in another site's frame that ends before it has a visitor: another page sends its event.
func wholeAtOnce(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{
		"/hangs": hangs,
		"/early": `<script>
			localStorage.trb_consent = "granted";
			function go() {
				tributary.track("EARLY");
				Promise.resolve().then(() => { window.there = Object.entries(localStorage).find(([key]) => key.startsWith("trb:")) });
				navigator.sendBeacon = () => false;
				window.fetch = () => Promise.reject(new TypeError("away"));
			}
		</script>` + e.tag(`data-company="loja" data-page-views="false" onload="go()"`),
		"/blank": "",
		"/next":  e.tag(`data-company="loja" data-page-views="false"`),
	})
	// In the same part of the browser's storage: each in a frame of the same other site.
	framed := func(path string) *rod.Page {
		around := shop(t, map[string]string{"/": `<iframe src="` + s.URL + path + `"></iframe>`})
		return open(t, b, strings.Replace(around.URL, "127.0.0.1", "localhost", 1)).MustWaitLoad().MustElement("iframe").MustFrame()
	}
	until(t, framed("/hangs"), `() => !!window.held`)
	early := framed("/early")
	until(t, early, `() => !!window.there`)
	key, text := early.MustEval(`() => window.there[0]`).Str(), early.MustEval(`() => window.there[1]`).Str()
	if strings.Contains(text, "visitorId") {
		t.Fatalf("there is a visitor already: %s", text)
	}
	page := open(t, b, s.URL+"/blank")
	page.MustEval(`(key, text) => { localStorage[key] = text; localStorage.trb_id = "0199f3a0-0000-7000-8000-00000000000a" }`, key, text)
	page.MustNavigate(s.URL + "/next")
	e.wait(t, "the event", func(s seen) bool { return s.named("EARLY") != nil })
	if got := e.seen().named("EARLY"); !got.Frame || got.Consent != core.ConsentGranted ||
		got.VisitorID != "0199f3a0-0000-7000-8000-00000000000a" {
		t.Errorf("frame %t, consent %q, visitor %q: %s", got.Frame, got.Consent, got.VisitorID, got.text)
	}
}

// What cannot become JSON is refused at the call, and the console says so; an event without a context is
// one of the visitor all the same.
func nonsense(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": e.stubbed(`
		window.told = 0;
		console.error = () => { told++ };
		addEventListener("error", (event) => { window.broken = event.message });
		addEventListener("unhandledrejection", (event) => { window.broken = String(event.reason) });
		tributary.init({companyId:"loja",linger:0,pageViews:false,worker:false,before_send(event) {
			if (event.event == "CIRCLE") event.context.self = event;
			return event.event == "BARE" ? {event: "BARE"} : event;
		}});
		for (const name of ["ONE", "CIRCLE", "BARE", "TWO"]) tributary.track(name);`)})
	page := open(t, b, s.URL+"/")
	e.wait(t, "the others", func(s seen) bool { return s.named("ONE") != nil && s.named("BARE") != nil && s.named("TWO") != nil })
	ready(t, page)
	if broken := page.MustEval(`() => window.broken || ""`).Str(); broken != "" {
		t.Errorf("an error reaches the shop: %s", broken)
	}
	if n := page.MustEval(`() => told`).Int(); n != 1 || len(e.seen().events) != 3 {
		t.Errorf("the console has %d lines, want one; events %s", n, names(e.seen().events))
	}
	if one, bare := e.seen().named("ONE"), e.seen().named("BARE"); bare.VisitorID == "" || bare.VisitorID != one.VisitorID {
		t.Errorf("BARE is of the visitor %q, ONE of %q", bare.VisitorID, one.VisitorID)
	}
}
