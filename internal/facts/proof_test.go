package facts

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/wire"
)

const (
	shopper = "0195b2c0-51ce-4a37-9d42-7e8f01b3c60a"
	browser = "0195b2c0-51ce-7a37-9d42-7e8f01b3c60b"
)

func kindsOf(keys []Key) string {
	var kinds []string
	for _, k := range keys {
		kinds = append(kinds, string(k.Kind))
	}
	return strings.Join(kinds, " ")
}

// docs/attribution.md, "Proof": which keys an event proves, and which it claims.
func TestKeysThatAnEventProves(t *testing.T) {
	f := func(name, want string, e wire.Event) {
		t.Helper()
		event := Event{Event: e, Visitor: e.VisitorID}
		if got := kindsOf(event.Keys()); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		verified := 0 // one key holds each of those that are verified
		if strings.Contains(want, "verified") {
			verified = 1
		}
		if got := event.Verified(); len(got) != verified {
			t.Errorf("%s: %s verified, want %d", name, kindsOf(got), verified)
		}
	}
	mail := wire.Identity{EmailKey: "k1:e"}
	f("a visitor", "visitor", wire.Event{VisitorID: shopper})
	f("an id that may be guessed", "user", wire.Event{VisitorID: "k1:digest"})
	f("a UUID of a name", "user", wire.Event{VisitorID: "886313e1-3b8a-5372-9b90-0c9aee199e5d"})
	f("a UUID that is a number", "user", wire.Event{VisitorID: "00000000-0000-4000-8000-00000000002a"})
	f("a cookie", "cookie visitor", wire.Event{VisitorID: shopper, CookieID: browser})
	f("a cart", "cart visitor", wire.Event{VisitorID: shopper, Identity: wire.Identity{CartKey: "k1:c"}})
	f("a cart's number", "visitor cart_no", wire.Event{VisitorID: shopper, Identity: wire.Identity{CartNoKey: "k1:c"}})
	f("an e-mail", "visitor email", wire.Event{VisitorID: shopper, Identity: mail})
	f("an e-mail in a network", "visitor email network", wire.Event{VisitorID: shopper, Identity: mail, NetKey: "n"})
	f("a backend's network is no shopper's", "visitor email",
		wire.Event{VisitorID: shopper, Identity: mail, NetKey: "n", Trust: wire.TrustKey})
	verified := mail
	verified.Verified = true
	f("an e-mail that a backend verified", "visitor email verified", wire.Event{VisitorID: shopper, Identity: verified, Trust: wire.TrustKey})
	f("… of a history", "visitor email verified", wire.Event{VisitorID: shopper, Identity: verified, Trust: wire.TrustImport})
	f("a stranger verifies nothing", "visitor email", wire.Event{VisitorID: shopper, Identity: verified, Trust: wire.TrustOpen})
	f("a bot", "", wire.Event{VisitorID: shopper, Identity: mail, Bot: wire.BotKnown})
}

