package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
)

// TestASaleIsAttributedInABrowser follows one sale: an influencer's short link,
// the storefront, the order, its explanation and the dashboard.
func TestASaleIsAttributedInABrowser(t *testing.T) {
	t.Parallel()
	d := emptyDev.of(t)
	short := d.register(t, "Ana Prado", "Inverno", "")
	browser := devtest.Browser(t)

	// The merchant has the dashboard open, and never reloads it.
	dashboard := browser.MustPage(d.DashboardURL).Timeout(2 * time.Minute)
	dashboard.MustElement("#email").MustInput(d.DashboardEmail)
	dashboard.MustElement("#password").MustInput(d.DashboardPassword)
	dashboard.MustElement("button.main").MustClick()
	dashboard.MustElement("#live[data-state=on]")
	dashboard.MustEval(`() => { window.neverReloaded = true }`)

	// A shopper in another profile opens the short link …
	shopper := browser.MustIncognito().MustPage(short).Timeout(2 * time.Minute).MustWaitLoad()
	if got := shopper.MustInfo().URL; !strings.HasPrefix(got, d.StorefrontURL) || !strings.Contains(got, "trb_click=") ||
		!strings.Contains(got, "utm_campaign=Ana") {
		t.Fatalf("the short link landed on %s, want the storefront with a click id and UTMs", got)
	}
	// … looks, adds to the cart, and buys without any coupon.
	click := func(selector string) {
		t.Helper()
		wait := shopper.MustWaitNavigation()
		shopper.MustElement(selector).MustClick()
		wait()
	}
	click(`[data-test="product-card"]`)
	click("#add-to-cart")
	if has, _, _ := shopper.Has("#begin-checkout"); !has {
		click("#cart-link")
	}
	click("#begin-checkout")
	shopper.MustElement("#checkout-name").MustInput("Maria Souza")
	shopper.MustElement("#checkout-email").MustInput("maria@example.com")
	click("#place-order")
	orderID := shopper.MustElement("#order-id").MustText()

	e := d.explain(t, orderID, func(e facts.Explanation) bool { return e.Payout.Winner != nil })
	if w := e.Payout.Winner; w.Influencer != "Ana Prado" || w.Campaign != "Inverno" || w.Evidence != "link" {
		t.Errorf("winner %+v, want Ana Prado / Inverno by link", *w)
	}
	var total, commission int64
	d.query(t, []any{&total, &commission}, `select o.total_minor, p.commission_minor from orders o join payout p using (company_id, order_id)
		where o.company_id = $1 and o.order_id = $2`, d.CompanyID, orderID)
	// 10 % of the order without its shipping (the shop's flat 15.00), half-even.
	if want := tenPercent(total - 1500); commission != want || cents(t, e.Payout.Commission) != want {
		t.Errorf("commission %d in the ledger and %s in the explanation, want %d of a total of %d", commission, e.Payout.Commission, want, total)
	}
	if len(e.Ledger) != 1 || e.Ledger[0].Kind != "earned" || cents(t, e.Ledger[0].Amount) != commission {
		t.Errorf("ledger %+v, want one entry earned", e.Ledger)
	}
	for model, shares := range e.Models {
		var sum int64
		for _, share := range shares {
			sum += cents(t, share.Amount)
		}
		if sum != total {
			t.Errorf("model %s credits %d of %d cents", model, sum, total)
		}
	}

	// Every step of the visit is stored once.
	for name, want := range map[string]int{"LINK_CLICK": 1, "PRODUCT_VIEW": 1, "ADD_TO_CART": 1, "INITIATE_CHECKOUT": 1,
		"CHECKOUT_COMPLETED": 1} {
		var n int
		await.Until(t, await.Long, func() bool {
			d.query(t, []any{&n}, `select count(*) from event_fact where company_id = $1 and name = $2`, d.CompanyID, name)
			return n == want
		}, func() string { return name + " is not stored exactly once" })
	}

	row, err := dashboard.ElementR("#influencers tr", "Ana Prado")
	if err != nil {
		t.Fatalf("Ana Prado never showed on the open dashboard: %v", err)
	}
	if got, want := row.MustElement(`[data-lines="credited"]`).MustText(), commerce.FormatMinor(total,
		commerce.BRL); !strings.Contains(got, want) {
		t.Errorf("the dashboard credits %q, want %s", got, want)
	}
	if _, err := dashboard.ElementR("#orders li", "Ana Prado"); err != nil {
		t.Errorf("the order never showed on the open dashboard: %v", err)
	}
	if !dashboard.MustEval(`() => window.neverReloaded === true`).Bool() {
		t.Error("the dashboard was reloaded")
	}

	// Personal data of the shopper is in order_personal only.
	for _, e := range storedEvents(t, d.Postgres) {
		if e.CompanyID == d.CompanyID && strings.Contains(strings.ToLower(string(e.Raw)), "maria") {
			t.Errorf("a stored event names the shopper: %s", e.Raw)
		}
	}
}

