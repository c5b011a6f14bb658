package leaks

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/tributary-io/tributary/internal/signs"
)

// This file makes a second kind of store, with other numbers and stories than the first
// and with as much that only looks like abuse as honest shops have. The rules of
// internal/signs were chosen with the first kind alone.

// SecondDays is how many days the sales of a second store span.
const SecondDays = 120

// secondStory is what happens to a code of a second store.
type secondStory struct {
	name string
	// rates returns how many orders a day have a touch and have none, where usually so many
	// have, on a day that many days after the story began (below 0: before it).
	rates func(c *secondCode, touched, untouched float64, day int) (float64, float64)
}

// secondCode is one code of a second store.
type secondCode struct {
	name             string
	daily, untouched float64 // orders a day, and the part of them without a touch
	at, length       int     // the day of the story, and how many days it has
	leak             float64 // how many times its orders strangers make at the end; 0: it has not leaked
	story            secondStory
}

// secondStories are honest.
var secondStories = []secondStory{
	{"nothing", func(_ *secondCode, t, u float64, _ int) (float64, float64) { return t, u }},
	{"podcast", func(c *secondCode, t, u float64, day int) (float64, float64) { // listeners type the code
		if day >= 0 && day < c.length {
			return t, u + 2.5*(t+u)
		}
		return t, u
	}},
	{"newsletter", func(_ *secondCode, t, u float64, day int) (float64, float64) { // the shop itself names the code
		if day == 0 || day == 1 || day == 30 {
			return t, u + 4*(t+u)
		}
		return t, u
	}},
	{"says codes", func(_ *secondCode, t, u float64, day int) (float64, float64) { // links give way to codes, slowly
		part := min(.7, max(0, float64(day)/60))
		return t * (1 - part), u + t*part
	}},
	{"grows", func(_ *secondCode, t, u float64, day int) (float64, float64) {
		more := 1 + max(0, float64(day)/20)
		return t * more, u * more
	}},
	{"pauses", func(_ *secondCode, t, u float64, day int) (float64, float64) { // no posts: fewer come by the link
		if day >= 0 && day < 25 {
			return t * .25, u * .8
		}
		return t, u
	}},
}

// Planted is something to be found: a kind of sign of a code, or of an influencer.
type Planted struct {
	Kind signs.Kind
	Of   string
}

// SecondCodes makes the sales of a second store by 60 codes. Five have leaked, one has a ring
// of buyers at one address, one a ring in one network, and one a buyer of half of its orders.
//
// What only looks like it: the stories above; a coupon site that ranks for the brand and
// has a part of the orders of each code; weekends; a sale of a fortnight; families, offices
// whose colleagues tell each other of a code, and people who buy gifts: of a hundred orders three
// or more share their address with others; telephone networks.
func SecondCodes(seed uint64) (sales []signs.Sale, planted []Planted) {
	r := rand.New(rand.NewPCG(seed, 1042))
	const codes, leaked = 60, 5
	order := r.Perm(codes)
	sale := 20 + r.IntN(80)
	for i := range codes {
		c := secondCode{
			name: fmt.Sprintf("S%02d", order[i]), daily: .7 + 14*math.Pow(r.Float64(), 3), untouched: .08 + .7*math.Pow(r.Float64(), 1.5),
			at: 25 + r.IntN(75), length: 3 + r.IntN(8), story: secondStories[i%len(secondStories)],
		}
		if i < leaked {
			c.leak, c.daily, c.untouched = .7+2*r.Float64(), 1.5+8*r.Float64(), .08+.45*r.Float64()
			planted = append(planted, Planted{signs.CouponSpread, c.name})
		}
		for day := range SecondDays {
			sales = append(sales, c.day(r, day, day >= sale && day < sale+14)...)
		}
	}
	crowd(r, sales)
	return sales, append(planted, rings(r, sales)...)
}

