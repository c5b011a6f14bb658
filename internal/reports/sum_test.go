package reports

import (
	"math/rand/v2"
	"testing"

	"github.com/shopspring/decimal"
)

// A sum is exact, whatever is added: numbers that an int64 cannot hold, alone or together, and
// parts.
func TestSumsAreExact(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(6, 2))
	numbers := []string{"0", "1", "-1", "0.1", "-0.1", "1e4", "12e17", "9223372036854775807", "-9223372036854775808", "4611686018427387904",
		"1e19", "-1e19", "92233720368547758079999", "0.000000000001"}
	for range 2_000 {
		var a, b sum
		var want, wantB decimal.Decimal
		for range r.IntN(8) {
			d := decimal.RequireFromString(numbers[r.IntN(len(numbers))])
			a.add(d)
			want = want.Add(d)
		}
		for range r.IntN(8) {
			n := int64(r.Uint64()) >> r.IntN(64)
			b.addWhole(n)
			wantB = wantB.Add(decimal.NewFromInt(n))
		}
		if !a.decimal().Equal(want) || a.isZero() != want.IsZero() || !b.decimal().Equal(wantB) || a.compare(&b) != want.Cmp(wantB) {
			t.Fatalf("%v and %v, want %v and %v", a.decimal(), b.decimal(), want, wantB)
		}
		if a.plus(&b); !a.decimal().Equal(want.Add(wantB)) {
			t.Fatalf("%v, want %v", a.decimal(), want.Add(wantB))
		}
	}
}
