package sdkjs_test

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/go-rod/rod"
	"github.com/go-rod/rod/lib/devices"
	"github.com/go-rod/rod/lib/proto"

	"github.com/tributary-io/tributary/sdk/core"
)

// What may go wrong around a page, in Chromium.
func TestFaultsInChromium(t *testing.T) {
	t.Parallel()
	f := inChromium(t)
	f("without the second file page views arrive and nothing is lost", secondFileBlocked)
	f("offline, then online", offline)
	f("errors, too many requests and half an answer", badAnswers)
	f("without beacons a request outlives the page", noBeacons)
	f("a full storage loses nothing that can be sent", quotaFull)
	f("what is given up is told, once", givenUp)
	f("a page of the back-forward cache is another view", backForward)
	f("a policy that names the script alone, with a nonce", nonce)
	f("on a phone", phone)
	f("on a slow machine the SDK makes no long task", slowMachine)
	f("what a closed tab left goes three seconds after the next page starts", leftovers)
}

// ready waits until the second file has connected itself.
func ready(t *testing.T, page *rod.Page) {
	until(t, page, `() => !!window.tributary && tributary.loaded && !tributary._`)
}

func block(t *testing.T, page *rod.Page, patterns ...string) {
	t.Helper()
	if err := (proto.NetworkEnable{}).Call(page); err != nil {
		t.Fatal(err)
	}
	if err := (proto.NetworkSetBlockedURLs{Urls: append([]string{}, patterns...)}).Call(page); err != nil {
		t.Fatal(err)
	}
}

func secondFileBlocked(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": e.tag(`data-company="loja"`), "/two": e.tag(`data-company="loja"`)})
	page := b.MustPage("").Timeout(life)
	block(t, page, "*/tributary-more*")
	page.MustNavigate(s.URL + "/")
	until(t, page, `() => !!window.tributary`)
	page.MustEval(`() => { tributary.track("NOTE"); tributary.identify({email: "ana@example.com"}); tributary.track("KNOWN") }`)
	page.MustNavigate(s.URL + "/two")
	until(t, page, `() => !!window.tributary`)
	e.wait(t, "the first page's events", func(s seen) bool { return len(s.events) == 3 })
	if who := e.seen().named("KNOWN").Identity.Email; who != "ana@example.com" {
		t.Errorf("identity %q", who)
	}
	// The edge is away when the second page is left: its event waits in storage for a page
	// that gets the second file.
	e.answer(http.StatusServiceUnavailable)
	page.MustEval(`() => tributary.track("DURING")`)
	page.MustNavigate("about:blank")
	e.wait(t, "the beacon", func(s seen) bool { return len(s.refused) >= 2 })
	e.answer(http.StatusOK)
	block(t, page)
	page.MustNavigate(s.URL + "/")
	e.wait(t, "the event of the outage", func(s seen) bool { return s.named("DURING") != nil && s.copies(core.PageView) >= 2 })
	until(t, page, noneStored)
}

const noneStored = `() => !Object.keys(localStorage).some(k => k.startsWith("trb:"))`

func offline(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": e.stubbed(`tributary.init({companyId:"loja",linger:0,pageViews:false})`)})
	page := open(t, b, s.URL+"/")
	ready(t, page)
	network := func(offline bool) {
		if err := (proto.NetworkEmulateNetworkConditions{Offline: offline, DownloadThroughput: -1, UploadThroughput: -1}).Call(page); err != nil {
			t.Fatal(err)
		}
	}
	if err := (proto.NetworkEnable{}).Call(page); err != nil {
		t.Fatal(err)
	}
	network(true)
	page.MustEval(`async () => { for (let i = 0; i < 5; i++) tributary.track("NOTE_" + i); await tributary.flush() }`)
	if n := len(e.seen().events); n != 0 {
		t.Errorf("%d events while offline", n)
	}
	network(false)
	e.wait(t, "five events", func(s seen) bool { return len(s.events) == 5 })
	until(t, page, noneStored)
	if e.seen().again != 0 {
		t.Errorf("%d copies", e.seen().again)
	}
}

