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
	f("a tab that hangs with the lock costs no event in a crash", lockHeld)
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

// A lock is granted to a tab, and one that hangs never gives it back.
func lockHeld(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{
		"/hangs": `<script>navigator.locks.request("trb", () => new Promise(() => { window.held = true }))</script>`,
		"/":      e.stubbed(`tributary.init({companyId:"loja",linger:3600000,pageViews:false});tributary.track("WAITS")`),
		"/next":  e.stubbed(`tributary.init({companyId:"loja",linger:0,pageViews:false})`),
	})
	open(t, b, s.URL+"/hangs").MustWait(`() => window.held`)
	page := open(t, b, s.URL+"/")
	page.MustWait(`() => Object.keys(localStorage).some((key) => key.startsWith("trb:"))`)
	page.MustEval(`() => new Promise((done) => setTimeout(done, 10))`) // localStorage leaves the renderer
	page.EnableDomain(&proto.PageEnable{})
	crashed := make(chan struct{})
	wait := page.EachEvent(func(*proto.InspectorTargetCrashed) bool { return true })
	page.EnableDomain(&proto.InspectorEnable{})
	go func() { defer close(crashed); wait() }()
	go func() { _ = proto.PageCrash{}.Call(page) }() // it has no answer
	<-crashed
	open(t, b, s.URL+"/next")
	e.wait(t, "the event of the crashed tab", func(s seen) bool { return s.named("WAITS") != nil })
}
