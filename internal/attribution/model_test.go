package attribution

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
)

const day = 24 * time.Hour

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func testIndex(change func(*facts.Rules)) *Index {
	rules := &facts.Rules{
		CompanyID: "c_1", Rev: 1, Location: time.FixedZone("BRT", -3*60*60), Hosts: []string{"loja.example.com"},
		Settings: facts.Settings{PayoutRule: facts.CouponFirst, Window: 30 * day, HalfLife: 7 * day, IgnoreDirect: true, HoldDays: 30},
	}
	if change != nil {
		change(rules)
	}
	return NewIndex(rules)
}

// path is one touch on each of the given days, of the kinds u (UTM) or d (direct).
func path(kinds string, days ...int) []Touch {
	var touches []Touch
	for i, d := range days {
		t := Touch{ID: fmt.Sprint(i), At: start.Add(time.Duration(d) * day), Kind: facts.ByUTM}
		if kinds != "" && kinds[i] == 'd' {
			t.Kind = facts.Direct
		}
		touches = append(touches, t)
	}
	return touches
}

func TestModelsDivideAsPublished(t *testing.T) {
	f := func(model string, halfLifeDays int, total int64, touches []Touch, want string) {
		t.Helper()
		x := testIndex(func(r *facts.Rules) { r.HalfLife = time.Duration(halfLifeDays) * day })
		shares := x.shares(&x.rules.Settings, model, touches)
		var parts []string
		var sum int64
		for i, amount := range split(total, shares) {
			parts = append(parts, fmt.Sprintf("%d:%d", shares[i].touch, amount))
			sum += amount
		}
		if got := strings.Join(parts, " "); got != want || sum != total {
			t.Errorf("%s of %d: %s (sum %d), want %s", model, total, got, sum, want)
		}
	}
	// Window 4 d, touches 3, 2 and 1 days before.
	f(TimeDecay, 1, 700, path("", 1, 2, 3), "0:100 1:200 2:400")
	f(Position, 1, 1000, path("", 1, 2, 3), "0:400 1:200 2:400")
	// R$ 200, 4 touches, each a half-life apart.
	f(TimeDecay, 7, 20000, path("", 0, 7, 14, 21), "0:1333 1:2667 2:5333 3:10667")
	f(Position, 7, 20000, path("", 0, 7, 14, 21), "0:8000 1:2000 2:2000 3:8000")
	// 12,000 on day 38, touches on days 0, 5, 12, 30, 38.
	f(TimeDecay, 7, 1200000, path("", 0, 5, 12, 30, 38), "0:17519 1:28744 2:57488 3:341704 4:754545")

	f(First, 7, 1001, path("", 0, 1, 2), "0:1001")
	f(Last, 7, 1001, path("", 0, 1, 2), "2:1001")
	f(LastNonDirect, 7, 1001, path("uud", 0, 1, 2), "1:1001")
	f(Last, 7, 1001, path("uud", 0, 1, 2), "2:1001") // alone counts direct touches
	f(First, 7, 1001, path("dud", 0, 1, 2), "1:1001")
	f(Linear, 7, 1000, path("", 0, 1, 2), "0:334 1:333 2:333")    // ties go to the earlier touch
	f(Linear, 7, 1000, path("dud", 0, 1, 2), "1:1000")            // direct is dropped …
	f(Linear, 7, 1000, path("ddd", 0, 1, 2), "0:334 1:333 2:333") // … unless it is all there is
	f(Linear, 7, -1000, path("", 0, 1, 2), "0:-334 1:-333 2:-333")
	f(Linear, 7, 1, path("", 0, 1, 2), "0:1 1:0 2:0")
	f(Position, 7, 5, path("", 0), "0:5")
	f(Position, 7, 5, path("", 0, 1), "0:3 1:2")
	f(TimeDecay, 1, 100, path("", 0, 365), "0:0 1:100")
}

// docs/attribution.md, "Channel credit": ignore_direct is a setting, and
// last_non_direct leaves direct touches out in any case.
func TestDirectTouchesCountWhereTheCompanySaysSo(t *testing.T) {
	f := func(ignore bool, model, want string) {
		t.Helper()
		x := testIndex(func(r *facts.Rules) { r.IgnoreDirect = ignore })
		var got []string
		for _, s := range x.shares(&x.rules.Settings, model, path("dudd", 0, 1, 2, 3)) {
			got = append(got, fmt.Sprint(s.touch))
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s, ignored %t: %s, want %s", model, ignore, text, want)
		}
	}
	f(true, First, "1")
	f(false, First, "0")
	f(true, Last, "3")
	f(false, Last, "3")
	f(true, LastNonDirect, "1")
	f(false, LastNonDirect, "1")
	f(true, Linear, "1")
	f(false, Linear, "0 1 2 3")
	f(false, Position, "0 1 2 3")
	f(false, TimeDecay, "0 1 2 3")
}

func TestSplitNeverLosesACent(t *testing.T) {
	for n := 1; n <= 30; n++ {
		for _, total := range []int64{0, 1, 99, 100, 12345, 99999999999999999, -1, -12345} {
			var shares []share
			for i := range n {
				shares = append(shares, share{i, big.NewInt(int64(i*i + 1))})
			}
			var sum int64
			for _, part := range split(total, shares) {
				sum += part
			}
			if sum != total {
				t.Errorf("%d touches: %d became %d", n, total, sum)
			}
		}
	}
}

func TestHalfOfAHalfLifeIsTheSquareRoot(t *testing.T) {
	x := testIndex(nil)
	half := x.decay(12*time.Hour, day)
	square := new(big.Int).Rsh(new(big.Int).Mul(half, half), decayBits)
	want := new(big.Int).Lsh(big.NewInt(1), decayBits-1)
	if diff := new(big.Int).Sub(want, square); diff.CmpAbs(big.NewInt(4)) > 0 {
		t.Errorf("2^-½ squared is off by %v units of 2^-%d", diff, decayBits)
	}
	if !slices.IsSortedFunc([]*big.Int{x.decay(2*day, day), x.decay(day+time.Hour, day), x.decay(day, day)}, (*big.Int).Cmp) {
		t.Error("an older touch weighs more")
	}
}
