package processor

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/wire"
)

// Sales that strangers try to claim.
func sold(by string) func(j *journey) {
	return map[string]func(j *journey){
		"organic": func(j *journey) { j.buys(hasMail, hasPhone, hasCustomer, atHome) },
		"cart": func(j *journey) {
			j.sees("v", 2*days, of("ana+prado"))
			j.sees("v", 10*minutes, secret, mail)
			j.buys(hasCart, hasMail)
		},
		"network": func(j *journey) {
			j.sees("v", 2*days, of("ana+prado"))
			j.sees("v", 10*minutes, mail, in("home"))
			j.buys(hasMail, atHome)
		},
		"verified": func(j *journey) {
			j.sees("v", 2*days, of("ana+prado"))
			j.sees("v", 10*minutes, mail, byKey, loggedIn)
			j.buys(hasMail)
		},
		"visitor": func(j *journey) {
			j.sees("v", 2*days, of("ana+prado"), mail)
			j.buys(hasUser("v", wire.MACNone), hasMail)
		},
		"cookie": func(j *journey) { // known to the SDK's cookie and to the server's
			j.sees("v", 2*days, of("ana+prado"), cookieOf("c"))
			j.sees("v", 10*minutes, cookieOf("c"), mail)
			j.buys(hasUser("c", wire.MACValid), hasMail, atHome)
		},
		"cookie alone": func(j *journey) { // nobody brought it
			j.sees("v", 10*minutes, cookieOf("c"), mail)
			j.buys(hasUser("c", wire.MACValid), hasMail)
		},
		"guessable": func(j *journey) { // the shop names visitors by numbers of its own
			j.sees("", 2*days, of("ana+prado"), guessable, in("home"))
			j.sees("", 10*minutes, secret, guessable, in("home"))
			j.buys(hasCart)
		},
		"numbered": func(j *journey) { // the shop's carts have numbers
			j.sees("v", 2*days, of("ana+prado"))
			j.sees("v", 10*minutes, number, mail)
			j.buys(hasNumber, hasMail)
		},
		"coupon": func(j *journey) {
			j.sees("v", 10*minutes, secret, mail)
			j.buys(hasCart, hasMail, hasCode("ANA10"))
		},
		"utm": func(j *journey) { j.buys(hasMail, hasUTM("Ana Prado")) },
		"accepted": func(j *journey) {
			j.sees("v", 2*days, of("ana+prado"), mail, withID(99))
			j.buys(hasMail)
			j.decides(ana, commerce.EvidenceAccept, noon.Add(days), uuid7(noon.Add(-time.Hour), 99))
		},
		"late": func(j *journey) { // created long ago, and imported now
			j.buysAt(noon.Add(240*days), hasMail, hasPhone)
		},
	}[by]
}

