package fraud

import (
	"cmp"
	"slices"
)

// Find returns the signs that the sales and the completed checkouts of one period show, by
// kind, influencer and code. It orders sales by time.
func Find(sales []Sale, checkouts []Checkout) []Signal {
	slices.SortFunc(sales, func(a, b Sale) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.OrderID, b.OrderID))
	})
	buyers := buyersOf(sales)
	return slices.Concat(
		spread(sales, buyers),
		touchSigns(sales), // after the checkout, unproven
		selfPurchases(sales),
		sameBuyer(sales, buyers),
		shared(sales, buyers, SharedPlace, func(s *Sale) string { return s.Place }),
		shared(sales, buyers, SharedNetwork, func(s *Sale) string { return s.Network }),
		visitSigns(sales), // after the order, no page views, one network
		noOrders(checkouts),
	)
}