func badAnswers(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": e.stubbed(`
		const real = fetch;
		window.answers = [
			() => new Response("oops", {status: 500}),
			() => new Response("{}", {status: 429, headers: {"Retry-After": "0"}}),
			async (url, options) => { // the first of three events only
				const { events } = JSON.parse(options.body);
				await real(url, {...options, body: JSON.stringify({...JSON.parse(options.body), events: events.slice(0, 1)})});
				return new Response(JSON.stringify({results: [{eventId: events[0].eventId || events[0][1], status: "ok"}]}));
			},
			() => new Promise((_, fail) => setTimeout(() => fail(new TypeError("late")), 200)),
		];
		window.fetch = (url, options) => /events$/.test(url) && answers.length ?
			Promise.resolve(answers.shift()(url, options)) : real(url, options);
		tributary.init({companyId:"loja",linger:20,pageViews:false,worker:false});
		for (const name of ["ONE", "TWO", "THREE"]) tributary.track(name)`)})
	page := open(t, b, s.URL+"/")
	e.wait(t, "three events", func(s seen) bool { return len(s.events) == 3 })
	until(t, page, noneStored)
	if left := page.MustEval(`() => answers.length`).Int(); left != 0 || e.seen().again != 0 {
		t.Errorf("%d bad answers not seen, %d copies", left, e.seen().again)
	}
}

func noBeacons(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": `<script>delete Navigator.prototype.sendBeacon</script>` +
		e.stubbed(`tributary.init({companyId:"loja",linger:3600000,pageViews:false})`), "/away": "away"})
	page := open(t, b, s.URL+"/")
	ready(t, page)
	page.MustEval(`() => { for (const name of ["ONE", "TWO", "THREE"]) tributary.track(name); location.href = "/away" }`)
	e.wait(t, "three events", func(s seen) bool { return len(s.events) == 3 })
}

func quotaFull(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": `<script>
		try { for (let i = 0, s = "x".repeat(1 << 20); ; i++) localStorage["own" + i] = s } catch {}
		try { for (let i = 0; ; i++) localStorage["tiny" + i] = "xxxxxxxx" } catch {}
		</script>` + e.stubbed(`tributary.init({companyId:"loja",linger:0});tributary.track("NOTE")`)})
	page := b.MustPage("").Timeout(life)
	failOnErrors(t, page, false)
	page.MustNavigate(s.URL + "/")
	e.wait(t, "both events", func(s seen) bool { return len(s.events) == 2 })
	if n := page.MustEval(`() => Object.keys(localStorage).filter(k => k.startsWith("own")).length`).Int(); n < 4 {
		t.Errorf("%d of the shop's own keys are left", n)
	}
}

// givenUp: more events than may wait, in an outage; and a batch that the edge refuses, of
// which the next page tells.
func givenUp(t *testing.T, e *edge, b *rod.Browser) {
	e.answer(http.StatusServiceUnavailable)
	s := shop(t, map[string]string{"/": e.stubbed(`tributary.init({companyId:"loja",linger:1e8,pageViews:false,worker:false,` +
		`before_send:(e) => e.event != "HIDDEN" && e})`),
		"/refused": e.stubbed(`tributary.init({companyId:"loja",linger:20,pageViews:false,worker:false});
		const real = fetch;
		window.fetch = (url, options) => /events$/.test(url) ?
			Promise.resolve(new Response('{"error":{"code":"invalid_json"}}', {status: 400})) : real(url, options);
		tributary.track("BAD"); tributary.track("WORSE")`),
		"/after": e.stubbed(`tributary.init({companyId:"loja",linger:3600000,pageViews:false,worker:false});tributary.track("AFTER")`)})
	page := open(t, b, s.URL+"/")
	ready(t, page)
	page.MustEval(`() => { tributary.track("HIDDEN"); for (let i = 0; i < 1007; i++) tributary.track("NOTE"); return tributary.flush() }`)
	e.answer(http.StatusOK)
	page.MustEval(`async () => { for (let i = 0; i < 30 && !(await tributary.flush()); i++); }`)
	if n := len(e.seen().events); n != 1000 {
		t.Errorf("%d events", n)
	}
	told := e.seen().dropped
	if len(told) != 1 || told[0] != (core.Dropped{5: 1}) {
		t.Errorf("told %v, want the hidden one", told)
	}
	var top int64
	for _, g := range e.seen().events {
		top = max(top, g.Seq)
	}
	if top != 1001 { // what a hook drops uses a number
		t.Errorf("the highest number is %d", top)
	}
	page.MustEval(`() => tributary.track("LAST")`)
	page.MustEval(`() => tributary.flush()`)
	e.wait(t, "the last event", func(s seen) bool { return s.copies("LAST") == 1 })
	if told := e.seen().dropped; len(told) != 2 || told[1] != (core.Dropped{7}) {
		t.Errorf("told %v, want 7 once", told)
	}
	if g := e.seen().named("LAST"); g.Seq != 1009 { // and what is given up uses one
		t.Errorf("the last event has the number %d", g.Seq)
	}
	page.MustNavigate(s.URL + "/refused")
	until(t, page, `() => !!localStorage["trb_lost:loja"]`)
	page.MustNavigate(s.URL + "/after")
	ready(t, page)
	until(t, page, `() => !localStorage["trb_lost:loja"]`) // the page has taken it over
	page.MustEval(`() => tributary.flush()`)
	e.wait(t, "what the page before gave up", func(s seen) bool { return len(s.dropped) == 3 })
	if told := e.seen().dropped[2]; told != (core.Dropped{0, 2}) {
		t.Errorf("told %v", told)
	}
}

func backForward(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": e.tag(`data-company="loja" data-linger="0"`), "/two": "another"})
	page := open(t, b, s.URL+"/")
	ready(t, page)
	e.wait(t, "the first view", func(s seen) bool { return s.copies(core.PageView) == 1 })
	// A browser on a busy machine may load the page again instead. The SDK does not keep it out of the cache: so once it is there.
	for range 10 {
		ready(t, page)
		until(t, page, noneStored)
		before := e.seen().copies(core.PageView)
		page.MustEval(`() => { window.here = true; addEventListener("pageshow", (e) => { window.cached = e.persisted }) }`)
		page.MustNavigate(s.URL + "/two")
		page.MustNavigateBack()
		until(t, page, `() => location.pathname == "/" && (window.cached || !window.here)`)
		e.wait(t, "another view", func(s seen) bool { return s.copies(core.PageView) == before+1 })
		if page.MustEval(`() => !!window.cached`).Bool() {
			return
		}
	}
	t.Error("the page never comes from the cache")
}

// A strict policy: no inline code but by a nonce, and no other origin.
func nonce(t *testing.T, e *edge, b *rod.Browser) {
	policy := fmt.Sprintf(`default-src 'none'; script-src 'nonce-abc'; connect-src %s; img-src data:`, e.URL)
	s := shop(t, map[string]string{"/": `<meta http-equiv="Content-Security-Policy" content="` + policy + `">` +
		strings.ReplaceAll(stub(), "<script>", `<script nonce="abc">`) + e.tag(`nonce="abc" data-company="loja" data-linger="0"`)})
	page := b.MustPage("").Timeout(life)
	failOnErrors(t, page, true)
	page.MustNavigate(s.URL + "/")
	e.wait(t, "the view, sent by the second file", func(s seen) bool { return s.named(core.PageView) != nil })
	ready(t, page)
}

func phone(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": e.tag(`data-company="loja"`), "/two": "another"})
	page := b.MustPage("").Timeout(life).MustEmulate(devices.Pixel2)
	page.MustNavigate(s.URL + "/")
	until(t, page, `() => !!window.tributary`)
	page.MustEval(`() => { tributary.track("NOTE"); location.href = "/two" }`)
	e.wait(t, "both events", func(s seen) bool { return len(s.events) == 2 })
	if size := e.seen().named("NOTE").Context.Screen; !strings.HasPrefix(size, "411x") && !strings.HasPrefix(size, "412x") {
		t.Errorf("screen %s", size)
	}
}

// throttle is how much slower than this machine the phone is for which the SDK is measured.
const throttle = 4

// Each run of the SDK's code, in CPU time of the page's main thread, must be no long task (50 ms) on a machine of a quarter of the
// speed.
func slowMachine(t *testing.T, e *edge, b *rod.Browser) {
	// What other programs on this machine cost a run (caches, changes of the core) is not the same twice: a long task of the SDK is
	// long at each load.
	least := math.Inf(1)
	for load := 1; load <= 3 && least*throttle > 50; load++ {
		runs, longest := costOfALoad(t, e, b, 21*load)
		t.Logf("%d runs of the SDK's code, the longest takes %.1f ms of CPU", runs, longest)
		if runs == 0 {
			t.Fatal("none of the SDK's code was seen")
		}
		least = min(least, longest)
	}
	if least*throttle > 50 {
		t.Errorf("the longest run takes %.1f ms, %d times slower %.1f ms", least, throttle, least*throttle)
	}
}

// costOfALoad loads a page that tracks twenty events, until the edge has those and all before, and tells how often the SDK's code ran,
// and what the longest of its runs took of the CPU, in milliseconds.
func costOfALoad(t *testing.T, e *edge, b *rod.Browser, events int) (runs int, longest float64) {
	t.Helper()
	s := shop(t, map[string]string{"/": e.stubbed(`tributary.init({companyId:"loja",linger:0,worker:true})`)})
	page := b.MustPage("").Timeout(life)
	done := make(chan struct{})
	wait := page.EachEvent(func(collected *proto.TracingDataCollected) {
		for _, event := range collected.Value {
			switch event["name"].Str() {
			case "EvaluateScript", "FunctionCall", "TimerFire", "v8.compile":
			default:
				continue
			}
			if data := event["args"].Get("data"); strings.Contains(data.Get("url").Str(), "/sdk/v1/") {
				runs++
				longest = max(longest, event["tdur"].Num()/1000) // microseconds
			}
		}
	}, func(*proto.TracingTracingComplete) bool { return true })
	go func() {
		defer close(done)
		wait()
	}()
	if err := (proto.TracingStart{TransferMode: proto.TracingStartTransferModeReportEvents, TraceConfig: &proto.TracingTraceConfig{
		IncludedCategories: []string{"devtools.timeline", "v8"}, ExcludedCategories: []string{"*"},
	}}).Call(page); err != nil {
		t.Fatal(err)
	}
	page.MustNavigate(s.URL + "/")
	ready(t, page)
	page.MustEval(`async () => { for (let i = 0; i < 20; i++) tributary.track("NOTE_" + i, {n: i}); await tributary.flush() }`)
	e.wait(t, "the events", func(s seen) bool { return len(s.events) >= events })
	if err := (proto.TracingEnd{}).Call(page); err != nil {
		t.Fatal(err)
	}
	<-done
	page.MustClose()
	return runs, longest
}

func leftovers(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": e.stubbed(`tributary.init({companyId:"loja",linger:0,pageViews:false,worker:false})`)})
	e.answer(http.StatusServiceUnavailable)
	page := open(t, b, s.URL+"/")
	ready(t, page)
	page.MustEval(`() => tributary.track("LEFT")`)
	e.wait(t, "an attempt", func(s seen) bool { return len(s.refused) > 0 })
	// Nothing more leaves this page, so that it cannot arrive when the edge is back.
	page.MustEval(`async () => {
		navigator.sendBeacon = () => false;
		window.fetch = () => Promise.reject(new TypeError("away"));
		await tributary.flush();
	}`)
	page.MustClose()
	e.answer(http.StatusOK)
	next := open(t, b, s.URL+"/")
	e.wait(t, "the event of the closed tab", func(s seen) bool { return s.named("LEFT") != nil })
	if ms := next.MustEval(`() => performance.now()`).Num(); ms < 2900 {
		t.Errorf("it came %.0f ms after the page's start: before the page's own work is done", ms)
	}
	if got := names(e.seen().events); got != "LEFT" {
		t.Errorf("events %s", got)
	}
}
