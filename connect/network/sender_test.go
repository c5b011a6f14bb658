package network_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
	"github.com/tributary-io/tributary/test/fakes/networks"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

// Each network is told of the sale in its own form, and takes it: the fakes refuse what their documentation refuses.
func TestEachNetworkTakesASale(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, n := range commerce.Networks {
		s.account(n)
	}
	b := s.buyer("maria")
	s.does(b, viewed, "unknown", func(e *wire.Event) {
		e.Context.Page.URL = "https://loja.example.com/?fbclid=IwAR-1&gclid=g-1&ttclid=t-1"
	})
	s.does(b, completed, "granted ga4,google,meta,tiktok", func(e *wire.Event) {
		e.Context.Page.URL = "https://loja.example.com/obrigado/4711?email=maria@example.com"
		e.Context.NetworkIDs = map[string]string{"ga": "123.456", "ga_session": "ZZ9XX8YY7W.1762901111 AB12CD34EF.1762902222",
			"fbp": "fb.1.1762902000000.123456789", "ttp": "ttp-1234567890"}
	})
	s.buys(b, "4711")
	s.look("4711")
	s.sendAll()
	s.wantMessages("net_ga4 order:4711 delivered", "net_google order:4711 delivered", "net_meta order:4711 delivered",
		"net_tiktok order:4711 delivered")
	for name, events := range map[string][]networks.Event{"meta": s.meta.Events(), "ga4": s.ga4.Events(), "google": s.google.Events(),
		"tiktok": s.tiktok.Events()} {
		want := "129.9"
		if name == "ga4" { // which wants it without what was paid for shipping
			want = "120"
		}
		if len(events) != 1 || events[0].ID != "4711" || events[0].Value != want || events[0].Currency != "BRL" {
			t.Errorf("%s has %+v", name, events)
		}
	}
	for what, list := range map[string][]networks.Event{"fb.1." + fmt.Sprint(b.at.Add(-time.Minute).UnixMilli()) + ".IwAR-1": s.meta.Events(),
		"fb.1.1762902000000.123456789": s.meta.Events(), "g-1": s.google.Events(), "t-1": s.tiktok.Events(), "ttp-1234567890": s.tiktok.Events(),
		"v1": s.ga4.Events(), "session_id:1762902222": s.ga4.Events(), "ANA10": s.ga4.Events()} {
		if text := fmt.Sprint(list[0].Fields); !strings.Contains(text, what) || strings.Contains(text, "maria") ||
			strings.Contains(text, "obrigado") {
			t.Errorf("%s is not in %s, or a name is", what, text)
		}
	}
	// What is known is told once: a second look sends nothing.
	s.look("4711")
	s.sendAll()
	if n := s.meta.Requests(); n != 1 {
		t.Errorf("Meta was told %d times", n)
	}
}

// A session of one browser is not said of another.
func TestASessionIsOfTheBrowserThatIsTold(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.account(commerce.ToGA4)
	b := s.buyer("maria")
	s.does(b, viewed, "granted ga4", func(e *wire.Event) {
		e.Context.NetworkIDs = map[string]string{"ga": "9.9", "ga_session": "AB12CD34EF.1762901111"}
	})
	s.does(b, completed, "granted ga4", func(e *wire.Event) { e.Context.NetworkIDs = map[string]string{"ga": "123.456"} })
	s.buys(b, "1")
	s.look("1")
	s.sendAll()
	if events := s.ga4.Events(); len(events) != 1 || strings.Contains(fmt.Sprint(events[0].Fields), "session_id") {
		t.Errorf("GA4 has %+v", events)
	}
}