// TestACouponBeatsAnotherInfluencersLink checks the default payout rule through the API.
func TestACouponBeatsAnotherInfluencersLink(t *testing.T) {
	t.Parallel()
	d := newShop(t)
	short := d.register(t, "Ana Prado", "Inverno", "")
	d.register(t, "Beto Lima", "Inverno", "BETO10")

	click, err := http.NewRequestWithContext(t.Context(), http.MethodGet, short, nil)
	if err != nil {
		t.Fatal(err)
	}
	click.Header.Set("User-Agent",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148")
	response, err := withoutRedirects.Do(click)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	landing := response.Header.Get("Location")
	if response.StatusCode != http.StatusFound || landing == "" {
		t.Fatalf("GET %s: %s, Location %q", short, response.Status, landing)
	}
	mustPostEvents(t, d, map[string]any{
		"event": "PAGE_VIEW", "visitorId": "v-1", "identity": map[string]any{"cart_token": "cart-1"},
		"timestamp": time.Now().UTC().Format(time.RFC3339), "context": map[string]any{"page": map[string]any{"url": landing}},
	})

	o := order("o-1", "200.00", "beto10")
	o["cartToken"] = "cart-1"
	mustCall(t, http.MethodPost, d.AdminURL+"/order", d.APIKey, o, nil)
	e := d.explain(t, "o-1", func(e facts.Explanation) bool { return e.Payout.Winner != nil && len(e.Touches) > 0 })
	if w := e.Payout.Winner; w.Influencer != "Beto Lima" || w.Evidence != "coupon" || cents(t, e.Payout.Commission) != 2000 {
		t.Errorf("payout %+v, want 20.00 to Beto Lima by coupon", e.Payout)
	}
	if last := e.Models["last"]; len(last) != 1 || last[0].Channel != "Ana Prado" || cents(t, last[0].Amount) != 20000 {
		t.Errorf("last touch %+v, want all 200.00 to Ana Prado: channel credit is not payout", last)
	}

	// A cancelled order's commission is reversed in full.
	o["orderStatus"], o["updatedAt"] = 2, time.Now().Add(time.Minute).UTC().Format("2006-01-02T15:04:05Z")
	mustCall(t, http.MethodPost, d.AdminURL+"/order", d.APIKey, o, nil)
	e = d.explain(t, "o-1", func(e facts.Explanation) bool { return len(e.Ledger) == 2 })
	var net int64
	for _, entry := range e.Ledger {
		net += cents(t, entry.Amount)
	}
	if net != 0 {
		t.Errorf("the ledger of a cancelled order nets %d cents: %+v", net, e.Ledger)
	}
}

// mustPostEvents sends events to the edge; each must be acknowledged.
func mustPostEvents(t *testing.T, d *dev, events ...map[string]any) {
	t.Helper()
	got, err := call(t.Context(), http.MethodPost, d.EdgeURL+"/v1/events", "", map[string]any{"companyId": d.CompanyID, "events": events})
	if err != nil {
		t.Fatal(err)
	}
	var reply struct {
		Results []struct{ Status, Code, Message string }
	}
	if err := json.Unmarshal(got.body, &reply); err != nil || got.status != http.StatusOK || len(reply.Results) != len(events) {
		t.Fatalf("POST /v1/events: %d %s", got.status, got.body)
	}
	for i, result := range reply.Results {
		if result.Status != "ok" {
			t.Fatalf("event %d: %+v", i, result)
		}
	}
}

// cents is an amount with at most two decimals, exactly.
func cents(t *testing.T, n json.Number) int64 {
	t.Helper()
	whole, fraction, _ := strings.Cut(n.String(), ".")
	if len(fraction) > 2 {
		t.Fatalf("amount %s has more than two decimals", n)
	}
	minor, err := json.Number(whole + fraction + strings.Repeat("0", 2-len(fraction))).Int64()
	if err != nil {
		t.Fatalf("amount %q: %v", n, err)
	}
	return minor
}

// tenPercent rounds half to even.
func tenPercent(minor int64) int64 {
	tenth, rest := minor/10, minor%10
	if rest > 5 || (rest == 5 && tenth%2 == 1) {
		tenth++
	}
	return tenth
}
