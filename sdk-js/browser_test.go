package sdkjs_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-rod/rod"

	"github.com/tributary-io/tributary/sdk/core"
	"github.com/tributary-io/tributary/test/await"
)

func TestInChromium(t *testing.T) {
	t.Parallel()
	f := inChromium(t)
	f("the tag alone starts it and views the page", tagAlone)
	f("events tracked before leaving arrive by beacon", beacon)
	f("what beacons cannot carry is sent by the next page", beaconFull)
	f("events of an outage are sent by the next page", outage)
	f("the READMEs' snippet takes every call", readmeSnippets)
	f("the READMEs' snippet is no error without the script", readmeSnippetsBlocked)
	f("the stub's queue is replayed with its times", stubQueue)
	f("the visitor stays, the session is a hint, the campaign is kept", visitorStays)
	f("the worker gives the bytes that the edge would make", workerPath)
	f("a content policy against workers costs no event", strictPolicy)
	f("the module works as the script does", module)
	f("page views follow the history", history)
	f("a refusal is never repeated, and said once", refusal)
	f("an archived company is not asked again by the tab's next page", archivedRests)
	f("a page whose origin is not listed keeps its events and says so once", originNotAllowed)
	f("an outage is not asked about without credentials again and again", outageAskedOnce)
	f("a frame of another site's page says so", frames)
	f("nothing is stored or sent before consent is granted", consentRequired)
	f("networks' cookies are sent by consent alone", networksByConsent)
	f("what is taken back goes from events that wait", networksTakenBack)
	f("who agreed to a network and says no is told of", networksDenied)
	f("denied consent forgets", consentDenied)
	f("an answer to the consent question that is none is said, and forgotten", consentOdd)
	f("an answer that is none takes over no visitor", consentOddHandedOver)
	f("consent denied before the start forgets too", consentDeniedFirst)
	f("consent denied in one tab holds in all", consentDeniedElsewhere)
	f("an answer that is none is tried again", oddAnswer)
	f("storage that is forbidden loses nothing that can be sent", noStorage)
}

func open(t *testing.T, b *rod.Browser, url string) *rod.Page {
	t.Helper()
	return b.MustPage(url).Timeout(life)
}

func stored(page *rod.Page) int {
	return page.MustEval(`() => Object.keys(localStorage).filter(k => k.startsWith("trb:")).length`).Int()
}

func tagAlone(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": e.tag(`data-company="loja"`) + e.tag(`data-company="loja"`)})
	page := open(t, b, s.URL+"/?utm_source=influencer&utm_campaign=Ana+Prado&trb_click=abc.1")
	e.wait(t, "page view", func(s seen) bool { return s.named(core.PageView) != nil })
	view := e.seen().named(core.PageView)
	if view.Context.Campaign.Name != "Ana Prado" || len(view.Context.ClickIDs) != 1 || view.Context.Page.Title != "Loja /" ||
		view.VisitorID == "" || view.SessionID == "" || view.Seq != 1 || view.Context.Library.Name != "sdk-js" {
		t.Errorf("page view: %s", core.AppendEvent(nil, &view.Event))
	}
	if !strings.HasPrefix(e.seen().types[0], "text/plain") {
		t.Errorf("content type %q needs a preflight", e.seen().types[0])
	}
	until(t, page, noneStored) // acknowledged, so deleted
	if n := e.seen().copies(core.PageView); n != 1 {
		t.Errorf("%d page views of a script included twice, want 1", n)
	}
}

func beacon(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{
		"/":     e.stubbed(`tributary.init({companyId:"loja",linger:3600000})`),
		"/away": "away",
		"/back": e.stubbed(`tributary.init({companyId:"loja",linger:0,pageViews:false})`),
	})
	page := open(t, b, s.URL+"/")
	until(t, page, `() => tributary.loaded`)
	page.MustEval(`() => {
		for (let i = 0; i < 20; i++) tributary.track("NOTE_" + i, {text: "é".repeat(300)});
		tributary.track("add_to_cart", {items:[{item_id:"tee", quantity:1}]}, {email:"ana@example.com"});
		location.href = "/away";
	}`)
	e.wait(t, "22 events", func(s seen) bool { return len(s.events) >= 22 })
	cart := e.seen().named(core.AddToCart)
	if cart == nil || cart.Payload != `{"items":[{"item_id":"tee","item_quantity":1}]}` || cart.Identity.Email != "ana@example.com" {
		t.Errorf("add to cart: %+v", cart)
	}
	if len(e.seen().events) != 22 || e.seen().requests != 1 {
		t.Errorf("%d events in %d requests, want 22 in one", len(e.seen().events), e.seen().requests)
	}
}