// Whom nobody asked, who said no, who said yes to another network, and whose "yes" a stranger said, is told to nobody. Each case is a
// person of its own.
func TestWhoDidNotAgreeIsToldToNobody(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.account(commerce.ToMeta)
	granted := func(b *buyer) { s.does(b, completed, "granted meta") }
	cases := []struct {
		name string
		does func(b *buyer, stranger *buyer)
		want string
	}{
		{"agreed", func(b, _ *buyer) { granted(b) }, "delivered"},
		{"agreed-with-others", func(b, _ *buyer) { s.does(b, viewed, "granted ga4,meta") }, "delivered"},
		{"agreed-then-silent", func(b, _ *buyer) { granted(b); s.does(b, completed, "unknown") }, "delivered"},
		{"never-asked", func(b, _ *buyer) { s.does(b, completed, "unknown") }, "skipped not_asked"},
		{"no-events", func(*buyer, *buyer) {}, "skipped not_asked"},
		{"denied", func(b, _ *buyer) { s.does(b, completed, "denied") }, "skipped no_consent"},
		{"agreed-to-nobody", func(b, _ *buyer) { s.does(b, completed, "granted") }, "skipped no_consent"},
		{"agreed-to-another", func(b, _ *buyer) { s.does(b, completed, "granted ga4,metaverse") }, "skipped no_consent"},
		{"took-it-back", func(b, _ *buyer) { granted(b); s.does(b, viewed, "denied") }, "skipped no_consent"},
		{"withdrew", func(b, _ *buyer) {
			granted(b)
			s.does(b, core.ConsentWithdrawn, "denied", func(e *wire.Event) { e.Identity = wire.Identity{} })
		}, "skipped no_consent"},
		{"took-a-network-back", func(b, _ *buyer) { granted(b); s.does(b, viewed, "granted ga4") }, "skipped no_consent"},
		{"agreed-after-all", func(b, _ *buyer) { s.does(b, viewed, "denied"); granted(b) }, "delivered"},
		// A stranger knows the e-mail, and says yes for the buyer; or knows it and sends a picture.
		{"strangers-yes", func(b, stranger *buyer) {
			s.does(b, completed, "unknown")
			s.does(stranger, completed, "granted meta", func(e *wire.Event) { e.Identity = wire.Identity{EmailKey: "k1:" + b.email} })
		}, "skipped not_asked"},
		{"strangers-picture", func(b, _ *buyer) {
			s.does(b, completed, "unknown")
			s.does(b, viewed, "granted meta", func(e *wire.Event) { e.Via = wire.ViaPixel })
		}, "skipped not_asked"},
	}
	var want []string
	for _, c := range cases {
		b := s.buyer(c.name)
		c.does(b, s.buyer("stranger-of-"+c.name))
		s.buys(b, c.name, func(o *reporttest.Order) { o.EmailKey = "k1:" + b.email })
		s.look(c.name)
		want = append(want, "net_meta order:"+c.name+" "+c.want)
	}
	// Who denies on the page of thanks, or an hour later while the payment is awaited, is heard too.
	b := s.buyer("denied-later")
	granted(b)
	s.buys(b, "denied-later")
	b.at = b.at.Add(10 * time.Minute)
	s.does(b, viewed, "denied", func(e *wire.Event) { e.Identity = wire.Identity{} })
	s.look("denied-later")
	want = append(want, "net_meta order:denied-later skipped no_consent")
	s.sendAll()
	s.wantMessages(want...)
	wantIDs := []string{"Purchase agreed 129.9", "Purchase agreed-after-all 129.9", "Purchase agreed-then-silent 129.9",
		"Purchase agreed-with-others 129.9"}
	if got := idsOf(s.meta.Events()); !slices.Equal(slices.Sorted(slices.Values(got)), wantIDs) {
		t.Errorf("Meta has %q", got)
	}
}

