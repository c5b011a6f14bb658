package dashboard_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-rod/rod"
	"github.com/go-rod/rod/lib/proto"

	"github.com/tributary-io/tributary/admin/dashboard"
	"github.com/tributary-io/tributary/internal/devstack/devtest"
)

// skipped are pages that need more than a company in their address; other tests
// walk over them.
var skipped = map[string]bool{"/dashboard/order": true, "/dashboard/influencer": true, "/dashboard/install/signals": true, "/dashboard/events/feed": true}

// Every page, as a phone and a wide screen show it, in both languages: the browser
// has nothing to complain of, nothing is wider than the screen, nothing moves while
// it loads, and each text of the catalogue is there.
func TestEveryPageInEveryLanguageAndWidth(t *testing.T) {
	s := newSite(t)
	fillSite(s)
	page := devtest.Browser(t).MustPage("").Timeout(3 * time.Minute)
	complaints := make(chan string, 100)
	go page.EachEvent(func(e *proto.LogEntryAdded) { complaints <- e.Entry.Text },
		func(e *proto.RuntimeExceptionThrown) { complaints <- e.ExceptionDetails.Text })()
	page.MustNavigate(s.url + "/").MustWaitLoad()
	page.MustElement("#email").MustInput(testEmail)
	page.MustElement("#password").MustInput(testPassword)
	page.MustElement("button.main").MustClick()
	page.MustElement(".pages")
	for _, language := range []string{"en", "pt-BR"} {
		page.MustNavigate(s.url + "/dashboard/").MustWaitLoad()
		page.MustElement(".account summary").MustClick()
		loaded := page.MustWaitNavigation()
		page.MustElement(`button[lang="` + language + `"]`).MustWaitVisible().MustClick()
		loaded()
		page.MustElement(`html[lang="` + language + `"]`)
		for _, route := range dashboard.MemberRoutes() {
			method, path, _ := strings.Cut(route.Pattern, " ")
			path = strings.TrimSuffix(path, "{$}")
			if method != http.MethodGet || skipped[path] || strings.HasSuffix(path, ".csv") || strings.HasSuffix(path, ".svg") {
				continue
			}
			s.walk(page, language, path)
			for len(complaints) > 0 {
				t.Errorf("%s in %s: the browser complains: %s", path, language, <-complaints)
			}
		}
	}
}

// walk looks at a page in each width.
func (s *site) walk(page *rod.Page, language, path string) {
	s.t.Helper()
	for _, width := range []int{1280, 390} {
		page.MustSetViewport(width, 800, 1, width < 500)
		page.MustNavigate(s.url + path + "?company=" + s.live).MustWaitLoad()
		got := page.MustEval(`() => ({
			wide: document.documentElement.scrollWidth, lang: document.documentElement.lang, text: document.body.innerText,
			h1: document.querySelectorAll('h1').length, main: document.querySelectorAll('main').length,
			unlabelled: [...document.querySelectorAll('input:not([type=hidden]), select, textarea')].filter(e => !e.labels.length).map(e => e.name).join(),
			ids: [...document.querySelectorAll('[id]')].map(e => e.id).filter((id, i, all) => all.indexOf(id) !== i).join(),
		})`)
		if wide := got.Get("wide").Int(); wide > width {
			s.t.Errorf("%s in %s is %d px wide on a screen of %d", path, language, wide, width)
		}
		if got.Get("lang").Str() != language || got.Get("h1").Int() != 1 || got.Get("main").Int() != 1 {
			s.t.Errorf("%s in %s: language %s, %d h1, %d main", path, language, got.Get("lang").Str(), got.Get("h1").Int(), got.Get("main").Int())
		}
		shift := page.MustEval(`() => new Promise((done) => {
			let sum = 0;
			new PerformanceObserver((list) => { for (const e of list.getEntries()) sum += e.value; }).observe({type: 'layout-shift', buffered: true});
			requestAnimationFrame(() => setTimeout(() => done(sum), 0));
		})`).Num()
		if shift > 0.05 {
			s.t.Errorf("%s moves by %.3f while it loads", path, shift)
		}
		if names := got.Get("unlabelled").Str(); names != "" {
			s.t.Errorf("%s: fields without a label: %s", path, names)
		}
		if ids := got.Get("ids").Str(); ids != "" {
			s.t.Errorf("%s: ids that are there twice: %s", path, ids)
		}
		if dir := os.Getenv("TRIBUTARY_SHOTS"); dir != "" {
			name := strings.Trim(strings.ReplaceAll(strings.TrimPrefix(path, "/dashboard"), "/", "-"), "-")
			page.MustEval(`() => document.querySelectorAll('details.adding').forEach(d => d.open = true)`)
			page.MustScreenshotFullPage(filepath.Join(dir, "walk-"+name+"-"+language+"-"+map[int]string{1280: "wide", 390: "phone"}[width]+".png"))
		}
	}
}

// fillSite puts something of everything into the live company.
func fillSite(s *site) {
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
	files, err := os.ReadDir("assets")
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
