package e2e

import (
	"fmt"
	"net"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-rod/rod/lib/proto"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
	"github.com/tributary-io/tributary/test/fakes"
)

// TestAShopIsConnectedInPortuguese is a merchant who connects a shop of Nuvemshop with a phone: the dashboard leads to
// the platform and back, shows what would come, and from then on orders come by themselves. A coupon's order, a link's,
// and a refund of a part are in the ledger to the cent. After it is disconnected nothing comes.
//
//nolint:paralleltest // it has the machine to itself, and measures how long it takes
func TestAShopIsConnectedInPortuguese(t *testing.T) {
	c := newConnected(t)
	c.earlier()
	began := time.Now()
	c.logIn()
	c.sells()
	c.install()
	c.preview()
	c.connect()

	// An influencer's coupon.
	id := c.buy("https://"+monthShop+"/products/0", "LIA10")
	coupon := c.d.explain(t, id, credited)
	t.Logf("from the log-in to the first order that is attributed: %.1f s", time.Since(began).Seconds())
	if w := coupon.Payout.Winner; w.Influencer != "Bia Ramos" || w.Evidence != "coupon" {
		t.Errorf("the coupon's order is credited to %+v", *w)
	}
	c.inLedger(id, 0)

	// An influencer's link.
	linked := c.buy(c.short, "")
	if w := c.d.explain(t, linked, credited).Payout.Winner; w.Influencer != "Bia Ramos" || w.Evidence == "coupon" {
		t.Errorf("the link's order is credited to %+v", *w)
	}
	c.inLedger(linked, 0)

	// A part of the coupon's order is refunded in the shop's admin.
	c.refund(id, "20.00")
	c.inLedger(id, 2000)
	c.live()
	c.disconnect()
}

func credited(e facts.Explanation) bool { return e.Payout.Winner != nil }

// connected is a merchant in a browser as wide as a phone, whose shop is at a platform.
type connected struct {
	*month
	shop  *fakes.Shop
	past  *atomic.Int64 // the shop's clock is so many nanoseconds back
	id    string        // of the order before the shop was connected
	short string
	at    string // address of the connection's page
}

func newConnected(t *testing.T) *connected {
	c := &connected{past: &atomic.Int64{}}
	var err error
	c.shop, err = fakes.Start(t.Context(), fakes.Options{Platform: "nuvemshop", Shop: "Loja da Lia", Seed: 22, Storefront: true,
		Undocumented: true, Scope: "read_orders,read_customers,read_products", RetryScale: 1e-3,
		Now: func() time.Time { return time.Now().Add(-time.Duration(c.past.Load())) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.shop.Close)
	// Shoppers see the shop at an address of its own, as https.
	at, err := url.Parse(c.shop.URL())
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewTLSServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(at); r.Out.Host = monthShop }})
	t.Cleanup(front.Close)
	_, port, err := net.SplitHostPort(front.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(c.shop.Key("client_secret")), 0o600); err != nil {
		t.Fatal(err)
	}
	_, hosts := fakes.Pasted(c.shop)
	addresses := make([]string, 0, len(hosts))
	for _, host := range hosts {
		addresses = append(addresses, host+"="+c.shop.URL())
	}
	d := startDev(t, dataDir(t), "--empty", "--contact", "test@loja.example", "--shop-address", strings.Join(addresses, ","),
		"--nuvemshop-app-id", c.shop.Key("app_id"), "--nuvemshop-app-secret-file", secret)
	// The platform is another site than the dashboard, as it really is: it comes back without cookies that are SameSite=Strict.
	d.DashboardURL = strings.Replace(d.DashboardURL, "127.0.0.1", "localhost", 1)
	c.shop.SetRedirect(d.DashboardURL + "/shops/installed")
	c.month = &month{t: t, d: d, company: d.CompanyID, complaints: make(chan string, 100)}
	c.browser = devtest.Browser(t, "host-resolver-rules=MAP "+monthShop+":443 127.0.0.1:"+port, "ignore-certificate-errors", "lang=pt-BR")
	c.page = c.browser.MustPage("").Timeout(4 * time.Minute)
	c.page.MustSetViewport(390, 844, 1, true)
	c.page.MustSetExtraHeaders("Accept-Language", "pt-BR,pt;q=0.9")
	return c
}

// shoot is month.shoot with a name of its own.
func (c *connected) shoot(name string) {
	c.t.Helper()
	if dir := os.Getenv("TRIBUTARY_SHOTS"); dir != "" {
		c.shots++
		c.page.MustScreenshotFullPage(filepath.Join(dir, fmt.Sprintf("connect-%02d-%s.png", c.shots, name)))
	}
}

