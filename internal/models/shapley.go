package models

import "math/big"

// shapley returns the channels' weights by the Shapley value. A set of channels is
// worth the conversions of the paths that have no other channel, so each path is
// divided equally among its distinct channels, which is exact for any number of
// channels (docs/models.md, "Shapley").
func shapley(paths []Path, channels int) Weights {
	var bySize []*Weights // by the number of distinct channels of a path
	seen := make([]int, channels)
	var set []int32
	for i, p := range paths {
		set = set[:0]
		for _, channel := range p.Channels {
			if seen[channel] != i+1 {
				seen[channel] = i + 1
				set = append(set, channel)
			}
		}
		for len(bySize) <= len(set) {
			bySize = append(bySize, nil)
		}
		if bySize[len(set)] == nil {
			bySize[len(set)] = &Weights{Conversions: zeros(channels), Value: zeros(channels)}
		}
		w := bySize[len(set)]
		for _, channel := range set {
			w.Conversions[channel].Add(w.Conversions[channel], p.Conversions)
			w.Value[channel].Add(w.Value[channel], p.Value)
		}
	}
	return overSizes(bySize, channels)
}

// overSizes returns the channels' weights, of the sums of the paths with so many distinct
// channels. nil: there are none.
func overSizes(bySize []*Weights, channels int) Weights {
	// Weights are whole: 1/size is unit/size, where unit has every size as a divisor.
	unit := big.NewInt(1)
	for size, w := range bySize {
		if w != nil {
			n := big.NewInt(int64(size))
			unit.Mul(unit, new(big.Int).Quo(n, new(big.Int).GCD(nil, nil, unit, n)))
		}
	}
	weights := Weights{Conversions: zeros(channels), Value: zeros(channels)}
	var part big.Int
	for size, w := range bySize {
		if w == nil {
			continue
		}
		share := new(big.Int).Quo(unit, big.NewInt(int64(size)))
		for channel := range channels {
			weights.Conversions[channel].Add(weights.Conversions[channel], part.Mul(w.Conversions[channel], share))
			weights.Value[channel].Add(weights.Value[channel], part.Mul(w.Value[channel], share))
		}
	}
	return weights
}
