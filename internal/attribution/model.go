package attribution

import (
	"cmp"
	"math/big"
	"slices"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
)

// Models computed for every order, side by side.
const (
	First         = "first"
	Last          = "last"
	LastNonDirect = "last_non_direct"
	Linear        = "linear"
	Position      = "position"
	TimeDecay     = "time_decay"
)

// Models lists them in the order of docs/attribution.md, "Channel credit".
var Models = []string{First, Last, LastNonDirect, Linear, Position, TimeDecay}

// share is one touch's part of a model: weight of the sum of all weights.
type share struct {
	touch  int // index in the order's touches
	weight *big.Int
}

// shares weighs an order's touches, oldest first, under a model. ignoreDirect
// drops direct touches in every model but last, unless they are all there is.
func (x *Index) shares(model string, touches []Touch) []share {
	var path []int
	for i, t := range touches {
		if model == Last || t.Kind != facts.Direct || !x.rules.IgnoreDirect && model != LastNonDirect {
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
			weight = big.NewInt(2 * int64(n-2)) // .4 to .2/(n-2)
		case model == TimeDecay:
			// Ages count from the newest touch: the common factor falls out.
			weight = x.decay(touches[path[n-1]].At.Sub(touches[touch].At), x.rules.HalfLife)
		}
		out[i] = share{touch, weight}
	}
	return out
}

const (
	decayBits    = 512 // of the fraction: 2^-365 (a year of one-day half-lives) keeps 147 of them
	fractionBits = 32  // of age/half-life
)

// halvings are 2^(-1/2), 2^(-1/4), … in fixed point.
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

// decay is 2^(-age/halfLife) in fixed point with decayBits: integers only, so
// that it is the same on every architecture.
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

// split divides an amount by shares, by largest remainder; of equal remainders
// the earlier touch gets the cent. The parts sum to the amount exactly.
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
	for i := range left { // fewer than there are shares
		parts[order[i]]++
	}
	if negative {
		for i := range parts {
			parts[i] = -parts[i]
		}
	}
	return parts
}

// portion is a share as a decimal with six digits.
func portion(s share, all []share) string {
	sum := new(big.Int)
	for _, other := range all {
		sum.Add(sum, other.weight)
	}
	return new(big.Rat).SetFrac(s.weight, sum).FloatString(6)
}
