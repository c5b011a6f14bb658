package processor

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/postgres/replay"
	"github.com/tributary-io/tributary/internal/wire"
)

func wantTexts(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}

func TestEventsBeforeAndAfterTheOrderCreditItAlike(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	ana, inverno := s.influencer("Ana Prado", "Inverno")
	s.cost(ana, inverno, 500, "10")
	s.run()

	s.produce(s.event("v1", noon, 1, landing("Ana+Prado", "Inverno")), s.event("v1", noon.Add(time.Minute), 2, checkout("k1:a")))
	s.applied()
	s.produce(s.order("o1", noon.Add(2*time.Minute), 10000, cart("k1:a")))
	s.produce(s.order("o2", noon.Add(2*time.Minute), 20001, cart("k1:b")))
	s.applied()
	wantTexts(t, "before o2's events", s.payouts(), "o1 Ana Prado link 1500", "o2 nobody - 0")

	s.produce(s.event("v2", noon.Add(time.Minute), 3, checkout("k1:b")), s.event("v2", noon, 4, landing("ANA+PRÁDO", "unknown")))
	s.applied()
	wantTexts(t, "after o2's events", s.payouts(), "o1 Ana Prado link 1500", "o2 Ana Prado link 0")
	if n := s.int(`select count(*)
		from (select order_id, sum(first_minor) f, sum(last_minor) l, sum(last_non_direct_minor) n, sum(linear_minor) i, sum(position_minor) p,
			sum(time_decay_minor) t
		from credit group by order_id) c join orders o using (order_id) where not (o.total_minor = all (array[f, l, n, i, p, t]))`); n != 0 {
		t.Errorf("%d models do not conserve their order's value", n)
	}
	wantTexts(t, "last touch",
		s.texts(`select concat_ws(' ', order_id, channel, last_minor) from credit where last_minor is not null order by 1`), "o1 Ana Prado 10000",
		"o2 Ana Prado 20001")
}

func TestDuplicatesAndNewVersionsNeverPayTwice(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	ana, inverno := s.influencer("Ana Prado", "Inverno")
	s.coupon(ana, inverno, "ANA10")
	s.cost(ana, "", 0, "10")
	s.run()

	approved := s.order("o1", noon, 10000, func(o *wire.Order) { o.DiscountCode = wire.Some(" ana10") })
	view := s.event("v1", noon, 1, nil)
	s.produce(approved, approved, view, view, view)
	s.applied()
	again := view // sent again; the others are copies of one record
	again.ReceivedAt = view.ReceivedAt.Add(time.Second)
	s.produce(view, again, approved)
	s.applied()
	s.produce(again)
	s.applied()
	wantTexts(t, "payout", s.payouts(), "o1 Ana Prado coupon 1000")
	ledger := func() []string {
		return s.texts(`select concat_ws(' ', entry, kind, amount_minor, reverses) from ledger_entry order by entry`)
	}
	wantTexts(t, "ledger", ledger(), "1 earned 1000")
	wantTexts(t, "delivery", s.texts(`select outcome || ' ' || events from delivery order by 1`), "duplicate 1", "stored 1")

	s.produce(s.order("o1", noon.Add(time.Hour), 12000, func(o *wire.Order) { o.CreatedAt = noon })) // the code is kept
	s.applied()
	wantTexts(t, "ledger after a new total", ledger(), "1 earned 1000", "2 reversed -1000 1", "3 adjusted 1200")
	s.produce(s.order("o1", noon.Add(2*time.Hour), 12000, func(o *wire.Order) { o.CreatedAt, o.Status = noon, 2 }))
	s.applied()
	wantTexts(t, "ledger after cancelling", ledger(), "1 earned 1000", "2 reversed -1000 1", "3 adjusted 1200", "4 reversed -1200 3")
	wantTexts(t, "payout after cancelling", s.payouts(), "o1 Ana Prado coupon 0")
	if found, err := s.replay(s.ctx, replay.Options{}); err != nil || !found.Equal() || found.Orders != 1 {
		t.Errorf("replayed: %+v, %v", found, err)
	}
}

// An event that comes long after its time may have been made up to fit an order.
// It is counted, by the copy that counts.
func TestLateEventsAreCounted(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.run()
	after := func(received time.Duration, trust wire.Trust) func(*wire.Event) {
		return func(e *wire.Event) { e.ReceivedAt, e.Trust = noon.Add(received), trust }
	}
	const week = 7 * 24 * time.Hour
	counted := func(want ...string) {
		t.Helper()
		s.applied()
		wantTexts(t, "delivery",
			s.texts(`select outcome || ' ' || sum(events) from delivery group by outcome having sum(events) <> 0 order by 1`), want...)
	}
	s.produce(s.event("v1", noon, 1, after(week, wire.TrustOpen)), s.event("v1", noon, 2, after(week+time.Hour, wire.TrustOpen)),
		s.event("v1", noon, 3, after(week+time.Hour, wire.TrustKey)), s.event("v1", noon, 4, after(5000*time.Hour, wire.TrustImport)))
	counted("late 2", "stored 4")
	s.produce(s.event("v1", noon, 2, after(time.Hour, wire.TrustOpen)), s.event("v1", noon, 4, after(4000*time.Hour, wire.TrustImport)))
	counted("duplicate 2", "late 1", "stored 4")
	s.produce(s.event("v1", noon, 4, after(3000*time.Hour, wire.TrustOpen)))
	counted("duplicate 3", "late 1", "stored 4") // the import counts
}

// A network proves what the edge received in the hours from two before the order to one after it, whole
// hours of its clock.
func TestANetworkProvesInTheHoursAroundTheOrder(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ana, inverno := s.influencer("Ana Prado", "Inverno")
	s.cost(ana, inverno, 0, "10")
	created := noon.Add(45 * time.Minute)
	var list []record
	for i, received := range []time.Time{noon.Add(-2*time.Hour - time.Millisecond), noon.Add(-2 * time.Hour),
		noon.Add(2*time.Hour - time.Millisecond), noon.Add(2 * time.Hour)} {
		email, net := fmt.Sprint("k1:email", i), fmt.Sprint("k1:net", i)
		list = append(list, s.record(s.event(fmt.Sprint("v", i), noon.Add(-3*time.Hour), i+1, func(e *wire.Event) {
			landing("Ana+Prado", "Inverno")(e)
			e.Identity.EmailKey, e.NetKey, e.ReceivedAt = email, net, received
		})), s.record(s.order(fmt.Sprint("o", i), created, 10_000, func(o *wire.Order) {
			o.EmailKey, o.NetKey = wire.Some(email), wire.Some(net)
		})))
	}
	s.apply(list, func() int { return 3 })
	wantTexts(t, "states", s.texts(`select order_id || ' ' || state from payout order by order_id`), "o0 review", "o1 earned",
		"o2 earned", "o3 review")
}