// Attacks of those who know what a shop's customers are called, and who have an
// influencer's link: nothing is earned on what they claim, and what another earned
// stays.
func TestAttacks(t *testing.T) {
	t.Parallel()
	j := newJourneys(t)
	n := 0
	f := func(name, sale, want string, attack func(j *journey)) {
		t.Helper()
		n++
		honest := j.run(sold(sale))
		if want == "" { // as if there had been no attack
			want = honest
		}
		for _, first := range []bool{true, false} {
			got := j.run(func(j *journey) {
				if first {
					attack(j)
				}
				sold(sale)(j)
				if !first {
					attack(j)
				}
			})
			if got != want || strings.Contains(got, "Eve has") {
				t.Errorf("%s:\n got %s\nwant %s", name, got, want)
			}
		}
	}
	const waits = "review Eve link claimed unproven"
	link := of("eve+silva")

	// A sale that nobody brought: what is claimed waits for the shop, at most.
	f("an e-mail beside a link, before the order", "organic", waits, func(j *journey) { j.sees("x", days, link, mail) })
	f("a phone", "organic", waits, func(j *journey) { j.sees("x", days, link, phone) })
	f("a customer id", "organic", waits, func(j *journey) { j.sees("x", days, link, customer) })
	f("every other day of a month", "organic", waits, func(j *journey) {
		for i := range 14 {
			j.sees("x", hours, link, mail, daysEarlier(2*i))
		}
	})
	f("after the order, backdated to before it", "organic", waits, func(j *journey) { j.sees("x", hours, link, mail, received(20*hours)) })
	f("backdated by six days", "organic", waits, func(j *journey) { j.sees("x", hours, link, mail, received(6*days)) })
	f("backdated by eight days", "organic", none, func(j *journey) { j.sees("x", hours, link, mail, received(8*days)) })
	f("so many visitors that none is looked at", "organic", "none claims_hidden", func(j *journey) {
		j.sees("x", days, link, mail)
		for i := range 20 {
			j.sees(fmt.Sprint("y", i), hours, mail)
		}
	})
	f("one visitor fewer", "organic", waits, func(j *journey) {
		j.sees("x", days, link, mail)
		for i := range 19 {
			j.sees(fmt.Sprint("y", i), hours, mail)
		}
	})
	f("an order of eight months ago", "late", none, func(j *journey) { j.sees("x", hours, link, mail, phone, received(240*days)) })
	f("from the future", "organic", none, func(j *journey) { j.sees("x", -20*hours, link, mail, received(2*hours)) })
	f("seconds after the order", "organic", none, func(j *journey) { j.sees("x", -2*seconds, link, mail) })
	f("as if verified", "organic", waits, func(j *journey) { j.sees("x", days, link, mail, loggedIn) })
	f("from another network", "organic", waits, func(j *journey) { j.sees("x", hours, link, mail, in("elsewhere")) })
	f("from the buyer's network, hours before", "organic", waits, func(j *journey) { j.sees("x", 4*hours, link, mail, in("home")) })
	f("from the buyer's network, hours after", "organic", waits, func(j *journey) {
		j.sees("x", hours, link, mail, in("home"), received(3*hours))
	})
	f("from the buyer's network, naming nobody", "organic", none, func(j *journey) { j.sees("x", hours, link, in("home")) })
	f("typed into a form that the shop's backend relays", "organic", waits, func(j *journey) { j.sees("", hours, link, mail, nobody, byKey) })
	f("… from the address of the shop's own server", "organic", waits, func(j *journey) {
		j.sees("", hours, link, mail, nobody, byKey, in("home"))
	})
	f("… with a session of the backend's", "organic", waits, func(j *journey) { j.sees("session", hours, link, mail, byKey) })
	f("in a frame of another site's page", "organic", none, func(j *journey) { j.sees("x", hours, link, mail, framed) })
	f("by a program that says so", "organic", none, func(j *journey) { j.sees("x", hours, link, mail, bot) })
	f("a marketplace's order", "organic", none, func(j *journey) {
		j.sees("x", hours, link, mail)
		j.buysAt(noon.Add(minutes), ofMarketplace)
	})
	f("a cancelled order", "organic", none, func(j *journey) {
		j.sees("x", hours, link, mail)
		j.buysAt(noon.Add(minutes), cancelled)
	})
	f("a campaign's name in a backend's words", "organic", waits, func(j *journey) {
		j.sees("x", hours, mail, byKey, func(e *wire.Event) {
			e.Context.Page.URL, e.Context.Campaign = "", wire.Campaign{Source: "x", Name: "Eve Silva"}
		})
	})
	f("again, after the shop has refused it", "organic", none, func(j *journey) {
		j.sees("x", hours, link, mail)
		j.decides(eve, commerce.EvidenceRefuse, noon.Add(hours))
		j.sees("y", minutes, link, phone, received(2*hours))
	})
	f("after the shop has accepted what there was: nothing", "organic", waits, func(j *journey) {
		j.decides(eve, commerce.EvidenceAccept, noon.Add(-2*hours))
		j.sees("x", hours, link, mail)
	})

	// A sale that Ana brought: it stays hers.
	last := func(j *journey) { j.sees("x", minutes, link, mail, phone, customer, number) }
	f("the last touch, by a cart's sale", "cart", "", last)
	f("the last touch, by a network's sale", "network", "", last)
	f("the last touch, by a log-in's sale", "verified", "", last)
	f("the last touch, by a cookie's sale", "visitor", "", last)
	f("the last touch, beside a coupon", "coupon", "", last)
	f("a touch beside the order's own campaign", "utm", "", last)
	f("the last touch, after the shop accepted Ana's", "accepted", "", last)
	for _, sale := range []string{"cart", "network", "verified", "visitor", "coupon"} {
		f("the visitor's id, read from an answer, dated before the order, "+sale, sale, "", func(j *journey) {
			j.sees("v", hours, link, received(2*hours))
			j.sees("v", 30*minutes, link, mail, received(5*days), in("elsewhere"))
			j.sees("v", 3*days, began, received(3*days))
		})
	}
	for _, sale := range []string{"cart", "network", "verified", "visitor", "cookie", "accepted"} {
		f("21 visitors of an e-mail, "+sale, sale, "", func(j *journey) {
			for i := range 21 {
				j.sees(fmt.Sprint("x", i), hours, mail, link)
			}
		})
	}
	// An analyst sees an event's id as it comes, and marks of its visitor and its checkout.
	for _, sale := range []string{"cart", "network", "verified", "visitor", "cookie", "accepted"} {
		f("an analyst, "+sale, sale, "", analyst)
	}
	f("a guesser of the cart's number", "numbered", waits, func(j *journey) { j.sees("x", minutes, link, number) })
	f("21 visitors and the buyer's network elsewhere", "network", "", func(j *journey) {
		for i := range 21 {
			j.sees(fmt.Sprint("x", i), hours, mail, in(fmt.Sprint("net", i)))
		}
	})
	f("the buyer's number as visitor", "guessable", "", func(j *journey) { j.sees("", minutes, link, guessable, in("elsewhere")) })
	f("… from no known network", "guessable", "", func(j *journey) { j.sees("", minutes, link, guessable) })
	f("… beginning checkouts", "guessable", "", func(j *journey) { j.sees("", 2*days+minutes, began, guessable, in("elsewhere")) })
	f("… with 201 cart numbers and 21 e-mails", "guessable", "", func(j *journey) {
		for i := range 201 {
			j.sees("", hours, guessable, func(e *wire.Event) {
				e.Identity = wire.Identity{CartNoKey: fmt.Sprint("k1:n", i), EmailKey: fmt.Sprint("k1:m", i%30)}
			})
		}
	})
	f("… with 201 carts that nobody has", "guessable", "", func(j *journey) {
		for i := range 201 {
			j.sees("", hours, guessable, func(e *wire.Event) { e.Identity = wire.Identity{CartKey: fmt.Sprint("k1:made-up-cart-", i)} })
		}
	})
	f("a relayed form before a true log-in without a visitor", "organic", waits, func(j *journey) {
		j.sees("", 2*hours, link, nobody, mail, byKey)
		j.sees("", hours, nobody, mail, byKey, loggedIn)
	})
	f("an extension's link in the checkout", "cart", "", func(j *journey) {
		j.sees("v", 9*minutes, began)
		j.sees("v", 8*minutes, link)
	})
	f("an extension's link in a checkout that nobody brought", "organic", "review Eve link cart after_checkout", func(j *journey) {
		j.sees("v", 9*minutes, began, secret)
		j.sees("v", 8*minutes, link)
		j.buysAt(noon.Add(minutes), hasCart)
	})
	f("an extension's link in a checkout whose order names Ana", "organic", "earned Ana link order, Ana has 1000", func(j *journey) {
		j.sees("v", 9*minutes, began, secret)
		j.sees("v", 8*minutes, link)
		j.buysAt(noon.Add(minutes), hasCart, hasUTM("ana prado"))
	})
	f("an extension's link in the checkout that writes the order's campaign too", "organic",
		"review Eve link cart after_checkout", func(j *journey) {
			j.sees("v", 9*minutes, began, secret)
			j.sees("v", 8*minutes, link)
			j.buysAt(noon.Add(minutes), hasCart, hasUTM("Eve Silva"))
		})
	f("… by its short link, whose click the cookie alone knows", "organic", "review Eve link cookie after_checkout", func(j *journey) {
		click := func(e *wire.Event) {
			e.Context.Page.URL = "https://loja.example.com/?trb_click=abc.0195b2c0-0000-7000-8000-000000000000&utm_campaign=Eve+Silva"
		}
		j.sees("v", 9*minutes, began, cookieOf("c"))
		j.sees("", 8*minutes, click, nobody, cookieOf("c"))
		j.sees("v", 7*minutes, click, cookieOf("c"))
		j.buysAt(noon.Add(minutes), hasUser("c", wire.MACValid))
	})
	f("a picture in the shop's own page, of a sale that nobody brought", "cookie alone", waits, func(j *journey) {
		j.sees("", minutes, link, picture, nobody, cookieOf("c"))
	})
	f("… of Ana's sale", "cookie", "", func(j *journey) { j.sees("", minutes, link, picture, nobody, cookieOf("c")) })
	f("… that begins checkouts", "cookie", "", func(j *journey) {
		j.sees("", 2*days+minutes, began, picture, nobody, cookieOf("c"))
	})
	f("… beside the order's own campaign", "cookie alone", "earned Ana link order, Ana has 1000", func(j *journey) {
		j.sees("", minutes, google, picture, nobody, cookieOf("c"))
		j.buysAt(noon.Add(minutes), hasUTM("Ana Prado"))
	})
	f("a picture in another's page that names the buyer's number", "guessable", "", func(j *journey) {
		j.sees("", minutes, link, picture, guessable)
	})
	f("… of before, with the buyer's network", "guessable", "", func(j *journey) { j.sees("", minutes, link, picture, guessable, in("home")) })
	f("a frame without an origin, in the buyer's browser", "network", "", func(j *journey) {
		for i := range 21 {
			j.sees(fmt.Sprint("frame", i), minutes, link, mail, phone, customer)
		}
	})
	f("a backend's event, sent before by a stranger who knows its id", "organic", "earned Ana link cart, Ana has 1000", func(j *journey) {
		j.sees("v", hours, of("ana+prado"), secret, byKey, withID(9))
		j.sees("v", hours, link, secret, withID(9), received(-2*hours))
		j.buysAt(noon.Add(minutes), hasCart)
	})
	f("a page's event, sent again with another link", "organic", "earned Ana link cart, Ana has 1000", func(j *journey) {
		j.sees("v", hours, of("ana+prado"), secret, withID(9))
		j.sees("v", hours, link, secret, withID(9), received(hours))
		j.buysAt(noon.Add(minutes), hasCart)
	})
	if n < 40 {
		t.Errorf("%d attacks", n)
	}
}

