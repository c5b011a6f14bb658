package processor

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/scrub"
	"github.com/tributary-io/tributary/internal/wire"
)

// secretOf is the hasher of the n-th hashing secret.
func secretOf(t testing.TB, n int) *identity.Hasher {
	t.Helper()
	h, err := identity.NewHasher(bytes.Repeat([]byte{byte(n)}, identity.MinSecret))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// keyring makes the keys of a company at each stage of rotations: 0 is before the first one, 1 while the second secret takes the
// first one's place, 2 after that, 3 while the third takes the second one's, and so on.
type keyring []identity.Keys

func (s *shop) keyring(stages int) (ring keyring) {
	for stage := range stages {
		h := secretOf(s.t, 1+(stage+1)/2)
		if stage%2 == 1 {
			var err error
			if h, err = h.Rotating(secretOf(s.t, 1+stage/2)); err != nil {
				s.t.Fatal(err)
			}
		}
		ring = append(ring, h.Company(s.company, "BR"))
	}
	return ring
}

// who names a shopper in an event or an order; what is empty is left out.
type who struct{ email, customer, cart, network, member string }

// keys are the keys by one secret.
func (w who) keys(k identity.Keys) wire.Former {
	f := wire.Former{EmailKey: k.Email(w.email), CustomerKey: k.Customer(w.customer), UserKey: k.VisitorID(w.member)}
	if w.network != "" {
		f.NetKey = k.Cart("network " + w.network)
	}
	if f.CartKey = k.Cart(w.cart); !scrub.SecretToken(w.cart) {
		f.CartKey, f.CartNoKey = "", f.CartKey
	}
	return f
}

func (w who) event(e *wire.Event, k identity.Keys) {
	is := w.keys(k)
	e.Identity.EmailKey, e.Identity.CustomerKey, e.Identity.CartKey, e.Identity.CartNoKey = is.EmailKey, is.CustomerKey,
		is.CartKey, is.CartNoKey
	e.NetKey = is.NetKey
	if w.member != "" {
		e.VisitorID = is.UserKey
	}
	if former, rotates := k.Former(); rotates {
		was := w.keys(former)
		e.Former = &was
	}
}

func (w who) order(o *wire.Order, k identity.Keys) {
	is := w.keys(k)
	for _, f := range []struct {
		to    *wire.Optional[string]
		value string
	}{{&o.EmailKey, is.EmailKey}, {&o.CustomerKey, is.CustomerKey}, {&o.CartKey, is.CartKey}, {&o.CartNoKey, is.CartNoKey},
		{&o.NetKey, is.NetKey}, {&o.VisitorID, is.UserKey}} {
		if f.value != "" {
			*f.to = wire.Some(f.value)
		}
	}
	if former, rotates := k.Former(); rotates {
		o.Former = []wire.Former{w.keys(former)}
	}
}

// The rotations of the random histories, in days: each lasts the window and a week.
const (
	firstBegins, firstEnds   = 0, 38
	secondBegins, secondEnds = 41, 79
	historyBegins            = -40
	historyEnds              = 110
)

// stageOn is the stage of a service at an instant: at the roll's hours one may be restarted already, and another not.
func stageOn(r *rand.Rand, at time.Time) int {
	stage, hours := 0, at.Sub(noon).Hours()
	for _, day := range []float64{firstBegins, firstEnds, secondBegins, secondEnds} {
		if since := hours - 24*day; since >= 12 || since >= 0 && r.IntN(2) == 0 {
			stage++
		} else {
			break
		}
	}
	return stage
}

// history makes random facts. stage says at which one a service handles what comes at an instant.
func (s *shop) history(r *rand.Rand, ring keyring, members bool, stage func(at time.Time) int) (records []record) {
	cart := func(n int) string { return fmt.Sprintf("3f9d2b7c6e1a4850b7d2c9e4f1a6%04x", n) }
	person := func() (w who) {
		n := r.IntN(6)
		if r.IntN(2) == 0 {
			w.email = fmt.Sprintf("p%d@example.com", n)
		}
		if r.IntN(3) == 0 {
			w.customer = fmt.Sprint("c-", n)
		}
		if r.IntN(3) == 0 {
			w.network = fmt.Sprint(n % 3)
		}
		switch r.IntN(5) {
		case 0:
			w.cart = cart(n)
		case 1:
			w.cart = fmt.Sprint(n)
		}
		return w
	}
	instant := func() time.Time {
		at := noon.AddDate(0, 0, historyBegins).Add(time.Duration(r.IntN((historyEnds-historyBegins)*24*60)) * time.Minute)
		if r.IntN(3) > 0 { // around the ends of rotations
			day := []int{firstBegins, firstEnds, secondBegins, secondEnds}[r.IntN(4)]
			at = noon.AddDate(0, 0, day).Add(time.Duration(r.IntN(60*24*4)-60*24*2) * time.Minute)
		}
		return at
	}
	for i := range 120 {
		at, w, visitor := instant(), person(), fmt.Sprint("v", r.IntN(8))
		if members && r.IntN(2) == 0 {
			w.member = "member " + visitor
		}
		e := s.event(visitor, at, i, nil)
		if r.IntN(2) == 0 {
			landing([]string{"Ana+Prado", "Beto+Lima"}[r.IntN(2)], "Inverno")(&e)
		}
		e.Trust = wire.TrustOpen
		if r.IntN(6) == 0 {
			e.Trust, e.Identity.Verified = wire.TrustKey, r.IntN(2) == 0
		}
		if r.IntN(8) == 0 { // a phone was without a network
			e.ReceivedAt = at.Add(time.Duration(r.IntN(6*24)) * time.Hour)
		}
		verified := e.Identity.Verified
		w.event(&e, ring[stage(e.ReceivedAt)])
		e.Identity.Verified = verified
		records = append(records, s.record(e))
	}
	for i := range 60 {
		at, w := instant(), person()
		if members && r.IntN(2) == 0 {
			w.member = fmt.Sprint("member v", r.IntN(8))
		}
		id, first := fmt.Sprintf("o%02d", i), false
		change := func(accepted time.Time) record {
			c := s.order(id, at, 10_000, func(o *wire.Order) {
				o.UpdatedAt, o.IsFirstOrder = wire.Some(accepted), wire.Some(first)
				if r.IntN(4) == 0 { // a platform sends a part of what it knows
					w.email = ""
				}
				w.order(o, ring[stage(accepted)])
				if r.IntN(8) == 0 {
					o.EmailKey = wire.Null[string]()
					for n := range o.Former {
						o.Former[n].EmailKey = ""
					}
					w.email = "" // what comes back after a null is known by its own secret alone
				}
			})
			c.AcceptedAt = accepted
			return s.record(c)
		}
		accepted := at.Add(time.Duration(r.IntN(100)) * time.Hour)
		records = append(records, change(accepted))
		for r.IntN(2) == 0 {
			accepted = accepted.Add(time.Duration(1+r.IntN(60*24)) * time.Hour)
			records = append(records, change(accepted))
		}
	}
	return records
}

// Whatever comes, and whichever service of a roll is restarted already: two rotations, one after the other, change no payout as
// long as each lasts the window and a week, and no explanation. Visitors' ids are UUIDs: others are new ones from a rotation on.
func TestRotationsChangeNoPayout(t *testing.T) {
	t.Parallel()
	for seed := range seeds(2, 6) {
		members := seed%2 == 1 // some visitors' ids are no UUIDs
		s := newShop(t)
		for _, name := range []string{"Ana Prado", "Beto Lima"} {
			influencer, campaign := s.influencer(name, "Inverno")
			s.cost(influencer, campaign, 0, "10")
		}
		ring := s.keyring(5)
		outcome := func(stage func(r *rand.Rand, at time.Time) int) ([]string, map[string]facts.Explanation) {
			s.clear()
			stages, order := rand.New(rand.NewPCG(seed, 2)), rand.New(rand.NewPCG(seed, 3))
			records := s.history(rand.New(rand.NewPCG(seed, 1)), ring, members, func(at time.Time) int { return stage(stages, at) })
			order.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
			s.apply(records, func() int { return 1 + order.IntN(60) })
			explained := s.explanations()
			for _, e := range explained { // keys of one kind are in the order of their values
				slices.SortStableFunc(e.Keys, func(a, b facts.ExplainedKey) int { return cmp.Or(b.Strength-a.Strength, a.Visitors-b.Visitors) })
			}
			return s.payouts(), explained
		}
		payouts, explained := outcome(func(*rand.Rand, time.Time) int { return 0 })
		rotated, explainedRotated := outcome(stageOn)
		if !slices.Equal(payouts, rotated) {
			t.Errorf("seed %d: %q, without a rotation %q", seed, rotated, payouts)
		}
		paid := 0
		for id, e := range explained {
			if e.Payout.Winner != nil {
				paid++
			}
			if !reflect.DeepEqual(e, explainedRotated[id]) {
				t.Errorf("seed %d: order %s is explained by\n%+v, without a rotation by\n%+v", seed, id, explainedRotated[id], e)
			}
		}
		if paid < 10 {
			t.Errorf("seed %d: %d orders are somebody's: the history shows nothing", seed, paid)
		}
	}
}

// A network and an e-mail, an order's refund after the rotation, and a visitor whose id is no UUID.
func TestAnOrderOfBeforeStaysPaidWhenItIsRefundedAfterARotation(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ana, inverno := s.influencer("Ana Prado", "Inverno")
	s.cost(ana, inverno, 0, "10")
	ring := s.keyring(5)
	shopper := who{email: "ana@example.com", network: "home", member: "member 7"}
	visit := s.event("v1", noon, 1, landing("Ana+Prado", "Inverno"))
	visit.Trust = wire.TrustOpen
	shopper.event(&visit, ring[0])
	version := func(stage int, days int, minor int64) record {
		at := noon.AddDate(0, 0, days)
		c := s.order("o1", noon.Add(time.Hour), minor, func(o *wire.Order) {
			o.UpdatedAt = wire.Some(at)
			shopper.order(o, ring[stage])
		})
		c.AcceptedAt = at
		return s.record(c)
	}
	s.apply([]record{s.record(visit), version(0, 0, 10_000)}, func() int { return 2 })
	wantTexts(t, "before", s.payouts(), "o1 Ana Prado link 1000")
	s.apply([]record{version(2, 40, 9_000)}, func() int { return 1 })
	wantTexts(t, "after one rotation", s.payouts(), "o1 Ana Prado link 900")
	s.apply([]record{version(4, 90, 8_000)}, func() int { return 1 })
	wantTexts(t, "after two", s.payouts(), "o1 Ana Prado link 800")
}

// A visitor with one e-mail by two secrets has one; one more than the limit is a hub, by whichever secret.
func TestHubLimitsCountOneSecret(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.influencer("Ana Prado", "Inverno")
	ring := s.keyring(3)
	f := func(what string, emails int, want bool, stages ...int) {
		t.Helper()
		s.clear()
		var records []record
		for i := range emails {
			for n, stage := range stages {
				e := s.event("v1", noon.Add(time.Duration(i)*time.Minute), i*len(stages)+n, landing("Ana+Prado", "Inverno"))
				e.Trust = wire.TrustOpen
				who{email: fmt.Sprintf("p%d@example.com", i)}.event(&e, ring[stage])
				records = append(records, s.record(e))
			}
		}
		records = append(records, s.record(s.order("o1", noon.Add(2*time.Hour), 1000, func(o *wire.Order) {
			who{email: "p0@example.com"}.order(o, ring[1])
		})))
		s.apply(records, func() int { return 7 })
		if hub := len(s.onlyExplanation().Touches) == 0; hub != want {
			t.Errorf("%s: a hub is %v, want %v", what, hub, want)
		}
	}
	f("20 by both", 20, false, 1)
	f("20 before and while it lasts", 20, false, 0, 1)
	f("20 while it lasts and after it", 20, false, 1, 2)
	f("21 by both", 21, true, 1)
	f("21 before and while it lasts", 21, true, 0, 1)
}

// An erasure finds who was seen before, while and after a rotation lasts, by the keys of both secrets.
func TestAnErasureOverARotation(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.influencer("Ana Prado", "Inverno")
	ring := s.keyring(3)
	person, neighbour := who{email: "me@example.com"}, who{email: "you@example.com"}
	var records []record
	for stage := range ring {
		at := noon.AddDate(0, 0, 40*stage)
		for n, w := range []who{person, neighbour} {
			e := s.event(fmt.Sprint("v", n, stage), at, n, landing("Ana+Prado", "Inverno"))
			e.Trust = wire.TrustOpen
			w.event(&e, ring[stage])
			records = append(records, s.record(e),
				s.record(s.order(fmt.Sprint("o", n, stage), at.Add(time.Hour), 1000, func(o *wire.Order) { w.order(o, ring[stage]) })))
		}
	}
	s.apply(records, func() int { return 4 })
	paid := s.payouts()
	keys, wrong := facts.SubjectKeys(commerce.DataSubject{Email: "me@example.com"}, ring[1])
	if len(keys) != 2 || len(wrong) > 0 {
		t.Fatalf("keys %v, wrong %v", keys, wrong)
	}
	s.erase(noon.AddDate(0, 0, 100), keys...)
	for _, k := range []identity.Keys{ring[0], ring[2]} {
		if where := s.found(k.Email("me@example.com")); len(where) > 0 {
			t.Errorf("the person's key is in %v", where)
		}
		if where := s.found(k.Email("you@example.com")); len(where) == 0 {
			t.Error("the neighbour is erased too")
		}
	}
	wantTexts(t, "payouts", s.payouts(), paid...)
	// What comes again stays out, by either secret.
	events := s.int(`select count(*) from event_fact`)
	s.apply(slices.Clone(records), func() int { return 4 })
	if n := s.int(`select count(*) from event_fact`); n != events {
		t.Errorf("%d events, and %d before they came again", n, events)
	}
	for _, k := range []identity.Keys{ring[0], ring[2]} {
		if where := s.found(k.Email("me@example.com")); len(where) > 0 {
			t.Errorf("the person's key came back to %v", where)
		}
	}
}
