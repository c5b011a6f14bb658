package facts

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tributary-io/tributary/internal/wire"
)

// A cart's number joins as before: also an event that was stored when there was
// one kind of cart key.
func TestBothKindsOfCartKeysJoin(t *testing.T) {
	f := func(o wire.Order, want ...Key) {
		t.Helper()
		if got := OrderKeys(&o); !slices.Equal(got, want) {
			t.Errorf("%+v: %v, want %v", o, got, want)
		}
	}
	f(wire.Order{CartKey: wire.Some("k1:a"), CartNoKey: wire.Null[string]()}, Key{KeyCart, "k1:a"})
	f(wire.Order{CartKey: wire.Null[string](), CartNoKey: wire.Some("k1:a")}, Key{KeyCart, "k1:a"})
	for _, identity := range []wire.Identity{{CartKey: "k1:a"}, {CartNoKey: "k1:a"}} {
		e := Event{Visitor: "v", Event: wire.Event{Identity: identity}}
		if keys := e.Keys(); !slices.Contains(keys, Key{KeyCart, "k1:a"}) {
			t.Errorf("%+v: %v", identity, keys)
		}
	}
	// A token replaces the number that an older version had.
	o := Fold([]StoredVersion{{Order: wire.Order{CartKey: wire.Some("k1:number"), NetKey: wire.Some("k1:net")}},
		{Order: wire.Order{CartKey: wire.Null[string](), CartNoKey: wire.Some("k1:number")}}})
	f(o, Key{KeyCart, "k1:number"})
	if o.NetKey.Or("") != "k1:net" {
		t.Errorf("network %+v", o.NetKey)
	}
}

func TestAnEventIsLateAWeekAfterItsTimeUnlessItIsImported(t *testing.T) {
	f := func(trust, timestamp string, skewMs int, want bool) {
		t.Helper()
		raw := fmt.Sprintf(`{"companyId":"c","eventId":"016d849d-dbe8-70d2-8876-38788d4e84f7","timestamp":%q,"receivedAt":"2026-03-10T13:00:00Z","clockSkewMs":%d,"trust":%q}`, timestamp, skewMs, trust)
		e, err := ParseEvent([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		if e.Late() != want || e.Copy().Late != want {
			t.Errorf("%s %s %d: late %t, want %t", trust, timestamp, skewMs, e.Late(), want)
		}
	}
	f("open", "2026-03-03T13:00:00Z", 0, false)
	f("open", "2026-03-03T12:59:59Z", 0, true)
	f("open", "2026-03-03T12:59:59Z", 60_000, false) // its clock was slow
	f("open", "2026-03-20T00:00:00Z", 0, false)
	f("key", "2026-03-03T12:59:59Z", 0, true)
	f("import", "2019-03-03T12:59:59Z", 0, false)
	f("", "2019-03-03T12:59:59Z", 0, false) // of before
}