// analyst sends events with the ids of the buyer's, as soon as they are seen.
func analyst(j *journey) {
	for n := range 30 {
		for _, before := range []time.Duration{2 * days, 10 * minutes} {
			j.sees("x", before, of("eve+silva"), mail, number, received(2*seconds), func(e *wire.Event) {
				e.EventID = uuid7(noon.Add(-before), n+1)
			})
		}
	}
	j.sees("", minutes, of("eve+silva"), mail, func(e *wire.Event) { e.VisitorID, e.Identity.CartNoKey = "k1:digest-of-a-mark", "k1:a-mark" })
}

func daysEarlier(n int) func(e *wire.Event) {
	return func(e *wire.Event) {
		e.Timestamp, e.ReceivedAt = e.Timestamp.AddDate(0, 0, -n), e.ReceivedAt.AddDate(0, 0, -n)
	}
}

// Non-interference (docs/attribution.md, "Proof"): whatever strangers send that holds
// none of an order's proof keys, what is decided and posted stays the same.
func TestStrangersChangeNothingThatIsPosted(t *testing.T) {
	t.Parallel()
	j := newJourneys(t)
	r := rand.New(rand.NewPCG(5, 11))
	pick := func(list ...func(e *wire.Event)) func(e *wire.Event) { return list[r.IntN(len(list))] }
	// What pages make the buyer's own browser send, as the edge records it (edge/proof_test.go).
	made := func(j *journey) {
		says := []func(e *wire.Event){pick(of("eve+silva"), of("ana+prado"), began, google), daysEarlier(r.IntN(4))}
		switch before := time.Duration(r.IntN(240)) * minutes; r.IntN(3) {
		case 0: // a page of origin null: it names whom it likes
			j.sees(fmt.Sprint("frame", r.IntN(30)), before,
				append(says, pick(mail, phone, customer, number), pick(mail, phone, guessable, loggedIn))...)
		case 1: // a picture in the shop's own page
			j.sees("", before, append(says, picture, nobody, cookieOf("c"))...)
		default: // a picture in another's page
			j.sees(fmt.Sprint("picture", r.IntN(30)), before, append(says, picture, pick(guessable, began))...)
		}
	}
	// Somebody who reads the visitor's id hours after the order, and sends it with another date.
	reader := func(j *journey) {
		before := time.Duration(r.IntN(240)) * minutes
		j.sees("v", before, pick(of("eve+silva"), began, google), pick(mail, phone, number, loggedIn), daysEarlier(r.IntN(3)),
			in("elsewhere"), received(time.Duration(2+r.IntN(80))*hours))
	}
	stranger := func(j *journey) {
		for range 1 + r.IntN(30) {
			changes := []func(e *wire.Event){pick(of("eve+silva"), of("ana+prado"), began, google), pick(mail, phone, customer, number, loggedIn)}
			for range r.IntN(3) {
				changes = append(changes, pick(mail, phone, customer, number, in("elsewhere"), in("home"), guessable, framed, began,
					received(-1), received(5*days), received(9*days)))
			}
			// From the buyer's network strangers name nobody: that would be a proof key.
			changes = append(changes, func(e *wire.Event) {
				if e.NetKey == "k1:home" {
					e.Identity = wire.Identity{}
					if e.VisitorID == "k1:digest-of-an-id" {
						e.NetKey = ""
					}
				}
			})
			j.sees(fmt.Sprint("stranger", r.IntN(30)), 4*hours+5*minutes, append(changes, daysEarlier(r.IntN(4)))...)
			made(j)
			reader(j)
		}
		if r.IntN(2) == 0 {
			analyst(j)
		}
	}
	// Of an order in review nothing is posted.
	posted := func() string {
		return strings.Join(append(j.texts(`
			select concat_ws(' ', order_id, influencer_id, cost_id, kind, amount_minor, currency, payable_on) from ledger_entry order by entry`),
			j.texts(`
			select concat_ws(' ', state, influencer_id, campaign_id, evidence, proof, payable_on, commission_minor) from payout
			where state = 'earned'`)...), "\n")
	}
	earned := 0
	for _, sale := range []string{"organic", "cart", "network", "verified", "visitor", "cookie", "cookie alone", "guessable", "numbered",
		"coupon", "utm", "accepted"} {
		j.run(sold(sale))
		want := posted()
		if want != "" {
			earned++
		}
		for range seeds(2, 4) {
			j.run(func(j *journey) {
				stranger(j)
				sold(sale)(j)
				stranger(j)
			})
			if got := posted(); got != want {
				t.Errorf("%s:\n got %s\nwant %s", sale, got, want)
			}
		}
	}
	if earned < 8 {
		t.Errorf("%d sales earned something", earned)
	}
}
