package rollup

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// order is a random one.
func order(r *rand.Rand) Order {
	yes, no := true, false
	o := &facts.Outcome{Day: fmt.Sprintf("2026-03-%02d", 1+r.IntN(3)), Currency: []string{"BRL", "USD"}[r.IntN(2)], Status: r.IntN(3),
		TotalMinor: int64(r.IntN(4) * 1111)}
	o.Payout = facts.Payout{State: []facts.PayoutState{facts.PayoutEarned, facts.PayoutExpected, facts.PayoutReview, facts.PayoutReversed,
		facts.PayoutNone}[r.IntN(5)],
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
	return Order{Outcome: o,
		Counted: Counted{First: []*bool{nil, &yes, &no}[r.IntN(3)],
			Items: [][]wire.Item{nil, {}, {{ProductID: "p", Quantity: 2, Price: "1.005"}, {ProductID: "p", Quantity: 1}}}[r.IntN(3)]}}
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
		s.Add(Order{Outcome: &facts.Outcome{Day: "2026-03-01", Currency: "BRL", Status: status, TotalMinor: 1000,
			Payout: facts.Payout{State: state, InfluencerID: "i", CommissionMinor: 50}}}, 1)
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

// The items of an order: an order counts once for each, a price for each piece, a discount once.
func TestItemsOfAnOrderAreCounted(t *testing.T) {
	t.Parallel()
	var s Sums
	s.AddProducts("2026-03-31", "BRL", []wire.Item{
		{ProductID: "p", VariantID: "v", Quantity: 3, Price: "10.50", Discount: "1.25"}, {ProductID: "p", Quantity: 2, Price: "1"},
		{VariantID: "v", ItemID: "i", Quantity: 1, Price: "7"}, {Quantity: 9, Price: "9"},
	}, 1)
	want := map[string]string{"p": "1 5 32.25", "v": "1 1 7"}
	for day, rows := range map[string][]Row[ProductKey]{"2026-03-31": s.Products(), "2026-03-01": s.ProductMonths()} {
		if len(rows) != len(want) {
			t.Errorf("%s: %d items, want %d", day, len(rows), len(want))
		}
		for _, r := range rows {
			if got := fmt.Sprint(r.Sums[ProductOrders], " ", r.Sums[ProductQuantity], " ", r.Sums[ProductSales]); r.Key.Day != day ||
				got != want[r.Key.Item] {
				t.Errorf("%+v: %s, want %s", r.Key, got, want[r.Key.Item])
			}
		}
	}
}

// A fixed fee is in BRL, on an order in another currency too, and is never added to its commission.
func TestAFixedFeeIsCountedInBRL(t *testing.T) {
	t.Parallel()
	var s Sums
	s.Add(Order{Outcome: &facts.Outcome{Day: "2026-03-01", Currency: "USD", TotalMinor: 1000,
		Payout: facts.Payout{State: facts.PayoutEarned, InfluencerID: "i", CommissionMinor: 50, FixedBRLMinor: 500}}}, 1)
	got := map[string]string{}
	for _, r := range s.Sales() {
		got[r.Key.Currency+" "+r.Key.InfluencerID] = fmt.Sprint(r.Sums[Orders], " ", r.Sums[Sales], " ", r.Sums[Commission])
	}
	if want := map[string]string{"USD i": "1 1000 50", "BRL i": "0 0 500"}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// The parts of a month's path: a channel that follows itself is no step, and one that comes twice
// is one of the distinct ones.
func TestPartsOfAPathAreCounted(t *testing.T) {
	t.Parallel()
	var s Sums
	o := &facts.Outcome{Day: "2026-03-31", Currency: "BRL", TotalMinor: 1000}
	for i, channel := range []string{"a", "a", "b", "a"} {
		c := facts.Credit{Position: i + 1, Channel: channel}
		for m := range c.Parts {
			c.Parts[m] = facts.Part{Given: true, Minor: 250}
		}
		o.Credits = append(o.Credits, c)
	}
	s.Add(Order{Outcome: o}, 1)
	var got []string
	for _, r := range s.JourneyMonths() {
		got = append(got, fmt.Sprint(r.Key.Day, " ", r.Key.Size, " ", r.Key.Before, ">", r.Key.Channel, " ", r.Sums[PathOrders],
			" ", r.Sums[PathSales]))
	}
	want := []string{"2026-03-01 0 >a 1 1000", "2026-03-01 0 a> 1 1000", "2026-03-01 0 a>b 1 1000", "2026-03-01 0 b>a 1 1000",
		"2026-03-01 2 >a 1 1000", "2026-03-01 2 >b 1 1000"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// docs/reports.md, "Products": of goods by weight the sales are those of what was weighed.
func TestAPartOfAQuantityIsSoldAsThatPart(t *testing.T) {
	t.Parallel()
	var s Sums
	s.AddProducts("2026-03-10", "BRL",
		[]wire.Item{{ProductID: "p", Quantity: 2, Measure: "1.5", Price: "10", Discount: "1"}, {ProductID: "p", Quantity: 1, Price: "4"}}, 1)
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
