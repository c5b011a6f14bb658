package fraud

import (
	"cmp"
	"math/big"
	"slices"

	"github.com/tributary-io/tributary/internal/commerce"
)

// The bounds of a sign. A store has thousands of codes, influencers and days to look
// at, so what chance makes must be very rare.
const (
	// significance is the least chi-squared of two rates, with one degree of freedom:
	// chance alone exceeds 33 in one of 10^8 tests (table of the chi-squared
	// distribution). 1,000 codes by 365 days are 365,000 tests.
	significance = 33

	mostSources = 3
)

// above reports whether a rate is above another by so many hundredths at least, and
// by more than chance makes (Pearson's chi-squared of two proportions, in whole
// numbers).
func above(seen, usual Rate, hundredths int) bool {
	if seen.Of == 0 || usual.Of == 0 {
		return false
	}
	n := func(i int) *big.Int { return big.NewInt(int64(i)) }
	mul := func(first *big.Int, others ...*big.Int) *big.Int {
		product := new(big.Int).Set(first)
		for _, o := range others {
			product.Mul(product, o)
		}
		return product
	}
	difference := new(big.Int).Sub(mul(n(seen.Count), n(usual.Of)), mul(n(usual.Count), n(seen.Of)))
	if mul(difference, n(100)).Cmp(mul(n(hundredths), n(seen.Of), n(usual.Of))) < 0 || difference.Sign() <= 0 {
		return false
	}
	count, of := seen.Count+usual.Count, seen.Of+usual.Of
	return mul(difference, difference, n(of)).Cmp(mul(n(significance), n(seen.Of), n(usual.Of), n(count), n(of-count))) >= 0
}

// distance tells by how much a rate rises, to compare the days of one code: of equal
// sums it grows with chi-squared. It is negative where the rate falls.
func distance(before, after Rate) *big.Rat {
	of := int64(before.Of) * int64(after.Of)
	difference := int64(after.Count)*int64(before.Of) - int64(before.Count)*int64(after.Of)
	size := difference
	if size < 0 {
		size = -size
	}
	square := new(big.Int).Mul(big.NewInt(difference), big.NewInt(size))
	return new(big.Rat).SetFrac(square, big.NewInt(of))
}

// part returns the part of an amount that is count of all.
func part(amount, count, all int64) int64 {
	share := new(big.Int).Mul(big.NewInt(amount), big.NewInt(count))
	return share.Quo(share, big.NewInt(all)).Int64()
}

func (r Rate) plus(o Rate) Rate  { return Rate{r.Count + o.Count, r.Of + o.Of} }
func (r Rate) minus(o Rate) Rate { return Rate{r.Count - o.Count, r.Of - o.Of} }

// compareRates orders rates by size.
func compareRates(a, b Rate) int {
	return cmp.Compare(int64(a.Count)*int64(b.Of), int64(b.Count)*int64(a.Of))
}

// outstanding returns which rates stand out: those that are significantly above all
// that are smaller, taken together, and fulfil enough. usual is what all smaller ones
// are together. One that stands out is no longer usual for those above it.
func outstanding(rates map[string]Rate, hundredths int, enough func(Rate) bool) (found []string, usual Rate) {
	names := sortedKeys(rates)
	slices.SortStableFunc(names, func(a, b string) int { return compareRates(rates[a], rates[b]) })
	for _, name := range names {
		if r := rates[name]; enough(r) && above(r, usual, hundredths) {
			found = append(found, name)
			continue
		}
		usual = usual.plus(rates[name])
	}
	slices.Sort(found)
	return found, usual
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// sign makes a sign of the sales that it concerns, which are ordered by time.
func sign(kind Kind, influencer string, observed, usual Rate, sales []*Sale) Signal {
	s := Signal{Kind: kind, Influencer: influencer, Observed: observed, Usual: usual}
	for _, sale := range sales {
		if s.Since == "" {
			s.Since = sale.Day
		}
		s.Orders = append(s.Orders, sale.OrderID)
	}
	s.Total = len(s.Orders)
	s.Costs = costs(sales)
	return s
}

// costs sums sales by currency.
func costs(sales []*Sale) []Cost {
	byCurrency := map[string]Cost{}
	for _, s := range sales {
		c := byCurrency[s.Currency]
		byCurrency[s.Currency] = Cost{s.Currency, c.Commission + s.Commission, c.Turnover + s.Total}
		if s.FixedBRL != 0 {
			c := byCurrency[commerce.BRL]
			byCurrency[commerce.BRL] = Cost{commerce.BRL, c.Commission + s.FixedBRL, c.Turnover}
		}
	}
	var list []Cost
	for _, currency := range sortedKeys(byCurrency) {
		list = append(list, byCurrency[currency])
	}
	return list
}