// Chromium sends at most 64 KiB by beacons at one time. The rest stays in storage
// for the shop's next page.
func beaconFull(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{
		"/":     e.stubbed(`tributary.init({companyId:"loja",linger:3600000,pageViews:false})`),
		"/next": e.stubbed(`tributary.init({companyId:"loja",linger:0,pageViews:false})`),
	})
	page := open(t, b, s.URL+"/")
	until(t, page, `() => tributary.loaded`)
	page.MustEval(`() => {
		for (let i = 0; i < 200; i++) tributary.track("NOTE_" + i, {text: "é".repeat(300)});
		location.href = "/next";
	}`)
	e.wait(t, "200 events", func(s seen) bool { return len(s.events) == 200 })
	until(t, page, noneStored)
}

func outage(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{
		"/":     e.stubbed(`tributary.init({companyId:"loja",linger:0,pageViews:false});tributary.track("SALE")`),
		"/next": e.stubbed(`tributary.init({companyId:"loja",linger:0,pageViews:false})`),
	})
	e.answer(http.StatusServiceUnavailable)
	page := open(t, b, s.URL+"/")
	e.wait(t, "an attempt", func(s seen) bool { return len(s.refused) > 0 })
	until(t, page, `() => Object.keys(localStorage).some(k => k.startsWith("trb:"))`)
	first := e.seen().refused[0].ID
	page.MustEval(`() => { localStorage["trb:loja:" + sessionStorage.trb_t + ":0199f3a0-0000-7000-8000-000000000001"] = "{broken" }`)
	page.MustNavigate("about:blank")
	e.answer(http.StatusOK)
	page.MustNavigate(s.URL + "/next")
	e.wait(t, "the event of the outage", func(s seen) bool { return s.named("SALE") != nil })
	if sale := e.seen().named("SALE"); sale.ID != first {
		t.Errorf("event id %s, was %s", sale.ID, first)
	}
	until(t, page, noneStored)
}

