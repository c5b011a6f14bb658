package leaks

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/tributary-io/tributary/internal/signs"
)

// This file makes a third kind of store. Its orders are not drawn by code, as the others' are:
// it has buyers with homes, who follow influencers, hear of codes from each other, and buy.

// ThirdDays is how many days the sales of a third store span: the last of them are the
// season before Christmas.
const ThirdDays = 150

const (
	thirdBuyers      = 24_000
	thirdInfluencers = 40
	thirdLeaked      = 4
	thirdSite        = 10 // so many codes are on a coupon site from the first day
	thirdTowns       = 5  // where most people know one influencer
)

// thirdBuyer is somebody who buys.
type thirdBuyer struct {
	name           string
	place, network string
	follows        [2]int // influencers
	bought         bool   // also before the first day
}

// thirdInfluencer is one influencer with a code.
type thirdInfluencer struct {
	link  float64 // the part of the followers who open the link at their first order
	leak  float64 // how many orders strangers make, beside one of a follower; 0: the code has not leaked
	since int     // the day on which it leaked, or on which the influencer is on television
}

// thirdStore is a store while its sales are made.
type thirdStore struct {
	r           *rand.Rand
	buyers      []thirdBuyer
	influencers []thirdInfluencer
	sales       []signs.Sale
}

// ThirdCodes makes the sales of a third store by 40 codes. Four have leaked: somebody put
// them on a page of deals, and strangers use them from one day to the next. One has a buyer who
// sells on: a third of its orders.
//
// What only looks like it: a season in which three times as much is sold; a famous influencer
// whose code everybody knows, and hardly anybody opens the link; codes that have been on a coupon site
// since the first day; television for a week; families at one address and in one network, who tell each other of a code;
// towns where nearly half of the buyers use the code of the influencer who lives there; and that who
// has opened a link once types the code the next time.
func ThirdCodes(seed uint64) (sales []signs.Sale, planted []Planted) {
	s := &thirdStore{r: rand.New(rand.NewPCG(seed, 1043))}
	for i := range thirdInfluencers {
		s.influencers = append(s.influencers, thirdInfluencer{link: .5 + .45*s.r.Float64(), since: 45 + s.r.IntN(40)})
		if i == 0 {
			s.influencers[i].link = .05 // the famous one
		}
	}
	for range thirdLeaked {
		i := 1 + s.r.IntN(thirdInfluencers/3) // of the better known ones
		for s.influencers[i].leak > 0 {
			i = 1 + s.r.IntN(thirdInfluencers/3)
		}
		s.influencers[i].leak = 1 + 2*s.r.Float64()
		planted = append(planted, Planted{signs.CouponSpread, thirdCode(i)})
	}
	s.settle()
	for day := range ThirdDays {
		season := 1 + 2*max(0, float64(day-110)/40)
		for range poisson(s.r, 220*season*math.Exp(.2*s.r.NormFloat64())) {
			s.buy(day, &s.buyers[s.r.IntN(len(s.buyers))])
		}
	}
	resold := thirdLeakless(s)
	n := 0
	for i := range s.sales {
		if sale := &s.sales[i]; sale.Code == thirdCode(resold) {
			if n++; n%3 == 0 {
				sale.Buyers, sale.Touches = []string{"reseller"}, nil
			}
		}
	}
	return s.sales, append(planted, Planted{signs.SameBuyer, "i-" + thirdCode(resold)})
}

// thirdLeakless is an influencer who is known and whose code has not leaked.
func thirdLeakless(s *thirdStore) int {
	for i := 1; ; i++ {
		if s.influencers[i].leak == 0 {
			return i
		}
	}
}

func thirdCode(i int) string { return fmt.Sprintf("T%02d", i) }

// someone is an influencer: the first are the best known.
func (s *thirdStore) someone() int {
	return int(math.Pow(s.r.Float64(), 1.6) * thirdInfluencers)
}

// settle gives the buyers homes, and influencers whom they follow. Of a home most follow the
// same.
func (s *thirdStore) settle() {
	for len(s.buyers) < thirdBuyers {
		home, follows := len(s.buyers), [2]int{s.someone(), s.someone()}
		place := fmt.Sprint("street", home/4)
		if s.r.IntN(25) == 0 {
			town := s.r.IntN(thirdTowns)
			place = fmt.Sprint("town", town)
			if s.r.IntN(100) < 40 {
				follows = [2]int{thirdInfluencers - 1 - town, thirdInfluencers - 1 - town}
			}
		}
		for range 1 + s.r.IntN(4) {
			b := thirdBuyer{name: fmt.Sprint("b", len(s.buyers)), place: place, network: fmt.Sprint("home", home), follows: follows, bought: s.r.IntN(2) == 0}
			if s.r.IntN(3) == 0 {
				b.follows = [2]int{s.someone(), s.someone()}
			}
			s.buyers = append(s.buyers, b)
		}
	}
}

// buy makes what a buyer buys on a day, and what strangers buy by the same code if it leaked.
func (s *thirdStore) buy(day int, b *thirdBuyer) {
	if s.r.IntN(100) < 35 { // without a code
		s.sell(day, b, -1, false, "Organic Search: google")
		return
	}
	i := b.follows[s.r.IntN(len(b.follows))]
	of := s.influencers[i]
	touched := s.r.Float64() < of.link && (!b.bought || s.r.IntN(2) == 0)
	source := "Direct"
	if !touched && i < thirdSite && s.r.IntN(3) == 0 {
		source = "Referral: coupons.example.com"
	}
	b.bought = true
	s.sell(day, b, i, touched, source)
	if i%7 == 3 && of.leak == 0 && day >= of.since && day < of.since+7 { // television
		for range 2 {
			s.sell(day, &s.buyers[s.r.IntN(len(s.buyers))], i, false, "Direct")
		}
	}
	if day < of.since {
		return
	}
	for range poisson(s.r, of.leak) {
		s.sell(day, &s.buyers[s.r.IntN(len(s.buyers))], i, false, []string{"Referral: deals.example.com", "Direct"}[s.r.IntN(2)])
	}
}

// sell makes one sale; of is an influencer, -1 for none.
func (s *thirdStore) sell(day int, b *thirdBuyer, of int, touched bool, source string) {
	total := 2_000 + s.r.Int64N(50_000)
	n := len(s.sales)
	sale := signs.Sale{
		OrderID: fmt.Sprintf("t%06d", n), At: first.AddDate(0, 0, day).Add(time.Duration(s.r.IntN(24*60*60)) * time.Second), Day: dayName(day), Currency: "BRL", Total: total,
		Source: source, Buyers: []string{b.name}, Place: b.place, Network: b.network,
	}
	if s.r.IntN(100) < 40 {
		sale.Network = fmt.Sprint("phones", s.r.IntN(10))
	}
	if of >= 0 {
		sale.Code, sale.Influencer, sale.Commission = thirdCode(of), "i-"+thirdCode(of), total/10
	}
	if touched {
		sale.Source, sale.Touches = sale.Influencer, []signs.Touch{{Influencer: sale.Influencer, Proven: s.r.IntN(100) >= 10, AfterCheckout: s.r.IntN(100) < 4}}
	}
	s.sales = append(s.sales, sale)
}
