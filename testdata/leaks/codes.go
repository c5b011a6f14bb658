package leaks

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/tributary-io/tributary/internal/signs"
)

// Days is how many days the sales by codes span.
const Days = 150

// first is the first day, in UTC.
var first = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

// Leaked is a code that leaked.
type Leaked struct {
	Code  string
	Since string // YYYY-MM-DD
	Extra int    // how many orders the leak brought
}

// code is one influencer's code, and how its buyers come.
type code struct {
	name      string
	daily     float64 // orders a day
	untouched float64 // the part of them whose buyer never came by the influencer
	story     story
	from      int // first day
	at        int // the day of the story
}

// story is what happens to a code.
type story int

// Stories. All but leak are honest.
const (
	nothing story = iota
	leak          // strangers find the code: ever more buyers without a touch
	posts         // the influencer posts every day: everything grows
	viral         // three days of many orders, most without a touch
	fades         // the influencer stops posting
	starts        // a new code
	videos        // the code is said in videos: nearly nobody opens a link
)

// Codes makes the sales of so many codes, of which so many have leaked. All have a
// sale of ten days, in which three times as many orders come and more of them
// without a touch.
func Codes(seed uint64, codes, leaked int) ([]signs.Sale, []Leaked) {
	r := rand.New(rand.NewPCG(seed, 40))
	var sales []signs.Sale
	var planted []Leaked
	season := 40 + r.IntN(80)
	order := r.Perm(codes)
	for i := range codes {
		c := code{
			name: fmt.Sprintf("CODE%02d", order[i]), daily: 1 + 7*r.Float64(), untouched: .1 + .6*r.Float64(),
			story: story(2 + i%5), at: 45 + r.IntN(60),
		}
		switch {
		case i < leaked:
			c.story, c.untouched = leak, .1+.5*r.Float64()
		case i%2 == 0:
			c.story = nothing
		case c.story == starts:
			c.from = 20 + r.IntN(80)
		case c.story == videos:
			c.untouched = .9
		}
		extra := 0
		for day := c.from; day < Days; day++ {
			touched, untouched := c.day(r, day)
			if day >= season && day < season+10 {
				touched, untouched = 3*touched, 3.6*untouched
			}
			n, m, strangers := poisson(r, touched), poisson(r, untouched), 0
			if c.story == leak && day >= c.at {
				strangers = poisson(r, c.daily*min(2.5, .8+float64(day-c.at)/10))
			}
			extra += strangers
			for j := range n + m + strangers {
				sales = append(sales, c.sale(r, day, j, j < n, j >= n+m))
			}
		}
		if c.story == leak {
			planted = append(planted, Leaked{c.name, dayName(c.at), extra})
		}
	}
	return sales, planted
}

// day returns how many orders are expected with and without a touch.
func (c *code) day(r *rand.Rand, day int) (touched, untouched float64) {
	orders, part := c.daily*(.6+.8*r.Float64()), c.untouched
	switch {
	case c.story == posts && day >= c.at:
		orders *= 4
	case c.story == fades && day >= c.at:
		orders *= .3
	case c.story == viral && day >= c.at && day < c.at+3:
		orders, part = orders*15, max(part, .85)
	}
	part = min(1, max(0, part+.1*(r.Float64()-.5))) // no two days are alike
	return orders * (1 - part), orders * part
}

func (c *code) sale(r *rand.Rand, day, number int, touched, stranger bool) signs.Sale {
	total := 5_000 + r.Int64N(40_000)
	s := signs.Sale{
		OrderID: fmt.Sprintf("%s-%03d-%03d", c.name, day, number),
		At:      first.AddDate(0, 0, day).Add(time.Duration(r.IntN(24*60*60)) * time.Second), Day: dayName(day),
		Currency: "BRL", Total: total, Commission: total / 10, Influencer: "i-" + c.name, Code: c.name,
		Buyers: []string{fmt.Sprintf("b%d", r.IntN(1_000_000_000))}, Source: "Direct",
	}
	switch {
	case touched:
		s.Source = s.Influencer
		s.Touches = []signs.Touch{{Influencer: s.Influencer, Proven: r.IntN(10) > 0, AfterCheckout: r.IntN(50) == 0}}
	case stranger && r.IntN(10) < 7:
		s.Source = "Referral: coupons.example.com"
	case r.IntN(4) == 0:
		s.Source = "Organic Search: google"
	}
	return s
}

func dayName(day int) string { return first.AddDate(0, 0, day).Format(time.DateOnly) }

// poisson draws a number of the Poisson distribution (Knuth's method, in steps that
// keep the product away from zero).
func poisson(r *rand.Rand, mean float64) int {
	n := 0
	for mean > 0 {
		step := min(mean, 10)
		mean -= step
		for product := r.Float64(); product > math.Exp(-step); n++ {
			product *= r.Float64()
		}
	}
	return n
}