func stubQueue(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": stub() + `<script>
		window.before = Date.now();
		tributary.track("EARLY", {n: 1});
		tributary.init({companyId: "loja", pageViews: false, linger: 0});
		tributary.track("purchase", {items: [{item_id: "tee", item_quantity: 2}]}, {cart_token: "c-1"});
		window.after = Date.now();
		setTimeout(function () {
			var s = document.createElement("script");
			s.src = "` + e.URL + `/t/sdk/v1/tributary.js";
			document.head.appendChild(s);
		}, 300);
	</script>`})
	page := open(t, b, s.URL+"/")
	e.wait(t, "both events", func(s seen) bool { return s.named("EARLY") != nil && s.named(core.CheckoutCompleted) != nil })
	early := e.seen().named("EARLY")
	before, after := int64(page.MustEval(`() => before`).Num()), int64(page.MustEval(`() => after`).Num())
	if early.Timestamp < before || early.Timestamp > after || core.UUIDv7Time(early.ID) != early.Timestamp {
		t.Errorf("time %d of a stubbed call, want %d to %d", early.Timestamp, before, after)
	}
	if sale := e.seen().named(core.CheckoutCompleted); sale.Identity.CartToken != "c-1" {
		t.Errorf("identity %+v", sale.Identity)
	}
}

func visitorStays(t *testing.T, e *edge, b *rod.Browser) {
	init := `tributary.init({companyId:"loja",linger:0,worker:false})`
	s := shop(t, map[string]string{"/": e.stubbed(init), "/two": e.stubbed(init), "/three": e.stubbed(init)})
	page := open(t, b, s.URL+"/?utm_source=influencer&utm_campaign=Beto&gclid=G")
	e.wait(t, "first view", func(s seen) bool { return len(s.events) == 1 })
	page.MustNavigate(s.URL + "/two")
	e.wait(t, "second view", func(s seen) bool { return len(s.events) == 2 })
	one, two := e.seen().events[0], e.seen().events[1]
	if one.VisitorID == "" || one.VisitorID != two.VisitorID || one.SessionID != two.SessionID || one.Stream == two.Stream {
		t.Errorf("visitor %q, %q; session %q, %q; stream %q, %q", one.VisitorID, two.VisitorID, one.SessionID, two.SessionID,
			one.Stream, two.Stream)
	}
	if two.Context.Campaign.Name != "Beto" || len(two.Context.ClickIDs) != 1 || two.Context.ClickIDs[0].Value != "G" {
		t.Errorf("the campaign was not kept: %+v %v", two.Context.Campaign, two.Context.ClickIDs)
	}
	if cookie := page.MustEval(`() => document.cookie`).Str(); !strings.Contains(cookie, "trb_id="+one.VisitorID) {
		t.Errorf("cookie %q", cookie)
	}
	// Either of the two places is enough to know the visitor.
	page.MustEval(`() => localStorage.removeItem("trb_id")`)
	page.MustNavigate(s.URL + "/three")
	e.wait(t, "third view", func(s seen) bool { return len(s.events) == 3 })
	page.MustEval(`() => { document.cookie = "trb_id=; max-age=0; path=/" }`)
	page.MustNavigate(s.URL + "/two")
	e.wait(t, "fourth view", func(s seen) bool { return len(s.events) == 4 })
	if e.seen().events[2].VisitorID != one.VisitorID || e.seen().events[3].VisitorID != one.VisitorID {
		t.Errorf("visitors %q, %q, want %q", e.seen().events[2].VisitorID, e.seen().events[3].VisitorID, one.VisitorID)
	}
	page.MustEval(`() => { tributary.reset(); tributary.track("AFTER_RESET") }`)
	e.wait(t, "event after reset", func(s seen) bool { return s.named("AFTER_RESET") != nil })
	if e.seen().named("AFTER_RESET").VisitorID == one.VisitorID {
		t.Error("the visitor stayed after reset")
	}
}

func workerPath(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": e.stubbed(`
		window.said = [];
		console.log = function () { said.push([].join.call(arguments, " ")) };
		const later = setTimeout;
		window.setTimeout = (f, ms) => later(f, ms == 2000 ? 60000 : ms); // what the worker has for its answer: enough on a busy machine
		tributary.init({companyId:"loja",linger:0,pageViews:false,debug:true,worker:true})`)})
	page := open(t, b, s.URL+"/p?x=1")
	page.MustNavigate(s.URL + "/?utm_source=a&utm_campaign=%C3%A9&fbclid=F")
	until(t, page, `() => said.some(s => s.includes("worker is ready"))`)
	// While the edge answers 503, the page keeps the raw envelope, and the edge
	// receives what the worker made of it.
	e.answer(http.StatusServiceUnavailable)
	page.MustEval(`() => tributary.track("purchase", {total: 49.90, 7: "\ud83d", items:[{item_id:"tée", quantity:2, price:1e21}]}, ` +
		`{email:" ana@example.com ", phone:"0"})`)
	e.wait(t, "an attempt", func(s seen) bool { return len(s.refused) > 0 })
	until(t, page, `() => Object.keys(localStorage).some(k => k.startsWith("trb:"))`)
	raw := page.MustEval(`() => localStorage[Object.keys(localStorage).find(k => k.startsWith("trb:"))]`).Str()
	sent := e.seen().refused[0]
	if sent.raw {
		t.Fatalf("a raw envelope was sent: %v", page.MustEval(`() => said`))
	}
	batch, v := core.ParseBatch(raw, "loja", core.Options{})
	if v != nil || batch.Items[0].Err != nil {
		t.Fatalf("%v %v: %s", v, batch.Items[0].Err, raw)
	}
	if native := string(core.AppendEvent(nil, &batch.Items[0].Event)); native != sent.text {
		t.Errorf("worker %s\nnative %s", sent.text, native)
	}
	e.answer(http.StatusOK)
	e.wait(t, "the sale", func(s seen) bool { return s.named(core.CheckoutCompleted) != nil })
	// What the core refuses in the worker is logged and sent as it was taken: the
	// edge keeps it as a dead letter, which the merchant sees.
	page.MustEval(`() => tributary.track("CHECKOUT_COMPLETED", {items: []})`)
	until(t, page, `() => said.some(s => s.includes("payload_items_required"))`)
	e.wait(t, "the refused sale", func(s seen) bool { return s.copies(core.CheckoutCompleted) == 2 })
	until(t, page, noneStored)
}

func strictPolicy(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": `<meta http-equiv="Content-Security-Policy" content="script-src 'unsafe-inline' ` + e.URL +
		`; worker-src 'none'; connect-src ` + e.URL + `">` +
		e.stubbed(`
		window.said = [];
		console.log = function () { said.push([].join.call(arguments, " ")) };
		tributary.init({companyId:"loja",linger:0,pageViews:false,debug:true,worker:true})`)})
	page := open(t, b, s.URL+"/")
	until(t, page, `() => said.some(s => s.includes("worker failed"))`)
	page.MustEval(`() => tributary.track("add_to_cart", {items:[{item_id:"tee", quantity:1}]})`)
	e.wait(t, "the event", func(s seen) bool { return s.named(core.AddToCart) != nil })
	if cart := e.seen().named(core.AddToCart); !cart.raw || cart.Payload != `{"items":[{"item_id":"tee","item_quantity":1}]}` {
		t.Errorf("raw %v, payload %s", cart.raw, cart.Payload)
	}
}