// An erased person is told to nobody, nor anybody while somebody's erasure is not done: who it is may not be known yet.
func TestAnErasedPersonIsToldToNobody(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.account(commerce.ToMeta)
	for _, id := range []string{"erased", "another"} {
		b := s.buyer(id)
		s.does(b, completed, "granted meta")
		s.buys(b, id)
	}
	s.exec(`insert into erased_order (company_id, order_id, erasure_id) values ($1, 'erased', gen_random_uuid())`, s.company)
	s.exec(`insert into erasure (company_id, erasure_id, rev, asked_at, actor, kinds)
		values ($1, gen_random_uuid(), 9, now(), 'cli', 'email')`, s.company)
	s.look("erased")
	s.look("another")
	later := func() bool { // nothing is tried: it is looked at again in a minute
		var n int
		s.must(s.db.Pool().QueryRow(t.Context(), `select count(*) from outgoing where state = 'waiting' and due_at > now() + interval '50 s'
			and attempts = 0`).Scan(&n))
		return n == 1 && slices.Contains(s.messages(), "net_meta order:erased skipped erased")
	}
	s.send(later)
	if n := s.meta.Requests(); n != 0 {
		t.Errorf("Meta was told %d times while an erasure was not done", n)
	}
	s.exec(`update erasure set done_at = now()`)
	s.due()
	s.sendAll()
	s.wantMessages("net_meta order:erased skipped erased", "net_meta order:another delivered")
	if got := idsOf(s.meta.Events()); !slices.Equal(got, []string{"Purchase another 129.9"}) {
		t.Errorf("Meta has %q", got)
	}
	// What was told before is listed with the erasure of who is erased now.
	s.exec(`insert into erased_order (company_id, order_id, erasure_id) values ($1, 'another', $2::uuid)`, s.company,
		"0195b2c0-51ce-7a37-9d42-7e8f01b3c6ab")
	told, more, err := s.f.DB.ErasedConversions(t.Context(), s.company, "0195b2c0-51ce-7a37-9d42-7e8f01b3c6ab")
	s.must(err)
	if len(told) != 1 || more || told[0].OrderID != "another" || told[0].Network != commerce.ToMeta || told[0].Account != dataset ||
		told[0].SentAt.IsZero() {
		t.Errorf("told was %+v, %t", told, more)
	}
}

// What is not sold, not proven, or too old is not told; all approved orders are where the merchant wants that.
func TestWhatIsNotProvenIsNotTold(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.account(commerce.ToMeta)
	s.account(commerce.ToTikTok, func(n *commerce.Network, _ *string) { n.AllOrders = true })
	order := func(id string, change func(o *reporttest.Order), at ...time.Duration) {
		b := s.buyer(id)
		for _, d := range at {
			b.at = b.at.Add(-d)
		}
		s.does(b, completed, "granted meta,tiktok")
		s.buys(b, id, change)
		s.look(id)
	}
	order("pending", func(o *reporttest.Order) { o.Status, o.State = commerce.OrderPending, "expected" })
	order("review", func(o *reporttest.Order) { o.State = "review" })
	order("nobodys", func(o *reporttest.Order) { o.InfluencerID, o.State = "", "" })
	order("test", func(o *reporttest.Order) {
		sent := o.Sent
		o.State, o.Sent = "none", func(o *wire.Order) { sent(o); o.Test = wire.Some(true) }
	})
	order("old", func(*reporttest.Order) {}, 8*24*time.Hour)
	s.look("unknown")
	s.sendAll()
	s.wantMessages(
		"net_meta order:pending skipped not_sold", "net_tiktok order:pending skipped not_sold",
		"net_meta order:review skipped not_proven", "net_tiktok order:review delivered",
		"net_meta order:nobodys skipped not_proven", "net_tiktok order:nobodys delivered",
		"net_meta order:test skipped not_sold", "net_tiktok order:test skipped not_sold",
		"net_meta order:old skipped too_old", "net_tiktok order:old skipped too_old",
		"net_meta order:unknown skipped not_sold", "net_tiktok order:unknown skipped not_sold")
}

