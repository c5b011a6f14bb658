package e2e

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-rod/rod"
	"github.com/go-rod/rod/lib/proto"

	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
)

// monthShop is the shop of the merchant who closes a month: its pages have what the
// install page says, and nothing else of ours.
const monthShop = "loja-da-lia.example.com"

// TestAMonthIsClosedInPortuguese is a merchant's first month, in the browser and in
// Portuguese: from the invitation to a statement that is paid and the next one, which
// carries what was returned. The merchant uses no API; the shop's platform sends its
// orders with the token that the install page shows. From the first influencer on, the
// merchant's browser runs no script: each page and form works without.
//
//nolint:paralleltest // it has the machine to itself: it is a person's day, step by step
func TestAMonthIsClosedInPortuguese(t *testing.T) {
	m := newMonth(t)
	m.join()
	m.onboard()
	m.agree()

	// Last month's order, paid by its coupon: its 30 days of hold are over.
	old := time.Now().AddDate(0, 0, -40)
	m.send(map[string]any{"orderId": "1001", "totalPrice": jsonNumber("315.00"), "shippingPrice": jsonNumber("15.00"), "discountCode": "LIA10",
		"createdAt": stamp(old), "updatedAt": stamp(old)})
	// Today's come by the link. One is proven by the cart; of the other the shop knows an e-mail.
	link := m.shortLink()
	cart := m.visit(link, func(shopper *rod.Page) map[string]any {
		return map[string]any{"cart_token": "3f9c51d8a7e24b60aa11"}
	})
	m.send(map[string]any{"orderId": "1002", "totalPrice": jsonNumber("215.00"), "shippingPrice": jsonNumber("15.00"),
		"cartToken": cart["cart_token"]})
	mail := m.visit(link, func(shopper *rod.Page) map[string]any { return map[string]any{"email": "maria@example.com"} })
	m.send(map[string]any{"orderId": "1003", "totalPrice": jsonNumber("115.00"), "shippingPrice": jsonNumber("15.00"),
		"customer": map[string]any{"email": mail["email"]}})

	m.decide("1003", "accept", "R$ 10,00")
	// Another one is refused: it is nobody's, and no statement has it.
	mail = m.visit(link, func(shopper *rod.Page) map[string]any { return map[string]any{"email": "joana@example.com"} })
	m.send(map[string]any{"orderId": "1005", "totalPrice": jsonNumber("415.00"), "shippingPrice": jsonNumber("15.00"),
		"customer": map[string]any{"email": mail["email"]}})
	m.decide("1005", "refuse", "R$ 40,00")
	m.until("/dashboard/reviews", "main", "Nada espera por você")
	m.refused("1005")
	m.settled("R$ 60,00")
	m.close()
	m.row(0, "Bia Ramos", "R$ 60,00", "A pagar")
	if text := m.read(m.linkTo(), "R$ 60,00", "1001", "1002", "1003"); strings.Contains(text, "1005") {
		t.Errorf("the influencer's statement has the order that was refused: %s", text)
	}
	m.pay("PIX 8127")

	// The link's order is returned: the next statement has less than nothing.
	m.send(map[string]any{"orderId": "1002", "orderStatus": 2, "totalPrice": jsonNumber("215.00"), "shippingPrice": jsonNumber("15.00"),
		"cartToken": cart["cart_token"], "updatedAt": stamp(time.Now().Add(time.Second))})
	m.settled("−R$ 20,00")
	m.close()
	m.row(0, "Bia Ramos", "−R$ 20,00", "Acumula para o próximo")
	// The one after it begins with that.
	m.send(map[string]any{"orderId": "1004", "totalPrice": jsonNumber("515.00"), "shippingPrice": jsonNumber("15.00"),
		"discountCode": "LIA10"})
	m.settled("R$ 30,00")
	m.close()
	m.row(0, "Bia Ramos", "−R$ 20,00", "R$ 30,00", "A pagar")
	m.read(m.linkTo(), "−R$ 20,00", "R$ 50,00", "R$ 30,00", "1004")
	m.pay("PIX 8200")
	m.open("/dashboard/payouts")
	m.shoot("payouts")
	if got := m.text(m.page.MustElement("#tile-paid")); !strings.Contains(got, "R$ 90,00") {
		t.Errorf("paid: %q, want R$ 90,00", got)
	}
	m.audited()
}

