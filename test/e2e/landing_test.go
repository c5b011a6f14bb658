package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	sdkjs "github.com/tributary-io/tributary/sdk-js"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
)

// landing is where an influencer's short link leads, on the test's own shop.
func (d *dev) landing(t *testing.T, short, shop string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, short, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/150.0 Safari/537.36") // no bot's
	response, err := withoutRedirects.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	to, err := url.Parse(response.Header.Get("Location"))
	if err != nil || to.Query().Get("trb_click") == "" {
		t.Fatalf("GET %s: %s, Location %q", short, response.Status, to)
	}
	return shop + "/?" + to.RawQuery
}

// TestALandingThatIsLeftEarlyIsPaid leaves the landing page before the SDK is there, in Chromium. The
// influencer is paid all the same.
func TestALandingThatIsLeftEarlyIsPaid(t *testing.T) {
	t.Parallel()
	d := newShop(t)
	browser := devtest.Browser(t)
	script := sdkjs.Snippet(d.EdgeURL, d.CompanyID)
	for name, landing := range map[string]string{
		"router": `<script>history.pushState({}, "", "/product")</script>` + script,
		"link":   `<body><a href="/product">T-shirt</a><script>document.querySelector("a").click()</script>`,
	} {
		t.Run(name, func(t *testing.T) {
			shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/html; charset=utf-8")
				page := script
				if r.URL.Path == "/" {
					page = landing
				}
				_, _ = io.WriteString(w, `<!doctype html><title>Shop</title><link rel="icon" href="data:,">`+page)
			}))
			t.Cleanup(shop.Close)
			if out, status := runToEnd(t, "company", "set", d.CompanyID, "--origin", shop.URL, "--origin", d.StorefrontURL, "--postgres",
				d.Postgres); status != 0 {
				t.Fatalf("allow the shop's origin: %s", out)
			}
			influencer := "Ana of the " + name
			page := browser.MustIncognito().MustPage(d.landing(t, d.register(t, influencer, "Inverno", ""), shop.URL)).Timeout(2 * time.Minute)
			await.Until(t, await.Long, func() bool { // a page that is on its way to another one answers with an error
				there, err := page.Eval(`() => !!(location.pathname == "/product" && window.tributary && tributary.loaded && !tributary._)`)
				return err == nil && there.Value.Bool()
			}, func() string { return "the next page, with the SDK's second file, does not come" })
			visitor := page.MustEval(`() => tributary.getVisitorId()`).Str()
			page.MustEval(`() => tributary.flush()`)

			id := fmt.Sprintf("left-%s", name)
			o := order(id, "100.00", "")
			o["userId"] = visitor
			mustCall(t, http.MethodPost, d.AdminURL+"/order", d.APIKey, o, nil)
			e := d.explain(t, id, func(e facts.Explanation) bool { return e.Payout.Winner != nil })
			if w := e.Payout.Winner; w.Influencer != influencer || w.Evidence != "link" || cents(t, e.Payout.Commission) != 1000 {
				t.Errorf("payout %+v, want 10.00 to %s by link", e.Payout, influencer)
			}
			if n := len(e.Touches); n == 0 || e.Touches[n-1].Channel != influencer || e.Touches[n-1].Arrival != facts.ByClick ||
				e.Touches[n-1].Proof != "visitor" {
				t.Errorf("touches %+v, want the last to be %s's, by the click", e.Touches, influencer)
			}
			if last := e.Models["last"]; len(last) != 1 || last[0].Channel != influencer {
				t.Errorf("last touch %+v, want %s", last, influencer)
			}
		})
	}
}
