package processor

import (
	"math/rand/v2"
	"testing"
)

// Whether an order is its customer's first, and when it was processed, are in the row of its
// outcome. They are what they were.
func TestFirstOrdersOfBeforeAreKept(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ana, inverno := s.influencer("Ana Prado", "Inverno")
	s.coupon(ana, inverno, "ANA10")
	s.cost(ana, inverno, 100, "7.5")
	s.apply(s.randomFacts(rand.New(rand.NewPCG(5, 9))), func() int { return 50 })
	want, hash := s.outcomes(), s.ledgerHash()
	processed := s.texts(`select concat_ws(' ', order_id, is_first_order, processed_at) from payout order by 1`)
	if n := s.int(`select count(*) from payout where is_first_order`); n == 0 {
		t.Fatal("no order is a first one")
	}
	up := s.takeBack(39)
	wantTexts(t, "orders of before", s.texts(`select concat_ws(' ', order_id, is_first_order, processed_at) from orders order by 1`), processed...)
	up()
	wantTexts(t, "outcomes", s.texts(`select concat_ws(' ', order_id, is_first_order, processed_at) from payout order by 1`), processed...)
	if got := s.outcomes(); got != want {
		t.Error(firstDifference(got, want))
	}
	s.exec(`truncate recompute_span, recompute_company`) // migration 0064 has queued all orders
	if got := s.ledgerHash(); got != hash {
		t.Errorf("the ledger hash is %s, was %s", got, hash)
	}
	s.wantSums("after the migration")
}

// An order is written once, also where it waits for its visitor's events: what is computed
// later is in another row.
func TestAnOrderThatIsComputedLaterIsNotWrittenAgain(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	o := s.owner()
	o.Log = onePartition{}
	records := numbered([]record{s.record(s.order("o1", noon, 1000, cart("k1:a")))})
	o.waits(1_000_000)
	if err := o.applyRecords(s.ctx, records); err != nil {
		t.Fatal(err)
	}
	row := func() []string { return s.texts(`select xmin::text || ' ' || ctid::text from orders`) }
	before := row()
	wantTexts(t, "outcomes of an order that waits", s.texts(`select order_id from payout`))
	if err := o.recomputeQueued(s.ctx); err != nil {
		t.Fatal(err)
	}
	wantTexts(t, "outcomes", s.texts(`select order_id || ' ' || coalesce(is_first_order::text, 'unknown') from payout`), "o1 unknown")
	wantTexts(t, "the order's row", row(), before...)
}