// month is a merchant in a browser, the merchant's shop, and who comes to it.
type month struct {
	t          *testing.T
	d          *dev
	browser    *rod.Browser
	page       *rod.Page // of the merchant
	complaints chan string
	company    string
	token      string // of the platform, for orders
	visits     int    // that came to the end of the checkout
	shots      int    // pictures that were taken
	shop       func(snippet string)
}

func newMonth(t *testing.T) *month {
	m := &month{t: t, d: emptyDev.of(t), complaints: make(chan string, 100)}
	snippet := make(chan string, 1)
	shop := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		text := <-snippet
		snippet <- text
		fmt.Fprintf(w, `<!doctype html><html lang="pt-BR"><head><title>Loja da Lia</title>%s</head><body><h1>Loja da Lia</h1></body></html>`,
			text)
	}))
	t.Cleanup(shop.Close)
	snippet <- ""
	m.shop = func(text string) { <-snippet; snippet <- text }
	_, port, err := net.SplitHostPort(shop.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	m.browser = devtest.Browser(t, "host-resolver-rules=MAP "+monthShop+":443 127.0.0.1:"+port, "ignore-certificate-errors", "lang=pt-BR")
	m.page = m.browser.MustPage("").Timeout(4 * time.Minute)
	m.page.MustSetExtraHeaders("Accept-Language", "pt-BR,pt;q=0.9")
	go m.page.EachEvent(func(e *proto.LogEntryAdded) { m.complaints <- e.Entry.Text + " " + e.Entry.URL },
		func(e *proto.RuntimeExceptionThrown) { m.complaints <- e.ExceptionDetails.Text })()
	return m
}

func stamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05Z") }

// join makes a store, as the installation's operator does, and uses the owner's invitation.
func (m *month) join() {
	m.t.Helper()
	out := m.command("company", "create", "Loja da Lia")
	companies := regexp.MustCompile(`c_[a-z0-9]+`).FindAllString(out, -1)
	if len(companies) < 2 {
		m.t.Fatalf("company create printed %s", out)
	}
	m.company = companies[0]
	invited := m.command("person", "invite", "lia@loja.example", "--company", m.company, "--role", "owner", "--dashboard",
		strings.TrimSuffix(m.d.DashboardURL, "/dashboard"))
	link := regexp.MustCompile(`http://\S+`).FindString(invited)
	m.page.MustNavigate(link).MustWaitLoad()
	m.shoot("invitation")
	m.page.MustElement(`input[type=password]`).MustInput("uma senha bem comprida")
	m.press("button.main")
	if m.page.MustElement("html").MustProperty("lang").String() != "pt-BR" {
		m.t.Error("the browser asked for Portuguese")
	}
	if has, _, _ := m.page.Has("#email"); has { // the invitation leads to the log-in
		m.page.MustElement("#email").MustInput("lia@loja.example")
		m.page.MustElement("#password").MustInput("uma senha bem comprida")
		m.press("button.main")
	}
	m.page.MustElement(".pages")
	m.shoot("first-page")
}

func (m *month) command(args ...string) string {
	m.t.Helper()
	out, status := runToEnd(m.t, append(args, "--postgres", m.d.Postgres)...)
	if status != 0 {
		m.t.Fatalf("tributary %v: exit status %d\n%s", args, status, out)
	}
	return out
}

// onboard follows the install page: the tokens, the shop's address, the snippet, and an
// event that is seen without a reload.
func (m *month) onboard() {
	m.t.Helper()
	m.page.MustElement(".stores summary").MustClick()
	loaded := m.page.MustWaitNavigation()
	m.page.MustElementR(".stores a", "Preparar").MustClick()
	loaded()
	m.shoot("connect")
	m.press(`form[action*="install/tokens"] button`)
	m.shoot("tokens")
	tokens := m.page.MustElements(".secret code")
	if len(tokens) != 2 {
		m.t.Fatalf("%d tokens are shown", len(tokens))
	}
	m.token = tokens[0].MustText()
	if live := "trb_live_"; !strings.HasPrefix(m.token, live) {
		m.t.Fatalf("the token of orders is %.12s…", m.token)
	}
	m.page.MustElement("#f-origin").MustInput("https://" + monthShop)
	m.press(`form[action*="install/origin"] button`)
	if shown := m.page.MustElements(".secret code"); len(shown) != 0 {
		m.t.Error("the tokens are shown a second time")
	}
	m.shop(m.page.MustElement("#snippet").MustText())
	m.page.MustEval(`() => { window.neverReloaded = true }`)
	m.page.MustElement("#signal-event[data-state=waiting]")
	visitor := m.shopper()
	visitor.MustNavigate("https://" + monthShop + "/").MustWaitLoad()
	m.page.MustElement("#signal-event[data-state=came]")
	m.shoot("first-event")
	if !m.page.MustEval(`() => window.neverReloaded === true`).Bool() {
		m.t.Error("the page was reloaded to show the event")
	}
	m.quiet("while the shop is connected")
}

