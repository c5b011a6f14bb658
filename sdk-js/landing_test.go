package sdkjs_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/go-rod/rod"

	"github.com/tributary-io/tributary/sdk/core"
)

// A landing page that is left before the script, or its second file, is there. Attribution reads
// a campaign in a page's own address only, so the landing page needs a view of its own.
func TestLandingsInChromium(t *testing.T) {
	t.Parallel()
	f := inChromium(t)
	f("a router has left it", leftByRouter)
	f("a link has left it", leftByLink)
	f("a router has left it for another campaign's page", leftForAnother)
	f("its view was taken, and is taken once", landingTakenOnce)
	f("its view was stored while the next page was on its way", landingStoredLate)
	f("the shop's hook has taken its query", landingWithHook)
	f("consent and options count for it", landingAllowed)
}

const by = "?utm_source=influencer&utm_campaign=Ana&trb_click=abc.1"

// moving is a script that does what a router does when a link of the page is clicked.
func moving(to string) string {
	return `<script>if (location.pathname != "` + to + `") history.pushState({}, "", "` + to + `")</script>`
}

// viewsAre waits for so many page views, and no others: each one's path and query, in the order of their times.
func (e *edge) viewsAre(t *testing.T, page *rod.Page, want ...string) (views []got) {
	t.Helper()
	// The edge is asked first: a page that is on its way to another one answers nothing.
	e.wait(t, "page views", func(s seen) bool { return s.copies(core.PageView) >= len(want) })
	ready(t, page)
	page.MustEval(`() => tributary.flush()`)
	for _, event := range e.seen().events {
		if event.Name == core.PageView {
			views = append(views, event)
		}
	}
	slices.SortStableFunc(views, func(a, b got) int { return cmp.Compare(a.Timestamp, b.Timestamp) })
	var urls []string
	for _, view := range views {
		_, path, _ := strings.Cut(strings.TrimPrefix(view.Context.Page.URL, "http://"), "/")
		urls = append(urls, "/"+path)
	}
	if !slices.Equal(urls, want) {
		t.Errorf("views %q, want %q", urls, want)
	}
	return views
}

func leftByRouter(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": moving("/p/1") + e.tag(`data-company="loja" data-linger="0"`),
		"/p/1":  e.tag(`data-company="loja" data-linger="0"`),
		"/from": `<meta name="referrer" content="unsafe-url"><body><a href="/` + by + `">shop</a>`})
	page := open(t, b, s.URL+"/from")
	page.MustElement("a").MustClick()
	views := e.viewsAre(t, page, "/"+by, "/p/1")
	landing := views[0]
	if landing.Context.Page.Referrer != s.URL+"/from" || landing.Context.Page.Title != "" || landing.VisitorID == "" ||
		landing.VisitorID != views[1].VisitorID || landing.SessionID != views[1].SessionID {
		t.Errorf("landing %s, next %s", landing.text, views[1].text)
	}
	if title := views[1].Context.Page.Title; title != "Loja /" {
		t.Errorf("title %q", title)
	}
	// A reload has the present page's address, and knows the landing page as seen.
	page.MustReload()
	e.viewsAre(t, page, "/"+by, "/p/1", "/p/1")
	until(t, page, noneStored)
	if so := e.seen(); so.again != 0 || len(so.dropped) != 0 {
		t.Errorf("%d copies, dropped %v", so.again, so.dropped)
	}
}

