package models

import (
	"math/big"
	"time"
)

// day is the time between two touches of a path: paths have no times, and this is
// what attribution libraries take.
const day = 24 * time.Hour

// halfLife is time_decay's over paths: the default of stores.
const halfLife = 7 * day

// shareBits is how many bits a touch's share of a path has. What is lost is far
// under one part of any total with a hundred digits.
const shareBits = 512

// OverPaths returns the weights of channels under any model of All. direct says
// which channels are direct; only last_non_direct leaves them out. Each index in a
// path is one of direct's.
func OverPaths(model string, paths []Path, direct []bool) Weights {
	switch model {
	case Markov:
		return markov(paths, len(direct))
	case Shapley:
		return shapley(paths, len(direct))
	}
	weights := Weights{Conversions: zeros(len(direct)), Value: zeros(len(direct))}
	calculator := &Calculator{halvings: halvings(pathBits)}
	shares := map[int][]*big.Int{} // by length
	var part big.Int
	for _, p := range paths {
		credited, fractions := 0, []*big.Int{big.NewInt(1)}
		n := len(p.Channels)
		switch model {
		case First:
		case Last:
			credited = n - 1
		case LastNonDirect:
			credited = lastNonDirect(p.Channels, direct)
		default:
			if shares[n] == nil {
				shares[n] = calculator.steps(model, n)
			}
			fractions = shares[n]
		}
		for i, fraction := range fractions {
			channel := p.Channels[credited+i]
			weights.Conversions[channel].Add(weights.Conversions[channel], part.Mul(fraction, p.Conversions))
			weights.Value[channel].Add(weights.Value[channel], part.Mul(fraction, p.Value))
		}
	}
	return weights
}

// steps returns the shares of n touches that are a day apart. Their sum is
// 1 << shareBits for every n.
func (c *Calculator) steps(model string, n int) []*big.Int {
	touches := make([]Touch, n)
	for i := range touches {
		touches[i].At = time.Unix(0, 0).Add(time.Duration(i) * day)
	}
	_, weights := c.Shares(model, touches, Rules{HalfLife: halfLife})
	return Divide(new(big.Int).Lsh(big.NewInt(1), shareBits), weights)
}

// lastNonDirect returns which touch of a path is the last that is not direct: the
// last of all where none is.
func lastNonDirect(channels []int32, direct []bool) int {
	for i := len(channels) - 1; i >= 0; i-- {
		if !direct[channels[i]] {
			return i
		}
	}
	return len(channels) - 1
}
