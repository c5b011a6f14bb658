package processor

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/wire"
)

// journey is what shoppers, strangers and a shop send around one order of R$ 100.00
// that is created at noon. Ana, Beto and Eve earn 10 % each.
type journey struct {
	*shop
	records []record
	events  int
	orders  int
}

// sees adds an event of a visitor, so long before the order.
func (j *journey) sees(visitor string, before time.Duration, changes ...func(e *wire.Event)) {
	j.events++
	j.records = append(j.records, j.record(j.event(visitor, noon.Add(-before), j.events, func(e *wire.Event) {
		e.Trust = wire.TrustOpen
		for _, change := range changes {
			change(e)
		}
	})))
}

// buys adds a version of the order.
func (j *journey) buys(changes ...func(o *wire.Order)) { j.buysAt(noon, changes...) }

// buysAt adds a version of the order, of an instant.
func (j *journey) buysAt(at time.Time, changes ...func(o *wire.Order)) {
	c := j.order("o", at, 10000, func(o *wire.Order) {
		o.CreatedAt = noon
		for _, change := range changes {
			change(o)
		}
	})
	j.records = append(j.records, j.record(c))
}

// decides adds a decision of the merchant's about an influencer, with the touches that
// the explanation had then.
func (j *journey) decides(influencer int, decision string, at time.Time, touches ...string) {
	j.orders++
	c := j.commerce(wire.KindEvidence, "o", at,
		wire.Evidence{OrderID: "o", InfluencerID: j.influencers[influencer], Decision: decision, Touches: touches})
	c.Rev = j.rev + int64(j.orders)
	j.records = append(j.records, j.record(c))
}

const ana, beto, eve = 0, 1, 2 // of journey.influencers

func newJourneys(t *testing.T) *journey {
	s := newShop(t)
	for _, name := range []string{"Ana Prado", "Beto Lima", "Eve Silva"} {
		id, campaign := s.influencer(name, "Inverno")
		s.cost(id, "", 0, "10")
		s.coupon(id, campaign, strings.ToUpper(name[:3])+"10")
	}
	return &journey{shop: s}
}

// outcome is "state influencer evidence proof reason", with the days of the hold where
// something is earned, and the net of the ledger.
func (j *journey) outcome() string {
	return strings.Join(append(j.texts(`
		select concat_ws(' ', p.state, split_part(i.name, ' ', 1), p.evidence, p.proof, nullif(p.reason, ''))
		from payout p left join influencer i using (company_id, influencer_id)`),
		j.texts(`
		select split_part(i.name, ' ', 1) || ' has ' || sum(l.amount_minor) from ledger_entry l
		join influencer i using (company_id, influencer_id)
		group by i.name having sum(l.amount_minor) <> 0 order by 1`)...), ", ")
}

func (j *journey) run(what func(j *journey)) string {
	j.t.Helper()
	j.clear()
	j.records, j.events, j.orders = nil, 0, 0
	what(j)
	j.apply(j.records, func() int { return 3 })
	return j.outcome()
}

// What events and orders have.
func of(name string) func(e *wire.Event) { return landing(name, "Inverno") }
func mail(e *wire.Event)                 { e.Identity.EmailKey = "k1:mail" }
func phone(e *wire.Event)                { e.Identity.PhoneKey = "k1:phone" }
func customer(e *wire.Event)             { e.Identity.CustomerKey = "k1:customer" }
func secret(e *wire.Event)               { e.Identity.CartKey = "k1:cart" }
func number(e *wire.Event)               { e.Identity.CartNoKey = "k1:number" }
func byKey(e *wire.Event)                { e.Trust = wire.TrustKey }
func imported(e *wire.Event)             { e.Trust = wire.TrustImport }
func loggedIn(e *wire.Event)             { e.Identity.Verified = true }
func nobody(e *wire.Event)               { e.VisitorID = "" }
func guessable(e *wire.Event)            { e.VisitorID = "k1:digest-of-an-id" }
func began(e *wire.Event)                { e.Event = "INITIATE_CHECKOUT" }
func framed(e *wire.Event)               { e.Frame = true }
func bot(e *wire.Event)                  { e.Bot = wire.BotKnown }
func picture(e *wire.Event)              { e.Via = wire.ViaPixel }
func google(e *wire.Event)               { e.Context.Page.Referrer = "https://www.google.com/" }
func in(network string) func(e *wire.Event) {
	return func(e *wire.Event) { e.NetKey = "k1:" + network }
}
func cookieOf(name string) func(e *wire.Event) {
	return func(e *wire.Event) { e.CookieID = visitorID(name) }
}
func received(after time.Duration) func(e *wire.Event) { // the order
	return func(e *wire.Event) { e.ReceivedAt = noon.Add(after) }
}
func withID(n int) func(e *wire.Event) {
	return func(e *wire.Event) { e.EventID = uuid7(noon.Add(-time.Hour), n) }
}

