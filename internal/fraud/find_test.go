package fraud

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// shop makes sales for tests: one after the other, an hour apart, or what every says.
type shop struct {
	sales []Sale
	every time.Duration
	clock time.Duration
}

func (s *shop) sell(n int, change func(i int, sale *Sale)) {
	for i := range n {
		at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).Add(s.clock)
		s.clock += cmp.Or(s.every, time.Hour)
		sale := Sale{
			OrderID: fmt.Sprintf("o%04d", len(s.sales)), At: at, Day: at.Format(time.DateOnly), Currency: "BRL", Total: 10_000, Commission: 1_000,
			Buyers: []string{fmt.Sprint("b", len(s.sales))},
		}
		change(i, &sale)
		s.sales = append(s.sales, sale)
	}
}

// text writes signs as "kind influencer code count/of usual count/of since: n orders cost".
func text(list []Signal) string {
	var lines []string
	for _, s := range list {
		line := fmt.Sprintf("%s %s %s %d/%d usual %d/%d", s.Kind, s.Influencer, s.Code, s.Observed.Count, s.Observed.Of,
			s.Usual.Count, s.Usual.Of)
		if len(s.Orders) > 0 {
			line += fmt.Sprintf(" since %s: %d orders %v", s.Since, len(s.Orders), s.Costs)
		}
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n")
}

func holds(t *testing.T, got []Signal, want ...string) {
	t.Helper()
	if text(got) != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", text(got), strings.Join(want, "\n"))
	}
}

func TestNothingIsASignOfNothing(t *testing.T) {
	holds(t, Find(nil, nil))
	var s shop
	s.sell(300, func(int, *Sale) {})
	holds(t, Find(s.sales, nil))
}

// byCode is a sale by Ana's code, with or without a touch of hers.
func byCode(touched bool) func(int, *Sale) {
	return func(_ int, s *Sale) {
		s.Influencer, s.Code, s.Source = "ana", "ANA10", "Referral: coupons.example.com"
		if touched {
			s.Source, s.Touches = "Ana", []Touch{{Influencer: "ana", Proven: true}}
		}
	}
}

func TestACouponThatSpreadsSaysSinceWhenWhereAndWhatItCost(t *testing.T) {
	s := shop{every: 2 * time.Hour}
	for range 20 { // days: 2 of 12 without a touch
		s.sell(10, byCode(true))
		s.sell(2, byCode(false))
	}
	s.every = time.Hour
	began := s.sales[len(s.sales)-1].At.Add(2 * time.Hour)
	for range 15 { // … then 14 of 24
		s.sell(10, byCode(true))
		s.sell(14, byCode(false))
	}
	got := Find(s.sales, nil)
	// 60 of 360 would have had no touch as well: 150 of the 210 are the leak.
	holds(t, got, "coupon_spread ana ANA10 210/360 usual 40/240 since "+began.Format(time.DateOnly)+": 210 orders [{BRL 150000 1500000}]")
	if len(got) == 1 && !slices.Equal(got[0].Sources, []Source{{"Referral: coupons.example.com", 210}}) {
		t.Errorf("sources %v", got[0].Sources)
	}

	// The same for all codes is a season.
	for _, code := range []string{"B", "C", "D"} {
		for _, sale := range s.sales[:600] {
			sale.Code, sale.Influencer, sale.OrderID = code, "i-"+code, code+sale.OrderID
			if len(sale.Touches) > 0 {
				sale.Touches = []Touch{{Influencer: sale.Influencer, Proven: true}}
			}
			s.sales = append(s.sales, sale)
		}
	}
	holds(t, Find(s.sales, nil))
}

func TestACouponOfFewOrdersOrFewDaysIsNoSign(t *testing.T) {
	var s shop
	for range 4 {
		s.sell(5, byCode(true))
		s.sell(19, byCode(false)) // so few before
	}
	holds(t, Find(s.sales, nil))

	s = shop{}
	for range 20 {
		s.sell(12, byCode(true))
	}
	s.sell(100, byCode(false)) // a viral post of four days
	for range 20 {
		s.sell(12, byCode(true))
	}
	holds(t, Find(s.sales, nil))

	s = shop{}
	for range 20 {
		s.sell(20, byCode(true))
		s.sell(4, byCode(false))
	}
	for range 20 { // fewer come by links: the share rises, but nothing spreads
		s.sell(4, byCode(true))
		s.sell(4, byCode(false))
		s.sell(16, func(int, *Sale) {})
	}
	holds(t, Find(s.sales, nil))
}

