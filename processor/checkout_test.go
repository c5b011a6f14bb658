package processor

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/wire"
)

// address is what the address bar shows after a short link: a click's id and the campaign.
func address(name string, click int) func(e *wire.Event) {
	return func(e *wire.Event) {
		e.Context.Page.URL = fmt.Sprintf("https://loja.example.com/p/1?trb_click=%s.0195b2c0-0000-7000-8000-%012d&utm_campaign=%s",
			name[:3], click, name)
	}
}

// at adds an event of the buyer's browser, so many minutes before the order.
func (j *journey) at(minute int, changes ...func(e *wire.Event)) {
	j.sees("v", time.Duration(minute)*minutes, append([]func(e *wire.Event){cookieOf("c")}, changes...)...)
}

// docs/attribution.md, "Proof": what a shopper does with Back, reload, the history
// and tabs takes nothing from the influencer who brought the sale; what an extension opens
// in the checkout gains nothing and takes nothing.
func TestWhatCountsAroundACheckout(t *testing.T) {
	t.Parallel()
	j := newJourneys(t)
	const earned = "earned Ana link cart, Ana has 1000"
	n := 0
	f := func(name, want string, what func(j *journey)) {
		t.Helper()
		n++
		got := j.run(func(j *journey) {
			what(j)
			j.at(1, secret)
			j.buys(hasCart)
		})
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
	anas, eves := address("ana+prado", 1), address("eve+silva", 2)
	ad := func(e *wire.Event) { e.Context.Page.URL = "https://loja.example.com/?gclid=1" }
	news := landing("novidades", "maio")

	f("link, ad, checkout, Back to the link's page", earned, func(j *journey) {
		j.at(25, anas)
		j.at(20, ad)
		j.at(15, began)
		j.at(10, anas)
	})
	f("link, newsletter, checkout, the link's page from the history, checkout", earned, func(j *journey) {
		j.at(25, anas)
		j.at(20, news)
		j.at(15, began)
		j.at(10, anas)
		j.at(5, began)
	})
	f("link, checkout, Back, reload, checkout", earned, func(j *journey) {
		j.at(25, anas)
		j.at(15, began)
		j.at(10, anas)
		j.at(9, anas)
		j.at(5, began)
	})
	f("two tabs: the link's page is shown again while the other pays", earned, func(j *journey) {
		j.at(25, anas)
		j.at(24, ad)
		j.at(15, began)
		j.at(14, anas) // from the back/forward cache
		j.at(13, ad)
		j.at(12, anas)
	})
	f("the click is the cookie's, the landing the page's, and Back after the checkout", earned, func(j *journey) {
		j.sees("", 25*minutes, anas, nobody, cookieOf("c"))
		j.sees("v", 24*minutes, anas)
		j.at(20, ad)
		j.at(15, began)
		j.at(10, anas)
	})
	f("ad after link", earned, func(j *journey) {
		j.at(25, anas)
		j.at(20, ad)
		j.at(15, began)
	})
	f("the link's page again an hour later, in the checkout", earned, func(j *journey) {
		j.at(90, anas)
		j.at(25, began)
		j.at(10, anas)
	})
	f("an extension's link, and the influencer's address again", earned, func(j *journey) {
		j.at(25, anas)
		j.at(15, began)
		j.at(10, eves)
		j.at(9, anas)
	})
	const none = "review Eve link cart after_checkout"
	f("an extension's two links at once", none, func(j *journey) {
		j.at(15, began)
		for i, click := range []func(e *wire.Event){eves, address("eve+silva", 3)} {
			j.sees("", time.Duration(10-i)*minutes, click, nobody, cookieOf("c"), secret)
		}
		j.at(8, address("eve+silva", 3))
		j.at(7, eves)
	})
	f("a page between an extension's click and its landing", "review Eve link cookie after_checkout", func(j *journey) {
		j.sees("v", 15*minutes, began)
		j.sees("", 10*minutes, eves, nobody, cookieOf("c"))
		j.sees("v", 9*minutes, secret)
		j.sees("v", 8*minutes, eves)
		j.buys(hasUser("c", wire.MACValid))
	})
	f("an extension with a visitor of its own and the cart's token", none, func(j *journey) {
		j.at(15, began)
		j.sees("x", 10*minutes, eves, secret)
	})
	f("… after the shop's backend saw the checkout", none, func(j *journey) {
		j.sees("", 15*minutes, began, nobody, secret, byKey)
		j.at(10, eves)
	})
	if n < 12 {
		t.Errorf("%d sequences", n)
	}
}

// Honest journeys of random steps: Ana is paid where the last link before the checkout was
// hers, whatever the buyer's browser and an extension in it do after the checkout began; and
// an extension is paid nothing where nobody brought the sale.
func TestWhatFollowsACheckoutMovesNothing(t *testing.T) {
	t.Parallel()
	j := newJourneys(t)
	for seed := range seeds(9, 60) {
		r := rand.New(rand.NewPCG(7, seed))
		brought := seed%3 != 0
		anas := []func(e *wire.Event){address("ana+prado", 1), of("ana+prado")}[r.IntN(2)]
		pages := []func(e *wire.Event){
			func(*wire.Event) {}, google, landing("novidades", "maio"),
			func(e *wire.Event) { e.Context.Page.URL = "https://loja.example.com/?gclid=1" },
		}
		again := slices.Clone(pages)
		if brought {
			again = append(again, anas, anas) // Back, reload, the history, another tab
		}
		mine := []func(e *wire.Event){address("eve+silva", 2), address("eve+silva", 3), of("eve+silva"), began, framed}
		if brought {
			mine = append(mine, anas)
		}
		step := func(from []func(e *wire.Event)) func(e *wire.Event) { return from[r.IntN(len(from))] }
		journeyWith := func(extension bool) string {
			r = rand.New(rand.NewPCG(9, seed)) // the buyer does the same
			theirs := rand.New(rand.NewPCG(11, seed))
			return j.run(func(j *journey) {
				at := 40 * minutes
				pass := func() time.Duration { at -= time.Duration(20+r.IntN(100)) * seconds; return at }
				if brought {
					if r.IntN(2) == 0 {
						j.sees("", pass(), anas, nobody, cookieOf("c")) // the short link's click
					}
					j.sees("v", pass(), anas, cookieOf("c"))
				}
				for range r.IntN(4) {
					j.sees("v", pass(), step(again), cookieOf("c"))
				}
				j.sees("v", pass(), began, secret, cookieOf("c"))
				for range 2 + r.IntN(6) {
					j.sees("v", pass(), step(again), cookieOf("c"))
					if r.IntN(4) == 0 {
						j.sees("v", pass(), began, cookieOf("c"))
					}
					for range theirs.IntN(4) {
						opens := mine[theirs.IntN(len(mine))]
						if !extension {
							continue
						}
						when := at - time.Duration(theirs.IntN(20))*seconds
						switch theirs.IntN(4) {
						case 0:
							j.sees("", when, nobody, cookieOf("c"), opens)
						case 1:
							j.sees("x", when, secret, opens)
						default:
							j.sees("v", when, cookieOf("c"), opens)
						}
					}
				}
				j.buys([]func(o *wire.Order){hasCart, hasUser("v", wire.MACNone), hasUser("c", wire.MACValid)}[seed/3%3], hasMail)
			})
		}
		honest, hijacked := journeyWith(false), journeyWith(true)
		switch {
		case brought && (!strings.HasPrefix(honest, "earned Ana") || hijacked != honest):
			t.Errorf("seed %d: %s, with an extension %s", seed, honest, hijacked)
		case !brought && (honest != none || hijacked != none && !strings.HasPrefix(hijacked, "review ") || strings.Contains(hijacked, " has ")):
			t.Errorf("seed %d, which nobody brought: %s, with an extension %s", seed, honest, hijacked)
		}
	}
}
