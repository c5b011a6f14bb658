package sdkjs_test

import (
	"strings"
	"testing"

	"github.com/go-rod/rod"

	"github.com/tributary-io/tributary/sdk/core"
)

// What is left out is said, with its reason.
func TestWordsInChromium(t *testing.T) {
	t.Parallel()
	f := inChromium(t)
	f("an event over 32 KiB is said at its call, and takes no other along", largeEvent)
	f("a view that a privacy signal has left out is counted as that", signalReason)
	f("a before_send that answers a text is said, and its event dropped", textHook)
	f("a policy that refuses connections is said once, and the page asks no more", refusedConnections)
	f("the package's visitor and flush, right after init", moduleAtOnce)
	f("the visitor and flush, before the script is there", answeredLater)
	f("a second file that never comes leaves no call without an answer", neverAnswered)
	f("a page that requires Trusted Types gets all files", trustedTypes)
	f("a policy that forbids our Trusted Types costs no event", untrustedTypes)
	f("a tag of type module works", moduleTag)
	f("an endpoint with the route works, one without a scheme is said", oddEndpoint)
}

func largeEvent(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": listen + e.stubbed(`tributary.init({companyId:"loja",linger:0,pageViews:false,worker:false})`)})
	page := open(t, b, s.URL+"/")
	ready(t, page)
	page.MustEval(`async () => {
		tributary.track("BIG", {text: "x".repeat(1 << 20)});
		tributary.track("WIDE", {text: "é".repeat(17000)});
		tributary.track("FITS", {text: "x".repeat(31000)});
		for (const name of ["ONE", "TWO", "THREE"]) tributary.track(name);
		await tributary.flush();
	}`)
	e.wait(t, "the others", func(s seen) bool { return len(s.events) == 4 })
	until(t, page, noneStored)
	so := e.seen()
	if names(so.events) != "FITS ONE TWO THREE" || len(so.dropped) != 1 || so.dropped[0] != (core.Dropped{0, 2}) {
		t.Errorf("events %s, dropped %v", names(so.events), so.dropped)
	}
	if said := page.MustEval(`() => errors.join("|")`).Str(); said != "[tributary] dropped BIG: an event has at most 32 KiB" {
		t.Errorf("the console says %q", said)
	}
}

func signalReason(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": `<script>Object.defineProperty(navigator, "globalPrivacyControl", {value: true})</script>` +
		e.tag(`data-company="loja" data-honor-g-p-c data-linger="0"`)})
	page := open(t, b, s.URL+"/")
	ready(t, page)
	page.MustEval(`() => { tributary.consent("granted"); tributary.track("YES") }`)
	e.wait(t, "the event", func(s seen) bool { return s.named("YES") != nil && len(s.dropped) > 0 })
	if told := e.seen().dropped; len(told) != 1 || told[0] != (core.Dropped{5: 1}) {
		t.Errorf("told %v, want one that is left out by the shopper", told)
	}
}

func textHook(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": listen +
		e.stubbed(`tributary.init({companyId:"loja",linger:0,pageViews:false,worker:false,before_send: (e) => e.event == "GOOD" ? e : "no"})`)})
	page := open(t, b, s.URL+"/")
	ready(t, page)
	page.MustEval(`() => { tributary.track("BAD"); tributary.track("GOOD") }`)
	e.wait(t, "the event", func(s seen) bool { return s.named("GOOD") != nil })
	if said := page.MustEval(`() => errors.join("|")`).Str(); !strings.Contains(said, "before_send must return the event") ||
		strings.Contains(said, "|") {
		t.Errorf("the console says %q", said)
	}
}

