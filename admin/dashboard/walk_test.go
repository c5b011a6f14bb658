package dashboard_test

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-rod/rod"
	"github.com/go-rod/rod/lib/input"
	"github.com/go-rod/rod/lib/proto"

	"github.com/tributary-io/tributary/admin/dashboard"
	"github.com/tributary-io/tributary/admin/statementlink"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

// Every page, as a phone and a wide screen show it, in both languages, light and dark:
// the browser and axe-core have nothing to complain of, nothing is wider than the
// screen, nothing moves while it loads, each function is reached by the keyboard, and
// nothing that is shown needs scripting. English pages have the same elements as Portuguese
// ones: what only elements and colours change is looked at in Portuguese alone.
func TestEveryPageInEveryLanguageAndWidth(t *testing.T) {
	s := newSite(t)
	places := fillSite(s)
	browser := devtest.Shell(t)
	for _, language := range []string{"en", "pt-BR"} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			w := s.newWalk(t, browser, language)
			devtest.AxeInEach(t, w.page)
			for _, path := range places.open {
				w.look(path)
			}
			w.enter(w.page)
			for _, path := range s.pages() {
				w.look(path + "?company=" + s.live)
				if language == "pt-BR" { // where nothing has come yet
					w.look(path + "?company=" + s.box)
				}
			}
			for _, path := range places.member {
				w.look(path)
			}
		})
	}
}

// pages are the paths of the pages that the store's company is enough for.
func (s *site) pages() (list []string) {
	for _, route := range dashboard.MemberRoutes() {
		method, path, _ := strings.Cut(route.Pattern, " ")
		path = strings.TrimSuffix(path, "{$}")
		if method == http.MethodGet && !needsMore[path] && !strings.HasSuffix(path, ".csv") && !strings.HasSuffix(path, ".svg") {
			list = append(list, path)
		}
	}
	return list
}

// needsMore are pages that need more than a company in their address, and answers that
// are no pages.
var needsMore = map[string]bool{"/dashboard/order": true, "/dashboard/order/decide": true, "/dashboard/order/proposal": true,
	"/dashboard/statement": true, "/dashboard/influencer": true, "/dashboard/statements/withhold": true,
	"/dashboard/shops/shop": true, "/dashboard/shops/coupon": true, "/dashboard/shops/install": true, "/dashboard/shops/installed": true,
	"/dashboard/webhooks/endpoint": true, "/dashboard/conversions/account": true, "/dashboard/install/signals": true,
	"/dashboard/events/feed": true}

// patience bounds the work with one page: only something broken reaches it, also on a busy machine.
const patience = 15 * await.Long

// walk is one browser that goes from page to page in a language.
type walk struct {
	*site
	t          *testing.T
	tab        *rod.Page
	page       *rod.Page // the tab, until patience is over
	language   string
	complaints chan string
	shots      string // a directory; empty: none are taken
	whole      bool   // also what is the same in each language: both loads, dark colours, the keyboard
}

func (s *site) newWalk(t *testing.T, browser *rod.Browser, language string) *walk {
	t.Helper()
	tab := browser.MustIncognito().MustPage("")
	w := &walk{site: s, t: t, tab: tab, page: tab.Timeout(patience), language: language,
		complaints: make(chan string, 100), shots: os.Getenv("TRIBUTARY_SHOTS")}
	w.whole = language == "pt-BR" || w.shots != ""
	go tab.EachEvent(func(e *proto.LogEntryAdded) { w.complaints <- e.Entry.Text + " " + e.Entry.URL },
		func(e *proto.RuntimeExceptionThrown) { w.complaints <- e.ExceptionDetails.Text })()
	w.page.MustNavigate(s.url + "/dashboard/login").MustWaitLoad()
	// The new page has no mark. The end of the old one's load may be told only now, so it is not waited for.
	w.page.MustEval(`() => { window.before = true }`)
	w.page.MustElement(`button[lang="` + language + `"]`).MustClick()
	w.page.MustWait(`(language) => !window.before && document.documentElement.lang === language && document.readyState === 'complete'`,
		language)
	return w
}