// GA4 is told what of a sale was given back, by parts, and Google what is left of it; the others know no refunds.
func TestRefundsAreToldWhereTheyAreKnown(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.account(commerce.ToMeta)
	s.account(commerce.ToGA4)
	s.account(commerce.ToGoogle)
	b := s.buyer("maria")
	s.does(b, completed, "granted meta,ga4,google", func(e *wire.Event) { e.Context.NetworkIDs = map[string]string{"ga": "123.456"} })
	becomes := func(total int64, status int) {
		s.buys(b, "1", func(o *reporttest.Order) { o.TotalMinor, o.Status = total, status })
		s.look("1")
		s.sendAll()
	}
	google := func(want string) {
		t.Helper()
		if list := s.google.Events(); len(list) != 1 || list[0].Value != want {
			t.Errorf("Google has %q, want %s", idsOf(list), want)
		}
	}
	becomes(12990, commerce.OrderApproved)
	google("129.9")
	becomes(9990, commerce.OrderApproved)
	google("99.9")
	becomes(9990, commerce.OrderCancelled)
	google("0")
	becomes(9990, commerce.OrderCancelled)
	s.wantMessages("net_ga4 order:1 delivered", "net_google order:1 delivered", "net_meta order:1 delivered",
		"net_ga4 order:1 delivered", "net_google order:1 delivered", "net_meta order:1 skipped no_refund",
		"net_ga4 order:1 delivered", "net_google order:1 delivered", "net_meta order:1 skipped no_refund",
		"net_ga4 order:1 skipped told", "net_google order:1 skipped told", "net_meta order:1 skipped no_refund")
	if got := idsOf(s.ga4.Events()); !slices.Equal(got, []string{"purchase 1 120", "refund 1 30", "refund 1 90"}) {
		t.Errorf("GA4 has %q", got)
	}
}

// One event that the network refuses is shown with the network's own words, and holds up none. A network that is away is asked again. One
// that refuses the token is asked again until the merchant gives a new one.
func TestWhatANetworkRefusesIsShownInItsWords(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.account(commerce.ToMeta)
	again := func() {
		s.exec(`update outgoing set due_at = now() where state = 'waiting'`)
		s.exec(`update destination set next_at = now(), failing_since = null, failures = 0`)
	}
	for _, id := range []string{"1", "2"} {
		b := s.buyer(id)
		s.does(b, completed, "granted meta")
		s.buys(b, id)
	}
	s.meta.FailNext(1, networks.Answer{Status: 400, Body: `{"error":{"message":"Invalid parameter","type":"OAuthException","code":100,` +
		`"error_subcode":2804019,"error_user_title":"Unexpected value","error_user_msg":"currency is wrong"}}`})
	s.look("1")
	s.sendAll()
	s.look("2")
	s.meta.FailNext(1, networks.MetaThrottled)
	s.send(func() bool {
		return strings.Contains(s.messages()[1], "waiting status (#4) Application request limit reached")
	})
	again()
	s.sendAll()
	s.wantMessages("net_meta order:1 parked refused Unexpected value: currency is wrong", "net_meta order:2 delivered")

	s.must(s.f.DB.ChangeNetwork(t.Context(), commerce.Author{CompanyID: s.company, Actor: "cli", At: time.Now()}, "net_meta",
		func(n *commerce.Network) error { n.Account.ID = "1234567"; return nil }))
	b := s.buyer("3")
	s.does(b, completed, "granted meta")
	s.buys(b, "3")
	s.look("3")
	s.send(func() bool { return strings.Contains(s.messages()[2], "waiting account Unsupported post request") })
	s.must(s.f.DB.ChangeNetwork(t.Context(), commerce.Author{CompanyID: s.company, Actor: "cli", At: time.Now()}, "net_meta",
		func(n *commerce.Network) error { n.Account.ID = dataset; return nil }))
	s.sendAll() // what waits is due with the change
	if got := idsOf(s.meta.Events()); !slices.Equal(got, []string{"Purchase 2 129.9", "Purchase 3 129.9"}) {
		t.Errorf("Meta has %q", got)
	}
	s.must(s.f.DB.ResendMessage(t.Context(), commerce.Author{CompanyID: s.company, Actor: "cli", At: time.Now()}, "net_meta", s.number("1")))
	s.sendAll()
	if got := len(s.meta.Events()); got != 3 {
		t.Errorf("what is sent again did not come: %d", got)
	}
}

