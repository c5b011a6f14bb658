package models

import "math/big"

// The models, by the names that reports, files and the explanation give them.
const (
	First         = "first"
	Last          = "last"
	LastNonDirect = "last_non_direct"
	Linear        = "linear"
	Position      = "position"
	TimeDecay     = "time_decay"
	Markov        = "markov"
	Shapley       = "shapley"
)

// All lists all models, in the order in which they are shown. The last two divide
// the orders of many paths together.
var All = []string{First, Last, LastNonDirect, Linear, Position, TimeDecay, Markov, Shapley}

// OfOrders lists the models that divide a single order (facts.Models).
func OfOrders() []string { return All[:6:6] }

// Path is one sequence of channels, and what came of all the journeys that took it.
// No number is nil or negative.
type Path struct {
	Channels    []int32  // oldest first, at least one; each an index into the list of channels
	Conversions *big.Int // how many of the journeys bought, in any unit that all paths have
	Null        *big.Int // how many did not, in the unit of Conversions
	Value       *big.Int // what they bought for, in any unit that all paths have
}

// Weights are the channels' weights under one model: a channel's credit is the
// total of all paths, times its weight, divided by the sum of all weights. The
// weights of what there is nothing of (no conversions, no value) are all zero.
type Weights struct{ Conversions, Value []*big.Int }

// Totals returns the sums of the paths' conversions and of their value.
func Totals(paths []Path) (conversions, value *big.Int) {
	conversions, value = new(big.Int), new(big.Int)
	for _, p := range paths {
		conversions.Add(conversions, p.Conversions)
		value.Add(value, p.Value)
	}
	return conversions, value
}

func zeros(n int) []*big.Int {
	slab, list := make([]big.Int, n), make([]*big.Int, n)
	for i := range list {
		list[i] = &slab[i]
	}
	return list
}

func sum(list []*big.Int) *big.Int {
	total := new(big.Int)
	for _, n := range list {
		total.Add(total, n)
	}
	return total
}