func TestTouchesOfOneSortStandOut(t *testing.T) {
	f := func(kind Kind, mark func(*Touch)) {
		t.Helper()
		var s shop
		for i := range 10 { // of each influencer's 40 orders one is marked
			s.sell(40, func(n int, sale *Sale) {
				touch := Touch{Influencer: fmt.Sprint("i", i), Proven: true}
				if n == 0 {
					mark(&touch)
				}
				sale.Influencer, sale.Touches = touch.Influencer, []Touch{touch}
			})
		}
		holds(t, Find(s.sales, nil))
		day := s.sales[len(s.sales)-1].At.Add(time.Hour).Format(time.DateOnly)
		s.sell(12, func(n int, sale *Sale) {
			touch := Touch{Influencer: "bad", Proven: true}
			if n < 8 {
				mark(&touch)
			}
			sale.Touches = []Touch{{Influencer: "i0", Proven: true}, touch}
			if n < 6 { // two of the eight were paid to another
				sale.Influencer = "bad"
			}
		})
		holds(t, Find(s.sales, nil), fmt.Sprintf("%s bad 8/12 usual 10/412 since %s: 8 orders [{BRL 6000 60000}]", kind, day))
	}
	f(AfterCheckout, func(t *Touch) { t.AfterCheckout = true })
	f(Unproven, func(t *Touch) { t.Proven = false })
}

func TestOneBuyerOfManyOrdersIsASign(t *testing.T) {
	var s shop
	for i := range 10 { // a loyal customer of each influencer: 3 of 40
		s.sell(40, func(n int, sale *Sale) {
			sale.Influencer = fmt.Sprint("i", i)
			if n < 3 {
				sale.Buyers = []string{fmt.Sprint("loyal", i)}
			}
		})
	}
	holds(t, Find(s.sales, nil))
	day := s.sales[len(s.sales)-1].At.Add(time.Hour).Format(time.DateOnly)
	s.sell(20, func(n int, sale *Sale) { // 10 orders by e-mail, phone, or both
		sale.Influencer = "self"
		switch {
		case n == 0:
			sale.Buyers = []string{"phone", "mail"}
		case n < 5:
			sale.Buyers = []string{"mail"}
		case n < 10:
			sale.Buyers = []string{"phone"}
		}
	})
	holds(t, Find(s.sales, nil), "same_buyer self 10/20 usual 30/400 since "+day+": 10 orders [{BRL 10000 100000}]")
}

// A shop of a few orders: of most influencers the buyer with the most made a quarter to all of the orders, so no rate
// stands out there. The numbers are those of a shop that somebody tried out.
func TestOneBuyerOfManyOrdersIsASignInASmallShop(t *testing.T) {
	honest := func() *shop {
		s := &shop{every: 12 * time.Hour}
		for i := range 12 { // of each influencer one to twelve orders, of which a customer who comes back made up to three
			s.sell(i+1, func(n int, sale *Sale) {
				sale.Influencer, sale.Code = fmt.Sprint("i", i), fmt.Sprint("I", i)
				if n < 3 {
					sale.Buyers = []string{fmt.Sprint("loyal", i)}
				}
			})
		}
		return s
	}
	holds(t, Find(honest().sales, nil))

	s := honest()
	s.every = 24 * 5 * time.Hour / 34
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).Add(s.clock).Format(time.DateOnly)
	s.sell(34, func(n int, sale *Sale) { // in five days
		sale.Influencer, sale.Code = "ana", "ANA10"
		if n%5 < 2 {
			sale.Buyers = []string{"c:77", "e:fan", "p:55"}
		}
	})
	holds(t, Find(s.sales, nil), "same_buyer ana 14/34 usual 33/78 since "+day+": 14 orders [{BRL 14000 140000}]")

	// Nine in 30 days, and ten in more, are none; the tenth within 30 days is.
	every := func(n int, hours time.Duration) []Signal {
		s := honest()
		s.every = hours * time.Hour
		s.sell(n, func(_ int, sale *Sale) { sale.Influencer, sale.Buyers = "ana", []string{"c:77"} })
		return Find(s.sales, nil)
	}
	holds(t, every(9, 1))
	holds(t, every(12, 81)) // ten in 30 days and 9 hours
	if got := every(10, 79); len(got) != 1 || got[0].Kind != SameBuyer || got[0].Total != 10 {
		t.Errorf("ten orders in 29 days and 15 hours: %s", text(got))
	}
	// A buyer of more orders, but over years, does not hide one of ten at once.
	s = honest()
	s.every = 24 * 20 * time.Hour
	s.sell(20, func(_ int, sale *Sale) { sale.Influencer, sale.Buyers = "ana", []string{"loyal"} })
	s.every = time.Hour
	s.sell(11, func(_ int, sale *Sale) { sale.Influencer, sale.Buyers = "ana", []string{"c:77"} })
	if got := Find(s.sales, nil); len(got) != 1 || got[0].Observed != (Rate{11, 31}) {
		t.Errorf("eleven orders at once beside a loyal customer: %s", text(got))
	}
}

