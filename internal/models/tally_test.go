package models

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// inParts adds a path as steps, an end and sets.
func inParts(t *Tally, channels []int32, conversions, value int64) {
	before := int32(-1)
	seen := map[int32]bool{}
	for _, channel := range channels {
		if channel != before {
			t.AddStep(before, channel, conversions)
		}
		before, seen[channel] = channel, true
	}
	t.AddEnd(before, conversions, value, nil)
	for channel := range seen {
		t.AddSet(len(seen), channel, conversions, value, nil)
	}
}

// A tally of paths, each added in parts and in any order, whole or as steps, ends and sets,
// gives the weights of the paths.
func TestATallyGivesTheWeightsOfItsPaths(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 7))
		f := random(r, 1+r.IntN(9), 1+r.IntN(12), 1+r.IntN(40))
		tallies := map[string]*Tally{Markov: NewTally(Markov), Shapley: NewTally(Shapley)}
		var bought []Path
		seen := make([]bool, len(f.names))
		for _, p := range f.paths {
			if p.Conversions.Sign() == 0 {
				continue
			}
			p.Null = new(big.Int)
			if seed%3 == 0 { // sums over 63 bits
				p.Value.Mul(p.Value, big.NewInt(90_000_000))
			}
			bought = append(bought, p)
			for _, channel := range p.Channels {
				seen[channel] = true
			}
		}
		for _, i := range r.Perm(len(bought)) {
			p := bought[i]
			conversions, value := p.Conversions.Int64(), p.Value.Int64()
			if p.Value.Cmp(big.NewInt(math.MaxInt64)) > 0 {
				t.Fatal("the value is too great for the test")
			}
			for _, tally := range tallies {
				if conversions > 1 {
					tally.Add(p.Channels, conversions-1, 0, big.NewInt(value/3))
					tally.Add(p.Channels, 1, value-value/3, nil)
					continue
				}
				if seed%2 == 0 {
					inParts(tally, p.Channels, conversions, value)
					continue
				}
				tally.Add(p.Channels, conversions, value, nil)
			}
		}
		var channels []int32 // in an order of their own
		for _, i := range r.Perm(len(f.names)) {
			if seen[i] {
				channels = append(channels, int32(i))
			}
		}
		for model, tally := range tallies {
			if list := tally.Channels(); len(list) != len(channels) {
				t.Errorf("seed %d: channels %v, want %v", seed, list, channels)
			}
			want, got := OverPaths(model, bought, f.direct), tally.Weights(channels)
			conversions, value := Totals(bought)
			if c, v := tally.Totals(); c.Cmp(conversions) != 0 || v.Cmp(value) != 0 {
				t.Errorf("seed %d: %v and %v, want %v and %v", seed, c, v, conversions, value)
			}
			for i, channel := range channels {
				if !same(got.Conversions[i], want.Conversions[channel]) || !same(got.Value[i], want.Value[channel]) {
					t.Errorf("seed %d, %s of %s: %v and %v, want %v and %v", seed, model, f.names[channel],
						got.Conversions[i], got.Value[i], want.Conversions[channel], want.Value[channel])
				}
			}
		}
	}
}

// same reports whether two weights differ by one at most: the order of the channels may
// round the last bit of a removal effect otherwise.
func same(a, b *big.Int) bool { return new(big.Int).Sub(a, b).CmpAbs(big.NewInt(1)) <= 0 }
