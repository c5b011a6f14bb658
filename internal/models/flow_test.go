package models

import (
	"math/big"
	"math/rand/v2"
	"testing"
)

// near reports whether two numbers differ by less than 2^-187 of the second: each
// of a few roundings is under 2^-188.
func near(a, b *big.Float) bool {
	diff := new(big.Float).SetPrec(2*precision).Sub(a, b)
	return diff.Sign() == 0 || diff.Abs(diff).Cmp(new(big.Float).SetMantExp(b, -187)) < 0
}

// Flows compute as big.Float does, whatever the sizes of the numbers are.
func TestFlowsComputeAsBigFloats(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 5))
	random := func() *big.Int {
		n := new(big.Int)
		for range 1 + r.IntN(5) {
			word := r.Uint64()
			switch r.IntN(4) {
			case 0:
				word = 0
			case 1:
				word = 1<<64 - 1
			}
			n.Or(n.Lsh(n, 64), new(big.Int).SetUint64(word))
		}
		return n.Rsh(n, uint(r.IntN(64)))
	}
	exact := func(n *big.Int) *big.Float { return new(big.Float).SetPrec(2 * precision).SetInt(n) }
	for range 20_000 {
		m, n := random(), random()
		x, y := flowOf(m), flowOf(n)
		if !near(x.float(), exact(m)) || x.isZero() != (m.Sign() == 0) {
			t.Fatalf("%x is %v", m, x)
		}
		product, want := x.mul(&y), new(big.Float).SetPrec(2*precision).Mul(exact(m), exact(n))
		if !near(product.float(), want) {
			t.Fatalf("%x times %x: %v", m, n, product)
		}
		sum := product
		sum.add(&x)
		if want.Add(want, exact(m)); !near(sum.float(), want) {
			t.Fatalf("%x times %x, and %x: %v", m, n, m, sum)
		}
		other := x
		if other.addMul(&x, &y); other != sum {
			t.Fatalf("%x: %v in the other order, %v", m, other, sum)
		}
		if y.isZero() {
			continue
		}
		inverse := y.inverse()
		part := x.mul(&inverse)
		if want.Quo(exact(m), exact(n)); !near(part.float(), want) {
			t.Fatalf("%x by %x: %v", m, n, part)
		}
	}
}
