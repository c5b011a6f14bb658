package edge

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/tributary-io/tributary/internal/wire"
)

// onlyEvent sends one event and returns it as it is recorded.
func (s *stand) onlyEvent(event string, headers ...string) wire.Event {
	s.t.Helper()
	known := len(s.events())
	if answer := s.post(200, batchOf(event), headers...); answer.Results[0].Status != "ok" {
		s.t.Fatalf("%s: %+v", event, answer)
	}
	events := s.events()
	if len(events) != known+1 {
		s.t.Fatalf("%d events, want %d", len(events), known+1)
	}
	return events[known] // of one company, so of one partition
}

func TestAnEventSaysWhereItsSenderIsAndWhatItKnows(t *testing.T) {
	s := newStand(t, func(c *Config, _ *Deps) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	keys := testHasher(t).Company(testCompany, "BR")
	const secret = "0b6f5d2e4c1a4e9f"
	cart, number := keys.Cart(secret), keys.Cart("1001")
	f := func(who string, want wire.Identity) {
		t.Helper()
		e := s.onlyEvent(`{"event":"ADD_TO_CART","identity":`+who+`}`, "X-Forwarded-For: 203.0.113.9")
		if e.Identity != want {
			t.Errorf("%s: %+v, want %+v", who, e.Identity, want)
		}
		if want := keys.Network(netip.MustParseAddr("203.0.113.200")); e.NetKey != want || e.IP != "203.0.113.0" {
			t.Errorf("network %q of %s, want %q", e.NetKey, e.IP, want)
		}
	}
	f(`{"cart_token":"`+secret+`"}`, wire.Identity{CartKey: cart})
	f(`{"cart_token":"1001"}`, wire.Identity{CartNoKey: number})
	f(`{"email":"ana@example.com","verified":true}`, wire.Identity{EmailKey: keys.Email("ana@example.com"), Verified: true})
	f(`{"email":"ana@example.com","verified":false}`, wire.Identity{EmailKey: keys.Email("ana@example.com")})
	answer := s.post(200, batchOf(`{"event":"PAGE_VIEW","identity":{"verified":"yes"}}`))
	if r := answer.Results[0]; r.Code != "invalid_identity" {
		t.Errorf("verified that is no truth value: %+v", r)
	}
}

// A page that opens the shop in a hidden frame must leave a trace.
func TestAnEventFromAForeignFrameSaysSo(t *testing.T) {
	s := newStand(t, nil)
	f := func(what, event string, want bool, headers ...string) {
		t.Helper()
		if e := s.onlyEvent(event, headers...); e.Frame != want {
			t.Errorf("%s: frame %t, want %t", what, e.Frame, want)
		}
	}
	envelope := func(member string) string {
		return fmt.Sprintf(`["r1",%q,"2026-11-21T06:00:00.000Z","PAGE_VIEW",null,null,{"url":"https://loja.example.com/"%s}]`, newID(), member)
	}
	f("an envelope", envelope(""), false)
	f("an envelope of a page", envelope(`,"frame":false`), false)
	f("an envelope of a frame", envelope(`,"frame":true`), true)
	f("a canonical event of a frame", `{"event":"PAGE_VIEW","frame":true}`, true)
	f("a browser that knows of a frame", pageView(newID()), true, "Sec-Fetch-Site: same-site", "Sec-Fetch-Storage-Access: none")
	f("a page of the edge's site", pageView(newID()), false, "Sec-Fetch-Site: same-site")
	f("a page of another site than the edge", pageView(newID()), false, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Storage-Access: none")
	if r := s.post(200, batchOf(`{"event":"PAGE_VIEW","frame":1}`)).Results[0]; r.Code != "invalid_field" {
		t.Errorf("frame that is no truth value: %+v", r)
	}
}
