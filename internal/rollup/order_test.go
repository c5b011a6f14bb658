package rollup

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// order is a random one.
func order(r *rand.Rand) Order {
	yes, no := true, false
	o := &facts.Outcome{Day: fmt.Sprintf("2026-03-%02d", 1+r.IntN(3)), Currency: []string{"BRL", "USD"}[r.IntN(2)], Status: r.IntN(3), TotalMinor: int64(r.IntN(4) * 1111)}
	o.Payout = facts.Payout{State: []facts.PayoutState{facts.PayoutEarned, facts.PayoutExpected, facts.PayoutReview, facts.PayoutReversed, facts.PayoutNone}[r.IntN(5)],
		InfluencerID: fmt.Sprint(r.IntN(2)), CommissionMinor: int64(r.IntN(100)), FixedBRLMinor: int64(r.IntN(2) * 500)}
	if o.Status == commerce.OrderApproved {
		n := 1 + r.IntN(4)
		for i := range n {
			c := facts.Credit{Position: i + 1, Channel: fmt.Sprint("c", r.IntN(3))}
			part := o.TotalMinor / int64(n)
			if i == 0 {
				part = o.TotalMinor - part*int64(n-1)
			}
			for m := range c.Parts {
				c.Parts[m] = facts.Part{Given: true, Minor: part}
			}
			o.Credits = append(o.Credits, c)
		}
	}
	return Order{Outcome: o, Counted: Counted{First: []*bool{nil, &yes, &no}[r.IntN(3)], Items: [][]wire.Item{nil, {}, {{ProductID: "p", Quantity: 2, Price: "1.005"}, {ProductID: "p", Quantity: 1}}}[r.IntN(3)]}}
}

func (s *Sums) rows() int {
	return len(s.Sales()) + len(s.Credits()) + len(s.Products()) + len(s.Paths())
}

// What an order counts is taken back to the last digit.
func TestTakingBackLeavesNothing(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	var s Sums
	var orders []Order
	for range 200 {
		o := order(r)
		orders = append(orders, o)
		s.Add(o, 1)
	}
	if s.rows() < 20 {
		t.Fatalf("%d rows: the test says nothing", s.rows())
	}
	r.Shuffle(len(orders), func(i, j int) { orders[i], orders[j] = orders[j], orders[i] })
	for _, o := range orders {
		s.Add(o, -1)
	}
	if n := s.rows(); n != 0 {
		t.Errorf("%d rows are left", n)
	}
}

// By every model the channels have what the orders come to, and as many orders but for
// the last digit of each share.
func TestChannelsHaveAllOrders(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(2, 2))
	var s Sums
	for range 500 {
		s.Add(order(r), 1)
	}
	var orders, sales decimal.Decimal
	for _, row := range s.Sales() {
		orders, sales = orders.Add(row.Sums[Orders]), sales.Add(row.Sums[Sales])
	}
	for i, name := range CreditColumns {
		var sum decimal.Decimal
		for _, row := range s.Credits() {
			sum = sum.Add(row.Sums[i])
		}
		if i%2 == 0 && !sum.Round(6).Equal(orders) || i%2 == 1 && !sum.Equal(sales) {
			t.Errorf("%s: %s, of %s orders for %s", name, sum, orders, sales)
		}
	}
}

func TestAnOrderIsCountedByItsStatus(t *testing.T) {
	t.Parallel()
	f := func(status int, state facts.PayoutState, want map[int]int64) {
		t.Helper()
		var s Sums
		s.Add(Order{Outcome: &facts.Outcome{Day: "2026-03-01", Currency: "BRL", Status: status, TotalMinor: 1000, Payout: facts.Payout{State: state, InfluencerID: "i", CommissionMinor: 50}}}, 1)
		row := s.Sales()[0]
		for i, name := range SaleColumns {
			if !row.Sums[i].Equal(decimal.NewFromInt(want[i])) {
				t.Errorf("status %d, %s: %s is %s, want %d", status, state, name, row.Sums[i], want[i])
			}
		}
		if (row.Key.InfluencerID == "") != (state == facts.PayoutReview) {
			t.Errorf("%s: counted for %q", state, row.Key.InfluencerID)
		}
	}
	f(commerce.OrderApproved, facts.PayoutEarned, map[int]int64{Orders: 1, Sales: 1000, Commission: 50})
	f(commerce.OrderApproved, facts.PayoutReview, map[int]int64{Orders: 1, Sales: 1000, ReviewOrders: 1})
	f(commerce.OrderApproved, facts.PayoutNone, map[int]int64{Orders: 1, Sales: 1000})
	f(commerce.OrderPending, facts.PayoutExpected, map[int]int64{PendingOrders: 1, PendingSales: 1000, PendingCommission: 50})
	f(commerce.OrderCancelled, facts.PayoutReversed, map[int]int64{CancelledOrders: 1, CancelledSales: 1000})
}

// docs/reports.md, "Products": of goods by weight the sales are those of what was weighed.
func TestAPartOfAQuantityIsSoldAsThatPart(t *testing.T) {
	t.Parallel()
	var s Sums
	s.AddProducts("2026-03-10", "BRL", []wire.Item{{ProductID: "p", Quantity: 2, Measure: "1.5", Price: "10", Discount: "1"}, {ProductID: "p", Quantity: 1, Price: "4"}}, 1)
	list := s.Products()
	if len(list) != 1 {
		t.Fatal(list)
	}
	for column, want := range map[int]int64{ProductOrders: 1, ProductQuantity: 3, ProductSales: 18} {
		if got := list[0].Sums[column]; !got.Equal(decimal.NewFromInt(want)) {
			t.Errorf("column %d is %s, want %d", column, got, want)
		}
	}
}
