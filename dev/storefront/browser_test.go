package storefront

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/test/devtest"
)

func TestThePagesFitAPhone(t *testing.T) {
	page := devtest.Browser(t).MustPage("").Timeout(time.Minute)
	base, _ := open(t, func(http.ResponseWriter, *http.Request) {})
	f := func(name string) {
		t.Helper()
		for _, width := range []int{1280, 390} {
			page.MustSetViewport(width, 800, 1, width < 500)
			if got := page.MustEval(`() => document.documentElement.scrollWidth`).Int(); got > width {
				t.Errorf("%s is %d px wide on a screen of %d", name, got, width)
			}
			if dir := os.Getenv("TRIBUTARY_SHOTS"); dir != "" {
				page.MustScreenshotFullPage(filepath.Join(dir, "shop-"+name+"-"+strconv.Itoa(width)+".png"))
			}
		}
	}
	page.MustNavigate(base + "/").MustWaitLoad()
	f("home")
	for _, id := range []string{"vestido", "bolsa", "sandalia"} {
		page.MustNavigate(base + "/p/" + id).MustWaitLoad()
		page.MustElement("#add-to-cart").MustClick()
		page.MustElement("[data-test=cart-lines]")
	}
	f("cart")
	page.MustElement("#begin-checkout").MustClick()
	page.MustElement("#checkout-form")
	if at := page.MustInfo().URL; !strings.HasSuffix(at, "/checkout") {
		t.Errorf("the checkout is at %s", at)
	}
	f("checkout")
	page.MustElement("#checkout-name").MustInput("Maria")
	page.MustElement("#checkout-email").MustInput("maria@example.com")
	page.MustElement("#checkout-coupon").MustInput("ANA10")
	page.MustElement("#place-order").MustClick()
	page.MustElement("[data-test=dashboard-link]")
	f("thanks")
}
