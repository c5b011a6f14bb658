package models

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"
)

// solve returns the expected conversions and value of a journey from the start of
// the paths' chain, by Gaussian elimination over fractions. What comes to the channel
// removed is lost; -1 removes none. It shares nothing with the code that it checks.
func solve(f *file, removed int) (conversions, value *big.Rat) {
	n := len(f.names)
	counts := make([][]*big.Rat, n+1)
	out := make([]*big.Rat, n+1)
	for i := range counts {
		counts[i], out[i] = make([]*big.Rat, n+2), new(big.Rat) // channels, conversions, value
		for j := range counts[i] {
			counts[i][j] = new(big.Rat)
		}
	}
	for _, p := range f.paths {
		journeys := new(big.Rat).SetInt(new(big.Int).Add(p.Conversions, p.Null))
		state := 0
		for _, c := range p.Channels {
			counts[state][c].Add(counts[state][c], journeys)
			out[state].Add(out[state], journeys)
			state = int(c) + 1
		}
		out[state].Add(out[state], journeys)
		if p.Conversions.Sign() > 0 {
			counts[state][n].Add(counts[state][n], new(big.Rat).SetInt(p.Conversions))
			counts[state][n+1].Add(counts[state][n+1], new(big.Rat).SetInt(p.Value))
		}
	}
	rows := make([][]*big.Rat, n+1) // (I − Q) x = r, for both r
	for i := range rows {
		rows[i] = make([]*big.Rat, n+3)
		for j := range rows[i] {
			rows[i][j] = new(big.Rat)
		}
		rows[i][i].SetInt64(1)
		if out[i].Sign() == 0 || removed >= 0 && i == removed+1 {
			continue
		}
		for j := range n {
			p := new(big.Rat).Quo(counts[i][j], out[i])
			rows[i][j+1].Sub(rows[i][j+1], p)
		}
		rows[i][n+1].Quo(counts[i][n], out[i])
		rows[i][n+2].Quo(counts[i][n+1], out[i])
	}
	for p := range rows {
		pivot := p
		for rows[pivot][p].Sign() == 0 {
			pivot++
		}
		rows[p], rows[pivot] = rows[pivot], rows[p]
		inverse := new(big.Rat).Inv(rows[p][p])
		for j := range rows[p] {
			rows[p][j].Mul(rows[p][j], inverse)
		}
		for i := range rows {
			if i == p || rows[i][p].Sign() == 0 {
				continue
			}
			factor := new(big.Rat).Set(rows[i][p])
			for j := range rows[i] {
				rows[i][j].Sub(rows[i][j], new(big.Rat).Mul(factor, rows[p][j]))
			}
		}
	}
	return rows[0][n+1], rows[0][n+2]
}

func TestTheChainOfThePublishedCaseConvertsOneThird(t *testing.T) {
	f := parse(t, "C1 > C2 > C3: 1 5000 0", "C1: 0 0 1", "C2 > C3: 0 0 1")
	conversions, value := solve(f, -1)
	if conversions.String() != "1/3" || value.String() != "5000/3" {
		t.Errorf("%v and %v", conversions, value)
	}
	want := []string{"1/2", "1/1", "1/1"}
	c := newChain(f.paths, 3)
	c.each(func(channel int, conversions, value *big.Float) {
		effect := new(big.Rat).SetFrac(effect(conversions, c.conversions), new(big.Int).Lsh(big.NewInt(1), effectBits))
		if effect.String() != want[channel] {
			t.Errorf("removal effect of C%d is %v, want %s", channel+1, effect, want[channel])
		}
	})
}

// The removal effects are those of the chain without the channel, solved by itself
// in fractions.
func TestRemovalEffectsAreThoseOfTheChainSolvedInFractions(t *testing.T) {
	allowed := new(big.Rat).SetFrac64(2, 1<<62)
	allowed.Mul(allowed, new(big.Rat).SetFrac64(1, 1<<62)) // 2^-123
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 2))
		f := random(r, 1+r.IntN(9), 1+r.IntN(12), 1+r.IntN(25))
		weights := OverPaths(Markov, f.paths, f.direct)
		allConversions, allValue := solve(f, -1)
		for channel := range f.names {
			conversions, value := solve(f, channel)
			check := func(what string, all, without *big.Rat, weight *big.Int) {
				t.Helper()
				want := new(big.Rat)
				if all.Sign() > 0 {
					want.Sub(big.NewRat(1, 1), want.Quo(without, all))
				}
				got := new(big.Rat).SetFrac(weight, new(big.Int).Lsh(big.NewInt(1), effectBits))
				if diff := new(big.Rat).Sub(got, want); diff.Abs(diff).Cmp(allowed) > 0 {
					t.Errorf("seed %d, %s of %s: %s, want %s", seed, what, f.names[channel], got.FloatString(40), want.FloatString(40))
				}
			}
			check("conversions", allConversions, conversions, weights.Conversions[channel])
			if allValue.Sign() > 0 {
				check("value", allValue, value, weights.Value[channel])
			}
		}
	}
}

func BenchmarkModels(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, size := range []struct{ channels, paths int }{{12, 10_000}, {20, 1_000_000}, {50, 100_000}, {200, 100_000}} {
		f := random(r, size.channels, 9, size.paths)
		for _, model := range All {
			b.Run(fmt.Sprintf("%d_channels/%d_paths/%s", size.channels, size.paths, model), func(b *testing.B) {
				for b.Loop() {
					OverPaths(model, f.paths, f.direct)
				}
			})
		}
	}
}
