package processor

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/postgres/replay"
	"github.com/tributary-io/tributary/internal/wire"
)

// An order's only version is with the order. It becomes a row of its own where another
// version comes, also one that changes nothing of the order, and with the schema of before.
func TestTheOnlyVersionOfAnOrderIsWithTheOrder(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ana, inverno := s.influencer("Ana Prado", "Inverno")
	s.coupon(ana, inverno, "ANA10")
	s.cost(ana, inverno, 100, "7.5")
	first := s.record(s.order("older", noon, 1000, func(o *wire.Order) { o.UpdatedAt = wire.Some(noon) }))
	s.apply(append(s.randomFacts(rand.New(rand.NewPCG(5, 3))), first, first), func() int { return 50 })
	versions := func() []string {
		return s.texts(`
			select concat_ws(' ', order_id, version_at, accepted_at, encode(content_hash, 'hex'), encode(body, 'hex')) from order_version
			union all select concat_ws(' ', order_id, version_at, accepted_at, encode(content_hash, 'hex'), encode(body, 'hex')) from orders where accepted_at is not null
			order by 1`)
	}
	only, rows := `select count(*) from orders where order_id = 'older' and accepted_at is not null and version_at is not null and content_hash is not null`, `select count(*) from order_version where order_id = 'older'`
	if n, m := s.int(only), s.int(rows); n != 1 || m != 0 {
		t.Fatalf("%d only versions, %d rows", n, m)
	}
	// An older one comes: the order stays what it was, and was not written again.
	at := s.texts(`select processed_at::text from orders where order_id = 'older'`)
	s.apply([]record{s.record(s.order("older", noon, 2000, func(o *wire.Order) { o.UpdatedAt, o.Status = wire.Some(noon.Add(-time.Hour)), 1 }))}, func() int { return 1 })
	if n, m := s.int(only), s.int(rows); n != 0 || m != 2 {
		t.Errorf("%d only versions, %d rows, want none and two", n, m)
	}
	if s.int(`select total_minor from orders where order_id = 'older'`) != 1000 {
		t.Error("an older version has changed the order")
	}
	wantTexts(t, "when it was stored", s.texts(`select processed_at::text from orders where order_id = 'older'`), at...)

	verify := func(when string) string {
		t.Helper()
		found, err := s.replay(s.ctx, replay.Options{})
		if err != nil || !found.Equal() || found.Orders < 5 {
			t.Fatalf("%s: %+v, %v", when, found, err)
		}
		return found.LiveHash
	}
	want, stored, hash := s.outcomes(), versions(), verify("before")
	up := s.takeBack(53)
	if n, m := s.int(`select count(distinct order_id) from order_version`), s.int(`select count(*) from orders`); n != m {
		t.Errorf("%d of %d orders have versions of before", n, m)
	}
	if n := s.int(`select count(*) from order_version v where body is null and exists (select from order_version o where o.order_id = v.order_id and o.content_hash <> v.content_hash)`); n != 0 {
		t.Errorf("%d versions of several have no body", n)
	}
	up()
	s.workOff() // migration 0064 has queued all orders
	wantTexts(t, "versions", versions(), stored...)
	if got := s.outcomes(); got != want {
		t.Error(firstDifference(got, want))
	}
	if got := verify("after"); got != hash {
		t.Errorf("the hash of the ledger is %s, was %s", got, hash)
	}
	s.wantSums("after the migration")
}
