package models

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestModelsDivideAsPublished(t *testing.T) {
	c := NewCalculator()
	f := func(model string, halfLifeDays int, total int64, touches []Touch, want string) {
		t.Helper()
		credited, weights := c.Shares(model, touches, Rules{HalfLife: time.Duration(halfLifeDays) * day, IgnoreDirect: true})
		var parts []string
		var sum int64
		for i, amount := range Split(total, weights) {
			parts = append(parts, fmt.Sprintf("%d:%d", credited[i], amount))
			sum += amount
		}
		if got := strings.Join(parts, " "); got != want || sum != total {
			t.Errorf("%s of %d: %s (sum %d), want %s", model, total, got, sum, want)
		}
	}
	// Window 4 d, touches 3, 2 and 1 days before.
	f(TimeDecay, 1, 700, touchesOn("", 1, 2, 3), "0:100 1:200 2:400")
	f(Position, 1, 1000, touchesOn("", 1, 2, 3), "0:400 1:200 2:400")
	// R$ 200, 4 touches, each a half-life apart.
	f(TimeDecay, 7, 20000, touchesOn("", 0, 7, 14, 21), "0:1333 1:2667 2:5333 3:10667")
	f(Position, 7, 20000, touchesOn("", 0, 7, 14, 21), "0:8000 1:2000 2:2000 3:8000")
	// 12,000 on day 38, touches on days 0, 5, 12, 30, 38.
	f(TimeDecay, 7, 1200000, touchesOn("", 0, 5, 12, 30, 38), "0:17519 1:28744 2:57488 3:341704 4:754545")

	f(First, 7, 1001, touchesOn("", 0, 1, 2), "0:1001")
	f(Last, 7, 1001, touchesOn("", 0, 1, 2), "2:1001")
	f(LastNonDirect, 7, 1001, touchesOn("uud", 0, 1, 2), "1:1001")
	f(Last, 7, 1001, touchesOn("uud", 0, 1, 2), "2:1001") // alone counts direct touches
	f(First, 7, 1001, touchesOn("dud", 0, 1, 2), "1:1001")
	f(Linear, 7, 1000, touchesOn("", 0, 1, 2), "0:334 1:333 2:333")    // ties go to the earlier touch
	f(Linear, 7, 1000, touchesOn("dud", 0, 1, 2), "1:1000")            // direct is dropped …
	f(Linear, 7, 1000, touchesOn("ddd", 0, 1, 2), "0:334 1:333 2:333") // … unless it is all there is
	f(Linear, 7, -1000, touchesOn("", 0, 1, 2), "0:-334 1:-333 2:-333")
	f(Linear, 7, 1, touchesOn("", 0, 1, 2), "0:1 1:0 2:0")
	f(Position, 7, 5, touchesOn("", 0), "0:5")
	f(Position, 7, 5, touchesOn("", 0, 1), "0:3 1:2")
	f(TimeDecay, 1, 100, touchesOn("", 0, 365), "0:0 1:100")
	f(Linear, 7, 0, nil, "")
}

// docs/attribution.md, "Channel credit": ignore_direct is a setting, and
// last_non_direct leaves direct touches out in any case.
func TestDirectTouchesCountWhereTheCompanySaysSo(t *testing.T) {
	c := NewCalculator()
	f := func(ignore bool, model, want string) {
		t.Helper()
		credited, _ := c.Shares(model, touchesOn("dudd", 0, 1, 2, 3), Rules{HalfLife: 7 * day, IgnoreDirect: ignore})
		if got := strings.Trim(fmt.Sprint(credited), "[]"); got != want {
			t.Errorf("%s, ignored %t: %s, want %s", model, ignore, got, want)
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
			var weights []*big.Int
			for i := range n {
				weights = append(weights, big.NewInt(int64(i*i+i%2+1)))
			}
			var sum int64
			for _, part := range Split(total, weights) {
				sum += part
			}
			if sum != total {
				t.Errorf("%d touches: %d became %d", n, total, sum)
			}
		}
	}
	if parts := Split(3, []*big.Int{new(big.Int), big.NewInt(1), big.NewInt(1)}); !slices.Equal(parts, []int64{0, 2, 1}) {
		t.Errorf("a weight of zero got a part: %v", parts)
	}
}

func TestPortionsHaveSixDecimals(t *testing.T) {
	if got := Portions([]*big.Int{big.NewInt(1), big.NewInt(2)}); !slices.Equal(got, []string{"0.333333", "0.666667"}) {
		t.Errorf("%v", got)
	}
}

func TestHalfOfAHalfLifeIsTheSquareRoot(t *testing.T) {
	c := NewCalculator()
	half := c.decay(12*time.Hour, day)
	square := new(big.Int).Rsh(new(big.Int).Mul(half, half), decayBits)
	want := new(big.Int).Lsh(big.NewInt(1), decayBits-1)
	if diff := new(big.Int).Sub(want, square); diff.CmpAbs(big.NewInt(4)) > 0 {
		t.Errorf("2^-½ squared is off by %v units of 2^-%d", diff, decayBits)
	}
	if !slices.IsSortedFunc([]*big.Int{c.decay(2*day, day), c.decay(day+time.Hour, day), c.decay(day, day)}, (*big.Int).Cmp) {
		t.Error("an older touch weighs more")
	}
}