// look looks at a page in each width and scheme. Unless the walk is whole it is loaded once,
// for a wide screen, and axe-core looks at it once.
func (w *walk) look(path string) {
	w.t.Helper()
	w.page.CancelTimeout()
	w.page = w.tab.Timeout(patience)
	for _, width := range []int{1280, 390} {
		at := fmt.Sprintf("%s in %s at %d px", path, w.language, width)
		w.page.MustSetViewport(width, 800, 1, width < 500)
		if w.whole || width == 1280 {
			w.scheme("light")
			w.load(path, at)
		}
		w.shape(at, width)
		w.shoot(path, width, "light")
		if w.whole {
			w.scheme("dark")
			w.shape(at+", dark", width)
			devtest.Axe(w.t, w.page, at+", dark", "color-contrast", "link-in-text-block")
			w.shoot(path, width, "dark")
		}
		if w.whole && width == 1280 {
			w.keyboard(at)
		}
		for len(w.complaints) > 0 {
			if complaint := <-w.complaints; !strings.Contains(complaint, "404") ||
				path != "/dashboard/nowhere" && path != "/dashboard/join?token=x" {
				w.t.Errorf("%s: the browser complains: %s", at, complaint)
			}
		}
	}
	w.between(path)
}

// load loads a page: it does not move meanwhile, and axe-core has nothing to complain of.
func (w *walk) load(path, at string) {
	w.t.Helper()
	w.page.MustNavigate(w.url + path).MustWaitLoad()
	if shift := w.shift(); shift > 0.05 {
		w.t.Errorf("%s moves by %.3f while it loads: %s", at, shift, w.moved())
	}
	devtest.Axe(w.t, w.page, at)
}

// between looks at the last page in the narrowest width (WCAG 1.4.10), and in those between a
// phone's and a wide screen's: nothing is wider than the screen.
func (w *walk) between(path string) {
	w.t.Helper()
	const narrowest = 320
	w.page.MustSetViewport(narrowest, 800, 1, true)
	at := fmt.Sprintf("%s in %s at %d px", path, w.language, narrowest)
	w.shape(at, narrowest)
	w.boxes(at)
	for _, width := range []int{390, 600, 768, 860, 1024, 1080} {
		w.page.MustSetViewport(width, 800, 1, false)
		if wide := w.page.MustEval(`() => document.documentElement.scrollWidth`).Int(); wide > width {
			w.t.Errorf("%s in %s is %d px wide on a screen of %d", path, w.language, wide, width)
		}
		w.boxes(fmt.Sprintf("%s in %s at %d px", path, w.language, width))
	}
}

// boxes opens what asks before it does something, one after another: none is wider than the screen.
func (w *walk) boxes(at string) {
	w.t.Helper()
	if wide := w.page.MustEval(`() => [...document.querySelectorAll('main details.confirm:not([open])')].map((box) => {
		if (!box.checkVisibility()) return '';
		box.open = true;
		const wide = document.documentElement.scrollWidth;
		const says = wide > document.documentElement.clientWidth ? wide + ' px: ' + box.textContent.trim().slice(0, 40) : '';
		box.open = false;
		return says;
	}).filter((says) => says).join('; ')`).Str(); wide != "" {
		w.t.Errorf("%s: boxes are wider than the screen: %s", at, wide)
	}
}

func (w *walk) scheme(scheme string) {
	w.t.Helper()
	err := proto.EmulationSetEmulatedMedia{Features: []*proto.EmulationMediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}}.Call(w.page)
	if err != nil {
		w.t.Fatal(err)
	}
}

