package models

import (
	"math/big"
	"time"
)

// Touch is what the models of single journeys see of a touch.
type Touch struct {
	At     time.Time
	Direct bool
}

// Rules are a store's settings for the models of single journeys.
type Rules struct {
	HalfLife     time.Duration // of time_decay, at least a millisecond
	IgnoreDirect bool          // direct touches count in the model last alone
}

// Calculator has what the models compute with. It never changes, so it is safe for
// concurrent use.
type Calculator struct {
	halvings []*big.Int // 2^(-1/2), 2^(-1/4), … in fixed point with decayBits
}

// NewCalculator makes a calculator.
func NewCalculator() *Calculator { return &Calculator{halvings: halvings(orderBits)} }

// Shares returns which touches a model of single orders credits, as indexes in touches,
// and their weights, which are above zero: a touch's share is its weight divided by
// the sum of all. touches and shares are ordered, oldest first. Direct touches are
// left out as docs/attribution.md, "Channel credit", says, unless all are direct.
func (c *Calculator) Shares(model string, touches []Touch, rules Rules) (credited []int, weights []*big.Int) {
	for i, t := range touches {
		if model == Last || !t.Direct || !rules.IgnoreDirect && model != LastNonDirect {
			credited = append(credited, i)
		}
	}
	if len(credited) == 0 {
		for i := range touches {
			credited = append(credited, i)
		}
	}
	n := len(credited)
	if n == 0 {
		return nil, nil
	}
	switch model {
	case First:
		return credited[:1], []*big.Int{big.NewInt(1)}
	case Last, LastNonDirect:
		return credited[n-1:], []*big.Int{big.NewInt(1)}
	}
	newest := touches[credited[n-1]].At
	for i, touch := range credited {
		weight := big.NewInt(1)
		switch {
		case model == Position && n > 2 && (i == 0 || i == n-1):
			weight = big.NewInt(2 * int64(n-2)) // .4 against .2/(n-2), times 5(n-2)
		case model == TimeDecay:
			// Ages count from the newest touch, not from the order: all weights have the
			// factor between the two, and it changes no share.
			weight = c.decay(newest.Sub(touches[touch].At), rules.HalfLife)
		}
		weights = append(weights, weight)
	}
	return credited, weights
}

const (
	decayBits = 512 // of a weight's fraction: the smallest, 2^-365 (a window of 365 days by a half-life of 1), has 147 of them

	// Of the fraction of age/half-life. Of an order the cents are asked for, and of
	// paths ten decimals of any total.
	orderBits = 32
	pathBits  = 256
)

// halvings returns 2^(-1/2), 2^(-1/4), … as many as bits.
func halvings(bits int) []*big.Int {
	list := make([]*big.Int, bits)
	r := new(big.Int).Lsh(big.NewInt(1), 2*decayBits-1)
	for i := range list {
		r = new(big.Int).Sqrt(r)
		list[i] = r
		r = new(big.Int).Lsh(r, decayBits)
	}
	return list
}

// decay returns 2^(-age/halfLife) in fixed point with decayBits; age is not negative.
// It uses integers only, so that every machine computes the same.
func (c *Calculator) decay(age, halfLife time.Duration) *big.Int {
	bits := len(c.halvings)
	ratio := new(big.Int).Lsh(big.NewInt(age.Milliseconds()), uint(bits))
	ratio.Quo(ratio, big.NewInt(halfLife.Milliseconds()))
	weight := new(big.Int).Lsh(big.NewInt(1), decayBits)
	for i, factor := range c.halvings {
		if ratio.Bit(bits-1-i) == 1 {
			weight.Rsh(weight.Mul(weight, factor), decayBits)
		}
	}
	whole := new(big.Int).Rsh(ratio, uint(bits))
	return weight.Rsh(weight, uint(min(whole.Uint64(), decayBits)))
}
