package models

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// Equal sums have one digest, however they were added; every other sum has another one.
func TestADigestIsOfAllSumsOfATally(t *testing.T) {
	channels := []int32{2, 0, 1}
	tally := func(model string, order *rand.Rand, change func(t *Tally)) TallyDigest {
		adds := []func(t *Tally){
			func(t *Tally) { t.Add([]int32{0, 1, 2}, 3, 500, nil) },
			func(t *Tally) { t.Add([]int32{1}, 2, math.MaxInt64, nil) },
			func(t *Tally) { t.Add([]int32{1}, 2, math.MaxInt64-1, big.NewInt(7)) },
			func(t *Tally) { t.AddStep(-1, 2, 4) },
			func(t *Tally) { t.AddLeft(2, 4) },
		}
		if change != nil {
			adds = append(adds, change)
		}
		made := NewTally(model)
		for _, i := range order.Perm(len(adds)) {
			adds[i](made)
		}
		return made.Digest(channels)
	}
	seen := map[TallyDigest]string{}
	for _, model := range []string{Markov, Shapley} {
		want := tally(model, rand.New(rand.NewPCG(0, 1)), nil)
		for seed := range uint64(20) {
			if tally(model, rand.New(rand.NewPCG(seed, 2)), nil) != want {
				t.Errorf("%s: another order has another digest", model)
			}
		}
		changes := map[string]func(t *Tally){
			"nothing": nil, "an order": func(t *Tally) { t.Add([]int32{0}, 1, 0, nil) }, "a cent": func(t *Tally) { t.Add([]int32{0}, 0, 1, nil) },
			"a great value": func(t *Tally) { t.Add([]int32{0}, 0, 0, new(big.Int).Lsh(big.NewInt(1), 80)) },
		}
		if model == Markov {
			changes["a step"] = func(t *Tally) { t.AddStep(0, 2, 1) }
			changes["a step back"] = func(t *Tally) { t.AddStep(2, 0, 1) }
			changes["a non-converting path"] = func(t *Tally) { t.AddLeft(0, 1) }
		} else {
			changes["another size"] = func(t *Tally) { t.AddSet(2, 0, 1, 0, nil) }
		}
		for name, change := range changes {
			d := tally(model, rand.New(rand.NewPCG(0, 1)), change)
			if other, is := seen[d]; is {
				t.Errorf("%s and %s %s have one digest", other, model, name)
			}
			seen[d] = model + " " + name
		}
	}
	t1 := NewTally(Markov)
	t1.Add([]int32{0, 1}, 1, 1, nil)
	if t1.Digest([]int32{0, 1}) == t1.Digest([]int32{1, 0}) {
		t.Error("another order of channels has the same digest")
	}
}