// shape is what a page has to have in any width.
func (w *walk) shape(at string, width int) {
	w.t.Helper()
	got := w.page.MustEval(`() => {
		// By how much the border of a field differs from what is around it (WCAG 1.4.11).
		const light = (c) => { const [r, g, b] = c.match(/[0-9.]+/g).map(n => n / 255)
			.map(n => n <= .04045 ? n / 12.92 : ((n + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
		const around = (e) => { for (e = e.parentElement; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
			if (!c.endsWith(', 0)')) return c; } return 'rgb(255, 255, 255)'; };
		const edge = (e) => { const [a, b] = [light(getComputedStyle(e).borderTopColor), light(around(e))];
			return (Math.max(a, b) + .05) / (Math.min(a, b) + .05); };
		return {
		wide: document.documentElement.scrollWidth, lang: document.documentElement.lang,
		h1: document.querySelectorAll('h1').length, main: document.querySelectorAll('main').length,
		unlabelled: [...document.querySelectorAll('input:not([type=hidden]), select, textarea')]
			.filter(e => !e.labels.length && !e.ariaLabel).map(e => e.name).join(),
		ids: [...document.querySelectorAll('[id]')].map(e => e.id).filter((id, i, all) => all.indexOf(id) !== i).join(),
		faint: [...document.querySelectorAll('input:not([type=hidden], [type=checkbox], [type=radio]), select, textarea')]
			.filter(e => e.checkVisibility() && !e.disabled && edge(e) < 3).map(e => e.name + ' ' + edge(e).toFixed(2)).join(),
		spills: [...document.querySelectorAll('td, th, .tile, .figure .line, .ticks, .status')].filter(e => e.checkVisibility() &&
			e.closest('thead')?.offsetWidth !== 1 && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== 'inline')
				.map(e => e.className + ' ' + e.textContent.trim().slice(0, 40)).join(),
		dead: [...document.querySelectorAll('button, [onclick], [tabindex]')].filter(e => !e.closest('form') && !e.form && e.checkVisibility() &&
			!e.matches('.copy, pre, main, [tabindex="-1"]')).map(e => e.outerHTML).join(),
	}}`)
	if wide := got.Get("wide").Int(); wide > width {
		w.t.Errorf("%s is %d px wide", at, wide)
	}
	if got.Get("lang").Str() != w.language || got.Get("h1").Int() != 1 || got.Get("main").Int() != 1 {
		w.t.Errorf("%s: language %s, %d h1, %d main", at, got.Get("lang").Str(), got.Get("h1").Int(), got.Get("main").Int())
	}
	for what, is := range map[string]string{"unlabelled": "fields without a label", "ids": "ids that are there twice",
		"dead": "what does nothing without scripting", "faint": "fields whose border is hardly seen", "spills": "what is wider than its place"} {
		if list := got.Get(what).Str(); list != "" {
			w.t.Errorf("%s: %s: %s", at, is, list)
		}
	}
}

// shift is by how much the page has moved so far: its layout shifts, added.
func (w *walk) shift() float64 {
	w.t.Helper()
	return w.page.MustEval(`() => new Promise((done) => {
		let sum = 0;
		new PerformanceObserver((list) => { for (const e of list.getEntries()) sum += e.value; }).observe({type: 'layout-shift', buffered: true});
		requestAnimationFrame(() => setTimeout(() => done(sum), 0));
	})`).Num()
}

// moved names what moved, for the message of a failure.
func (w *walk) moved() string {
	w.t.Helper()
	return w.page.MustEval(`() => new Promise((done) => {
		const names = [];
		new PerformanceObserver((list) => {
			for (const e of list.getEntries()) for (const s of e.sources) {
				const text = s.node && (s.node.outerHTML || s.node.textContent) || '?';
				names.push(text.slice(0, 120) + ' ' + JSON.stringify(s.previousRect) + ' to ' + JSON.stringify(s.currentRect));
			}
		}).observe({type: 'layout-shift', buffered: true});
		requestAnimationFrame(() => setTimeout(() => done(names.slice(0, 5).join('; ')), 0));
	})`).Str()
}