func hasCart(o *wire.Order)       { o.CartKey, o.CartNoKey = wire.Some("k1:cart"), wire.Null[string]() }
func hasNumber(o *wire.Order)     { o.CartKey, o.CartNoKey = wire.Null[string](), wire.Some("k1:number") }
func hasMail(o *wire.Order)       { o.EmailKey = wire.Some("k1:mail") }
func hasPhone(o *wire.Order)      { o.PhoneKey = wire.Some("k1:phone") }
func hasCustomer(o *wire.Order)   { o.CustomerKey = wire.Some("k1:customer") }
func atHome(o *wire.Order)        { o.NetKey = wire.Some("k1:home") }
func pending(o *wire.Order)       { o.Status = commerce.OrderPending }
func cancelled(o *wire.Order)     { o.Status = commerce.OrderCancelled }
func recurring(o *wire.Order)     { o.IsRecurring = wire.Some(true) }
func ofMarketplace(o *wire.Order) { o.Source = wire.Some(commerce.SourceMarketplace) }
func hasGuessable(o *wire.Order)  { o.VisitorID = wire.Some("k1:digest-of-an-id") }
func hasUTM(name string) func(o *wire.Order) {
	return func(o *wire.Order) { o.UTMSource, o.UTMCampaign = wire.Some("ig"), wire.Some(name) }
}
func hasCode(text string) func(o *wire.Order) {
	return func(o *wire.Order) { o.DiscountCode = wire.Some(text) }
}
func hasUser(name string, mac wire.UserIDMAC) func(o *wire.Order) {
	return func(o *wire.Order) { o.VisitorID, o.UserIDMAC = wire.Some(visitorID(name)), mac }
}
func total(minor int64) func(o *wire.Order) { return func(o *wire.Order) { o.TotalMinor = minor } }

const (
	seconds = time.Second
	minutes = time.Minute
	hours   = time.Hour
	days    = 24 * time.Hour
)

const (
	earnedBy = "earned Ana link %s, Ana has 1000"
	review   = "review Ana link claimed unproven"
	none     = "none no_winner"
)