// day makes the sales of one day.
func (c *secondCode) day(r *rand.Rand, day int, sale bool) (sales []signs.Sale) {
	daily := c.daily * math.Exp(.35*r.NormFloat64()) // no two days are alike
	if weekday := day % 7; weekday >= 5 {
		daily *= 1.7
	}
	part := min(.97, max(.02, c.untouched+.08*r.NormFloat64()))
	touched, untouched := c.story.rates(c, daily*(1-part), daily*part, day-c.at)
	if sale {
		touched, untouched = 2.2*touched, 2.9*untouched
	}
	strangers := 0.0
	if c.leak > 0 && day >= c.at { // it takes some weeks until all know it
		strangers = c.daily * c.leak * min(1, .3+float64(day-c.at)/25)
	}
	n, m, x := poisson(r, touched), poisson(r, untouched), poisson(r, strangers)
	for j := range n + m + x {
		total := 3_000 + r.Int64N(60_000)
		s := signs.Sale{
			OrderID: fmt.Sprintf("%s-%03d-%03d", c.name, day, j), At: first.AddDate(0, 0, day).Add(time.Duration(r.IntN(24*60*60)) * time.Second), Day: dayName(day),
			Currency: "BRL", Total: total, Commission: total / 12, Influencer: "i-" + c.name, Code: c.name, Source: "Direct",
		}
		switch {
		case j < n:
			s.Source, s.Touches = s.Influencer, []signs.Touch{{Influencer: s.Influencer, Proven: r.IntN(100) >= 12, AfterCheckout: r.IntN(100) < 3}}
		case j >= n+m && r.IntN(10) < 6, j < n+m && r.IntN(10) < 2: // the site that ranks for the brand
			s.Source = "Referral: coupons.example.com"
		case r.IntN(3) == 0:
			s.Source = "Organic Search: google"
		}
		sales = append(sales, s)
	}
	return sales
}

// crowd gives each sale its buyer, place and network.
func crowd(r *rand.Rand, sales []signs.Sale) {
	for i := range sales {
		s := &sales[i]
		s.Buyers, s.Place, s.Network = []string{fmt.Sprint("b", i)}, fmt.Sprint("p", int(math.Pow(r.Float64(), 2)*20_000)), fmt.Sprint("n", i)
		if r.IntN(100) < 45 {
			s.Network = fmt.Sprint("phones", r.IntN(14))
		}
	}
	share := func(most int, f func(s *signs.Sale, at, n int)) { // among a few sales of one code
		at := r.IntN(len(sales))
		code, left := sales[at].Code, 2+r.IntN(most-1)
		for i := at; i < len(sales) && left > 0; i++ {
			if sales[i].Code == code {
				left--
				f(&sales[i], at, left)
			}
		}
	}
	for range len(sales) / 150 { // families: an address and a network, and two or three buyers
		share(3, func(s *signs.Sale, at, n int) {
			s.Place, s.Network, s.Buyers = fmt.Sprint("home", at), fmt.Sprint("home", at), []string{fmt.Sprint("home", at, "-", n)}
		})
	}
	for range len(sales) / 300 { // who buys gifts: one buyer and many addresses
		share(6, func(s *signs.Sale, at, _ int) { s.Buyers = []string{fmt.Sprint("gifts", at)} })
	}
	for office := range len(sales) / 900 { // offices: some use a colleague's code, most another or none
		for range 6 + r.IntN(20) {
			s := &sales[r.IntN(len(sales))]
			s.Place, s.Network = fmt.Sprint("office", office), fmt.Sprint("office", office)
		}
		share(4, func(s *signs.Sale, _, _ int) {
			s.Place, s.Network = fmt.Sprint("office", office), fmt.Sprint("office", office)
		})
	}
}

// rings makes some of the sales those of people who buy for each other.
func rings(r *rand.Rand, sales []signs.Sale) (planted []Planted) {
	byCode := map[string][]*signs.Sale{}
	var codes []string
	for i := range sales {
		code := sales[i].Code
		if byCode[code] == nil {
			codes = append(codes, code)
		}
		byCode[code] = append(byCode[code], &sales[i])
	}
	taken := map[string]bool{}
	next := func(orders int) []*signs.Sale { // of a code with so many at least
		for {
			if code := codes[r.IntN(len(codes))]; !taken[code] && len(byCode[code]) >= orders {
				taken[code] = true
				return byCode[code]
			}
		}
	}
	for i, of := range next(60) {
		if i < 12 {
			of.Place = "ring"
			planted = append(planted, Planted{signs.SharedPlace, of.Code})
		}
	}
	for i, of := range next(60) {
		if i < 14 {
			of.Network = "ring"
			planted = append(planted, Planted{signs.SharedNetwork, of.Code})
		}
	}
	self := next(40)
	for _, i := range r.Perm(len(self))[:len(self)*45/100] {
		self[i].Buyers = []string{"self"}
	}
	return append(unique(planted), Planted{signs.SameBuyer, self[0].Influencer})
}

func unique(list []Planted) (out []Planted) {
	seen := map[Planted]bool{}
	for _, p := range list {
		if !seen[p] {
			seen[p] = true
			out = append(out, p)
		}
	}
	return out
}
