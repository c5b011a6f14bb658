package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
)

// page serves one page at every path.
func page(t *testing.T, html string) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprintf(w, `<!doctype html><title>Loja</title><link rel="icon" href="data:,">%s`, html)
	}))
	t.Cleanup(server.Close)
	return server
}

// A shop puts the snippet into a page whose origin is not listed. Its developer
// reads in the console what to do, does it, and no event was lost meanwhile. Then
// another site shows the shop in a frame.
func TestADeveloperIsToldWhichOriginToAllow(t *testing.T) {
	t.Parallel()
	d := newShop(t)
	shop := page(t, `<script>window.said = []; console.error = function () { said.push([].join.call(arguments, " ")) }</script>
		<script async src="`+d.EdgeURL+`/sdk/v1/tributary.js" data-company="`+d.CompanyID+`"></script>`)
	browser := devtest.Browser(t)
	view := browser.MustPage(shop.URL).Timeout(2 * time.Minute)
	view.MustWait(`() => window.said && said.length > 0`)
	view.MustEval(`() => tributary.flush()`) // says it no second time
	said := view.MustEval(`() => said.join("\n")`).Str()
	command := regexp.MustCompile("`tributary (company set [^`]*)`").FindStringSubmatch(said)
	if command == nil || strings.Contains(said, "\n") || !strings.Contains(said, "origin_not_allowed") {
		t.Fatalf("the console says %q, want one line with the command that allows the origin", said)
	}
	cookies, err := view.Cookies([]string{d.EdgeURL + "/v1/events"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cookies {
		if c.Name == "trb_vid" {
			t.Errorf("a refused page's visitor got the cookie %s", c.Value)
		}
	}

	// As the console says; the storefront's origin stays.
	args := append(strings.Fields(command[1]), "--postgres", d.Postgres)
	if out, status := runToEnd(t, args...); status != 0 || !strings.Contains(out, shop.URL) {
		t.Fatalf("tributary %v: %d\n%s", args, status, out)
	}
	views := func(frame bool) (n int) {
		for _, e := range storedEvents(t, d.Postgres) {
			if e.CompanyID == d.CompanyID && e.Event.Event == "PAGE_VIEW" && e.Frame == frame {
				n++
			}
		}
		return n
	}
	await.Until(t, await.Long, func() bool {
		view.MustEval(`() => tributary.flush()`)
		return views(false) == 1
	}, func() string { return "the page view of before is stored" })
	if n := views(true); n != 0 {
		t.Errorf("%d page views of a frame", n)
	}

	around := page(t, `<iframe src="`+shop.URL+`"></iframe>`)
	browser.MustIncognito().MustPage(strings.Replace(around.URL, "127.0.0.1", "localhost", 1)) // another site
	await.Until(t, await.Long, func() bool {
		return views(true) == 1
	}, func() string { return "the page view in another site's frame is stored as one" })
	if n := views(false); n != 1 {
		t.Errorf("%d page views outside of frames, want 1", n)
	}
}
