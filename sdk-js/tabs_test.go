package sdkjs_test

import (
	"strings"
	"testing"

	"github.com/go-rod/rod"

	"github.com/tributary-io/tributary/sdk/core"
	"github.com/tributary-io/tributary/test/await"
)

func singlePage(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": e.stubbed(`tributary.init({companyId:"loja",linger:300})`)})
	page := open(t, b, s.URL+"/")
	ready(t, page)
	e.wait(t, "the first view", func(s seen) bool { return s.copies(core.PageView) == 1 })
	until(t, page, noneStored) // from here on only the page's timers send, and those come in their order
	page.MustEval(`() => {
		location.hash = "reviews";
		history.pushState({}, "", "/#more");
		history.replaceState({}, "", "/?variant=2");
		history.pushState({}, "", "/p/1");
		setTimeout(() => { document.title = "One"; }, 30);
		setTimeout(() => { history.pushState({}, "", "/p/2"); document.title = "Two"; tributary.track("LAST") }, 60);
	}`)
	e.wait(t, "the last event and three views", func(s seen) bool { return s.named("LAST") != nil && s.copies(core.PageView) == 3 })
	var views []string
	for _, event := range e.seen().events {
		if event.Name == core.PageView {
			views = append(views, event.Context.Page.Path+" "+event.Context.Page.Title)
		}
	}
	if got := strings.Join(views, ", "); got != "/ Loja /, /p/1 One, /p/2 Two" {
		t.Errorf("views %s", got)
	}
}

func movedEarly(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": e.tag(`data-company="loja" data-linger="0" onload="history.pushState({}, '', '/p/1'); ` +
		`document.title = 'One'"`)})
	page := open(t, b, s.URL+"/")
	ready(t, page)
	e.wait(t, "two views", func(s seen) bool { return s.copies(core.PageView) == 2 })
	so := e.seen()
	if one, two := so.events[0].Context.Page, so.events[1].Context.Page; one.Path != "/" || two.Path != "/p/1" || two.Title != "One" ||
		two.Referrer != s.URL+"/" {
		t.Errorf("views %+v, %+v", one, two)
	}
}

func twoTabs(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{
		"/":    e.stubbed(`tributary.init({companyId:"loja",linger:0,pageViews:false});tributary.track("ONE")`),
		"/two": e.stubbed(`tributary.init({companyId:"loja",linger:0,pageViews:false});tributary.track("ONE")`),
	})
	opener := open(t, b, s.URL+"/none")
	opener.MustEval(`() => { for (let i = 0; i < 6; i++) { const f = document.createElement("iframe"); f.src = i % 2 ? "/two" : "/"; ` +
		`document.body.append(f) } }`)
	e.wait(t, "six events", func(s seen) bool { return s.copies("ONE") == 6 })
	visitors := map[string]bool{}
	for _, event := range e.seen().events {
		visitors[event.VisitorID] = true
	}
	if len(visitors) != 1 {
		t.Errorf("%d visitors", len(visitors))
	}
}

func overlay(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{
		"/":     e.tag(`data-company="loja" data-linger="0"`) + "<body>",
		"/none": e.tag("") + "<body>",
		"/module": `<body><script type="module">
			import { init, track } from "` + e.URL + `/t/sdk/v1/tributary.mjs";
			window.tributary = { track };
			init({ companyId: "loja", endpoint: "` + e.URL + `/t", linger: 0 });
		</script>`,
	})
	shows := func(text string) string {
		return `() => { const boxes = document.querySelectorAll("#tributary-overlay"); return boxes.length == 1 && ` +
			`boxes[0].textContent.includes("` + text + `") }`
	}
	for _, path := range []string{"/", "/module"} {
		page := open(t, b, s.URL+path+"?trb_debug=1")
		until(t, page, shows("PAGE_VIEW"))
		page.MustEval(`() => tributary.track("NOTE", {n: 1})`)
		until(t, page, shows("ok NOTE"))
	}
	page := open(t, b, s.URL+"/none?trb_debug=1")
	until(t, page, shows("no company"))
	page.MustEval(`() => tributary.init({companyId: "loja"})`)
	until(t, page, shows("PAGE_VIEW"))
}

// The shop's other domain is localhost here.
func handOver(t *testing.T, e *edge, b *rod.Browser) {
	tag := e.tag(`data-company="loja" data-linger="0" data-domains="127.0.0.1,localhost"`)
	pages := map[string]string{"/two": tag}
	s := shop(t, pages)
	other := strings.Replace(s.URL, "127.0.0.1", "localhost", 1) + "/two"
	pages["/"] = tag + `<meta name="referrer" content="unsafe-url"><body><a href="` + other + `">pay</a>`
	page := open(t, b, s.URL+"/")
	ready(t, page)
	e.wait(t, "the first view", func(s seen) bool { return len(s.events) == 1 })
	page.MustElement("a").MustClick()
	e.wait(t, "the second view", func(s seen) bool { return len(s.events) == 2 })
	one, two := e.seen().events[0], e.seen().events[1]
	if one.VisitorID == "" || one.VisitorID != two.VisitorID {
		t.Errorf("visitors %s, %s", one.VisitorID, two.VisitorID)
	}
	await.Until(t, await.Long, func() bool {
		return page.MustEval(`() => location.search`).Str() == ""
	}, func() string { return "the address without the visitor" })
}

func workerAuto(t *testing.T, e *edge, b *rod.Browser) {
	page := `<script>window.workers = 0; window.Worker = class extends Worker { constructor(...args) { super(...args); workers++ } ` +
		`}</script>` + e.tag(`data-company="loja" data-linger="0" data-debug`)
	s := shop(t, map[string]string{"/": page, "/two": page,
		"/saving": `<script>Object.defineProperty(navigator, "connection", {value: {saveData: true}})</script>` + page})
	p := open(t, b, s.URL+"/")
	ready(t, p)
	e.wait(t, "the first view", func(s seen) bool { return len(s.events) == 1 })
	if n := p.MustEval(`() => new Promise((done) => requestIdleCallback(() => requestIdleCallback(() => done(workers))))`).Int(); n != 0 {
		t.Error("a visit of one page gets the worker")
	}
	p.MustNavigate(s.URL + "/two")
	until(t, p, `() => workers === 1`)
	p.MustNavigate(s.URL + "/saving")
	ready(t, p)
	if n := p.MustEval(`() => new Promise((done) => requestIdleCallback(() => requestIdleCallback(() => done(workers))))`).Int(); n != 0 {
		t.Error("Save-Data gets the worker")
	}
}
