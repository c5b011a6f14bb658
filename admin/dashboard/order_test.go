package dashboard_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/devtest"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

var tags = regexp.MustCompile(`<[^>]*>|\s+`)

// read is a page's text, its spaces plain and single.
func (s *site) read(path string) string {
	s.t.Helper()
	return s.readAs(s.loggedIn(), path)
}

// readRaw is an answer's body as it comes.
func (s *site) readRaw(client *http.Client, path string) string {
	s.t.Helper()
	answer, err := client.Get(s.url + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(body)
}

// readAs is a page's text as somebody reads it.
func (s *site) readAs(client *http.Client, path string) string {
	s.t.Helper()
	answer, err := client.Get(s.url + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	text := strings.NewReplacer("\u00a0", " ", "&#43;", "+", "&#39;", "'").Replace(string(body))
	return strings.Join(strings.Fields(tags.ReplaceAllString(text, " ")), " ")
}

// explainedWith is an explanation whose payout and counterfactuals are given.
func explainedWith(payout, withoutCoupon, withoutLink string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"order":{},"keys":[],"touches":[],"payout":%s,
		"models":{"last":[{"channel":"unattributed","share":1,"amount":100}]},
	"counterfactual":{"without_coupon":%s,"without_link":%s}}`, payout, withoutCoupon, withoutLink))
}

const (
	nobodyWins = `{"winner":null,"rule":"coupon_first","losers":[],"costs":[],"base":100,"commission":0,"commissions":[],"state":"none",` +
		`"reason":"no_winner"}`
	anaWins = `{"winner":{"influencer":"Ana Prado","campaign":"","evidence":"coupon"},"rule":"coupon_first","losers":[],`
	dollars = anaWins +
		`"costs":[{"cost_id":"1","level":"influencer","fixed_fee":12.5,"var_fee":10,"revision":2,"amount":10,
			"amounts":[{"amount":10,"currency":"USD"},{"amount":12.5,"currency":"BRL"}]}],
		"base":100,"commission":10,"commissions":[{"amount":10,"currency":"USD"},{"amount":12.5,"currency":"BRL"}],"state":"earned"}`
	cancelled = anaWins +
		`"costs":[{"cost_id":"1","level":"influencer","fixed_fee":0,"var_fee":10,"revision":2,"amount":10,
			"amounts":[{"amount":10,"currency":"BRL"}]}],
		"base":100,"commission":0,"commissions":[],"state":"reversed"}`
	waits = `{"winner":{"influencer":"Ana Prado","influencer_id":"0195b2c0-0000-7000-8000-00000000000a","campaign":"","evidence":"link",
		"proof":"claimed"},"rule":"coupon_first","losers":[],
		"costs":[{"cost_id":"1","level":"influencer","fixed_fee":0,"var_fee":10,"revision":2,"amount":10,
			"amounts":[{"amount":10,"currency":"BRL"}]}],
		"base":100,"commission":10,"commissions":[{"amount":10,"currency":"BRL"}],"state":"review","reason":"unproven"}`
	held = anaWins + `"costs":[],"base":100,"commission":10,"commissions":[{"amount":10,"currency":"BRL"}],"state":"earned",` +
		`"payable_on":"2026-04-09"}`
	trusted = `{"winner":{"influencer":"Ana Prado","campaign":"","evidence":"link","proof":"claimed"},"rule":"coupon_first","losers":[],
		"costs":[],
		"base":100,"commission":10,"commissions":[{"amount":10,"currency":"BRL"}],"state":"earned","payable_on":"2026-04-09"}`
	recurring = anaWins + `"costs":[],"base":100,"commission":0,"commissions":[],"state":"none","reason":"recurring_excluded"}`
)

// putOdd stores the orders whose pay needs telling: in two currencies, taken
// back, and none.
func putOdd(s *site) {
	ana := s.Influencer(s.live, "Ana Prado")
	put := func(id string, o reporttest.Order) {
		o.CompanyID, o.ID, o.TotalMinor, o.InfluencerID, o.Evidence = s.live, id, 10000, ana, "coupon"
		s.Put(o)
	}
	put("dollars", reporttest.Order{Currency: "USD", CommissionMinor: 1000, FixedFeeMinor: 1250,
		Explanation: explainedWith(dollars, nobodyWins, dollars)})
	put("fixed", reporttest.Order{Currency: "USD", FixedFeeMinor: 1250, Status: commerce.OrderPending})
	put("cancelled", reporttest.Order{Status: commerce.OrderCancelled, Explanation: explainedWith(cancelled, nobodyWins, cancelled)})
	put("returned", reporttest.Order{CommissionMinor: 1000})
	put("returned", reporttest.Order{Status: commerce.OrderCancelled, Explanation: explainedWith(cancelled, nobodyWins, cancelled)})
	put("recurring", reporttest.Order{Status: commerce.OrderPending, Explanation: explainedWith(recurring, nobodyWins, recurring)})
	put("held", reporttest.Order{CommissionMinor: 1000, Explanation: explainedWith(held, nobodyWins, held)})
	put("trusted", reporttest.Order{CommissionMinor: 1000, Explanation: explainedWith(trusted, trusted, nobodyWins)})
	put("waits", reporttest.Order{CommissionMinor: 1000, State: "review", Reason: "unproven",
		Explanation: explainedWith(waits, waits, nobodyWins)})
	s.Put(reporttest.Order{CompanyID: s.live, ID: "nobody", TotalMinor: 10000, Explanation: explainedWith(nobodyWins, nobodyWins, nobodyWins)})
}

func orderOf(id string) string { return "/dashboard/order?" + url.Values{"id": {id}}.Encode() }

func TestEveryCurrencyAndEveryZeroIsTold(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	putOdd(s)
	f := func(path string, want []string, never ...string) {
		t.Helper()
		got := s.read(path)
		if !contains(got, want...) {
			t.Errorf("%s reads %q, want %q", path, got, want)
		}
		for _, text := range never {
			if strings.Contains(got, text) {
				t.Errorf("%s says %q", path, text)
			}
		}
	}
	f("/dashboard/", []string{"US$ 10.00 and R$ 12.50 commission", "R$ 12.50 expected", "+ R$ 12.50 when approved"})
	f(orderOf("dollars"),
		[]string{"Earned", "Commission US$ 10.00 R$ 12.50", "Without the coupon, nobody would be credited."}, "Without the link")
	f(orderOf("cancelled"), []string{"Commission of this order", "Not owed: cancelled", "Commission now R$ 0.00"}, "Without the link")
	f(orderOf("returned"), []string{"Commission of this order", "Taken back", "Commission now R$ 0.00"})
	f(orderOf("recurring"), []string{"recurring subscription orders are not paid"}, "falls due", "Expected")
	f(orderOf("held"), []string{"It may be paid from 9 Apr 2026 on."})
	f(orderOf("trusted"), []string{"Nothing proves that the buyer came by this link. It is paid since"})
	f(orderOf("waits"), []string{"Ana Prado may have brought this sale by a link. Nothing is owed until you decide.", "In review",
		"Commission if you accept", "Nothing is owed: nothing proves that", "Accept and pay", "Refuse"}, "is credited", "falls due")
	f(orderOf("nobody"),
		[]string{"No influencer is credited",
			"Nothing is owed: no coupon of an influencer led to the order, and no link that counts for the payout."}, "Without the")
}

func TestLongAmountsStayInTheirPlaces(t *testing.T) {
	browser := devtest.Shell(t)
	s := newSite(t)
	putOdd(s)
	ana := s.Influencer(s.live, "Beatriz Nascimento")
	const long = 999_999_999_999_999
	s.Put(reporttest.Order{CompanyID: s.live, ID: "long", TotalMinor: long, InfluencerID: ana, Evidence: "coupon", CommissionMinor: long / 10})
	s.Put(reporttest.Order{CompanyID: s.live, ID: "longtoo", TotalMinor: long, InfluencerID: ana, Evidence: "link",
		Status: commerce.OrderPending, CommissionMinor: long / 10})
	page := browser.MustPage("").Timeout(2 * time.Minute)
	page.MustNavigate(s.url + "/dashboard/").MustWaitLoad()
	page.MustElement("#email").MustInput(testEmail)
	page.MustElement("#password").MustInput(testPassword)
	page.MustElement("button.main").MustClick()
	page.MustElement("#live[data-state=on]")
	shots := shooter{t: t, page: page, dir: os.Getenv("TRIBUTARY_SHOTS")}
	f := func(name, path string) {
		t.Helper()
		page.MustNavigate(s.url + path).MustWaitLoad()
		for _, width := range []int{1280, 800, 390} {
			page.MustSetViewport(width, 800, 1, width < 500)
			got := page.MustEval(`() => [document.documentElement,
				...document.querySelectorAll('.tile, .figure .line, .order, .order .total, table, td')]
				.filter(e => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== 'inline')
					.map(e => e.tagName + '.' + e.className + ' ' + e.scrollWidth + ' > ' + e.clientWidth).join(', ')`).Str()
			if got != "" {
				t.Errorf("%s at %d px: %s", name, width, got)
			}
		}
		shots.take(name)
	}
	f("long-today", "/dashboard/")
	f("long-order", orderOf("long"))
	f("order-dollars", orderOf("dollars"))
	f("order-cancelled", orderOf("cancelled"))
	f("order-recurring", orderOf("recurring"))
	f("order-nobody", orderOf("nobody"))
}

// The order's page shows what was bought, of what the total is made, and the code that was
// typed, whosever it is.
func TestAnOrderShowsWhatWasBoughtAndTheCodeThatWasTyped(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Put(reporttest.Order{CompanyID: s.live, ID: "871", Name: "N-1008", TotalMinor: 10990, DiscountCode: "NAOEXISTE",
		CreatedAt:   time.Now().Add(48 * time.Hour),
		Explanation: explainedWith(nobodyWins, nobodyWins, nobodyWins), Sent: func(o *wire.Order) {
			o.ShippingMinor, o.DiscountsMinor, o.TaxMinor = wire.Some(int64(1500)), wire.Some(int64(1010)), wire.Some(int64(990))
			o.Items = wire.Some([]wire.Item{{ProductID: "vestido-1", Quantity: 2, Price: "52.50"}})
		}})
	s.Put(reporttest.Order{CompanyID: s.live, ID: "high", TotalMinor: 10000, InfluencerID: s.Influencer(s.live, "Ana Prado"),
		Evidence:        "coupon",
		CommissionMinor: 124456, Explanation: explainedWith(nobodyWins, nobodyWins, nobodyWins)})
	owner := s.loggedIn()
	text := s.readAs(owner, orderOf("871"))
	if !contains(text, "Order N-1008", "id 871", "What was bought", "vestido-1 2 R$ 52.50", "Shipping R$ 15.00", "Discount R$ 10.10",
		"Tax, contained R$ 9.90", "Total R$ 109.90", "The code NAOEXISTE was typed: it is nobody’s coupon.", "created in the future") {
		t.Errorf("the page reads %q", text)
	}
	if text := s.readAs(owner, orderOf("high")); !contains(text, "The commission of R$ 1,244.56 is above the order’s value of R$ 100.00") {
		t.Errorf("the page reads %q", text)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+orderOf("871"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for from, want := range map[string]string{
		s.url + "/dashboard/orders?q=N-1008":     `href="/dashboard/orders?q=N-1008">‹ Orders`,
		"https://evil.example/dashboard/orders?": "Orders of the day", "": "Orders of the day", s.url + "/dashboard/logout": "Orders of the day",
	} {
		request.Header.Set("Referer", from)
		if status, text := s.answer(owner, request); status != http.StatusOK || !contains(text, want) {
			t.Errorf("from %q: %d, without %q", from, status, want)
		}
	}
}