// keyboard goes through a page with the Tab key: each function that is shown comes in
// the order of the page, and each shows that it has the focus.
func (w *walk) keyboard(at string) {
	w.t.Helper()
	want := w.page.MustEval(`() => {
		const all = [...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]')]
			.filter(e => !e.disabled && e.tabIndex >= 0 && e.checkVisibility({visibilityProperty: true}) && !(e.type === 'radio' && !e.checked));
		all.forEach((e, i) => { e.dataset.tab = i; });
		document.body.tabIndex = -1;
		document.body.focus();
		const seen = (s) => s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 1 || s.boxShadow !== 'none';
		window.stops = []; // the functions that get the focus, each as it gets it
		document.addEventListener('focusin', ({target: e}) => {
			const row = e.closest('.order');
			window.stops.push({n: e.dataset.tab === undefined ? -1 : +e.dataset.tab, is: e.outerHTML.slice(0, 120),
				seen: seen(getComputedStyle(e)) || (row !== null && seen(getComputedStyle(row)))});
		});
		return all.length;
	}`).Int()
	stops := w.page.MustEval(`() => window.stops`).Arr() // none yet
	// A field of a date has parts that take the key once each, and the focus stays in the field.
	for pressed := 0; len(stops) < want && pressed < 8*want+8; {
		for range want - len(stops) {
			if err := w.page.Keyboard.Press(input.Tab); err != nil {
				w.t.Fatal(err)
			}
			pressed++
		}
		stops = w.page.MustEval(`() => window.stops`).Arr()
	}
	next := 0
	for _, got := range stops {
		if n := got.Get("n").Int(); n != next {
			w.t.Errorf("%s: the Tab key goes from function %d to %d of %d: %s", at, next-1, n, want, got.Get("is").Str())
			return
		}
		if !got.Get("seen").Bool() {
			w.t.Errorf("%s: it is not seen that this has the focus: %s", at, got.Get("is").Str())
		}
		next++
	}
	if next != want {
		w.t.Errorf("%s: the Tab key reaches %d of %d functions", at, next, want)
	}
}

func (w *walk) shoot(path string, width int, scheme string) {
	if w.shots == "" {
		return
	}
	w.t.Helper()
	name := strings.NewReplacer("/dashboard", "", w.live, "live", w.box, "empty", "company=", "", "/", "-", "?", "-", "&", "-").Replace(path)
	if len(name) > 60 {
		name = name[:60]
	}
	w.page.MustEval(`() => document.querySelectorAll('details.adding').forEach(d => d.open = true)`)
	w.page.MustScreenshotFullPage(filepath.Join(w.shots, fmt.Sprintf("walk%s-%s-%d-%s.png", name, w.language, width, scheme)))
}

// places are pages that need more than a company in their address.
type places struct {
	open   []string // without a log-in
	member []string
}

// fillSite puts something of everything into the live company.
func fillSite(s *site) places {
	s.t.Helper()
	putOdd(s)
	registerSample(s)
	s.Product(s.live, "p1", "Vestido longo", "v1")
	zone, err := time.LoadLocation("America/Sao_Paulo")
	if err != nil {
		s.t.Fatal(err)
	}
	s.leak(time.Now())
	for _, before := range []int{0, 1, 3, 8, 20, 40} {
		day := time.Now().In(zone).AddDate(0, 0, -before).Format(time.DateOnly)
		s.sumDay(day)
		s.deliverDay(day)
	}
	s.Put(reporttest.Order{CompanyID: s.live, ID: "told", TotalMinor: 129990, InfluencerID: s.Influencer(s.live, "Dora Reis"),
		Evidence: "coupon", CommissionMinor: 13499, DiscountCode: "ANA10", Explanation: sampleExplanation()})
	s.event(s.live, "PAGE_VIEW", "https://loja.example.com/?utm_source=google", nil)
	s.refusedPages()
	s.reject(s.live, "invalid_event_name", "event must match [A-Z][A-Z0-9_]{0,63}", 2)
	link, statement := s.fillStatements(time.Now())
	list, err := s.DB.Influencers(s.t.Context(), s.live, commerce.InfluencerCursor{}, 100)
	if err != nil {
		s.t.Fatal(err)
	}
	p := places{open: []string{"/dashboard/login", "/dashboard/join?token=x", "/dashboard/join?token=" + s.invite("convidada@loja.example"),
		"/dashboard/nowhere", link}}
	for _, page := range []string{"statement", "statements/withhold"} {
		p.member = append(p.member, "/dashboard/"+page+"?company="+s.live+"&id="+statement)
	}
	p.member = slices.Concat(p.member, s.fillShops(), s.fillWebhooks(), s.fillConversions())
	s.fillMails()
	for _, order := range []string{"told", "waits", "dollars", "cancelled", "nobody"} {
		p.member = append(p.member, "/dashboard/order?company="+s.live+"&id="+order)
	}
	for _, influencer := range list {
		if !strings.HasPrefix(influencer.Name, "Carla") && !strings.HasPrefix(influencer.Name, "Fernanda") {
			continue
		}
		p.member = append(p.member, "/dashboard/influencer?company="+s.live+"&id="+influencer.InfluencerID)
	}
	return p
}

