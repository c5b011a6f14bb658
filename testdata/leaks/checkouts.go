package leaks

import (
	"fmt"
	"math/rand/v2"

	"github.com/tributary-io/tributary/internal/signs"
)

// Checkouts makes completed checkouts of 30 days, of so many of a hundred of which no
// order ever comes: 3 of honest ones and none of ten hours in which the platform sent no
// orders, 60 of those of two influencers' visitors, and all of one network.
//
// What only looks like it: the shop's own people, who try it out from one network; an
// influencer with a handful of visitors; telephone networks.
func Checkouts(seed uint64, n, honest int) (list []signs.Checkout, planted []Planted) {
	r := rand.New(rand.NewPCG(seed, 44))
	bad := r.Perm(influencers)[:2]
	for _, who := range bad {
		planted = append(planted, Planted{signs.NoOrder, influencer(who)})
	}
	outage := r.IntN(30)
	for i := range n {
		day := r.IntN(30)
		c := signs.Checkout{Day: dayName(day), Ordered: r.IntN(100) >= honest, Network: fmt.Sprint("n", i)}
		if r.IntN(2) == 0 {
			c.Network = fmt.Sprint("phones", unlike(r, 20))
		}
		if who := unlike(r, influencers); r.IntN(2) == 0 {
			c.Influencers = []string{influencer(who)}
			if who == bad[0] || who == bad[1] {
				c.Ordered = c.Ordered && r.IntN(100) >= 60
			}
		}
		if day == outage && r.IntN(24) < 10 {
			c.Ordered = false
		}
		list = append(list, c)
	}
	for i := range 15 {
		list = append(list, signs.Checkout{Day: dayName(2 * i), Ordered: i%2 == 0, Network: "the shop's own"})
	}
	for range 30 {
		list = append(list, signs.Checkout{Day: dayName(r.IntN(30)), Network: "farm", Influencers: []string{influencer(r.IntN(influencers))}})
	}
	return list, append(planted, Planted{signs.NoOrderNetwork, ""})
}