func module(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": `<script type="module">
		import { init, track } from "` + e.URL + `/t/sdk/v1/tributary.mjs";
		window.said = [];
		console.error = (text) => said.push(text);
		init({ companyId: "loja" });
		track("EARLY");
		init({ companyId: "loja", endpoint: "` + e.URL + `/t/", linger: 0 });
		track("ADD_TO_CART", { items: [{ item_id: "tee", item_quantity: 1 }] });
	</script>`})
	page := open(t, b, s.URL+"/")
	e.wait(t, "three events", func(s seen) bool { return len(s.events) == 3 })
	if said := page.MustEval(`() => said.join("|")`).Str(); said !=
		"[tributary] nothing is sent: init() needs endpoint, the URL of your edge." {
		t.Errorf("the console says %q", said)
	}
	if got := names(e.seen().events); got != "PAGE_VIEW EARLY ADD_TO_CART" {
		t.Errorf("events %s", got)
	}
}

func history(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": e.stubbed(`tributary.init({companyId:"loja",linger:0})`)})
	page := open(t, b, s.URL+"/")
	e.wait(t, "first view", func(s seen) bool { return len(s.events) == 1 })
	page.MustEval(`() => {
		history.replaceState({}, "", location.href);
		history.pushState({}, "", "/p/1");
		history.replaceState({a: 1}, "");
		history.pushState({}, "", "/p/2");
		tributary.track("LAST");
	}`)
	e.wait(t, "the last event", func(s seen) bool { return s.named("LAST") != nil })
	var urls []string
	for _, event := range e.seen().events {
		if event.Name == core.PageView {
			urls = append(urls, event.Context.Page.Path)
		}
	}
	if got := strings.Join(urls, " "); got != "/ /p/1 /p/2" {
		t.Errorf("views of %s", got)
	}
	if second := e.seen().events[1]; !strings.HasSuffix(second.Context.Page.Referrer, s.URL+"/") {
		t.Errorf("referrer %q", second.Context.Page.Referrer)
	}
}

func refusal(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": listen +
		e.stubbed(`tributary.init({companyId:"loja",linger:0,pageViews:false});tributary.track("ONE")`)})
	e.answer(http.StatusUnauthorized)
	page := open(t, b, s.URL+"/")
	e.wait(t, "the refusal", func(s seen) bool { return len(s.refused) == 1 })
	until(t, page, noneStored)
	if !page.MustEval(`() => tributary.flush()`).Bool() {
		t.Error("a refused event still waits")
	}
	if len(e.seen().refused) != 1 {
		t.Errorf("%d attempts, want 1", len(e.seen().refused))
	}
	page.MustEval(`() => { tributary.track("TWO"); return tributary.flush() }`)
	if said := page.MustEval(`() => errors.join("|")`).Str(); said !=
		"[tributary] refused: no such company (401 unknown_company). Check data-company of the script's tag, or companyId of init()." {
		t.Errorf("the console says %q", said)
	}
}

func archivedRests(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": listen +
		e.stubbed(`tributary.init({companyId:"loja",linger:0,pageViews:false});tributary.track("ONE")`)})
	e.archive()
	page := open(t, b, s.URL+"/")
	e.wait(t, "the refusal", func(s seen) bool { return len(s.refused) == 1 })
	until(t, page, noneStored)
	if said := page.MustEval(`() => errors.join("|")`).Str(); said != "[tributary] refused: it takes no events (403 company_archived)." {
		t.Errorf("the console says %q", said)
	}
	page.MustNavigate(s.URL + "/")
	ready(t, page)
	page.MustEval(`() => tributary.flush()`)
	until(t, page, noneStored)
	if n := e.seen().requests; n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

// listen keeps what is written to the console as an error.
const listen = `<script>window.errors = []; console.error = function () { errors.push([].join.call(arguments, " ")) }</script>`

func originNotAllowed(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": listen +
		e.stubbed(`tributary.init({companyId:"loja",linger:0,pageViews:false});tributary.track("ONE")`)})
	e.answer(http.StatusForbidden)
	page := open(t, b, s.URL+"/")
	until(t, page, `() => window.errors && errors.length > 0`)
	page.MustEval(`() => tributary.flush()`)
	if said := page.MustEval(`() => errors.join("|")`).Str(); said != "[tributary] refused: allow it (403 origin_not_allowed)." {
		t.Errorf("the console says %q", said)
	}
	// With credentials the answer cannot be read: without them it was asked once.
	if n := strings.Count(strings.Join(e.seen().cookies, ""), "-"); n != 1 {
		t.Errorf("%d requests without credentials of %q, want 1", n, e.seen().cookies)
	}
	e.answer(http.StatusOK)
	page.MustEval(`() => tributary.flush()`)
	e.wait(t, "the event", func(s seen) bool { return s.named("ONE") != nil })
	until(t, page, noneStored)
}

func outageAskedOnce(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": listen + e.stubbed(`
		const real = fetch;
		window.asked = [];
		window.away = true;
		window.fetch = (url, options) => (asked.push(options.credentials), away ? Promise.reject(new TypeError("away")) : real(url, options));
		tributary.init({companyId:"loja",linger:0,pageViews:false,worker:false});
		tributary.track("ONE")`)})
	page := open(t, b, s.URL+"/")
	await.Until(t, await.Long, func() bool {
		return page.MustEval(`() => window.asked && window.tributary ? tributary.flush().then(() => asked.length >= 4) : false`).Bool()
	}, func() string { return "four attempts" })
	if asked := page.MustEval(`() => asked.slice(0, 4).join()`).Str(); asked != "include,omit,include,include" {
		t.Errorf("asked with %s", asked)
	}
	page.MustEval(`() => { away = false; return tributary.flush() }`)
	e.wait(t, "the event", func(s seen) bool { return s.named("ONE") != nil })
	if said := page.MustEval(`() => errors.join("|")`).Str(); said != "" {
		t.Errorf("the console says %q", said)
	}
}

// The shop is at 127.0.0.1; localhost is another site, and another port another
// origin of the same site.
func frames(t *testing.T, e *edge, b *rod.Browser) {
	init := `tributary.init({companyId:"loja",worker:true,linger:0,pageViews:false});tributary.track(location.hash.slice(1))`
	s := shop(t, map[string]string{"/": e.stubbed(init), "/asks": e.stubbed(strings.Replace(init, "linger", "requireConsent:true,linger", 1)),
		"/raw": e.stubbed(strings.Replace(init, "worker:true", "worker:false", 1))})
	around := func(inner string) *httptest.Server {
		return shop(t, map[string]string{"/": `<iframe src="` + inner + `"></iframe>`})
	}
	foreign := func(server *httptest.Server) string {
		return strings.Replace(server.URL, "127.0.0.1", "localhost", 1) + "/"
	}
	f := func(name, url string, frame bool) {
		t.Helper()
		open(t, b, url)
		e.wait(t, name, func(s seen) bool { return s.named(name) != nil })
		if got := e.seen().named(name); got.Frame != frame {
			t.Errorf("%s: frame %t, want %t: %s", name, got.Frame, frame, got.text)
		}
	}
	f("ALONE", s.URL+"/#ALONE", false)
	f("FOREIGN", foreign(around(s.URL+"/#FOREIGN")), true)
	f("RAW", foreign(around(s.URL+"/raw#RAW")), true)
	f("OWN", shop(t, map[string]string{"/": `<iframe src="` + s.URL + `/#OWN"></iframe>`}).URL+"/", false) // another port
	// in its own frame, in a foreign one
	f("WITHIN", foreign(around(around(s.URL+"/#WITHIN").URL)), true)
	same := httptest.NewServer(s.Config.Handler)
	t.Cleanup(same.Close)
	f("BARE", same.URL+"/#BARE", false)

	// By the worker's core, the canonical event says it too.
	page := open(t, b, foreign(around(s.URL+"/#FIRST")))
	e.wait(t, "FIRST", func(s seen) bool { return s.named("FIRST") != nil })
	inner := page.MustElement("iframe").MustFrame()
	await.Until(t, await.Long, func() bool {
		inner.MustEval(`() => { tributary.track("CANONICAL"); return tributary.flush() }`)
		got := e.seen().named("CANONICAL")
		for _, event := range e.seen().events {
			if event.Name == "CANONICAL" && !event.raw {
				got = &event
			}
		}
		return got != nil && !got.raw && got.Frame
	}, func() string { return "a canonical event with frame" })

	// Before consent nothing is stored, so that another origin of the same site is
	// taken for a foreign one; once consent is given it is known.
	page = open(t, b.MustIncognito(), around(s.URL+"/asks#ASKED").URL+"/").MustWaitLoad() // the others' cookies stay for a second
	inner = page.MustElement("iframe").MustFrame()
	until(t, inner, `() => window.tributary && tributary.loaded`)
	if cookie := inner.MustEval(`() => document.cookie`).Str(); cookie != "" {
		t.Errorf("before consent there is the cookie %s", cookie)
	}
	inner.MustEval(`() => tributary.consent("granted")`)
	e.wait(t, "ASKED", func(s seen) bool { return s.named("ASKED") != nil })
	if e.seen().named("ASKED").Frame {
		t.Error("after consent, a page of the same site is taken for another site's")
	}
}

// A proxy between page and edge may answer instead of the edge.
func oddAnswer(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": e.stubbed(`
		const real = fetch;
		let n = 0;
		window.fetch = (...args) => (n++ < 2 ? Promise.resolve(new Response(["null", '{"results":{}}'][n - 1])) : real(...args));
		tributary.init({companyId:"loja",linger:0,pageViews:false,worker:false});
		tributary.track("NOTE")`)})
	open(t, b, s.URL+"/")
	e.wait(t, "the event", func(s seen) bool { return s.named("NOTE") != nil })
}

func noStorage(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": `<script>
		for (const s of ["localStorage", "sessionStorage"]) Object.defineProperty(window, s, {get() { throw new Error("forbidden") }});
		Object.defineProperty(document, "cookie", {get() { throw new Error("forbidden") }, set() { throw new Error("forbidden") }});
	</script>` + e.stubbed(`tributary.init({companyId:"loja",linger:0});tributary.track("NOTE")`)})
	page := b.MustPage("").Timeout(life)
	failOnErrors(t, page, false)
	page.MustNavigate(s.URL + "/")
	e.wait(t, "both events", func(s seen) bool { return len(s.events) == 2 })
}