func (s *shop) number(order string) (n int64) {
	s.t.Helper()
	s.must(s.db.Pool().QueryRow(s.t.Context(), `select number from outgoing where key = $1`, "order:"+order).Scan(&n))
	return n
}

// The answer was lost, or the service was killed before it stored it: the network is told again by the same id, and counts it once.
func TestALostAnswerIsAskedForByTheSameID(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.account(commerce.ToTikTok)
	b := s.buyer("maria")
	s.does(b, completed, "granted tiktok")
	s.buys(b, "1")
	hang := make(chan struct{})
	s.tiktok.HangAfter(hang)
	s.look("1")
	s.send(func() bool { return len(s.tiktok.Events()) == 1 }) // stopped while it waits for the answer
	var begun int
	s.must(s.db.Pool().QueryRow(t.Context(), `select count(*) from conversion where sent_at is null`).Scan(&begun))
	if begun != 1 {
		t.Errorf("%d conversions are begun", begun)
	}
	close(hang)
	s.exec(`update destination set next_at = now(), leased_until = null`)
	s.sendAll()
	if len(s.tiktok.Events()) != 1 || s.tiktok.Repeats() != 1 {
		t.Errorf("TikTok has %q, %d came again", idsOf(s.tiktok.Events()), s.tiktok.Repeats())
	}
}

// A test counts nowhere: where a network cannot check a sale without counting it, a code of tests is needed.
func TestATestCountsNowhere(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	code := func(n *commerce.Network, _ *string) { n.Account.Test = "TEST12345" }
	s.account(commerce.ToMeta)
	s.account(commerce.ToGA4)
	s.account(commerce.ToGoogle)
	s.account(commerce.ToTikTok, code)
	test := func(n commerce.DestinationKind) error {
		_, err := s.f.DB.TestEndpoint(t.Context(), commerce.Author{CompanyID: s.company, Actor: "cli", At: time.Now()},
			commerce.NetworkPrefix+string(n))
		return err
	}
	if err := test(commerce.ToMeta); !errors.Is(err, commerce.ErrNetworkTestCode) {
		t.Errorf("Meta without a code: %v", err)
	}
	s.exec(`update destination set url = url || '?test=TEST12345' where kind = 'meta'`)
	for _, n := range commerce.Networks {
		s.must(test(n))
	}
	s.exec(`update destination set url = split_part(url, '?', 1) where kind = 'meta'`) // the merchant took it back meanwhile
	s.sendAll()
	for _, m := range s.messages() {
		if want := "delivered"; strings.HasPrefix(m, "net_meta") && !strings.Contains(m, "parked refused set the code") ||
			!strings.HasPrefix(m, "net_meta") && !strings.HasSuffix(m, want) {
			t.Error(m)
		}
	}
	if n := len(s.meta.Events()) + len(s.ga4.Events()) + len(s.google.Events()) + len(s.tiktok.Events()); n != 0 {
		t.Errorf("%d tests count", n)
	}
	if len(s.tiktok.TestEvents()) != 1 || len(s.ga4.TestEvents()) != 1 {
		t.Errorf("TikTok has %q, GA4 %q", idsOf(s.tiktok.TestEvents()), idsOf(s.ga4.TestEvents()))
	}
}

// The order may come before the page's events: for an hour it is waited for them. Who said no is not waited for.
func TestAnOrderWaitsForItsEvents(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.account(commerce.ToMeta)
	late, denied := s.buyer("late"), s.buyer("denied")
	late.at, denied.at = time.Now().Add(-10*time.Minute), time.Now().Add(-10*time.Minute)
	s.buys(late, "late")
	s.does(denied, completed, "denied")
	s.buys(denied, "denied")
	s.look("late")
	s.look("denied")
	waits := func() (n int) {
		s.must(s.db.Pool().QueryRow(t.Context(), `select count(*) from outgoing where key = 'order:late' and state = 'waiting'
			and due_at between now() + interval '90 s' and now() + interval '2 min' and attempts = 0`).Scan(&n))
		return n
	}
	s.send(func() bool {
		return waits() == 1 && slices.Contains(s.messages(), "net_meta order:denied skipped no_consent")
	})
	late.at = late.at.Add(-time.Minute)
	s.does(late, completed, "granted meta")
	s.due()
	s.sendAll()
	s.wantMessages("net_meta order:late delivered", "net_meta order:denied skipped no_consent")
}

