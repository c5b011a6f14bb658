package dashboard_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-rod/rod"
	"github.com/go-rod/rod/lib/proto"
	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/test/devtest"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

func TestASaleAppearsOnTheOpenPage(t *testing.T) {
	s := newSite(t)
	browser := devtest.Shell(t)
	page := browser.MustPage("").Timeout(3 * time.Minute)
	violations := make(chan string, 100)
	go page.EachEvent(func(e *proto.LogEntryAdded) { violations <- e.Entry.Text },
		func(e *proto.RuntimeExceptionThrown) { violations <- e.ExceptionDetails.Text })()
	shots := shooter{t: t, page: page, dir: os.Getenv("TRIBUTARY_SHOTS")}

	page.MustNavigate(s.url + "/").MustWaitLoad()
	shots.take("login")
	page.MustElement("#email").MustInput(testEmail)
	page.MustElement("#password").MustInput("not the password")
	page.MustElement("button.main").MustClick()
	page.MustElement("[role=alert]")
	shots.take("login-refused")
	page.MustElement("#password").MustInput(testPassword)
	page.MustElement("button.main").MustClick()
	page.MustElement("#live[data-state=on]")
	page.MustElement("#orders-empty").MustWaitVisible()
	shots.take("empty")

	ana := s.Influencer(s.live, "Ana Prado")
	bia := s.Influencer(s.live, "Beatriz Nascimento de Albuquerque")
	spring := s.Campaign(s.live, ana, "Primavera")
	now := time.Now()
	s.Put(reporttest.Order{CompanyID: s.live, ID: "gid://shop/Order/5501", Name: "#1001", TotalMinor: 129990, InfluencerID: ana,
		CampaignID: spring, Evidence: "coupon", CommissionMinor: 13499, DiscountCode: "ANA10", Explanation: sampleExplanation()})
	s.hint(s.live, "gid://shop/Order/5501")
	row := page.MustElementR("#orders li", "#1001")
	if got := row.MustText(); !contains(got, "R$\u00a01,299.90", "Ana Prado", "Coupon") {
		t.Errorf("the row reads %q", got)
	}
	page.MustWait(`() => document.querySelector('#tile-credited .figure').textContent.includes('1,299.90')`)
	if page.MustElement("#orders-empty").MustVisible() {
		t.Error("the empty state is still shown")
	}

	for i, o := range []reporttest.Order{
		{ID: "1002", TotalMinor: 8900, CreatedAt: now.Add(-2 * time.Second)},
		{ID: "1003", TotalMinor: 45950, InfluencerID: bia, Evidence: "link", CommissionMinor: 2297, CreatedAt: now.Add(-time.Second)},
		{ID: "1004", TotalMinor: 23000, InfluencerID: ana, Evidence: "link", CommissionMinor: 2300, Status: commerce.OrderPending},
		{ID: "1005", TotalMinor: 15000, Currency: "USD", InfluencerID: bia, Evidence: "coupon", CommissionMinor: 750, FixedFeeMinor: 500},
		{ID: "1006", TotalMinor: 9990, Status: commerce.OrderCancelled},
	} {
		o.CompanyID = s.live
		if o.CreatedAt.IsZero() {
			o.CreatedAt = now.Add(time.Duration(i) * time.Second)
		}
		s.Put(o)
	}
	s.hint(s.live, "1002", "1003", "1004", "1005", "1006")
	page.MustElementR("#orders li", "1006")
	if got := page.MustEval(`() => [...document.querySelectorAll('#orders li')].map(li => li.dataset.id).join()`).Str(); got !=
		"1006,1005,1004,gid://shop/Order/5501,1003,1002" {
		t.Errorf("the feed is %s, want the newest first", got)
	}
	// The script and the template put the same things in the same places.
	pushed := outline(page)
	shots.take("today")
	page.MustReload().MustWaitLoad()
	page.MustElement("#live[data-state=on]")
	if rendered := outline(page); rendered != pushed {
		t.Errorf("rendered:\n%s\npushed:\n%s", rendered, pushed)
	}

	page.MustElementR("#orders a", "#1001").MustClick()
	page.MustElementR("h1", "Order #1001")
	if got := page.MustElement("main").MustText(); !contains(got, "Ana Prado is credited", "coupon: ANA10", "E-mail", "10% of",
		"R$\u00a0134.99", "Earned") {
		t.Errorf("the explanation reads %q", got)
	}
	page.MustEval(`() => document.querySelectorAll('details').forEach(d => d.open = true)`)
	shots.take("order")
	page.MustNavigate(s.url + "/dashboard/order?id=1002").MustWaitLoad()
	shots.take("order-bare")
	page.MustNavigate(s.url + "/dashboard/?company=" + s.box).MustWaitLoad()
	shots.take("sandbox")
	page.MustNavigate(s.url + "/dashboard/influencers").MustWaitLoad()
	if got := page.MustElement("main").MustText(); !contains(got, "No influencer yet") && !contains(got, "Ana Prado") {
		t.Errorf("the influencers read %q", got)
	}
	registerSample(s)
	page.MustReload().MustWaitLoad()
	if got := page.MustElement("main").MustText(); !contains(got, "Carla Souza", "2 links", "1 coupon today", "2 agreements") {
		t.Errorf("the influencers read %q", got)
	}
	page.MustElementR("a", "Carla Souza").MustClick()
	page.MustElementR("h1", "Carla Souza")
	if got := page.MustElement("main").MustText(); !contains(got, "go.example.com/", "CARLA15", "from 1 Nov 2026", "12.5% of sales",
		"R$\u00a0400.00 a month") {
		t.Errorf("the influencer reads %q", got)
	}
	shots.take("influencer")
	if err := (proto.BrowserGrantPermissions{Permissions: []proto.BrowserPermissionType{
		proto.BrowserPermissionTypeClipboardReadWrite, proto.BrowserPermissionTypeClipboardSanitizedWrite,
	}}).Call(browser); err != nil {
		t.Fatal(err)
	}
	copyButton := page.MustElement("button.copy").MustClick()
	page.MustWait(`() => document.querySelector('button.copy').textContent === 'Copied'`)
	if got := page.MustEval(`() => navigator.clipboard.readText()`).Str(); got == "" || got != *copyButton.MustAttribute("data-copy") {
		t.Errorf("the copy button copied %q", got)
	}
	page.MustWait(`() => document.querySelector('button.copy').textContent === 'Copy'`)
	shots.take("influencers")
	page.MustNavigate(s.url + "/dashboard/influencers?company=" + s.box).MustWaitLoad()
	shots.take("influencers-empty")
	page.MustNavigate(s.url + "/dashboard/nowhere").MustWaitLoad()
	shots.take("problem")
	page.MustNavigate(s.url + "/dashboard/").MustWaitLoad()
	page.MustElement(".account summary").MustClick()
	page.MustElementR("button", "Log out").MustWaitVisible().MustClick()
	page.MustElement("#email")
	for len(violations) > 0 {
		if violation := <-violations; !contains(violation, "401") && !contains(violation, "404") {
			t.Errorf("the browser complains: %s", violation)
		}
	}
}

