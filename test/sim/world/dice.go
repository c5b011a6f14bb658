package main

import (
	"math"
	"math/rand/v2"
	"sync"
	"time"
)

// dice are one part's random numbers, so that what one part draws does not
// change what another gets.
type dice struct {
	mu sync.Mutex
	r  *rand.Rand
}

func newDice(seed, part uint64) *dice { return &dice{r: rand.New(rand.NewPCG(seed, part))} } //nolint:gosec // repeatable on purpose

func (d *dice) chance(p float64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.r.Float64() < p
}

func (d *dice) intn(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.r.IntN(n)
}

// between is a duration from low on, below high.
func (d *dice) between(low, high time.Duration) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return low + time.Duration(d.r.Int64N(int64(high-low)))
}

// about is a duration with an exponential distribution, at most ten times mean.
func (d *dice) about(mean time.Duration) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Duration(math.Min(10, d.r.ExpFloat64()) * float64(mean))
}

func (d *dice) bytes(n int) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(d.r.Uint32())
	}
	return b
}