func leftByLink(t *testing.T, e *edge, b *rod.Browser) {
	tag := e.tag(`data-company="loja" data-linger="0"`)
	s := shop(t, map[string]string{"/": `<body><a href="/two">on</a>`, "/two": tag, "/three": tag + `<body><a href="/two">on</a>`,
		"/other": tag, "/tab": `<body><a href="/two" target="_blank">on</a>`})
	page := open(t, b, s.URL+"/"+by)
	page.MustElement("a").MustClick()
	views := e.viewsAre(t, page, "/"+by, "/two")
	if campaign := views[1].Context.Campaign; campaign.Name != "Ana" || len(views[1].Context.ClickIDs) != 1 {
		t.Errorf("the next page's context has no campaign: %s", views[1].text)
	}
	page.MustNavigate(s.URL + "/three")
	if last := e.viewsAre(t, page, "/"+by, "/two", "/three")[2]; last.Context.Campaign.Name != "Ana" {
		t.Errorf("the third page's context has no campaign: %s", last.text)
	}
	// A new visitor was not brought by it.
	page.MustEval(`() => { tributary.reset(); tributary.track("AFTER"); return tributary.flush() }`)
	e.wait(t, "the event of the new visitor", func(s seen) bool { return s.named("AFTER") != nil })
	if after := e.seen().named("AFTER"); after.Context.Campaign.Name != "" || len(after.Context.ClickIDs) != 0 {
		t.Errorf("a new visitor has the campaign: %s", after.text)
	}
	page.MustNavigate(s.URL + "/three?trb_click=other.1")
	ready(t, page)
	page.MustEval(`() => { tributary.reset(); return tributary.flush() }`)
	page.MustElement("a").MustClick()
	e.viewsAre(t, page, "/"+by, "/two", "/three", "/three?trb_click=other.1", "/two")
	// Another site's address says nothing about a campaign of ours.
	around := shop(t, map[string]string{"/": `<meta name="referrer" content="unsafe-url"><body><a href="` + s.URL + `/other">shop</a>`})
	other := open(t, b.MustIncognito(), strings.Replace(around.URL, "127.0.0.1", "localhost", 1)+"/?utm_source=theirs")
	other.MustElement("a").MustClick()
	if last := e.viewsAre(t, other, "/"+by, "/two", "/three", "/three?trb_click=other.1", "/two",
		"/other")[5]; last.Context.Campaign.Source != "" {
		t.Errorf("another site's campaign is taken: %s", last.text)
	}
	// A tab that a page opens has not had it.
	opener := open(t, b.MustIncognito(), s.URL+"/tab"+by)
	waits := opener.MustWaitOpen()
	opener.MustElement("a").MustClick()
	e.viewsAre(t, waits().Timeout(life), "/"+by, "/two", "/three", "/three?trb_click=other.1", "/two", "/other", "/two")
}

// A tab that knows a campaign is opened with another one.
func leftForAnother(t *testing.T, e *edge, b *rod.Browser) {
	tag := e.tag(`data-company="loja" data-linger="0"`)
	s := shop(t, map[string]string{"/": tag, "/app": moving("/p/1") + tag})
	page := open(t, b, s.URL+"/"+by)
	e.viewsAre(t, page, "/"+by)
	page.MustNavigate(s.URL + "/app?trb_click=other.1")
	e.viewsAre(t, page, "/"+by, "/app?trb_click=other.1", "/p/1")
	page.MustEval(`() => { tributary.track("NOTE"); return tributary.flush() }`)
	e.wait(t, "a later event", func(s seen) bool { return s.named("NOTE") != nil })
	if note := e.seen().named("NOTE"); len(note.Context.ClickIDs) != 1 || note.Context.ClickIDs[0].Value != "other.1" {
		t.Errorf("a later event: %s", note.text)
	}
}

