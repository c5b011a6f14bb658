package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-rod/rod"

	"github.com/tributary-io/tributary/test/devtest"
)

// TestTheReadmesPictures takes every page at the width of a desktop and of a
// phone, into $TRIBUTARY_SHOTS where that is given (make screenshots), and
// checks that none needs sideways scrolling.
func TestTheReadmesPictures(t *testing.T) {
	dir := os.Getenv("TRIBUTARY_SHOTS")
	if dir == "" {
		dir = t.TempDir()
	} else if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	d := demoDev.of(t)
	// More orders of the day, besides the demo's sale.
	for i, o := range []struct{ total, coupon string }{
		{"184.50", "ANA10"}, {"89.90", ""}, {"312.00", "BETO15"}, {"59.00", ""}, {"240.00", "ANA10"}, {"129.90", "BETO15"},
	} {
		id := "10" + string(rune('1'+i)) + "7"
		body := order(id, o.total, o.coupon)
		body["name"] = "#" + id
		mustCall(t, http.MethodPost, d.AdminURL+"/order", d.APIKey, body, nil)
		d.explain(t, id, nil)
	}

	page := devtest.Browser(t).MustPage(d.DashboardURL).Timeout(2 * time.Minute)
	shoot(t, page, dir, "login")
	page.MustElement("#email").MustInput(d.DashboardEmail)
	page.MustElement("#password").MustInput(d.DashboardPassword)
	page.MustElement("button.main").MustClick()
	page.MustElement("#live[data-state=on]")
	shoot(t, page, dir, "today")

	// The demo's sale came by a link, so its page has keys, visits and a payout.
	bought := page.MustElement(`#orders li[data-id="demo-1001"] a.name`).MustProperty("href").String()
	page.MustNavigate(bought).MustWaitLoad()
	page.MustElement("main")
	shoot(t, page, dir, "order")

	page.MustNavigate(d.StorefrontURL).MustWaitLoad()
	shoot(t, page, dir, "storefront")
}

func shoot(t *testing.T, page *rod.Page, dir, name string) {
	t.Helper()
	for suffix, width := range map[string]int{"": 1280, "-phone": 390} {
		page.MustSetViewport(width, 860, 1, width < 600)
		page.MustWaitStable()
		if over := page.MustEval(`() => document.documentElement.scrollWidth - window.innerWidth`).Int(); over > 0 {
			t.Errorf("%s at %d px is %d px too wide", name, width, over)
		}
		page.MustScreenshot(filepath.Join(dir, name+suffix+".png"))
	}
}
