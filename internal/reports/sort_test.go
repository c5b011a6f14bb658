package reports

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/shopspring/decimal"
)

// Rows of a period are ordered by the metric, whatever its numbers are: great ones, and such
// with more digits than millionths have.
func TestRowsAreOrderedByNumbersOfEverySize(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(6, 1))
	numbers := []string{"0", "-1", "1", "0.000001", "0.0000001", "0.00000015", "9223372036854775807", "9223372036854.775807",
		"9223372036854.775808",
		"4611686018427.387904", "92233720368547758079999", "-92233720368547758079999", "1e20", "10", "10.0", "10.00000000001"}
	for range 200 {
		b := builder(Query{Start: "2026-03-01", End: "2026-03-01", By: ByDay, Currency: "BRL"})
		for i := range 12 {
			n := decimal.RequireFromString(numbers[r.IntN(len(numbers))])
			if err := b.Add("2026-03-01", []string{string(rune('a' + i))}, []int{0, 1}, []decimal.Decimal{decimal.NewFromInt(1), n}); err != nil {
				t.Fatal(err)
			}
		}
		rows := b.Report(time.Time{}).Rows
		for i := range rows[1:] {
			x, y := rows[i], rows[i+1]
			if order := x.Sums[1].Cmp(y.Sums[1]); order < 0 || order == 0 && x.Texts[0] > y.Texts[0] {
				t.Fatalf("%v %v is before %v %v", x.Texts, x.Sums[1], y.Texts, y.Sums[1])
			}
		}
	}
}