// GA4 takes everything and says nothing: once a day a conversion is checked before, and one that is wrong is shown in GA4's words.
func TestGA4IsAskedWhetherAConversionIsRight(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.account(commerce.ToGA4)
	s.ga4.FailNext(1, networks.Answer{Status: 200, Body: `{"validationMessages":[{"fieldPath":"events","description":"Item count is wrong",` +
		`"validationCode":"VALUE_INVALID"}]}`})
	n := 0
	s.send(func() bool { // one order after the other
		if strings.Contains(strings.Join(s.messages(), ";"), commerce.MessageWaiting) {
			return false
		}
		if n++; n > 3 {
			return true
		}
		b := s.buyer(strconv.Itoa(n))
		s.does(b, completed, "granted ga4", func(e *wire.Event) { e.Context.NetworkIDs = map[string]string{"ga": "123.456"} })
		s.buys(b, strconv.Itoa(n))
		s.look(strconv.Itoa(n))
		return false
	})
	s.wantMessages("net_ga4 order:1 parked refused VALUE_INVALID events: Item count is wrong", "net_ga4 order:2 delivered",
		"net_ga4 order:3 delivered")
	if got := idsOf(s.ga4.Events()); !slices.Equal(got, []string{"purchase 2 120", "purchase 3 120"}) || s.ga4.Requests() != 4 {
		t.Errorf("GA4 has %q after %d requests", got, s.ga4.Requests())
	}
}

// The answer to a purchase was lost, and a part is given back before it is told again: GA4 is told of the whole first, and of the part
// then.
func TestARefundFollowsAPurchaseWhoseAnswerWasLost(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.account(commerce.ToGA4)
	b := s.buyer("maria")
	s.does(b, completed, "granted ga4", func(e *wire.Event) { e.Context.NetworkIDs = map[string]string{"ga": "123.456"} })
	s.buys(b, "1")
	hang := make(chan struct{})
	s.ga4.HangAfter(hang) // the first request asks whether the purchase is right
	s.look("1")
	s.send(func() bool { return s.ga4.Requests() == 1 })
	close(hang)
	again := make(chan struct{})
	free := func() {
		s.exec(`update outgoing set due_at = now() where state = 'waiting'`)
		s.exec(`update destination set next_at = now(), leased_until = null`)
	}
	free()
	s.send(func() bool {
		if s.ga4.Requests() == 2 {
			s.ga4.HangAfter(again)
		}
		return len(s.ga4.Events()) == 1 && s.ga4.Requests() >= 3
	})
	close(again)
	s.buys(b, "1", func(o *reporttest.Order) { o.TotalMinor = 9990 })
	s.exec(`update conversion set sent_at = null, value_minor = 12990`)
	s.exec(`update outgoing set state = 'waiting', done_at = null`)
	free()
	s.sendAll()
	if got := idsOf(s.ga4.Events()); !slices.Equal(got, []string{"purchase 1 120", "refund 1 30"}) {
		t.Errorf("GA4 has %q", got)
	}
}