func landingTakenOnce(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{
		"/":    e.tag(`data-company="loja" data-linger="0" onload="history.pushState({}, '', '/p/1')"`),
		"/two": e.tag(`data-company="loja" data-linger="0"`),
	})
	page := open(t, b, s.URL+"/"+by) // a router leaves it after the first file
	e.viewsAre(t, page, "/"+by, "/p/1")

	// A link leaves it after the first file: its view waits in storage.
	e.answer(503)
	page = b.MustIncognito().MustPage("").Timeout(life)
	block(t, page, "*/tributary-more*")
	page.MustNavigate(s.URL + "/two?trb_click=other.1")
	until(t, page, `() => !!window.tributary`)
	page.MustEval(`() => { location.href = "/two" }`)
	e.wait(t, "the beacon", func(s seen) bool { return len(s.refused) > 0 })
	until(t, page, `() => location.search == "" && !!window.tributary`)
	e.answer(200)
	block(t, page)
	page.MustEval(`async (first) => {
		const [name] = (await (await fetch(first)).text()).match(/tributary-more[.]\w+[.]js/);
		const more = document.createElement("script");
		more.src = first.replace("tributary.js", name);
		document.head.append(more);
	}`, e.URL+"/t/sdk/v1/tributary.js")
	e.viewsAre(t, page, "/"+by, "/p/1", "/two?trb_click=other.1", "/two")
}

// The landing page's script may run after the click: its view is then younger than the next page's start, and no
// beacon may go. Recovery must find it old enough.
func landingStoredLate(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{
		"/": `<body><a href="/two">on</a>`,
		"/two": `<script>
			const hex = Date.now().toString(16).padStart(12, "0"), id = hex.slice(0, 8) + "-" + hex.slice(8) + "-7000-8000-000000000001";
			localStorage["trb:loja:" + id] = JSON.stringify(["r1", id, new Date(), "PAGE_VIEW", null, null, {url: document.referrer}]);
		</script>` + e.tag(`data-company="loja" data-linger="0"`),
	})
	page := open(t, b, s.URL+"/"+by)
	page.MustElement("a").MustClick()
	e.wait(t, "the landing page's view", func(s seen) bool { return s.copies(core.PageView) == 2 })
	e.viewsAre(t, page, "/"+by, "/two")
}

// The address of the first view is known whatever the hook makes of it.
func landingWithHook(t *testing.T, e *edge, b *rod.Browser) {
	init := `tributary.init({companyId: "loja", linger: 0, before_send(event) { (window.urls ||= []).push(event.context.url); ` +
		`event.context.url = event.context.url.split("?")[0]; return event }})`
	s := shop(t, map[string]string{
		"/":    stub() + "<script>" + init + "</script>" + e.tag(`onload="history.pushState({}, '', '/p/1')"`),
		"/app": stub() + moving("/p/2") + "<script>" + init + "</script>" + e.tag(""),
	})
	page := open(t, b, s.URL+"/"+by)
	e.viewsAre(t, page, "/", "/p/1")
	page.MustNavigate(s.URL + "/app" + by)
	e.viewsAre(t, page, "/", "/p/1", "/app", "/p/2")
	if urls := page.MustEval(`() => urls.join()`).Str(); urls != s.URL+"/p/2,"+s.URL+"/app"+by {
		t.Errorf("the hook saw %s", urls)
	}
}

func landingAllowed(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{
		"/asks": moving("/p/1") + e.tag(`data-company="loja" data-linger="0" data-require-consent`),
		"/own":  moving("/p/2") + e.tag(`data-company="loja" data-linger="0" data-page-views="false"`),
	})
	page := open(t, b, s.URL+"/asks"+by)
	ready(t, page)
	page.MustEval(`() => tributary.flush()`)
	if n := e.seen().requests; n != 0 || stored(page) != 0 {
		t.Errorf("%d requests and %d stored before consent", n, stored(page))
	}
	page.MustEval(`() => tributary.consent("granted")`)
	e.viewsAre(t, page, "/asks"+by, "/p/1")

	denied := open(t, b.MustIncognito(), s.URL+"/asks"+by)
	ready(t, denied)
	denied.MustEval(`() => { tributary.consent("denied"); return tributary.flush() }`)
	own := open(t, b.MustIncognito(), s.URL+"/own"+by)
	ready(t, own)
	own.MustEval(`() => { tributary.track("NOTE"); return tributary.flush() }`)
	e.wait(t, "the event", func(s seen) bool { return s.named("NOTE") != nil })
	e.viewsAre(t, own, "/asks"+by, "/p/1")
}
