package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
)

// TestAPageThatABuyerMerelyOpensEarnsNothing opens, in the buyer's own Chromium, a page of
// another site with a picture and a frame without an origin, and a page of the shop with a
// picture that somebody put there. Each names Mallory. An honest visit from the same
// network is paid.
func TestAPageThatABuyerMerelyOpensEarnsNothing(t *testing.T) {
	t.Parallel()
	d := newShop(t)
	d.register(t, "Ana Prado", "Inverno", "")
	d.register(t, "Mallory", "Inverno", "")
	picture := func(query string) string {
		landing := "https://loja.example.com/?utm_source=ig&utm_campaign=Mallory"
		return `<img src="` + d.EdgeURL + "/v1/pixel.gif?companyId=" + d.CompanyID + "&amp;" + query + "url=" + url.QueryEscape(landing) + `">`
	}
	shop := page(t, `<script async src="`+d.EdgeURL+`/sdk/v1/tributary.js" data-company="`+d.CompanyID+`"></script>`)
	review := page(t, picture(""))
	event := `{"event":"PAGE_VIEW","visitorId":"m","identity":{"email":"victim@example.com"},` +
		`"context":{"page":{"url":"https://loja.example.com/?utm_source=ig&utm_campaign=Mallory"}}}`
	foreign := page(t, picture("visitorId=c-42&amp;")+`<iframe sandbox="allow-scripts" srcdoc='<script>
		fetch("`+d.EdgeURL+`/v1/events?companyId=`+d.CompanyID+`", {method: "POST", body: `+"`["+event+"]`"+`})</script>'></iframe>`)
	if out, status := runToEnd(t, "company", "set", d.CompanyID, "--origin", shop.URL, "--origin", d.StorefrontURL, "--origin", "null",
		"--postgres", d.Postgres); status != 0 {
		t.Fatalf("allow the origins: %s", out)
	}
	stored := func(via string) (n int) {
		for _, e := range storedEvents(t, d.Postgres) {
			if e.CompanyID == d.CompanyID && string(e.Via) == via {
				n++
			}
		}
		return n
	}
	wait := func(via string, n int) {
		t.Helper()
		await.Until(t, await.Long, func() bool {
			return stored(via) == n
		}, func() string { return fmt.Sprintf("%d events of %s, want %d", stored(via), via, n) })
	}
	buyer := devtest.Browser(t)
	visit := func(address string) string { // gives the server's cookie
		t.Helper()
		view := buyer.MustPage(address).Timeout(2 * time.Minute).MustWaitLoad()
		cookie := ""
		if strings.HasPrefix(address, shop.URL) {
			await.Until(t, await.Long, func() bool { // the origins come to the edge a moment later
				view.MustEval(`() => window.tributary && tributary.flush && tributary.flush()`)
				cookies, err := view.Cookies([]string{d.EdgeURL + "/v1/events"})
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range cookies {
					if c.Name == "trb_vid" {
						cookie = c.Value
					}
				}
				return cookie != ""
			}, func() string { return "the shop's page sets no cookie" })
		}
		return cookie
	}
	buys := func(id string, change func(o map[string]any)) facts.Explanation {
		t.Helper()
		o := order(id, "100.00", "")
		change(o)
		mustCall(t, http.MethodPost, d.AdminURL+"/order", d.APIKey, o, nil)
		return d.explain(t, id, func(e facts.Explanation) bool { return e.Payout.Winner != nil })
	}
	f := func(id, winner string, state facts.PayoutState, change func(o map[string]any)) {
		t.Helper()
		if e := buys(id, change); e.Payout.Winner.Influencer != winner || e.Payout.State != state {
			t.Errorf("%s: %+v of %+v, want %s of %s", id, e.Payout.State, *e.Payout.Winner, state, winner)
		}
	}
	of := func(email string) func(o map[string]any) {
		return func(o map[string]any) { o["customer"], o["browserIp"] = map[string]any{"email": email}, "127.0.0.1" }
	}

	cookie := visit(shop.URL)
	visit(review.URL)
	wait("pixel", 1)
	f("a picture in the shop's own page", "Mallory", facts.PayoutReview, func(o map[string]any) { o["userId"] = cookie })

	visit(strings.Replace(foreign.URL, "127.0.0.1", "localhost", 1)) // another site
	wait("pixel", 2)
	wait("http", 1)
	f("a picture in another site's page", "Mallory", facts.PayoutReview, func(o map[string]any) {
		o["userId"], o["browserIp"] = "c-42", "127.0.0.1"
	})
	f("a frame without an origin", "Mallory", facts.PayoutReview, of("victim@example.com"))

	honest := buyer.MustIncognito().MustPage(shop.URL + "/?utm_source=ig&utm_campaign=Ana+Prado").Timeout(2 * time.Minute).MustWaitLoad()
	honest.MustWait(`() => window.tributary && tributary.loaded`)
	honest.MustEval(`async () => { await tributary.track("CHECKOUT_COMPLETED", {items: [{item_id: "1", item_quantity: 1}]}, {email: ` +
		`"maria@example.com"}); await tributary.flush() }`)
	f("an honest visit", "Ana Prado", facts.PayoutEarned, of("maria@example.com"))
}
