package facts

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/wire"
)

// noon is an instant of a day that is not special.
var noon = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

// docs/attribution.md, "Facts".
func TestEventsTimeIsCorrectedByItsClockButTheirFactsByTheirID(t *testing.T) {
	f := func(skewMs int, want string) {
		t.Helper()
		raw := fmt.Sprintf(`{"companyId":"c","eventId":"016d849d-dbe8-70d2-8876-38788d4e84f7","timestamp":"2026-03-10T12:00:00Z",`+
			`"receivedAt":"2026-03-10T13:00:00Z","clockSkewMs":%d,"cookieId":"k"}`, skewMs)
		e, err := ParseEvent([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		if got := e.At.Format(time.RFC3339); got != want || e.IDTime.Format("2006-01-02") != "2019-10-01" || e.Visitor != "k" {
			t.Errorf("skew %d: at %s, id time %s, visitor %q; want %s", skewMs, got, e.IDTime, e.Visitor, want)
		}
	}
	f(0, "2026-03-10T12:00:00Z")
	f(59_999, "2026-03-10T12:00:00Z") // latency
	f(60_000, "2026-03-10T12:01:00Z")
	f(-59_999, "2026-03-10T12:00:00Z")
	f(-60_000, "2026-03-10T11:59:00Z")
	f(-3_600_000, "2026-03-10T11:00:00Z")
	f(3_600_000, "2026-03-10T13:00:00Z")
	f(3_660_000, "2026-03-10T13:00:00Z") // after it was received: an order to come would find it
}

func TestUnreadableEventsHaveACode(t *testing.T) {
	f := func(raw string, want error) {
		t.Helper()
		if _, err := ParseEvent([]byte(raw)); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", raw, err, want)
		}
	}
	const id = `"eventId":"016d849d-dbe8-70d2-8876-38788d4e84f7"`
	f(`{`, ErrNotJSON)
	f(`{}`, ErrNoCompany)
	f(`{"companyId":"c"}`, ErrEventID)
	f(`{"companyId":"c","eventId":"x"}`, ErrEventID)
	f(`{"companyId":"c","eventId":"0d9b2a54-97de-4e0b-9d5c-4b0b0e2f3c11"}`, ErrEventID) // version 4
	f(`{"companyId":"c",`+id+`}`, ErrTime)
	f(`{"companyId":"c",`+id+`,"timestamp":"9999-01-01T00:00:00Z","receivedAt":"2026-03-10T13:00:00Z"}`, ErrTime)
	f(`{"companyId":"c",`+id+`,"timestamp":"2026-03-10T13:00:00Z","receivedAt":"1960-03-10T13:00:00Z"}`, ErrTime)
	f(`{"companyId":"c","eventId":"ffffffff-ffff-70d2-8876-38788d4e84f7","timestamp":"2026-03-10T13:00:00Z",`+
		`"receivedAt":"2026-03-10T13:00:00Z"}`, ErrTime)
	f(`{"companyId":"c",`+id+`,"timestamp":"2199-12-31T23:59:59Z","receivedAt":"2026-03-10T13:00:00Z","clockSkewMs":60000}`, ErrTime)
}

func TestEventsAreReadAsTheyAreCompared(t *testing.T) {
	long := strings.Repeat("v", maxID+1)
	raw := `{"companyId":"c","eventId":"016D849D-DBE8-70D2-8876-38788D4E84F7","timestamp":"2026-03-10T09:00:00.1239999-03:00",` +
		`"receivedAt":"2026-03-10T10:00:00.1234569-03:00","visitorId":"` +
		long + `","cookieId":"k","identity":{"cartKey":"` + long + `"}}`
	e, err := ParseEvent([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256([]byte(raw))
	want := Copy{
		EventID: "016d849d-dbe8-70d2-8876-38788d4e84f7", Digest: digest[:], Visitor: boundedID(long),
		ReceivedAt: noon.Add(time.Hour + 123456*time.Microsecond), At: noon.Add(123 * time.Millisecond),
	}
	if got := e.Copy(); !equalCopies(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if e.Identity.CartKey != boundedID(long) || e.CookieID != "k" || !bytes.Equal(e.Raw, []byte(raw)) {
		t.Errorf("cart key %q, cookie %q", e.Identity.CartKey, e.CookieID)
	}
}

func equalCopies(a, b Copy) bool {
	return a.EventID == b.EventID && a.ReceivedAt.Equal(b.ReceivedAt) && bytes.Equal(a.Digest, b.Digest) &&
		a.Visitor == b.Visitor && a.At.Equal(b.At)
}

func TestOnlyPeopleCount(t *testing.T) {
	for bot, want := range map[wire.Bot]bool{"": true, wire.BotNone: true, wire.BotKnown: false, wire.BotPrefetch: false,
		wire.BotPreview: false} {
		if e := (Event{Event: wire.Event{Bot: bot}}); e.Human() != want {
			t.Errorf("bot %q counts: %t, want %t", bot, e.Human(), want)
		}
	}
}

// docs/attribution.md, "Keys that join".
func TestKeysOfAnEvent(t *testing.T) {
	all := wire.Event{VisitorID: "v", CookieID: "k", Identity: wire.Identity{CartKey: "c", CustomerKey: "i", EmailKey: "e", PhoneKey: "p"}}
	f := func(name, want string, change func(e *wire.Event)) {
		t.Helper()
		e := Event{Event: all}
		change(&e.Event)
		e.Visitor = e.VisitorID
		if e.Visitor == "" {
			e.Visitor = e.CookieID
		}
		var keys []string
		for _, k := range e.Keys() {
			keys = append(keys, string(k.Kind)+"="+k.Value)
		}
		if got := strings.Join(keys, " "); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	f("all", "cart=c cookie=k customer=i email=e phone=p user=v", func(*wire.Event) {})
	f("no identity", "cookie=k user=v", func(e *wire.Event) { e.Identity = wire.Identity{} })
	f("no cookie", "phone=p user=v", func(e *wire.Event) { e.CookieID, e.Identity = "", wire.Identity{PhoneKey: "p"} })
	f("the cookie alone is the visitor, once", "cookie=k email=e user=k", func(e *wire.Event) {
		e.VisitorID, e.Identity = "", wire.Identity{EmailKey: "e"}
	})
	f("nobody", "", func(e *wire.Event) { e.VisitorID, e.CookieID = "", "" })
	f("a bot", "", func(e *wire.Event) { e.Bot = wire.BotKnown })
}

func TestOfTwoCopiesTheFirstReceivedCounts(t *testing.T) {
	f := func(name string, a, b Copy, aFirst, bFirst bool) {
		t.Helper()
		if a.Before(b) != aFirst || b.Before(a) != bFirst {
			t.Errorf("%s: %t and %t, want %t and %t", name, a.Before(b), b.Before(a), aFirst, bFirst)
		}
	}
	at := func(offset time.Duration, digest byte) Copy {
		return Copy{ReceivedAt: noon.Add(offset), Digest: []byte{digest}}
	}
	of := func(trust wire.Trust, offset time.Duration) Copy {
		c := at(offset, 1)
		c.Trust = trust
		return c
	}
	f("a backend's before a stranger's, whenever it comes", of(wire.TrustKey, time.Hour), of(wire.TrustOpen, 0), true, false)
	f("an import's before a backend's", of(wire.TrustImport, time.Hour), of(wire.TrustKey, 0), true, false)
	f("one from before API keys is a stranger's", of("", 0), of(wire.TrustOpen, time.Hour), true, false)
	f("the earlier", at(0, 2), at(time.Microsecond, 1), true, false)
	f("at one time the least digest", at(0, 1), at(0, 2), true, false)
	f("the same copy is not before itself", at(0, 1), at(0, 1), false, false)
}

// Whatever the order in which copies come, and however they are cut into
// batches, the same ones count.
func TestCopiesAreChosenAlikeInAnyOrder(t *testing.T) {
	var events []Event
	for i := range 40 {
		e := Event{CameAs: []byte{byte(i)}, Visitor: fmt.Sprint("v", i)}
		e.EventID, e.ReceivedAt = fmt.Sprint("e", i%7), noon.Add(time.Duration(i%3)*time.Second)
		events = append(events, e)
	}
	first, others := ChooseCopies(events)
	if len(first) != 7 || len(others) != 33 ||
		!slices.IsSortedFunc(first, func(a, b Event) int { return strings.Compare(a.EventID, b.EventID) }) {
		t.Fatalf("%d chosen, %d others", len(first), len(others))
	}
	for _, c := range first {
		for _, e := range events {
			if e.EventID == c.EventID && e.Copy().Before(c.Copy()) {
				t.Errorf("%s: the copy of %s counts, not that of %s", c.EventID, c.Visitor, e.Visitor)
			}
		}
	}
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 0))
		r.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
		half := r.IntN(len(events) + 1)
		left, dropped := ChooseCopies(events[:half])
		again, droppedLater := ChooseCopies(append(left, events[half:]...))
		if !slices.EqualFunc(again, first, func(a, b Event) bool { return equalCopies(a.Copy(), b.Copy()) }) {
			t.Fatalf("seed %d: other copies count", seed)
		}
		if all := len(again) + len(dropped) + len(droppedLater); all != len(events) {
			t.Fatalf("seed %d: %d copies of %d", seed, all, len(events))
		}
	}
}