// fillStatements makes a statement of each kind: paid, to be paid, carried, and asked
// for. It returns the path of a link to one, and its id.
func (s *site) fillStatements(now time.Time) (link, id string) {
	s.t.Helper()
	long := now.AddDate(0, 0, -60)
	day := func(ago int) string { return now.AddDate(0, 0, -ago).Format(time.DateOnly) }
	ask := func(name string, orders ...int64) (influencer, statement string) {
		influencer = s.Influencer(s.live, name)
		for i, minor := range orders {
			s.Put(reporttest.Order{CompanyID: s.live, ID: fmt.Sprintf("%s-%d", name[:4], i), CreatedAt: long, TotalMinor: 10 * max(minor, 100),
				InfluencerID: influencer, Evidence: "coupon", CommissionMinor: minor})
		}
		return influencer, s.Ask(s.live, influencer, "BRL", day(1), 0)
	}
	_, paid := ask("Eduarda Farias", 12050, 3000)
	due, dueID := ask("Fernanda Cristina Vasconcelos de Albuquerque", 1234567, 89)
	ask("Gabriel Nunes", -4500)
	s.Close(s.live)
	owner := commerce.Author{CompanyID: s.live, Actor: "test", At: now}
	if err := s.DB.PayStatement(s.t.Context(), owner,
		commerce.StatementPayment{StatementID: paid, PaidAt: now.Add(-time.Hour), Reference: "PIX 8127"}); err != nil {
		s.t.Fatal(err)
	}
	ask("Helena Prado", 700)
	signer, err := statementlink.NewSigner([]byte("0123456789abcdef0123456789abcdef"), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	token, err := signer.Token(statementlink.Link{CompanyID: s.live, StatementID: dueID, InfluencerID: due, Expires: now.Add(time.Hour)})
	if err != nil {
		s.t.Fatal(err)
	}
	return statementlink.Path + token, dueID
}

// firstLoad is the greatest page with all that it loads, compressed, in bytes.
const firstLoad = 200 << 10

func TestNoPageIsHeavy(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fillSite(s)
	client := s.loggedIn()
	size := func(path string) int {
		t.Helper()
		answer, err := client.Get(s.url + path)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		var packed bytes.Buffer
		zip := gzip.NewWriter(&packed)
		_, _ = zip.Write(body)
		zip.Close()
		return packed.Len()
	}
	assets := 0
	files, err := os.ReadDir("site/assets")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		assets += size("/dashboard/assets/" + file.Name())
	}
	for _, route := range dashboard.MemberRoutes() {
		method, path, _ := strings.Cut(route.Pattern, " ")
		if path = strings.TrimSuffix(path, "{$}"); method == http.MethodGet {
			if total := assets + size(path+"?company="+s.live); total > firstLoad {
				t.Errorf("%s: %d bytes with all assets", path, total)
			}
		}
	}
}

// invite invites somebody, and returns the token of the link.
func (s *site) invite(email string) string {
	s.t.Helper()
	var token [32]byte
	copy(token[:], email)
	now := time.Now()
	if err := s.DB.Invite(s.t.Context(),
		account.NewInvitation{StoreID: s.Store.StoreID, CompanyID: s.live, Email: email, Role: account.RoleOwner, At: now, Life: time.Hour,
			Random: rand.Reader}, sha256.Sum256(token[:])); err != nil {
		s.t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(token[:])
}