// An erasure that is asked for while a conversion is being made, or an account that is switched off then, stops the request.
func TestWhatMayNotBeToldAnyMoreIsNotBegun(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.account(commerce.ToMeta)
	b := s.buyer("maria")
	s.does(b, completed, "granted meta")
	s.buys(b, "1")
	n, err := s.f.DB.Network(t.Context(), s.company, "net_meta")
	s.must(err)
	d := commerce.LeasedDestination{CompanyID: s.company, ID: n.ID, URL: n.URL, Types: n.Types}
	c := commerce.ToldConversion{OrderID: "1", Network: commerce.ToMeta, Account: dataset, BegunAt: time.Now()}
	begins := func(want bool) {
		t.Helper()
		may, err := s.f.DB.BeginConversion(t.Context(), d, c)
		s.must(err)
		if may != want {
			t.Errorf("may be told: %t, want %t", may, want)
		}
	}
	begins(true)
	s.exec(`insert into erasure (company_id, erasure_id, rev, asked_at, actor, kinds)
		values ($1, gen_random_uuid(), 9, now() - interval '1 day', 'cli', 'email')`, s.company)
	begins(true) // the order came after it
	s.exec(`update erasure set asked_at = now()`)
	begins(false)
	s.exec(`update erasure set done_at = now()`)
	begins(true)
	s.exec(`insert into erased_order (company_id, order_id, erasure_id) values ($1, '1', gen_random_uuid())`, s.company)
	begins(false)
	s.exec(`delete from erased_order`)
	s.exec(`update destination set state = 'disabled'`)
	begins(false)
}

// One account is one destination: told by two, each refund would come twice.
func TestAnAccountIsAddedOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.account(commerce.ToMeta)
	n := commerce.Network{Endpoint: commerce.Endpoint{ID: "net_other", Kind: commerce.ToMeta, Name: "Meta", Active: true},
		Account: commerce.NetworkAccount{ID: dataset, Test: "TEST1"}}
	author := commerce.Author{CompanyID: s.company, Actor: "cli", At: time.Now()}
	if err := s.f.DB.AddNetwork(t.Context(), author, n, commerce.SealedSecret{}); !errors.Is(err, commerce.ErrNetworkThere) {
		t.Errorf("a second time: %v", err)
	}
	n.Account.ID = "98765"
	s.must(s.f.DB.AddNetwork(t.Context(), author, n, commerce.SealedSecret{}))
	if err := s.f.DB.ChangeNetwork(t.Context(), author, n.ID, func(n *commerce.Network) error {
		n.Account.ID = dataset
		return nil
	}); !errors.Is(err, commerce.ErrNetworkThere) {
		t.Errorf("changed to the first: %v", err)
	}
}

// A sandbox tells networks of tests alone: what is tried out there never counts.
func TestASandboxHasTestsAlone(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	n := commerce.Network{Endpoint: commerce.Endpoint{ID: "net_test", Kind: commerce.ToMeta, Name: "Meta", Active: true},
		Account: commerce.NetworkAccount{ID: dataset}}
	author := commerce.Author{CompanyID: s.f.Store.Sandbox.CompanyID, Actor: "cli", At: time.Now()}
	if err := s.f.DB.AddNetwork(t.Context(), author, n, commerce.SealedSecret{}); !errors.Is(err, commerce.ErrNetworkSandbox) {
		t.Errorf("without a test: %v", err)
	}
	n.Account.Test = "TEST1"
	s.must(s.f.DB.AddNetwork(t.Context(), author, n, commerce.SealedSecret{}))
	if err := s.f.DB.ChangeNetwork(t.Context(), author, n.ID, func(n *commerce.Network) error {
		n.Account.Test = ""
		return nil
	}); !errors.Is(err, commerce.ErrNetworkSandbox) {
		t.Errorf("the test taken away: %v", err)
	}
}

// A new secret lets what waits go; of a disabled account it is still known since when it failed, from where a replay begins.
func TestANewSecretOfADisabledAccountForgetsNothing(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.account(commerce.ToMeta)
	s.exec(`update destination set state = 'disabled', reason = 'dead', failing_since = now(), failures = 7`)
	author := commerce.Author{CompanyID: s.company, Actor: "cli", At: time.Now()}
	s.must(s.f.DB.RotateSecret(t.Context(), author, "net_meta", commerce.SealedSecret{KeyID: "k", Sealed: []byte{1}}))
	n, err := s.f.DB.Network(t.Context(), s.company, "net_meta")
	s.must(err)
	if n.FailingSince.IsZero() || n.Failures != 7 || n.Active {
		t.Errorf("%+v", n.Endpoint)
	}
}
