package models

import "math/big"

const (
	precision  = 192 // bits of the numbers that the chain is solved with
	effectBits = 128 // bits of a removal effect
)

// markov returns the channels' weights by their removal effects in the first-order
// chain of the paths: start → channels → conversion or null (docs/models.md,
// "Markov"). Where paths with a value have no conversions, the chain knows nothing
// of them; if no path has both, value is divided as by linear.
func markov(paths []Path, channels int) Weights {
	weights, valued := newChain(paths, channels).weights()
	if !valued {
		weights.Value = OverPaths(Linear, paths, make([]bool, channels)).Value
	}
	return weights
}

// weights returns the removal effects, and whether the chain knows of any value.
func (c *chain) weights() (w Weights, valued bool) {
	w = Weights{Conversions: zeros(len(c.channels)), Value: zeros(len(c.channels))}
	c.each(func(channel int, conversions, value *big.Float) {
		w.Conversions[channel] = effect(conversions, c.conversions)
		w.Value[channel] = effect(value, c.value)
	})
	return w, c.value.Sign() > 0
}

// effect returns what is lost without a channel, as a part of the total: 1 is
// 1 << effectBits.
func effect(lost, total *big.Float) *big.Int {
	if lost.Sign() == 0 {
		return new(big.Int)
	}
	part := new(big.Float).SetPrec(precision).Quo(lost, total)
	part.SetMantExp(part, effectBits)
	rounded, _ := part.Add(part, big.NewFloat(.5)).Int(nil)
	return rounded
}
