package models

import (
	"math/big"
	"slices"
)

// chain is an absorbing Markov chain. Its states are a start and channels; it ends
// in a conversion or in null. All numbers are flows, of journeys or of value:
// divided by the sum of its row, a flow is a probability or an expected value. A
// step from a channel to itself is not kept: it changes no removal effect.
type chain struct {
	channels []int  // of each state but the start, which is state 0
	steps    []flow // from state i to channel j: steps[i*len(channels)+j]
	bought   []flow // from channel j to the conversion
	left     []flow // from channel j to null
	worth    []flow // the value of what was bought from channel j

	conversions, value *big.Float // of all paths with conversions
}

// newChain makes the chain of paths: each step has the weight of the journeys that
// took it.
func newChain(paths []Path, channels int) *chain {
	steps, bought, left, worth := make([]*big.Int, (channels+1)*channels), zeros(channels), zeros(channels), zeros(channels)
	var journeys big.Int
	for _, p := range paths {
		journeys.Add(p.Conversions, p.Null)
		if journeys.Sign() == 0 {
			continue
		}
		state := 0
		for _, channel := range p.Channels {
			to := int(channel)
			if state == to+1 {
				continue
			}
			step := &steps[state*channels+to]
			if *step == nil {
				*step = new(big.Int)
			}
			(*step).Add(*step, &journeys)
			state = to + 1
		}
		bought[state-1].Add(bought[state-1], p.Conversions)
		left[state-1].Add(left[state-1], p.Null)
		if p.Conversions.Sign() > 0 {
			worth[state-1].Add(worth[state-1], p.Value)
		}
	}
	return chainOf(steps, bought, left, worth)
}

// chainOf makes a chain of its flows. A step that is nil is not taken.
func chainOf(steps, bought, left, worth []*big.Int) *chain {
	c := &chain{
		channels: make([]int, len(bought)),
		steps:    flows(steps), bought: flows(bought), left: flows(left), worth: flows(worth),
		conversions: float(sum(bought)), value: float(sum(worth)),
	}
	for i := range c.channels {
		c.channels[i] = i
	}
	return c
}

func float(n *big.Int) *big.Float { return new(big.Float).SetPrec(precision).SetInt(n) }

// flows returns numbers as flows; nil is zero.
func flows(list []*big.Int) []flow {
	made := make([]flow, len(list))
	for i, n := range list {
		if n != nil {
			made[i] = flowOf(n)
		}
	}
	return made
}

// each calls visit with every channel, and with the conversions and the value that
// are lost without it: of the journeys that come to the channel, what they convert
// afterwards.
//
// The channels are halved again and again; in each half the chain is what it was,
// seen at that half's channels only. So n channels need about n³ steps, not the n⁴
// of solving the chain without each channel. Numbers are only added, multiplied and
// divided, and none is negative: no digits cancel, and each result has all but a few
// of its precision bits, whatever the paths are.
func (c *chain) each(visit func(channel int, conversions, value *big.Float)) {
	switch n := len(c.channels); n {
	case 0:
	case 1:
		var reached flow // what comes to the channel, by what ends there
		ends := c.bought[0]
		if ends.add(&c.left[0]); !ends.isZero() {
			inverse := ends.inverse()
			reached = inverse.mul(&c.steps[0])
		}
		lost := func(ended *flow) *big.Float {
			part := reached.mul(ended)
			return part.float()
		}
		visit(c.channels[0], lost(&c.bought[0]), lost(&c.worth[0]))
	default:
		c.keep(0, n/2).each(visit)
		c.keep(n/2, n).each(visit)
	}
}

// keep returns the same chain as it is seen at the channels from..to-1 only.
func (c *chain) keep(from, to int) *chain {
	n := len(c.channels)
	whole := &chain{
		channels: c.channels, steps: slices.Clone(c.steps), bought: slices.Clone(c.bought), left: slices.Clone(c.left),
		worth: slices.Clone(c.worth),
	}
	gone := make([]bool, n)
	for state := range n {
		if state < from || state >= to {
			gone[state] = true
			whole.bypass(state, gone)
		}
	}
	kept := &chain{channels: c.channels[from:to], bought: whole.bought[from:to], left: whole.left[from:to], worth: whole.worth[from:to]}
	kept.steps = append(kept.steps, whole.steps[from:to]...)
	for state := from + 1; state <= to; state++ {
		kept.steps = append(kept.steps, whole.steps[state*n+from:state*n+to]...)
	}
	return kept
}

// bypass leads what comes to a channel to where it goes next. gone has the channel
// itself, and those that were bypassed before.
func (c *chain) bypass(channel int, gone []bool) {
	n := len(c.channels)
	row := c.steps[(channel+1)*n : (channel+2)*n]
	out := c.bought[channel]
	out.add(&c.left[channel])
	var next []int
	for to := range row {
		if !gone[to] && !row[to].isZero() {
			out.add(&row[to])
			next = append(next, to)
		}
	}
	if out.isZero() {
		return // no journey was there
	}
	inverse := out.inverse()
	for state := range n + 1 {
		step := &c.steps[state*n+channel]
		if step.isZero() || state > 0 && gone[state-1] {
			continue
		}
		part := step.mul(&inverse)
		steps := c.steps[state*n : (state+1)*n]
		for _, to := range next {
			if to != state-1 {
				steps[to].addMul(&part, &row[to])
			}
		}
		if state > 0 { // what the start loses is not asked for
			c.bought[state-1].addMul(&part, &c.bought[channel])
			c.left[state-1].addMul(&part, &c.left[channel])
			c.worth[state-1].addMul(&part, &c.worth[channel])
		}
	}
}
