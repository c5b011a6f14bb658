package models

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// touchesOn is one touch on each of the given days, direct where kinds has a d.
func touchesOn(kinds string, days ...int) []Touch {
	var touches []Touch
	for i, d := range days {
		touches = append(touches, Touch{At: start.Add(time.Duration(d) * day), Direct: kinds != "" && kinds[i] == 'd'})
	}
	return touches
}

// file is a list of paths as a file has them: channels in the order of their first
// appearance.
type file struct {
	names  []string
	direct []bool
	paths  []Path
}

// parse reads lines of "a > b: conversions value null".
func parse(t testing.TB, lines ...string) *file {
	t.Helper()
	f := &file{}
	for _, line := range lines {
		text, numbers, _ := strings.Cut(line, ":")
		var conversions, value, null int64
		if _, err := fmt.Sscan(numbers, &conversions, &value, &null); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		p := Path{Conversions: big.NewInt(conversions), Value: big.NewInt(value), Null: big.NewInt(null)}
		for name := range strings.SplitSeq(text, ">") {
			name = strings.TrimSpace(name)
			i := slices.Index(f.names, name)
			if i < 0 {
				i = len(f.names)
				f.names, f.direct = append(f.names, name), append(f.direct, name == "direct")
			}
			p.Channels = append(p.Channels, int32(i))
		}
		f.paths = append(f.paths, p)
	}
	return f
}

// ratios writes each weight as its part of their sum.
func ratios(weights []*big.Int) string {
	var parts []string
	whole := sum(weights)
	for _, w := range weights {
		if whole.Sign() == 0 {
			parts = append(parts, "0")
			continue
		}
		parts = append(parts, new(big.Rat).SetFrac(w, whole).FloatString(12))
	}
	return strings.Join(parts, " ")
}

// random makes paths of up to the given number of channels and touches. Some
// channels are in no path, and some journeys come to nothing.
func random(r *rand.Rand, channels, touches, paths int) *file {
	f := &file{direct: make([]bool, channels)}
	for i := range channels {
		f.names = append(f.names, fmt.Sprint("c", i))
		f.direct[i] = r.IntN(8) == 0
	}
	for range paths {
		p := Path{Conversions: new(big.Int), Value: new(big.Int), Null: big.NewInt(r.Int64N(50))}
		if r.IntN(3) > 0 {
			p.Conversions.SetInt64(1 + r.Int64N(9))
			p.Value.SetInt64(1 + r.Int64N(100_000_000_000)) // a cent to 10^9
		}
		for range 1 + r.IntN(touches) {
			p.Channels = append(p.Channels, int32(r.IntN(channels)))
		}
		f.paths = append(f.paths, p)
	}
	return f
}