func refusedConnections(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": `<meta http-equiv="Content-Security-Policy" content="connect-src 'self'">` + `<script>
		window.refused = 0;
		addEventListener("securitypolicyviolation", () => refused++);
	</script>` + listen + e.stubbed(`tributary.init({companyId:"loja",linger:0,pageViews:false,worker:false});tributary.track("ONE")`)})
	page := open(t, b, s.URL+"/")
	until(t, page, `() => window.errors && errors.length > 0`)
	before := page.MustEval(`() => refused`).Int()
	page.MustEval(`() => { for (let i = 0; i < 5; i++) tributary.track("MORE") }`)
	page.MustEval(`() => new Promise((done) => setTimeout(done, 3000))`) // longer than the first three attempts would wait
	said, refused := page.MustEval(`() => errors.join("|")`).Str(), page.MustEval(`() => refused`).Int()
	if said != "[tributary] nothing is sent: the page's Content-Security-Policy refuses it. Add "+e.URL+" to connect-src." ||
		refused > before+1 {
		t.Errorf("the console says %q after %d refused attempts, then %d", said, before, refused)
	}
	if n := stored(page); n != 6 {
		t.Errorf("%d events are kept, want 6", n)
	}
}

func moduleAtOnce(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": `<script type="module">
		import { init, track, getVisitorId, flush } from "` + e.URL + `/t/sdk/v1/tributary.mjs";
		init({ companyId: "loja", endpoint: "` + e.URL + `/t", linger: 3600000 });
		const id = getVisitorId();
		track("ONE");
		window.said = Promise.all([id, flush()]);
	</script>`})
	page := open(t, b, s.URL+"/")
	until(t, page, `() => !!window.said`)
	id, done := page.MustEval(`async () => (await said)[0]`), page.MustEval(`async () => (await said)[1]`)
	if one := e.seen().named("ONE"); !done.Bool() || one == nil || id.Str() != one.VisitorID {
		t.Errorf("flush is %v, the visitor %v, events %s", done, id, names(e.seen().events))
	}
}

// The tag's calls answer as those of the package do, however early they are.
func answeredLater(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": stub() + `<script>
		window.ids = [tributary.getVisitorId()];
		tributary.track("ONE");
		window.sent = tributary.flush();
		addEventListener("DOMContentLoaded", () => ids.push(tributary.getVisitorId()));
		addEventListener("load", () => ids.push(tributary.getVisitorId()));
	</script>` + e.tag(`data-company="loja" data-linger="3600000" onload="ids.push(tributary.getVisitorId())"`), "/asks": stub() + `<script>
		window.ids = [tributary.getVisitorId(), tributary.getVisitorId()];
	</script>` + e.tag(`data-company="loja" data-require-consent`)})
	page := open(t, b, s.URL+"/")
	until(t, page, `() => ids.length == 4`)
	got := page.MustEval(`async () => (await Promise.all(ids)).join()`).Str()
	if done := page.MustEval(`() => sent`); !done.Bool() || e.seen().named("ONE") == nil {
		t.Fatalf("flush is %v, events %s", done, names(e.seen().events))
	}
	if id := e.seen().named("ONE").VisitorID; id == "" || got != strings.Join([]string{id, id, id, id}, ",") {
		t.Errorf("the visitor is %q, the event's %q", got, id)
	}
	asks := open(t, b.MustIncognito(), s.URL+"/asks")
	until(t, asks, `() => !!window.ids`)
	if got := asks.MustEval(`async () => JSON.stringify(await Promise.all(ids))`).Str(); got != "[null,null]" {
		t.Errorf("before consent the visitor is %s", got)
	}
}

func neverAnswered(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": listen + stub() + `<script>window.early = tributary.getVisitorId()</script>` +
		e.tag(`data-company="loja"`)})
	page := b.MustPage("").Timeout(life)
	block(t, page, "*/tributary-more*")
	page.MustNavigate(s.URL + "/")
	until(t, page, `() => tributary.loaded`)
	got := page.MustEval(`async () => JSON.stringify(await Promise.all([early, tributary.getVisitorId(), tributary.debug(), ` +
		`tributary.flush()]))`).Str()
	if got != "[null,null,null,null]" { // as JSON has undefined
		t.Errorf("answers %s", got)
	}
	until(t, page, `() => errors.length > 0`)
	if said := page.MustEval(`() => errors.join("|")`).Str(); !strings.HasPrefix(said, "[tributary] ") ||
		!strings.Contains(said, "/tributary-more.") || strings.Contains(said, "|") {
		t.Errorf("the console says %q", said)
	}
}

// guarded is a page with a policy for scripts beside others' elements.
func guarded(t *testing.T, e *edge, policy string) string {
	s := shop(t, map[string]string{"/": `<meta http-equiv="Content-Security-Policy" content="` + policy + `"><script>
		window.refused = [];
		addEventListener("securitypolicyviolation", ({violatedDirective, sample}) => refused.push(violatedDirective + " " + sample));
		addEventListener("error", ({message}) => refused.push(message));
		window.said = [];
		console.log = function () { said.push([].join.call(arguments, " ")) };
	</script>` + e.tag(`data-company="loja" data-linger="0" data-worker="true" data-debug`) + "<body>"})
	return s.URL + "/?trb_debug=1"
}

func trustedTypes(t *testing.T, e *edge, b *rod.Browser) {
	for _, policy := range []string{"require-trusted-types-for 'script'", "require-trusted-types-for 'script'; trusted-types tributary"} {
		page := open(t, b.MustIncognito(), guarded(t, e, policy))
		until(t, page, `() => said.some((line) => line.includes("worker is ready"))`)
		until(t, page, `() => document.querySelectorAll("#tributary-overlay").length == 1`)
		if refused := page.MustEval(`() => refused.join("|")`).Str(); refused != "" {
			t.Errorf("%s refuses %q", policy, refused)
		}
	}
	e.wait(t, "both views", func(s seen) bool { return s.copies(core.PageView) == 2 })
}

func untrustedTypes(t *testing.T, e *edge, b *rod.Browser) {
	page := open(t, b, guarded(t, e, "require-trusted-types-for 'script'; trusted-types another"))
	ready(t, page)
	e.wait(t, "the view", func(s seen) bool { return s.named(core.PageView) != nil })
	page.MustEval(`() => { tributary.track("LATER"); return tributary.flush() }`)
	if e.seen().named("LATER") == nil {
		t.Error("a later event is not sent")
	}
	if thrown := page.MustEval(`() => refused.filter((line) => line.startsWith("Uncaught")).join("|")`).Str(); thrown != "" {
		t.Errorf("the page sees %q", thrown)
	}
}

func moduleTag(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": strings.Replace(e.tag(`data-company="loja" data-linger="0"`), "<script", `<script type="module"`, 1)})
	page := b.MustPage("").Timeout(life)
	failOnErrors(t, page, true)
	page.MustNavigate(s.URL + "/")
	ready(t, page)
	e.wait(t, "the view", func(s seen) bool { return s.named(core.PageView) != nil })
}

func oddEndpoint(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{
		"/route": e.tag(`data-company="loja" data-linger="0" data-endpoint="` + e.URL + `/t/v1/events"`),
		"/bare":  listen + e.tag(`data-company="loja" data-linger="0" data-endpoint="collect.your-shop.com"`),
	})
	page := open(t, b, s.URL+"/route")
	e.wait(t, "the view", func(s seen) bool { return s.named(core.PageView) != nil })
	page.MustNavigate(s.URL + "/bare")
	until(t, page, `() => window.errors && errors.length > 0`)
	if said := page.MustEval(`() => errors.join("|")`).Str(); !strings.HasPrefix(said, "[tributary] ") ||
		!strings.Contains(said, "collect.your-shop.com/sdk/v1/tributary-more") {
		t.Errorf("the console says %q", said)
	}
}
