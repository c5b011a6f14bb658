package sdkjs_test

import (
	"strings"
	"testing"

	"github.com/go-rod/rod"
	"github.com/go-rod/rod/lib/proto"
)

// Where the SDK holds back, and what a tab that hangs may not cost, in Chromium.
func TestLimitsInChromium(t *testing.T) {
	t.Parallel()
	f := inChromium(t)
	f("the worker is not fetched where data or memory are scarce", workerRules)
	f("what is taken is stored in the same task, also of a new visitor", storedAtOnce)
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
		ready(page)
		if path == "/wifi" || path == "/unknown" {
			page.MustWait(`() => workers === 1`)
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
		return `<script>
			function go() {
				tributary.track("` + name + `");
				Promise.resolve().then(() => { window.there = Object.keys(localStorage).filter((key) => key.startsWith("trb:") && localStorage[key].includes("` + name + `")).length });
			}
		</script>` + e.tag(`data-company="loja" data-page-views="false" data-linger="3600000" onload="go()"`)
	}
	s := shop(t, map[string]string{
		"/hangs": `<script>navigator.locks.request("trb", () => new Promise(() => { window.held = true }))</script>`,
		"/new":   track("NEW"),
		"/known": `<script>document.cookie = "trb_id=0199f3a0-0000-7000-8000-00000000000a"</script>` + track("KNOWN"),
		"/quiet": e.tag(`data-company="loja" data-linger="0" data-page-views="false"`),
		"/next":  e.tag(`data-company="loja" data-linger="0"`),
	})
	open(t, b, s.URL+"/hangs").MustWait(`() => !!window.held`)
	crash := func(name string) {
		t.Helper()
		page := open(t, b, s.URL+"/"+strings.ToLower(name))
		page.MustWait(`() => window.there !== undefined`)
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
	quiet.MustWait(`() => window.tributary && tributary.loaded && performance.now() > 3500`)
	quiet.MustEval(`() => tributary.flush()`)
	if n := len(e.seen().events); n != 0 {
		t.Errorf("%d events are sent without a visitor", n)
	}
	quiet.MustClose()
	crash("KNOWN")
	next := open(t, b, s.URL+"/next")
	e.wait(t, "the events of the crashed tabs", func(s seen) bool { return s.named("NEW") != nil && s.named("KNOWN") != nil })
	next.MustWait(noneStored)
	visitor := next.MustEval(`() => tributary.getVisitorId()`).Str()
	for _, name := range []string{"NEW", "KNOWN"} {
		if got := e.seen().named(name); got.VisitorID != visitor || visitor == "" {
			t.Errorf("%s is of the visitor %q, want %q", name, got.VisitorID, visitor)
		}
	}
}