func TestManyBuyersOfOnePlaceByOneCodeAreASign(t *testing.T) {
	f := func(kind Kind, set func(sale *Sale, place string)) {
		t.Helper()
		var s shop
		code := func(sale *Sale) {
			byCode(true)(0, sale)
		}
		s.sell(400, func(n int, sale *Sale) { // a tenth of all buyers uses the code, everywhere
			set(sale, fmt.Sprint("p", n/5))
			if n%10 == 0 {
				code(sale)
			}
		})
		s.sell(4, func(n int, sale *Sale) { set(sale, "household"); code(sale) })
		s.sell(60, func(n int, sale *Sale) { // an office: colleagues tell each other
			if set(sale, "office"); n < 15 {
				code(sale)
			}
		})
		holds(t, Find(s.sales, nil))
		day := s.sales[len(s.sales)-1].At.Add(time.Hour).Format(time.DateOnly)
		s.sell(12, func(n int, sale *Sale) {
			if set(sale, "farm"); n < 10 {
				code(sale)
			}
		})
		holds(t, Find(s.sales, nil), fmt.Sprintf("%s ana ANA10 10/12 usual 59/464 since %s: 10 orders [{BRL 10000 100000}]", kind, day))
	}
	f(SharedPlace, func(sale *Sale, place string) { sale.Place = place })
	f(SharedNetwork, func(sale *Sale, place string) { sale.Network = place })
}

func TestFindIsTheSameInAnyOrder(t *testing.T) {
	s := shop{every: 2 * time.Hour}
	for range 20 {
		s.sell(10, byCode(true))
		s.sell(2, byCode(false))
	}
	s.every = time.Hour
	for range 15 {
		s.sell(10, byCode(true))
		s.sell(14, byCode(false))
	}
	want := text(Find(slices.Clone(s.sales), nil))
	slices.Reverse(s.sales)
	if got := text(Find(s.sales, nil)); got != want || got == "" {
		t.Errorf("%s\nand in another order\n%s", want, got)
	}
}

// What only looks like a coupon that spreads: buyers who typed the code instead of opening the link, and a
// podcast of a week.
func TestAnHonestRiseIsNoSpread(t *testing.T) {
	typed := shop{every: 2 * time.Hour}
	for range 20 { // as many orders a day as before
		typed.sell(10, byCode(true))
		typed.sell(2, byCode(false))
	}
	for range 30 {
		typed.sell(4, byCode(true))
		typed.sell(8, byCode(false))
	}
	holds(t, Find(typed.sales, nil))
	podcast := shop{every: 2 * time.Hour}
	usual := func(days int) {
		for range days {
			podcast.sell(10, byCode(true))
			podcast.sell(2, byCode(false))
		}
	}
	usual(20)
	podcast.every = 20 * time.Minute
	for range 8 {
		podcast.sell(10, byCode(true))
		podcast.sell(62, byCode(false))
	}
	podcast.every = 2 * time.Hour
	usual(10)
	holds(t, Find(podcast.sales, nil))
}

// Checkouts that become no orders are a sign where they are many of one influencer's visitors, or
// of one network.
func TestCheckoutsWithoutOrdersAreASign(t *testing.T) {
	var list []Checkout
	come := func(n, ordered int, influencer, network string) {
		for i := range n {
			c := Checkout{Day: fmt.Sprintf("2026-03-%02d", 1+i%28), Ordered: i < ordered, Network: network}
			if network == "" {
				c.Network = fmt.Sprint("n", len(list))
			}
			if influencer != "" {
				c.Influencers = []string{influencer}
			}
			list = append(list, c)
		}
	}
	come(400, 388, "ana", "")
	come(400, 380, "", "")
	come(40, 10, "beto", "")
	come(30, 0, "", "farm")
	come(9, 0, "caio", "") // a few
	holds(t, Find(nil, list), "no_order beto 30/40 usual 21/409", "no_order_network 30/30 usual 71/849")
}