// shopper is a browser window of somebody else.
func (m *month) shopper() *rod.Page {
	page := m.browser.MustIncognito().MustPage("").Timeout(3 * time.Minute)
	m.t.Cleanup(func() { _ = page.Close() })
	return page
}

// agree makes an influencer with link, coupon and agreement, and sets that commissions
// of orders from now on are not held.
func (m *month) agree() {
	m.t.Helper()
	if err := (proto.EmulationSetScriptExecutionDisabled{Value: true}).Call(m.page); err != nil {
		m.t.Fatal(err)
	}
	m.open("/dashboard/influencers")
	m.click("details.adding summary")
	long := time.Now().AddDate(0, 0, -60)
	m.fill(map[string]string{"name": "Bia Ramos", "campaign": "Primavera", "links": "https://" + monthShop + "/p/vestido",
		"code": "LIA10", "var_fee": "10,0"})
	m.day("coupon_start", long)
	m.day("cost_start", long)
	m.press("details.adding button.main")
	m.page.MustElementR("main", "Bia Ramos")
	m.shoot("influencer")
	m.open("/dashboard/settings")
	m.fill(map[string]string{"hold_days": "0"})
	m.press("form.settings button.main")
	if got := m.page.MustElement("#f-hold_days").MustProperty("value").String(); got != "0" {
		m.t.Fatalf("the hold is %s days", got)
	}
	// An order's time has whole seconds: one of this second would be before the settings.
	saved := time.Now().Unix()
	await.Until(m.t, await.Long, func() bool { return time.Now().Unix() > saved }, func() string { return "the clock stands" })
}

// shortLink is the influencer's short link, read from the page.
func (m *month) shortLink() string {
	m.t.Helper()
	m.open("/dashboard/influencers")
	loaded := m.page.WaitEvent(&proto.PageLoadEventFired{})
	m.point(m.page.MustElementR("main a", "Bia Ramos"))
	loaded()
	short := "http://" + m.page.MustElement(".copyable code").MustText()
	await.Until(m.t, await.Long, func() bool {
		response, err := withoutRedirects.Head(short)
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == http.StatusFound
	}, func() string { return short + " does not open" })
	return short
}

// visit is a shopper who follows the link and checks out; the shop says who it is.
func (m *month) visit(link string, identity func(*rod.Page) map[string]any) map[string]any {
	m.t.Helper()
	shopper := m.shopper()
	shopper.MustNavigate(link).MustWaitLoad()
	if at, err := url.Parse(shopper.MustInfo().URL); err != nil || at.Host != monthShop || at.Query().Get("utm_campaign") != "Bia Ramos" {
		m.t.Fatalf("the link leads to %v, %v", at, err)
	}
	who := identity(shopper)
	shopper.MustEval(`async (who) => {
		await tributary.track('INITIATE_CHECKOUT', {items: [{item_id: 'vestido', item_quantity: 1}]}, who);
		await tributary.track('CHECKOUT_COMPLETED', {items: [{item_id: 'vestido', item_quantity: 1}]}, who);
		await tributary.flush();
	}`, who)
	// What a shop's page sends is there before the shop's platform sends the order: evidence
	// that comes after it would wait for the merchant.
	m.visits++
	var stored int
	await.Until(m.t, await.Long, func() bool {
		m.d.query(m.t, []any{&stored}, `select count(*) from event_fact where company_id = $1 and name = 'CHECKOUT_COMPLETED'`, m.company)
		return stored == m.visits
	}, func() string { return fmt.Sprintf("%d of %d checkouts are stored", stored, m.visits) })
	return who
}

// send posts an order as the shop's platform does, with its token.
func (m *month) send(o map[string]any) {
	m.t.Helper()
	order := map[string]any{"orderStatus": 0, "createdAt": stamp(time.Now()), "updatedAt": stamp(time.Now()), "currency": "BRL"}
	for name, value := range o {
		order[name] = value
	}
	mustCall(m.t, http.MethodPost, m.d.AdminURL+"/order", m.token, order, nil)
}

