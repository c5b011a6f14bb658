package attribution

import (
	"cmp"
	"math/big"
	"slices"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
)

// The models, facts.Models.
const (
	First         = "first"
	Last          = "last"
	LastNonDirect = "last_non_direct"
	Linear        = "linear"
	Position      = "position"
	TimeDecay     = "time_decay"
)

// share is one touch's share under a model: weight divided by the sum of all weights.
type share struct {
	touch  int      // index in the order's touches
	weight *big.Int // above zero
}

// shares returns the shares of an order's touches under a model. touches and shares
// are ordered, oldest first. Direct touches are left out as docs/attribution.md,
// "Channel credit", says, unless all touches are direct.
func (x *Index) shares(settings *facts.Settings, model string, touches []Touch) []share {
	var path []int
	for i, t := range touches {
		if model == Last || t.Kind != facts.Direct || !settings.IgnoreDirect && model != LastNonDirect {
			path = append(path, i)
		}
	}
	if len(path) == 0 {
		for i := range touches {
			path = append(path, i)
		}
	}
	n := len(path)
	if n == 0 {
		return nil
	}
	one := func(i int) []share { return []share{{path[i], big.NewInt(1)}} }
	switch model {
	case First:
		return one(0)
	case Last, LastNonDirect:
		return one(n - 1)
	}
	out := make([]share, n)
	for i, touch := range path {
		weight := big.NewInt(1)
		switch {
		case model == Position && n > 2 && (i == 0 || i == n-1):
			weight = big.NewInt(2 * int64(n-2)) // .4 against .2/(n-2), times 5(n-2)
		case model == TimeDecay:
			// Ages count from the newest touch, not from the order: all weights have the
			// factor between the two, and it changes no share.
			weight = x.decay(touches[path[n-1]].At.Sub(touches[touch].At), settings.HalfLife)
		}
		out[i] = share{touch, weight}
	}
	return out
}

const (
	decayBits    = 512 // of a weight's fraction: the smallest, 2^-365 (a window of 365 days by a half-life of 1), has 147 of them
	fractionBits = 32  // of the fraction of age/half-life
)

// halvings returns 2^(-1/2), 2^(-1/4), … in fixed point with decayBits.
func halvings() []*big.Int {
	list := make([]*big.Int, fractionBits)
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
func (x *Index) decay(age, halfLife time.Duration) *big.Int {
	ratio := new(big.Int).Lsh(big.NewInt(age.Milliseconds()), fractionBits)
	ratio.Quo(ratio, big.NewInt(halfLife.Milliseconds()))
	weight := new(big.Int).Lsh(big.NewInt(1), decayBits)
	for i, factor := range x.halvings {
		if ratio.Bit(fractionBits-1-i) == 1 {
			weight.Rsh(weight.Mul(weight, factor), decayBits)
		}
	}
	whole := new(big.Int).Rsh(ratio, fractionBits)
	return weight.Rsh(weight, uint(min(whole.Uint64(), decayBits)))
}

// split divides minor units among shares by the largest remainder. Of equal
// remainders the earlier touch gets the unit. The sum of the parts is the total.
func split(total int64, shares []share) []int64 {
	amount, negative := big.NewInt(total), total < 0
	amount.Abs(amount)
	sum := new(big.Int)
	for _, s := range shares {
		sum.Add(sum, s.weight)
	}
	parts := make([]int64, len(shares))
	remainders := make([]*big.Int, len(shares))
	order := make([]int, len(shares))
	left := amount.Int64()
	for i, s := range shares {
		quotient, remainder := new(big.Int).QuoRem(new(big.Int).Mul(amount, s.weight), sum, new(big.Int))
		parts[i], remainders[i], order[i] = quotient.Int64(), remainder, i
		left -= parts[i]
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(remainders[b].Cmp(remainders[a]), cmp.Compare(a, b))
	})
	for i := range left { // left is less than the number of shares
		parts[order[i]]++
	}
	if negative {
		for i := range parts {
			parts[i] = -parts[i]
		}
	}
	return parts
}

// portions returns each share as a decimal between 0 and 1 with six decimal places.
func portions(shares []share) []string {
	sum := new(big.Int)
	for _, s := range shares {
		sum.Add(sum, s.weight)
	}
	list := make([]string, len(shares))
	for i, s := range shares {
		list[i] = new(big.Rat).SetFrac(s.weight, sum).FloatString(6)
	}
	return list
}
