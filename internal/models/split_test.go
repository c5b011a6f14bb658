package models

import (
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// A part with its digits is what exact fractions give, whatever the weights are.
func TestPortionsAreExactFractionsRounded(t *testing.T) {
	f := func(weights []*big.Int) {
		t.Helper()
		whole := new(big.Int)
		for _, w := range weights {
			whole.Add(whole, w)
		}
		want := make([]string, len(weights))
		for i, w := range weights {
			want[i] = new(big.Rat).SetFrac(w, whole).FloatString(6)
		}
		if got := Portions(weights); !slices.Equal(got, want) {
			t.Errorf("%v: %v, want %v", weights, got, want)
		}
	}
	one := func(list ...int64) (weights []*big.Int) {
		for _, n := range list {
			weights = append(weights, big.NewInt(n))
		}
		return weights
	}
	f(one(1))
	f(one(0, 1))
	f(one(1, 1, 1))
	f(one(1, 1_999_999)) // half of the last digit
	f(one(3, 1_999_997))
	f(one(1, 2_000_001))
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		weights := make([]*big.Int, 1+r.IntN(20))
		for i := range weights {
			weights[i] = new(big.Int).Lsh(big.NewInt(r.Int64N(1<<40)+1), uint(r.IntN(500)))
		}
		f(weights)
	}
}
