package sdkjs_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-rod/rod"
	"github.com/go-rod/rod/lib/proto"

	sdkjs "github.com/tributary-io/tributary/sdk-js"
	"github.com/tributary-io/tributary/sdk/core"
)

// readmes returns the pages that show the snippet.
func readmes() []string { return []string{"../README.md", "README.md", "../docs/sdk.md"} }

// code returns the first block of a page in a language.
func code(t *testing.T, page, language string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindSubmatch(text)
	if block == nil {
		t.Fatalf("%s has no block in %s", page, language)
	}
	return string(block[1])
}

func TestTheReadmesShowTheSameSnippet(t *testing.T) {
	want := sdkjs.Snippet("https://collect.your-shop.com", "YOUR_COMPANY_ID")
	for _, page := range readmes() {
		if got := code(t, page, "html"); got != want {
			t.Errorf("%s shows\n%s\nwant\n%s", page, got, want)
		}
	}
}

// A tag without the stub is an error in the page that calls it too early.
func TestNoPageShowsTheTagWithoutTheStub(t *testing.T) {
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("npm/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(append(pages, more...), readmes()...) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if tags, stubs := strings.Count(string(text), "<script async src"), strings.Count(string(text),
			"window.tributary = window.tributary || []"); tags > stubs {
			t.Errorf("%s shows %d tags and %d stubs", page, tags, stubs)
		}
	}
}

func TestTheShopOfNextHasTheStub(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "testdata", "web", "next", "app", "stub.js"))
	if err != nil {
		t.Fatal(err)
	}
	_, want, _ := strings.Cut(stub(), "<script>")
	want, _, _ = strings.Cut(want, "</script>")
	if !strings.Contains(string(text), strings.TrimSpace(want)) {
		t.Errorf("it has not:\n%s", want)
	}
}

func TestTheSnippetIsSafeInAPage(t *testing.T) {
	got := sdkjs.Snippet(`https://edge.test/"><b>`, `a"b`)
	if strings.Contains(got, `"><b>`) || !strings.Contains(got, `data-company="a&#34;b"`) {
		t.Errorf("snippet\n%s", got)
	}
}

// everyCall calls each public method, as a page may before the script is there.
const everyCall = `
	tributary.consent("granted");
	tributary.reset();
	var track = tributary.track;
	track("EARLY");
	window.flushed = false;
	tributary.flush().then(function () { window.flushed = true; });
	addEventListener("load", function () { track("LATE"); });`

// snippetPage returns a page with a README's snippet and its first call, unchanged,
// and every other call.
func snippetPage(t *testing.T, readme, endpoint string) string {
	t.Helper()
	html := strings.NewReplacer("https://collect.your-shop.com", endpoint, "YOUR_COMPANY_ID", "loja").Replace(code(t, readme, "html"))
	return html + "<script>" + code(t, readme, "js") + everyCall + "</script>"
}

// failOnErrors fails the test for each error that the page throws or writes to
// the console, and, with network, for each that the browser reports.
func failOnErrors(t *testing.T, page *rod.Page, network bool) {
	t.Helper()
	wait := page.EachEvent(func(e *proto.RuntimeExceptionThrown) {
		t.Errorf("the page threw: %s", e.ExceptionDetails.Exception.Description)
	}, func(e *proto.RuntimeConsoleAPICalled) {
		if e.Type == proto.RuntimeConsoleAPICalledTypeError || e.Type == proto.RuntimeConsoleAPICalledTypeWarning {
			t.Errorf("the console has %s: %v", e.Type, e.Args[0].Value)
		}
	}, func(e *proto.LogEntryAdded) {
		if network && e.Entry.Level == proto.LogLogEntryLevelError {
			t.Errorf("the browser reports: %s", e.Entry.Text)
		}
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		wait()
	}()
	t.Cleanup(func() {
		_ = page.Close() // ends wait
		<-done
	})
}

// The snippet of each README, run with the script served.
func readmeSnippets(t *testing.T, e *edge, b *rod.Browser) {
	for _, readme := range readmes() {
		s := shop(t, map[string]string{"/": snippetPage(t, readme, e.URL+"/t")})
		page := b.MustPage("").Timeout(life)
		failOnErrors(t, page, true)
		before := e.seen()
		page.MustNavigate(s.URL + "/")
		for _, name := range []string{core.PageView, core.CheckoutCompleted, "EARLY", "LATE"} {
			e.wait(t, readme+": "+name, func(s seen) bool { return s.copies(name) > before.copies(name) })
		}
		until(t, page, `() => flushed`)
		if sale := e.seen().named(core.CheckoutCompleted); sale.Identity.Email != "ana@example.com" {
			t.Errorf("%s: identity %+v", readme, sale.Identity)
		}
	}
}

// The same without the script: it is answered 404, or refused by an ad blocker.
// The page has no error, and the number of calls that the stub keeps is bounded.
func readmeSnippetsBlocked(t *testing.T, _ *edge, b *rod.Browser) {
	missing := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(missing.Close)
	for _, readme := range readmes() {
		for _, blocked := range []bool{false, true} {
			s := shop(t, map[string]string{"/": snippetPage(t, readme, missing.URL)})
			page := b.MustPage("").Timeout(life)
			failOnErrors(t, page, false)
			if blocked {
				if err := (proto.NetworkEnable{}).Call(page); err != nil {
					t.Fatal(err)
				}
				if err := (proto.NetworkSetBlockedURLs{Urls: []string{"*/tributary.js"}}).Call(page); err != nil {
					t.Fatal(err)
				}
			}
			page.MustNavigate(s.URL + "/").MustWaitLoad()
			until(t, page, `() => flushed`)
			kept := page.MustEval(`() => { for (let i = 0; i < 2000; i++) tributary.track("MORE"); return tributary.length }`).Int()
			if loaded := page.MustEval(`() => !!tributary.loaded`).Bool(); loaded || kept != 1000 {
				t.Errorf("%s: loaded %v, %d calls kept, want 1000", readme, loaded, kept)
			}
		}
	}
}
