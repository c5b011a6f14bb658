package facts

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/wire"
)

func TestEventsTimeIsCorrectedByItsClockButTheirFactsByTheirID(t *testing.T) {
	f := func(skewMs int, want string) {
		t.Helper()
		raw := fmt.Sprintf(`{"companyId":"c","eventId":"016d849d-dbe8-70d2-8876-38788d4e84f7","timestamp":"2026-03-10T12:00:00Z","receivedAt":"2026-03-10T13:00:00Z","clockSkewMs":%d,"cookieId":"k"}`, skewMs)
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
	f(-3_600_000, "2026-03-10T11:00:00Z")
}

func TestUnreadableEventsHaveACode(t *testing.T) {
	f := func(raw string, want error) {
		t.Helper()
		if _, err := ParseEvent([]byte(raw)); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", raw, err, want)
		}
	}
	f(`{`, ErrNotJSON)
	f(`{}`, ErrNoCompany)
	f(`{"companyId":"c","eventId":"0d9b2a54-97de-4e0b-9d5c-4b0b0e2f3c11"}`, ErrEventID)
	f(`{"companyId":"c","eventId":"016d849d-dbe8-70d2-8876-38788d4e84f7"}`, ErrTime)
	f(`{"companyId":"c","eventId":"016d849d-dbe8-70d2-8876-38788d4e84f7","timestamp":"9999-01-01T00:00:00Z","receivedAt":"2026-03-10T13:00:00Z"}`, ErrTime)
}

func TestFoldKeepsWhatIsAbsentAndClearsWhatIsNull(t *testing.T) {
	first := wire.Order{OrderID: "o", TotalMinor: 1, DiscountCode: wire.Some("A"), CartKey: wire.Some("k1:a"), Name: wire.Some("#1")}
	second := wire.Order{OrderID: "o", TotalMinor: 2, CartKey: wire.Null[string](), Name: wire.Some("#2")}
	third := wire.Order{OrderID: "o", TotalMinor: 3, Status: 2}
	o := Fold([]StoredVersion{{Order: first}, {Order: second}, {Order: third}})
	if o.TotalMinor != 3 || o.Status != 2 || o.DiscountCode.Or("") != "A" || o.CartKey.Valid || !o.CartKey.Present || o.Name.Or("") != "#2" {
		t.Errorf("fold %+v", o)
	}
	if keys := OrderKeys(&o); len(keys) != 0 {
		t.Errorf("keys %v of a cleared cart", keys)
	}
}

func TestCodesAreTriedWholeThenInParts(t *testing.T) {
	f := func(field string, want ...string) {
		t.Helper()
		if got := OrderCodes(&wire.Order{DiscountCode: wire.Some(field)}); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", field, got, want)
		}
	}
	f("")
	f(" ana10 ", "ANA10")
	f("a, b;c|a", "A, B;C|A", "A", "B", "C")
}
