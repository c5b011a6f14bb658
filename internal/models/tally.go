package models

import (
	"math/big"
	"slices"
)

// Tally sums what Markov or Shapley needs of paths: the steps between channels, or the
// channels by how many a path has. So it grows with the channels and not with the paths,
// and a path may be added in parts, each day by itself. NewTally makes one.
type Tally struct {
	all ended

	steps [][]total // markov: from a state (0 is the start, i+1 is channel i) to a channel
	ends  []ended   // markov: after a channel
	left  []total   // markov: after a channel, of journeys that did not buy
	sizes [][]ended // shapley: of paths with so many distinct channels, by channel

	model string
	last  []int // the last path that had a channel; 0: none, -1: parts of paths alone
	added int   // paths so far
}

// ended is what came of paths.
type ended struct{ conversions, value total }

func (e *ended) add(other *ended) {
	e.conversions.add(&other.conversions)
	e.value.add(&other.value)
}

// total is a sum of any size of numbers that are not negative.
type total struct {
	low  int64
	high *big.Int // nil: 0
}

func (t *total) add(other *total) {
	if t.low += other.low; t.low < 0 { // too much for 63 bits
		t.low -= other.low
		t.addBig(big.NewInt(other.low))
	}
	if other.high != nil && other.high.Sign() > 0 {
		t.addBig(other.high)
	}
}

func (t *total) addBig(n *big.Int) {
	if t.high == nil {
		t.high = new(big.Int)
	}
	t.high.Add(t.high, n)
}

func (t *total) int() *big.Int {
	n := big.NewInt(t.low)
	if t.high != nil {
		n.Add(n, t.high)
	}
	return n
}

// NewTally makes a tally of no paths for a model: Markov or Shapley.
func NewTally(model string) *Tally { return &Tally{model: model} }

// at returns the element of a list that it makes as long as it needs.
func at[T any](list *[]T, i int) *T {
	for len(*list) <= i {
		var none T
		*list = append(*list, none)
	}
	return &(*list)[i]
}

// Add adds journeys that took a path and bought. channels are as in Path. The numbers are
// not negative. The value is value and more: more is for what is too great for 63 bits.
func (t *Tally) Add(channels []int32, conversions, value int64, more *big.Int) {
	came := ended{total{low: conversions}, total{low: value, high: more}}
	t.all.add(&came)
	t.added++
	distinct := 0
	for _, channel := range channels {
		if last := at(&t.last, int(channel)); *last != t.added {
			*last = t.added
			distinct++
		}
	}
	if t.model == Shapley {
		bySize := at(&t.sizes, distinct)
		for i, channel := range channels {
			if !slices.Contains(channels[:i], channel) {
				at(bySize, int(channel)).add(&came)
			}
		}
		return
	}
	state := 0
	for _, channel := range channels {
		if to := int(channel); state != to+1 {
			at(at(&t.steps, state), to).add(&came.conversions)
			state = to + 1
		}
	}
	at(&t.ends, state-1).add(&came)
}

// AddStep adds journeys that went from a channel to another one. The start is -1. Steps,
// ends and sets are what Add makes of a path: with them paths may be added that are summed
// already.
func (t *Tally) AddStep(before, channel int32, journeys int64) {
	t.see(channel)
	if t.model == Markov && before != channel {
		at(at(&t.steps, int(before)+1), int(channel)).add(&total{low: journeys})
	}
}

// AddLeft adds journeys that did not buy, whose last channel is known. Their steps are those
// of AddStep. For Shapley they count nothing.
func (t *Tally) AddLeft(channel int32, journeys int64) {
	t.see(channel)
	if t.model == Markov {
		at(&t.left, int(channel)).add(&total{low: journeys})
	}
}

// AddEnd adds journeys whose last channel is known. Each journey must be added once.
func (t *Tally) AddEnd(channel int32, conversions, value int64, more *big.Int) {
	came := ended{total{low: conversions}, total{low: value, high: more}}
	t.all.add(&came)
	t.see(channel)
	if t.model == Markov {
		at(&t.ends, int(channel)).add(&came)
	}
}

// AddSet adds journeys that had so many distinct channels, of which this is one. Each
// journey must be added for each of its channels.
func (t *Tally) AddSet(size int, channel int32, conversions, value int64, more *big.Int) {
	t.see(channel)
	if t.model == Shapley {
		came := ended{total{low: conversions}, total{low: value, high: more}}
		at(at(&t.sizes, size), int(channel)).add(&came)
	}
}

func (t *Tally) see(channel int32) {
	if last := at(&t.last, int(channel)); *last == 0 {
		*last = -1
	}
}

// Channels returns all that any path has, in the order of their numbers.
func (t *Tally) Channels() (channels []int32) {
	for channel, last := range t.last {
		if last != 0 {
			channels = append(channels, int32(channel))
		}
	}
	return channels
}

// Totals returns the sums of the conversions and of the value.
func (t *Tally) Totals() (conversions, value *big.Int) {
	return t.all.conversions.int(), t.all.value.int()
}

// Weights returns the weights of channels, in the order in which they are given: those of
// OverPaths over the same paths. channels are those of Channels, in any order.
func (t *Tally) Weights(channels []int32) Weights {
	n := len(channels)
	if t.model == Shapley {
		bySize := make([]*Weights, len(t.sizes))
		for size, list := range t.sizes {
			if list == nil {
				continue
			}
			w := &Weights{Conversions: zeros(n), Value: zeros(n)}
			for i, channel := range channels {
				if int(channel) < len(list) {
					w.Conversions[i], w.Value[i] = list[channel].conversions.int(), list[channel].value.int()
				}
			}
			bySize[size] = w
		}
		return overSizes(bySize, n)
	}
	steps, bought, left, worth := make([]*big.Int, (n+1)*n), zeros(n), zeros(n), zeros(n)
	row := func(state int, from int) {
		if from >= len(t.steps) {
			return
		}
		for i, channel := range channels {
			if list := t.steps[from]; int(channel) < len(list) {
				steps[state*n+i] = list[channel].int()
			}
		}
	}
	row(0, 0)
	for i, channel := range channels {
		row(i+1, int(channel)+1)
		if int(channel) < len(t.ends) {
			bought[i], worth[i] = t.ends[channel].conversions.int(), t.ends[channel].value.int()
		}
		if int(channel) < len(t.left) {
			left[i] = t.left[channel].int()
		}
	}
	weights, _ := chainOf(steps, bought, left, worth).weights()
	return weights
}
