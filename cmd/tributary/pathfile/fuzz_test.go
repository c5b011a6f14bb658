package pathfile

import (
	"math/big"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/models"
)

// Whatever a file has: it is refused, or every model divides what it has, and no more.
func FuzzFile(f *testing.F) {
	f.Add(header + "a > b > a,1,2.50,3\ndirect,0,0,1\n")
	f.Add("\ufeffpath;total_null\r\n\"a, b > c\";1e3\r\n")
	f.Add(header + "a,0,9,0\n")
	f.Fuzz(func(t *testing.T, file string) {
		p, err := Read(strings.NewReader(file))
		if err != nil || len(p.Channels) > 20 {
			return
		}
		conversions, value := models.Totals(p.List)
		sums := map[string]*[2]big.Rat{}
		for _, row := range p.Credits() {
			if sums[row.Model] == nil {
				sums[row.Model] = new([2]big.Rat)
			}
			for i, text := range []string{row.Conversions.String(), row.Value.String()} {
				amount, ok := new(big.Rat).SetString(text)
				if !ok || amount.Sign() < 0 {
					t.Fatalf("%q: %s", file, text)
				}
				sums[row.Model][i].Add(&sums[row.Model][i], amount)
			}
		}
		// Each amount is rounded by itself: half of the tenth decimal.
		lost := new(big.Rat).SetFrac64(int64(len(p.Channels)), 20_000_000_000)
		for model, sum := range sums {
			for i, total := range []*big.Int{conversions, value} {
				digits := []int{p.ConversionDigits, p.ValueDigits}[i]
				want := new(big.Rat).SetFrac(total, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil))
				if diff := new(big.Rat).Sub(&sum[i], want); diff.Abs(diff).Cmp(lost) > 0 {
					t.Errorf("%q: %s makes %s of %s", file, model, sum[i].FloatString(12), want.FloatString(12))
				}
			}
		}
	})
}
