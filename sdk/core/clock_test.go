package core_test

import (
	"testing"

	"github.com/tributary-io/tributary/sdk/core"
)

func TestTimesAtTheirBounds(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		got := ""
		if ms, ok := core.ParseTime(text); ok {
			got = string(core.AppendTime(nil, ms))
		}
		if got != want {
			t.Errorf("ParseTime(%s): %q, want %q", text, got, want)
		}
	}
	// offsets
	f("2026-05-28T20:00:00+05:30", "2026-05-28T14:30:00.000Z")
	f("2026-05-28T20:00:00-03:30", "2026-05-28T23:30:00.000Z")
	f("2026-05-28T20:00:00+00:00", "2026-05-28T20:00:00.000Z")
	f("2026-05-28T20:00:00+23:59", "2026-05-27T20:01:00.000Z")
	f("2026-05-28T20:00:00+24:00", "")
	f("2026-05-28T20:00:00+00:60", "")
	f("2026-05-28T20:00:00 03:00", "")
	f("2026-05-28T20:00:00+03.00", "")
	f("2026-05-28T20:00:00+0x:00", "")
	f("2026-05-28T20:00:00+03:0/", "")
	f("2026-05-28T20:00:00+03:00Z", "")
	f("2026-05-28T20:00:00X", "")
	// hours, minutes and seconds
	f("2026-05-28T23:59:59Z", "2026-05-28T23:59:59.000Z")
	f("2026-05-28T24:00:00Z", "")
	f("2026-05-28T20:60:00Z", "")
	f("2026-05-28T20:00:61Z", "")
	f("2026-05-28T20:00:0:Z", "")
	f("2026-05-28T20:00:0/Z", "")
	// separators
	f("2026/05-28T20:00:00Z", "")
	f("2026-05/28T20:00:00Z", "")
	f("2026-05-28T20.00:00Z", "")
	f("2026-05-28T20:00.00Z", "")
	// fractions of a second
	f("2026-05-28T20:00:00.123456789Z", "2026-05-28T20:00:00.123Z")
	f("2026-05-28T20:00:00.1234567890Z", "")
	f("2026-05-28T20:00:00.9/Z", "")
	f("2026-05-28T20:00:00.9:Z", "")
	// days of months
	f("2026-00-10T00:00:00Z", "")
	f("2026-01-00T00:00:00Z", "")
	f("2026-12-31T00:00:00Z", "2026-12-31T00:00:00.000Z")
	f("2026-04-30T00:00:00Z", "2026-04-30T00:00:00.000Z")
	f("2026-04-31T00:00:00Z", "")
	f("2026-01-32T00:00:00Z", "")
	f("1900-02-28T00:00:00Z", "1900-02-28T00:00:00.000Z")
	f("1900-02-29T00:00:00Z", "")
	f("2000-02-29T00:00:00Z", "2000-02-29T00:00:00.000Z")
	f("2000-02-30T00:00:00Z", "")
	f("2100-02-29T00:00:00Z", "")
	// the first and the last year
	f("0000-01-01T00:00:00Z", "0000-01-01T00:00:00.000Z")
	f("0000-02-29T12:00:00Z", "0000-02-29T12:00:00.000Z")
	f("0000-12-31T23:59:59Z", "0000-12-31T23:59:59.000Z")
	f("0399-02-28T00:00:00Z", "0399-02-28T00:00:00.000Z")
	f("0400-02-29T00:00:00Z", "0400-02-29T00:00:00.000Z")
	f("9999-12-31T23:59:59.999-00:01", "9999-12-31T23:59:59.999Z") // it is in the year 10000
	f("0000-01-01T00:00:00+00:01", "0000-01-01T00:00:00.000Z")     // and this before the year 0
}

func TestTheEpochIsZero(t *testing.T) {
	f := func(text string, want int64) {
		t.Helper()
		if got, ok := core.ParseTime(text); !ok || got != want {
			t.Errorf("ParseTime(%s) = %d, %v; want %d", text, got, ok, want)
		}
	}
	f("1970-01-01T00:00:00Z", 0)
	f("1969-12-31T23:59:59.999Z", -1)
	f("0000-01-01T00:00:00Z", -62167219200000)
	f("9999-12-31T23:59:59.999Z", 253402300799999)
}

func TestTheTimeInAUUID(t *testing.T) {
	f := func(id string, want int64) {
		t.Helper()
		if got := core.UUIDv7Time(id); got != want {
			t.Errorf("UUIDv7Time(%q) = %d, want %d", id, got, want)
		}
	}
	f("00000000-0000-7fff-bfff-ffffffffffff", 0)
	f("00000000-0001-7fff-bfff-ffffffffffff", 1)
	f("00000001-0000-7fff-bfff-ffffffffffff", 65536)
	f("", 0)
	f("0199f3a0", 0)
}

func TestAUUIDHasItsTimeVersionAndVariant(t *testing.T) {
	f := func(ms int64, rest [10]byte, want string) {
		t.Helper()
		got := string(core.AppendUUIDv7([]byte("id="), ms, rest))
		if got != "id="+want || !core.ValidUUIDv7(want) || core.UUIDv7Time(want) != ms {
			t.Errorf("AppendUUIDv7(%d, %x) = %s, want %s", ms, rest, got, want)
		}
	}
	f(0, [10]byte{}, "00000000-0000-7000-8000-000000000000")
	f(0x0123456789ab, [10]byte{0x0f, 0xcd, 0x3f, 1, 2, 3, 4, 5, 6, 7}, "01234567-89ab-7fcd-bf01-020304050607")
	f(0xffffffffffff, [10]byte{0xf0, 0xff, 0xc0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe}, "ffffffff-ffff-70ff-80ff-fffffffffffe")
}

func TestUUIDsHoldHexadecimalDigits(t *testing.T) {
	f := func(id string, want bool) {
		t.Helper()
		if got := core.ValidUUIDv7(id); got != want {
			t.Errorf("ValidUUIDv7(%q): %v", id, got)
		}
	}
	f("09afAF09-09af-7AF0-a9af-09afAF09afAF", true)
	f("/9afAF09-09af-7AF0-a9af-09afAF09afAF", false)
	f(":9afAF09-09af-7AF0-a9af-09afAF09afAF", false)
	f("`9afAF09-09af-7AF0-a9af-09afAF09afAF", false)
	f("@9afAF09-09af-7AF0-a9af-09afAF09afAF", false)
	f("G9afAF09-09af-7AF0-a9af-09afAF09afAF", false)
	f("09afAF09009af-7AF0-a9af-09afAF09afAF", false)
	f("09afAF09-09af07AF0-a9af-09afAF09afAF", false)
	f("09afAF09-09af-7AF00a9af-09afAF09afAF", false)
	f("09afAF09-09af-7AF0-a9af009afAF09afAF", false)
	f("-9afAF09-09af-7AF0-a9af-09afAF09afAF", false)
}