func TestKeysThatAnOrderProves(t *testing.T) {
	f := func(name, want string, o wire.Order) {
		t.Helper()
		if got := kindsOf(keysOf(&o)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	f("a UUID of a clock", "user verified", wire.Order{VisitorID: wire.Some("6ba7b810-9dad-11d1-80b4-00c04fd430c8")})
	f("a cart", "cart", wire.Order{CartKey: wire.Some("k1:a"), CartNoKey: wire.Null[string]()})
	f("a cart's number", "cart_no verified", wire.Order{CartKey: wire.Null[string](), CartNoKey: wire.Some("k1:a")})
	f("the SDK's visitor", "visitor", wire.Order{VisitorID: wire.Some(shopper)})
	f("the server's cookie", "cookie", wire.Order{VisitorID: wire.Some(browser), UserIDMAC: wire.MACValid})
	f("a cookie that somebody made up", "user verified", wire.Order{VisitorID: wire.Some(browser), UserIDMAC: wire.MACInvalid})
	f("an id of the shop's", "user verified", wire.Order{VisitorID: wire.Some("k1:digest")})
	f("an e-mail", "email verified", wire.Order{EmailKey: wire.Some("k1:e")})
	f("an e-mail in a network", "email network verified", wire.Order{EmailKey: wire.Some("k1:e"), NetKey: wire.Some("n")})
	f("a network alone", "", wire.Order{NetKey: wire.Some("n")})
}

// The two sides make the same keys.
func TestAnEventAndAnOrderOfOneShopperShareTheirKeys(t *testing.T) {
	o := wire.Order{CartKey: wire.Some("k1:c"), VisitorID: wire.Some(shopper), CustomerKey: wire.Some("k1:i"), EmailKey: wire.Some("k1:e"),
		PhoneKey: wire.Some("k1:p"), NetKey: wire.Some("n")}
	e := Event{Visitor: shopper, Event: wire.Event{VisitorID: shopper, NetKey: "n",
		Identity: wire.Identity{CartKey: "k1:c", CustomerKey: "k1:i", EmailKey: "k1:e", PhoneKey: "k1:p"}}}
	keys := e.Keys()
	for _, k := range keysOf(&o) {
		if shared := slices.Contains(keys, k); shared != (k.Kind != KeyVerified) {
			t.Errorf("%v is shared: %t", k, shared)
		}
	}
	e.Trust, e.Identity.Verified = wire.TrustKey, true
	keys = e.Keys()
	for _, k := range keysOf(&o) {
		if shared := slices.Contains(keys, k); shared != (k.Kind != KeyNetwork) {
			t.Errorf("%v of a backend's event is shared: %t", k, shared)
		}
	}
}

// docs/attribution.md, "Proof": a backend's event without a visitor is a visitor of
// its own. A stranger's is none.
func TestABackendsEventIsNamedByItsStrongestKey(t *testing.T) {
	f := func(name string, trust wire.Trust, identity, like string) {
		t.Helper()
		parse := func(identity string) string {
			raw := fmt.Sprintf(`{"companyId":"c","eventId":"016d849d-dbe8-70d2-8876-38788d4e84f7","timestamp":"2026-03-10T12:00:00Z",`+
				`"receivedAt":"2026-03-10T13:00:00Z","trust":%q,"identity":%s}`, trust, identity)
			e, err := ParseEvent([]byte(raw))
			if err != nil {
				t.Fatal(err)
			}
			return e.Visitor
		}
		got, want := parse(identity), ""
		if like != "" {
			want = parse(like)
		}
		if got != want || (like != "") != strings.HasPrefix(got, "key:") {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	f("an e-mail", "key", `{"emailKey":"e","phoneKey":"p"}`, `{"emailKey":"e"}`)
	f("a cart", "import", `{"emailKey":"e","cartKey":"p"}`, `{"cartKey":"p","customerKey":"x"}`)
	f("no key", "key", `{}`, "")
	f("a stranger's", "open", `{"emailKey":"e"}`, "")
}

func TestAnEventIsLateAWeekAfterItsTimeUnlessItIsImported(t *testing.T) {
	f := func(trust, timestamp string, skewMs int, want bool) {
		t.Helper()
		raw := fmt.Sprintf(`{"companyId":"c","eventId":"016d849d-dbe8-70d2-8876-38788d4e84f7","visitorId":"v","timestamp":%q,`+
			`"receivedAt":"2026-03-10T13:00:00Z","clockSkewMs":%d,"trust":%q}`, timestamp, skewMs, trust)
		e, err := ParseEvent([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		if e.Late() != want || e.Copy().Late != want {
			t.Errorf("%s %s %d: late %t, want %t", trust, timestamp, skewMs, e.Late(), want)
		}
		if read := len(e.Keys()) > 0; read == want {
			t.Errorf("%s %s %d: late %t, and it is read: %t", trust, timestamp, skewMs, want, read)
		}
	}
	f("open", "2026-03-03T13:00:00Z", 0, false)
	f("open", "2026-03-03T12:59:59Z", 0, true)
	f("open", "2026-03-03T12:59:59Z", 60_000, false) // its clock was slow
	f("open", "2026-03-20T00:00:00Z", 0, false)
	f("key", "2026-03-03T12:59:59Z", 0, true)
	f("import", "2019-03-03T12:59:59Z", 0, false)
	f("", "2019-03-03T12:59:59Z", 0, true) // open
}

func TestAnEventShowsThatItsVisitorCameByACampaign(t *testing.T) {
	f := func(want bool, change func(e *wire.Event)) {
		t.Helper()
		e := Event{Event: wire.Event{Event: "PAGE_VIEW"}}
		change(&e.Event)
		if got := e.Arrived(); got != want {
			t.Errorf("%+v: %t, want %t", e.Context, got, want)
		}
	}
	page := func(url string) func(e *wire.Event) { return func(e *wire.Event) { e.Context.Page.URL = url } }
	f(false, page("https://loja.example.com/p?id=1"))
	f(true, page("https://loja.example.com/?utm_content=x"))
	f(true, page("https://loja.example.com/?trb_click=a.b"))
	f(true, page("https://loja.example.com/?gclid=1"))
	f(false, func(e *wire.Event) { page("https://loja.example.com/")(e); e.Context.Campaign.Source = "ig" })
	f(true, func(e *wire.Event) { e.Context.Campaign.Source = "ig" })
	f(true, func(e *wire.Event) { e.Context.ClickIDs = map[string]string{"gclid": "1"} })
	f(false, func(e *wire.Event) { e.Context.Page.Referrer = "https://www.google.com/" })
	f(true, func(e *wire.Event) { e.Event = "LINK_CLICK" })
}

// keysOf returns the keys that join an order to visitors.
func keysOf(o *wire.Order) (keys []Key) {
	for _, k := range OrderJoins(o) {
		keys = append(keys, k.Key)
	}
	return keys
}

// The orders that have a verified key are found by the key that it holds; every other key
// finds its orders itself.
func TestAVerifiedKeyIsFoundByTheKeyThatItHolds(t *testing.T) {
	t.Parallel()
	o := wire.Order{EmailKey: wire.Some("k1:e"), CustomerKey: wire.Some("k1:c"), NetKey: wire.Some("k1:n"), CartKey: wire.Some("k1:t")}
	var e Event
	e.VisitorID, e.Visitor, e.Trust = "v", "v", wire.TrustKey
	e.Identity = wire.Identity{EmailKey: "k1:e", CustomerKey: "k1:c", Verified: true}
	verified := 0
	for _, k := range OrderJoins(&o) {
		if k.Kind != KeyVerified {
			if k.Stored != k.Key {
				t.Errorf("%v is found by %v", k.Key, k.Stored)
			}
			continue
		}
		verified++
		if held := heldBy(k.Stored, "", true); len(held) != 1 || held[0] != k.Key {
			t.Errorf("%v is found by %v, which gives %v", k.Key, k.Stored, held)
		}
		if !slices.Contains(e.Keys(), k.Key) || !slices.Contains(e.Verified(), k.Stored) {
			t.Errorf("%v of an event does not find the orders of %v", k.Key, k.Stored)
		}
	}
	if verified != 2 {
		t.Errorf("%d verified keys, want 2", verified)
	}
	e.Identity.Verified = false
	if list := e.Verified(); list != nil {
		t.Errorf("%v of an event that is not verified", list)
	}
}