// Journeys of honest shoppers, many of which look like the attacks below, and how they
// end (docs/attribution.md, "Proof"; docs/payouts.md).
func TestHonestJourneys(t *testing.T) {
	t.Parallel()
	j := newJourneys(t)
	n := 0
	f := func(name, want string, what func(j *journey)) {
		t.Helper()
		n++
		if got := j.run(what); got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
	by := func(proof string) string { return fmt.Sprintf(earnedBy, proof) }

	// One browser, and what the shop's platform sends with an order.
	f("the order has the cart's token", by("cart"), func(j *journey) {
		j.sees("v", 2*days, of("ana+prado"))
		j.sees("v", 10*minutes, secret)
		j.buys(hasCart)
	})
	f("the order has the SDK's cookie", by("visitor"), func(j *journey) {
		j.sees("v", 2*days, of("ana+prado"))
		j.buys(hasUser("v", wire.MACNone))
	})
	f("the order has the server's cookie", by("cookie"), func(j *journey) {
		j.sees("v", 2*days, of("ana+prado"), cookieOf("c"))
		j.buys(hasUser("c", wire.MACValid))
	})
	f("the short link's click alone, by the server's cookie", by("cookie"), func(j *journey) {
		j.sees("", 2*days, nobody, cookieOf("c"), of("ana+prado"))
		j.buys(hasUser("c", wire.MACValid))
	})
	f("a cookie that nobody signed proves nothing", none, func(j *journey) {
		j.sees("v", 2*days, of("ana+prado"), cookieOf("c"))
		j.buys(hasUser("c", wire.MACInvalid))
	})
	f("an e-mail and browserIp", by("network"), func(j *journey) {
		j.sees("v", 2*days, of("ana+prado"), in("cafe"))
		j.sees("v", 10*minutes, mail, in("home"))
		j.buys(hasMail, atHome)
	})
	f("a phone and browserIp", by("network"), func(j *journey) {
		j.sees("v", 2*days, of("ana+prado"))
		j.sees("v", 10*minutes, phone, in("home"))
		j.buys(hasPhone, atHome)
	})
	f("a customer id and browserIp", by("network"), func(j *journey) {
		j.sees("v", 2*days, of("ana+prado"))
		j.sees("v", -50*minutes, customer, in("home"))
		j.buys(hasCustomer, atHome)
	})
	f("a cart's number and browserIp", by("network"), func(j *journey) {
		j.sees("v", 2*days, of("ana+prado"))
		j.sees("v", 10*minutes, number, in("home"))
		j.buys(hasNumber, atHome)
	})
	f("an e-mail alone", review, func(j *journey) {
		j.sees("v", 2*days, of("ana+prado"))
		j.sees("v", 10*minutes, mail)
		j.buys(hasMail)
	})
	f("a phone alone", review, func(j *journey) {
		j.sees("v", 2*days, of("ana+prado"))
		j.sees("v", 10*minutes, phone)
		j.buys(hasPhone)
	})
	f("a cart's number alone", review, func(j *journey) {
		j.sees("v", 2*days, of("ana+prado"))
		j.sees("v", 10*minutes, number)
		j.buys(hasNumber)
	})
	f("an id of the shop's own", review, func(j *journey) {
		j.sees("v", 2*days, of("ana+prado"), guessable)
		j.buys(hasGuessable)
	})
	f("an id of the shop's own, and the cart, in one network", by("cart"), func(j *journey) {
		j.sees("v", 2*days, of("ana+prado"), guessable, in("home"))
		j.sees("v", 10*minutes, secret, guessable, in("home"))
		j.buys(hasCart)
	})
	f("the order's own campaign", "earned Ana link order, Ana has 1000", func(j *journey) { j.buys(hasUTM("Ana Prado")) })
	f("the order's own campaign beside a direct visit", "earned Ana link order, Ana has 1000", func(j *journey) {
		j.sees("v", hours, secret)
		j.buys(hasCart, hasUTM("Ana Prado"))
	})
	f("the order's own campaign beside a proven search", none, func(j *journey) {
		j.sees("v", hours, secret, google)
		j.buys(hasCart, hasUTM("Ana Prado"))
	})

	// Two browsers.
	f("webview to Safari, in two networks", review, func(j *journey) {
		j.sees("webview", hours, of("ana+prado"), mail, in("mobile"))
		j.sees("safari", 10*minutes, mail, in("home"))
		j.buys(hasMail, atHome)
	})
	f("webview to Safari, in one network", by("network"), func(j *journey) {
		j.sees("webview", hours, of("ana+prado"), mail, in("home"))
		j.sees("safari", 10*minutes, mail, in("home"))
		j.buys(hasMail, atHome)
	})
	f("webview to Safari without a word of who it is", none, func(j *journey) {
		j.sees("webview", hours, of("ana+prado"))
		j.sees("safari", 10*minutes, secret)
		j.buys(hasCart)
	})
	f("phone to laptop, logged in on both by the shop's backend", by("verified"), func(j *journey) {
		j.sees("phone", 2*days, of("ana+prado"))
		j.sees("phone", 2*days-minutes, customer, byKey, loggedIn)
		j.sees("laptop", 10*minutes, secret)
		j.buys(hasCart, hasCustomer)
	})
	f("phone to laptop, logged in as the page says", review, func(j *journey) {
		j.sees("phone", 2*days, of("ana+prado"), customer)
		j.sees("laptop", 10*minutes, secret)
		j.buys(hasCart, hasCustomer)
	})

	// Backends, apps and histories.
	f("backend-only tracking by the cart's token", by("cart"), func(j *journey) {
		j.sees("", 2*days, of("ana+prado"), nobody, secret, byKey)
		j.sees("", 10*minutes, nobody, secret, byKey)
		j.buys(hasCart)
	})
	f("backend-only tracking by sessions of its own", by("cart"), func(j *journey) {
		j.sees("session", 2*days, of("ana+prado"), byKey)
		j.sees("session", 10*minutes, secret, byKey)
		j.buys(hasCart)
	})
	f("backend-only tracking by numbers of its own", by("cart"), func(j *journey) {
		j.sees("", 2*days, of("ana+prado"), guessable, byKey)
		j.sees("", 10*minutes, secret, guessable, byKey)
		j.buys(hasCart)
	})
	f("backend-only tracking of a customer who is logged in", by("verified"), func(j *journey) {
		j.sees("", 2*days, of("ana+prado"), nobody, customer, byKey, loggedIn)
		j.buys(hasCustomer)
	})
	f("backend-only tracking of an e-mail that somebody typed", review, func(j *journey) {
		j.sees("", 2*days, of("ana+prado"), nobody, mail, byKey)
		j.buys(hasMail)
	})
	f("an app's queue is sent three days later", by("cart"), func(j *journey) {
		j.sees("app", 3*days, of("ana+prado"), received(-hours))
		j.sees("app", 10*minutes, secret)
		j.buys(hasCart)
	})
	f("an app's queue is sent after the order", by("cart"), func(j *journey) {
		j.sees("app", hours, of("ana+prado"), received(5*days), in("mobile"))
		j.sees("app", 10*minutes, secret, received(5*days), in("mobile"))
		j.buys(hasCart)
	})
	f("a page's view comes a day later, of the device's own numbering", by("visitor"), func(j *journey) {
		numbered := func(e *wire.Event) { e.Stream, e.Seq = "5f1c0a9b3d27", int64(j.events) }
		j.sees("v", hours, of("ana+prado"), received(days), numbered)
		j.sees("v", 10*minutes, numbered)
		j.buys(hasUser("v", wire.MACNone))
	})
	f("an app's queue is sent after the order, whose userId alone names the app", review, func(j *journey) {
		j.sees("app", hours, of("ana+prado"), received(5*days), in("mobile"))
		j.buys(hasUser("app", wire.MACNone))
	})
	f("an app's queue is sent after more than a week", none, func(j *journey) {
		j.sees("app", hours, of("ana+prado"), received(8*days))
		j.sees("app", 10*minutes, secret, received(8*days))
		j.buys(hasCart)
	})
	f("a history of years ago", by("cart"), func(j *journey) {
		j.sees("v", 2*days, of("ana+prado"), imported, received(2000*days))
		j.sees("v", 10*minutes, secret, imported, received(2000*days))
		j.buysAt(noon.Add(2000*days), hasCart)
	})
	f("orders are imported at night", by("network"), func(j *journey) {
		j.sees("v", 2*days, of("ana+prado"))
		j.sees("v", 10*minutes, mail, in("home"))
		j.buysAt(noon.Add(14*hours), hasMail, atHome)
	})

	// What becomes of the order.
	f("a boleto that is not paid yet", "expected Ana link cart", func(j *journey) {
		j.sees("v", hours, of("ana+prado"), secret)
		j.buys(hasCart, pending)
	})
	f("a boleto that is paid three days later", by("cart"), func(j *journey) {
		j.sees("v", hours, of("ana+prado"), secret)
		j.buys(hasCart, pending)
		j.buysAt(noon.Add(3 * days))
	})
	f("a boleto in review that is paid three days later", review, func(j *journey) {
		j.sees("v", hours, of("ana+prado"), mail)
		j.buys(hasMail, pending)
		j.buysAt(noon.Add(3 * days))
	})
	f("a subscription's first order", by("cart"), func(j *journey) {
		j.sees("v", hours, of("ana+prado"), secret)
		j.buys(hasCart, func(o *wire.Order) { o.IsRecurring = wire.Some(false) })
	})
	f("a subscription's next order", "none Ana link cart recurring_excluded", func(j *journey) {
		j.sees("v", hours, of("ana+prado"), secret)
		j.buys(hasCart, recurring)
	})
	f("an order edited weeks later", "earned Ana link cart, Ana has 800", func(j *journey) {
		j.sees("v", hours, of("ana+prado"), secret)
		j.buys(hasCart)
		j.buysAt(noon.Add(40*days), total(8000))
	})
	f("a cancelled order", "reversed Ana link cart", func(j *journey) {
		j.sees("v", hours, of("ana+prado"), secret)
		j.buys(hasCart)
		j.buysAt(noon.Add(days), cancelled)
	})

	// Beside others.
	f("the last influencer before the order", "earned Beto link cart, Beto has 1000", func(j *journey) {
		j.sees("v", 2*days, of("ana+prado"))
		j.sees("v", days, of("beto+lima"), secret)
		j.buys(hasCart)
	})
	f("a coupon needs no proof", "earned Ana coupon order, Ana has 1000", func(j *journey) { j.buys(hasCode("ana10")) })
	f("a coupon and a link of another", "earned Ana coupon order, Ana has 1000", func(j *journey) {
		j.sees("v", hours, of("beto+lima"), secret)
		j.buys(hasCart, hasCode("ANA10"))
	})
	f("a family at one computer", by("cart"), func(j *journey) {
		for i := range 3 {
			j.sees("v", time.Duration(i+2)*days, func(e *wire.Event) { e.Identity.EmailKey = fmt.Sprint("k1:", i) })
		}
		j.sees("v", hours, of("ana+prado"), secret)
		j.buys(hasCart)
	})
	f("a shop's own computer", none, func(j *journey) {
		for i := range 201 {
			j.sees("till", 2*days, func(e *wire.Event) { e.Identity.CartKey = fmt.Sprint("k1:", i) })
		}
		j.sees("till", hours, of("ana+prado"), secret)
		j.buys(hasCart)
	})
	f("a link before the checkout", by("cart"), func(j *journey) {
		j.sees("v", 20*minutes, of("ana+prado"))
		j.sees("v", 10*minutes, secret, began)
		j.buys(hasCart)
	})
	f("a link an hour after a checkout that was left", by("cart"), func(j *journey) {
		j.sees("v", 2*hours, secret, began)
		j.sees("v", hours, of("ana+prado"))
		j.buys(hasCart)
	})
	f("a link of a month ago", none, func(j *journey) {
		j.sees("v", 31*days, of("ana+prado"))
		j.sees("v", 10*minutes, secret)
		j.buys(hasCart)
	})

	// What the store decides.
	f("the store accepts", "earned Ana link accepted, Ana has 1000", func(j *journey) {
		j.sees("v", hours, of("ana+prado"), mail)
		j.buys(hasMail)
		j.decides(ana, commerce.EvidenceAccept, noon.Add(days))
	})
	f("the store accepts before the order comes", "earned Ana link accepted, Ana has 1000", func(j *journey) {
		j.sees("v", hours, of("ana+prado"), mail)
		j.decides(ana, commerce.EvidenceAccept, noon.Add(days))
		j.buys(hasMail)
	})
	f("the store refuses", none, func(j *journey) {
		j.sees("v", hours, of("ana+prado"), secret)
		j.buys(hasCart)
		j.decides(ana, commerce.EvidenceRefuse, noon.Add(days))
	})
	f("the store refuses, and withdraws that", by("cart"), func(j *journey) {
		j.sees("v", hours, of("ana+prado"), secret)
		j.buys(hasCart)
		j.decides(ana, commerce.EvidenceRefuse, noon.Add(days))
		j.decides(ana, commerce.EvidenceWithdraw, noon.Add(2*days))
	})
	f("the store accepts, and withdraws that", review, func(j *journey) {
		j.sees("v", hours, of("ana+prado"), mail)
		j.buys(hasMail)
		j.decides(ana, commerce.EvidenceAccept, noon.Add(days))
		j.decides(ana, commerce.EvidenceWithdraw, noon.Add(2*days))
	})
	f("the store accepts a link after the checkout", "earned Ana link accepted, Ana has 1000", func(j *journey) {
		j.sees("v", 20*minutes, secret, began)
		j.sees("v", 10*minutes, of("ana+prado"))
		j.buys(hasCart)
		j.decides(ana, commerce.EvidenceAccept, noon.Add(days))
	})
	if n < 40 {
		t.Errorf("%d journeys", n)
	}
}