// outline is the text of everything that updates.
func outline(page *rod.Page) string {
	return page.MustEval(`() => ['.tiles', '#influencers', '#orders'].map(s => document.querySelector(s).innerText.replace(/\s+/g, ' ')
		+ [...document.querySelectorAll(s + ' [class], ' + s + ' rect')].map(e => e.getAttribute('class') + ':' +
			(e.getAttribute('width') || '')).join(' ')
		.replaceAll(' new', '')).join('\n')`).Str()
}

// shooter takes pictures of each page for people to look at, in both widths and
// colour schemes, where a directory is given.
type shooter struct {
	t    *testing.T
	page *rod.Page
	dir  string
}

func (s shooter) take(name string) {
	for _, width := range []int{1280, 390} {
		for _, scheme := range []string{"light", "dark"} {
			if s.dir == "" {
				continue
			}
			s.page.MustSetViewport(width, 800, 1, width < 500)
			err := proto.EmulationSetEmulatedMedia{Features: []*proto.EmulationMediaFeature{
				{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
			}}.Call(s.page)
			if err != nil {
				s.t.Fatal(err)
			}
			if wide := s.page.MustEval(`() => document.documentElement.scrollWidth`).Int(); wide > width {
				s.t.Errorf("%s is %d px wide on a screen of %d", name, wide, width)
			}
			file := filepath.Join(s.dir, name+"-"+map[int]string{1280: "1280", 390: "390"}[width]+"-"+scheme+".png")
			s.page.MustScreenshotFullPage(file)
		}
	}
	if s.dir != "" {
		s.page.MustSetViewport(1280, 800, 1, false)
	}
}

// registerSample makes an influencer with one of everything.
func registerSample(s *site) {
	s.t.Helper()
	_, err := s.DB.RegisterInfluencer(context.Background(), commerce.Author{CompanyID: s.live, Actor: "test", At: time.Now()},
		commerce.Registration{
			Name: "Carla Souza", Campaign: "Verão", Category: "Beauty",
			Links:   []string{"https://loja.example.com/colecao/verao-2026?ref=parceria", "https://loja.example.com/"},
			Coupons: []commerce.CouponTerms{{Code: "CARLA15", StartDate: "2026-11-01"}, {Code: "CARLAVIP", EndDate: "2020-01-31"}},
			Costs: []commerce.CostTerms{
				{VarFee: decimal.RequireFromString("12.5"), FixedFeeMinor: 250, StartDate: "2026-11-01", CouponCost: true},
				{ValueMinor: 40000, Frequency: commerce.Monthly, StartDate: "2026-11-01", EndDate: "2027-10-31"},
			},
		}, rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
}

func sampleExplanation() json.RawMessage {
	return json.RawMessage(`{"order":{"orderId":"1001","total":1299.9,"currency":"BRL","createdAt":"2026-11-21T15:00:00Z","status":0},
	"keys":[{"kind":"cart","strength":5,"hub":false,"visitors":1},{"kind":"email","strength":2,"hub":false,"visitors":2},
		{"kind":"phone","strength":1,"hub":true,"visitors":21}],
	"touches":[
	 {"id":"a","at":"2026-11-12T18:22:05.000Z","source":"google","medium":"organic","campaign":"","channel":"Organic Search",
	 	"matched_by":"email","used":true},
	 {"id":"b","at":"2026-11-19T21:05:41.000Z","source":"influencer","medium":"link","campaign":"Beatriz","channel":"Beatriz",
	 	"influencer":"Beatriz Nascimento de Albuquerque","matched_by":"cart","used":true},
	 {"id":"c","at":"2026-11-21T14:40:00.000Z","source":"(direct)","medium":"(none)","campaign":"","channel":"Direct","matched_by":"cart",
	 	"used":false,"reason":"a direct visit counts in the model “last touch” alone"}],
	"payout":{"winner":{"influencer":"Ana Prado","influencer_id":"x","campaign":"Primavera","evidence":"coupon"},"rule":"coupon_first",
	 "losers":[{"influencer":"Beatriz Nascimento de Albuquerque","evidence":"link",
	 	"reason":"a coupon beats a link: the store's rule is “coupon first”"}],
	 "costs":[{"cost_id":"1","level":"campaign","fixed_fee":5,"var_fee":10,"revision":4,"amount":134.99,
	 	"amounts":[{"amount":134.99,"currency":"BRL"}]}],"base":1299.9,"commission":134.99,"commissions":[{"amount":134.99,"currency":"BRL"}],
	 		"state":"earned"},
	"models":{"last":[{"touch":"c","channel":"Direct","share":1,"amount":1299.9}],
		"linear":[{"touch":"a","channel":"Organic Search","share":0.5,"amount":649.95},
			{"touch":"b","channel":"Beatriz","influencer":"Beatriz Nascimento de Albuquerque","share":0.5,"amount":649.95}]},
	"counterfactual":{"without_coupon":{"winner":{"influencer":"Beatriz Nascimento de Albuquerque","campaign":"","evidence":"link"},
		"commission":64.99,"commissions":[{"amount":64.99,"currency":"BRL"}],"state":"earned"},
			"without_link":{"winner":{"influencer":"Ana Prado","campaign":"Primavera","evidence":"coupon"},"commission":134.99,
				"commissions":[{"amount":134.99,"currency":"BRL"}],"state":"earned"}}}`)
}