// earlier gives the shop an order of ten days ago.
func (c *connected) earlier() {
	c.t.Helper()
	if _, err := c.shop.AddCoupon(fakes.Coupon{Code: "LIA10", Kind: fakes.CouponPercent, Value: 1000}); err != nil {
		c.t.Fatal(err)
	}
	c.past.Store(int64(10 * 24 * time.Hour))
	o, err := c.shop.Place(fakes.Cart{Codes: []string{"LIA10"}, Shipping: 1250})
	if err == nil {
		err = c.shop.Pay(o.ID)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	c.id = fmt.Sprint(o.ID)
	c.past.Store(0)
}

func (c *connected) logIn() {
	c.t.Helper()
	c.page.MustNavigate(c.d.DashboardURL).MustWaitLoad()
	c.page.MustElement("#email").MustInput(c.d.DashboardEmail)
	c.page.MustElement("#password").MustInput(c.d.DashboardPassword)
	c.press("button.main")
	c.page.MustElement(".pages")
}

// sells puts what the install page shows, and what docs/recipes.md says of the page after the order, into the shop's pages,
// and makes an influencer with link and coupon.
func (c *connected) sells() {
	c.t.Helper()
	c.open("/dashboard/install")
	c.page.MustElement("#f-origin").MustInput("https://" + monthShop)
	c.press(`form[action*="install/origin?"] button`)
	recipes, err := os.ReadFile("../../docs/recipes.md")
	if err != nil {
		c.t.Fatal(err)
	}
	_, recipe, _ := strings.Cut(string(recipes), "## Nuvemshop\n")
	_, recipe, _ = strings.Cut(recipe, "```html\n")
	recipe, _, found := strings.Cut(recipe, "```")
	if !found {
		c.t.Fatal("docs/recipes.md has no code for Nuvemshop")
	}
	c.shop.SetHead(c.page.MustElement("#snippet").MustText() + recipe)
	c.open("/dashboard/influencers")
	c.click("details.adding summary")
	c.fill(map[string]string{"name": "Bia Ramos", "campaign": "Primavera", "links": "https://" + monthShop + "/products/1",
		"code": "LIA10", "var_fee": "10,0"})
	c.day("coupon_start", time.Now().AddDate(0, 0, -60))
	c.day("cost_start", time.Now().AddDate(0, 0, -60))
	c.press("details.adding button.main")
	c.page.MustElementR("main", "Bia Ramos")
	c.short = c.shortLink()
}

// install goes from the list of shops to the platform's page of consent, and allows the app there.
func (c *connected) install() {
	c.t.Helper()
	c.open("/dashboard/shops")
	c.shoot("shops")
	c.press(`main a[href*="shops/connect"]`)
	c.shoot("platforms")
	c.press(`main a[href*="platform=nuvemshop"]`)
	c.shoot("nuvemshop")
	if text := c.text(c.page.MustElement("main")); !strings.Contains(text, "Instalar na Nuvemshop") {
		c.t.Fatalf("the platform's page reads %q", text)
	}
	c.press(`form[action*="shops/install"] button.main`)
	await.Until(c.t, await.Long, func() bool { // the next page leads there by itself
		return strings.HasPrefix(c.page.MustInfo().URL, c.shop.URL()+"/apps/")
	}, func() string { return "the browser is at " + c.page.MustInfo().URL })
	c.page.MustWaitLoad()
	c.press("#install")
}

// preview reads what would come.
func (c *connected) preview() {
	c.t.Helper()
	c.page.MustElement(`form[action*="shops/start"]`)
	c.shoot("preview")
	text := c.text(c.page.MustElement("main"))
	for _, want := range []string{"Loja da Lia", "LIA10", "1 pedido", "read_coupons", "Sem ela os cupons da loja não são comparados.",
		"write_coupons", "Sem ela nenhum cupom pode ser criado"} {
		if !strings.Contains(text, want) {
			c.t.Errorf("what would come does not have %q: %s", want, text)
		}
	}
	c.quiet("what would come")
}

// connect chooses 30 days, and waits until orders come.
func (c *connected) connect() {
	c.t.Helper()
	c.fill(map[string]string{"days": "30"})
	c.press(`form[action*="shops/start"] button.main`)
	c.at = c.page.MustInfo().URL
	c.shoot("connecting")
	c.page.MustElementR(".status", "Conectada")
	c.shoot("connected")
	// The earlier order is there, credited; it was before the day from which on orders earn.
	if e := c.d.explain(c.t, c.id, credited); cents(c.t, e.Payout.Commission) != 0 {
		c.t.Errorf("the order before earns %s", e.Payout.Commission)
	}
}

// buy buys one product as a new shopper, and gives the order's id.
func (c *connected) buy(address, code string) (id string) {
	c.t.Helper()
	c.visits++
	page, problems := c.shopper(), make(chan string, 100)
	go page.EachEvent(func(e *proto.RuntimeExceptionThrown) { problems <- e.ExceptionDetails.Exception.Description })()
	page.MustNavigate(address).MustWaitLoad()
	page.MustElement("#coupon").MustInput(code)
	page.MustElement("#email").MustSelectAllText().MustInput(fmt.Sprintf("shopper%d@example.com", c.visits))
	loaded := page.MustWaitNavigation()
	page.MustElement("#buy").MustClick()
	loaded()
	page.MustEval(`() => tributary.flush()`)
	for len(problems) > 0 {
		c.t.Errorf("the shop's page: %s", <-problems)
	}
	return page.MustElement("#order-id").MustText()
}

// inLedger waits until the order is in the ledger as the shop has it: 10 % of what is left of it, without its delivery.
func (c *connected) inLedger(id string, refunded fakes.Money) {
	c.t.Helper()
	found := c.shop.Find(func(o fakes.Order) bool { return fmt.Sprint(o.ID) == id })
	if len(found) != 1 {
		c.t.Fatalf("the shop has %d orders %s", len(found), id)
	}
	o := found[0]
	if o.Refunded() != refunded || o.Rest() <= o.Shipping {
		c.t.Fatalf("order %s of the shop: %s refunded, %s left", id, o.Refunded(), o.Rest())
	}
	want := tenPercent(int64(o.Rest() - o.Shipping))
	var last facts.Explanation
	c.d.explain(c.t, id, func(e facts.Explanation) bool {
		var sum int64
		for _, entry := range e.Ledger {
			sum += cents(c.t, entry.Amount)
		}
		last = e
		return cents(c.t, e.Order.Total) == int64(o.Rest()) && sum == want && cents(c.t, e.Payout.Commission) == want
	})
	if len(last.Ledger) == 0 {
		c.t.Errorf("order %s has no entry in the ledger", id)
	}
}

// refund gives back a part of an order in the shop's admin.
func (c *connected) refund(id, sum string) {
	c.t.Helper()
	page := c.shopper()
	page.MustNavigate(c.shop.URL() + "/shop-admin").MustWaitLoad()
	page.MustElement("#order-" + id + " input[name=sum]").MustSelectAllText().MustInput(sum)
	loaded := page.MustWaitNavigation()
	page.MustElement("#order-" + id + " button[value=refund]").MustClick()
	loaded()
}

// live checks what the connection's page says, and the orders' pages.
func (c *connected) live() {
	c.t.Helper()
	var text string
	await.Until(c.t, await.Long, func() bool {
		c.page.MustNavigate(c.at).MustWaitLoad()
		text = c.text(c.page.MustElement("#tile-shop-orders"))
		return strings.HasSuffix(text, " 4") // three orders, and the refund
	}, func() string { return "the page says of orders " + text })
	c.page.MustElementR(".status", "Conectada")
	c.shoot("live")
	c.quiet("the connection's page")
	// What the page after the order sent.
	wantCount(c.t, c.d.Postgres, "purchases of the shop's pages", 2,
		`select count(*) from event_fact where company_id = $1 and name = 'CHECKOUT_COMPLETED'`, c.company)
}

// disconnect ends the connection: its key is revoked, the platform sends no more notices, and nothing is read.
func (c *connected) disconnect() {
	c.t.Helper()
	c.click("details.confirm summary")
	c.shoot("end")
	c.press(`form[action*="shops/end"] button`)
	c.page.MustElementR(".status", "Encerrada")
	c.shoot("ended")
	if text := c.text(c.page.MustElement("main")); strings.Contains(text, "lidas a cada") {
		c.t.Errorf("of a connection that has ended the page says how it is read: %s", text)
	}
	await.Until(c.t, await.Long, func() bool { return len(c.shop.Subscriptions()) == 0 },
		func() string { return fmt.Sprintf("the platform still sends notices: %+v", c.shop.Subscriptions()) })
	var keys int
	c.d.query(c.t, []any{&keys}, `select count(*) from api_key where company_id = $1 and revoked_at is null`, c.company)
	if keys != 1 {
		c.t.Errorf("%d API keys are valid, want dev's alone", keys)
	}
	before := c.shop.Stats().Requests
	c.buy("https://"+monthShop+"/products/0", "LIA10")
	if err := c.shop.Settle(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	time.Sleep(2 * time.Second)
	if after := c.shop.Stats().Requests; after != before {
		c.t.Errorf("%d requests after the end", after-before)
	}
	c.quiet("the end")
}
