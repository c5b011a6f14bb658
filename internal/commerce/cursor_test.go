package commerce

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestCursorsAreReadBack(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 12, 0, 0, 123456000, time.UTC)
	for _, want := range []Cursor{{}, {At: at}, {At: at, OrderID: "#1001.x"}} {
		if got, err := ParseCursor(want.String()); err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", want.String(), got, err, want)
		}
	}
	for _, want := range []InfluencerCursor{{}, {CreatedAt: at, InfluencerID: "01890a5d-ac96-774b-bcce-b302099a8057"}} {
		if got, err := ParseInfluencerCursor(want.String()); err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", want.String(), got, err, want)
		}
	}
}

func TestTextsThatAreNoCursorAreRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{".", "x", "0", "1.\x00", "1.\xff", "-1.x", "9223372036854775807.x", "99999999999999999999.x",
		"1763700000000000", "1763700000000000." + strings.Repeat("x", MaxID+1)} {
		if c, err := ParseCursor(text); !errors.Is(err, ErrBadCursor) || c != (Cursor{}) {
			t.Errorf("%.40q: %+v, %v", text, c, err)
		}
	}
	good := InfluencerCursor{CreatedAt: time.Unix(1, 0), InfluencerID: "01890a5d-ac96-774b-bcce-b302099a8057"}.String()
	far := InfluencerCursor{CreatedAt: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC),
		InfluencerID: "01890a5d-ac96-774b-bcce-b302099a8057"}.String()
	for _, text := range []string{"x", "%%%", "MTIz", good[:10], good + "=", far} {
		if c, err := ParseInfluencerCursor(text); !errors.Is(err, ErrBadCursor) || c != (InfluencerCursor{}) {
			t.Errorf("%.40q: %+v, %v", text, c, err)
		}
	}
}

func TestIDs(t *testing.T) {
	t.Parallel()
	f := func(text string, want bool) {
		t.Helper()
		if got := IsID(text); got != want {
			t.Errorf("IsID(%.40q) = %t", text, got)
		}
	}
	f("#1001", true)
	f(strings.Repeat("é", MaxID), true)
	f(strings.Repeat("é", MaxID+1), false)
	f(strings.Repeat("💩", MaxID), true)
	f("", false)
	f("\x00", false)
	f("a\x7f", false)
	f("\xff", false)
}

func TestDays(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", -3*60*60)
	f := func(text string, want bool) {
		t.Helper()
		day, err := ParseDay(text, zone)
		if (err == nil) != want || want && (day.Format(time.DateOnly) != text || day.Location() != zone) {
			t.Errorf("%q: %s, %v; want a day: %t", text, day, err, want)
		}
	}
	f("2026-11-21", true)
	f("1970-01-01", true)
	f("2199-12-31", true)
	f("1969-12-31", false)
	f("2200-01-01", false)
	f("0000-01-01", false)
	f("2026-02-30", false)
	f("2026-11-21T00:00:00Z", false)
	f("", false)
}