// decide accepts or refuses the order that waits for the merchant.
func (m *month) decide(order, decision, commission string) {
	m.t.Helper()
	m.until("/dashboard/reviews", "main", order, "Bia Ramos receberia "+commission)
	m.shoot("review-" + decision)
	m.press(`button[value=` + decision + `]`)
	if decision == "refuse" { // for good: what changes is shown first
		m.press(`button[value=save]`)
	}
	m.quiet("the decision")
}

// refused checks that the order's page says that the link was refused.
func (m *month) refused(order string) {
	m.t.Helper()
	var got string
	await.Until(m.t, await.Long, func() bool {
		m.page.MustNavigate(strings.TrimSuffix(m.d.DashboardURL, "/dashboard") + "/dashboard/order?company=" + m.company + "&id=" +
			order).MustWaitLoad()
		got = m.text(m.page.MustElement("main"))
		return strings.Contains(got, "recusado por você") && strings.Contains(got, "Nenhum influenciador é creditado")
	}, func() string { return fmt.Sprintf("order %s reads %q", order, got) })
	m.shoot("order-refused")
}

// payouts are the stored payouts of the orders, for a failure's message.
func (m *month) payouts() (all string) {
	m.t.Helper()
	m.d.query(m.t, []any{&all},
		`select 'payouts ' || coalesce(jsonb_agg(to_jsonb(p) - 'names' - 'company_id')::text, 'none') from payout p where company_id = $1`,
		m.company)
	return all
}

// close closes all that may be paid by today into statements.
func (m *month) close() {
	m.t.Helper()
	m.open("/dashboard/payouts")
	m.click("details.adding summary")
	zone, err := time.LoadLocation("America/Sao_Paulo") // a new store's
	if err != nil {
		m.t.Fatal(err)
	}
	m.set("details.adding input[name=end_date]", time.Now().In(zone).Format(time.DateOnly)) // the page proposes last month's end
	m.press("details.adding button.main")
	m.shoot("closing")
	m.press("form[action*=statements] button.main") // what would be closed is shown first
	await.Until(m.t, await.Long, func() bool {
		m.open("/dashboard/statements")
		has, _, _ := m.page.Has(".waiting")
		return !has
	}, func() string { return "the statements are not closed" })
	m.shoot("statements")
}

// linkTo makes a link to the newest statement.
func (m *month) linkTo() string {
	m.t.Helper()
	m.press(`tbody tr:first-child form[action*="statements/link"] button`)
	return m.page.MustElement(".secret code").MustText()
}

// read opens the link as the influencer, who has no log-in.
func (m *month) read(link string, texts ...string) (text string) {
	m.t.Helper()
	m.shoot("link")
	page := m.shopper()
	page.MustSetExtraHeaders("Accept-Language", "pt-BR")
	page.MustNavigate(link).MustWaitLoad()
	got := m.text(page.MustElement("main"))
	for _, text := range append(texts, "Loja da Lia", "Bia Ramos") {
		if !strings.Contains(got, text) {
			m.t.Errorf("the influencer reads %q, want %q", got, texts)
		}
	}
	if dir := os.Getenv("TRIBUTARY_SHOTS"); dir != "" {
		m.shots++
		page.MustScreenshotFullPage(filepath.Join(dir, fmt.Sprintf("month-%02d-influencers-statement.png", m.shots)))
	}
	broken := link[:len(link)-1] + map[bool]string{true: "B", false: "A"}[strings.HasSuffix(link, "A")]
	if answer, err := http.Get(broken); err != nil || answer.Body.Close() != nil || answer.StatusCode != http.StatusNotFound {
		m.t.Errorf("an altered link: %v, %v", answer, err)
	}
	return got
}

// pay marks the newest statement as paid.
func (m *month) pay(reference string) {
	m.t.Helper()
	m.open("/dashboard/statements")
	m.click("tbody tr:first-child details summary")
	m.click("tbody tr:first-child input[name=reference]")
	m.page.MustInsertText(reference)
	m.shoot("pay")
	m.press("tbody tr:first-child details button.main")
	m.shoot("paid")
	m.row(0, "Pago", reference)
}

// audited checks that the log tells what was done, in Portuguese.
func (m *month) audited() {
	m.t.Helper()
	m.open("/dashboard/audit")
	m.shoot("audit")
	got := m.text(m.page.MustElement("main"))
	for _, text := range []string{"Pagamento registrado", "Influenciador cadastrado", "lia@loja.example"} {
		if !strings.Contains(got, text) {
			m.t.Errorf("the log reads %q, want %q", got, text)
		}
	}
}
