package processor

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/wire"
)

// Orders and their versions are packed, and one that has one version is stored once. The
// way back writes each version as JSON again.
func TestOrdersOfBeforeArePacked(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ana, inverno := s.influencer("Ana Prado", "Inverno")
	s.coupon(ana, inverno, "ANA10")
	s.cost(ana, inverno, 100, "7.5")
	records := s.randomFacts(rand.New(rand.NewPCG(4, 1)))
	of := func(total int64, updated time.Duration, change func(o *wire.Order)) record {
		return s.record(s.order("versions", noon, total, func(o *wire.Order) {
			o.UpdatedAt, o.Number = wire.Some(noon.Add(updated)), wire.Some[int64](7)
			if change != nil {
				change(o)
			}
		}))
	}
	s.apply(append(records, of(1000, 0, nil), s.record(s.order("once", noon, 10, func(o *wire.Order) { o.Name = wire.Some("#1"); o.IsFirstOrder = wire.Some(true) }))), func() int { return 50 })
	stored := func() []string {
		return s.texts(`
			select concat_ws(' ', order_id, version_at, accepted_at, encode(content_hash, 'hex'), encode(body, 'hex')) from order_version
			union all select concat_ws(' ', order_id, version_at, accepted_at, encode(content_hash, 'hex'), encode(body, 'hex')) from orders where accepted_at is not null
			order by 1`)
	}
	if n := s.int(`select count(*) from orders where order_id in ('versions', 'once') and accepted_at is not null and not exists (select from order_version v where v.order_id = orders.order_id)`); n != 2 {
		t.Fatalf("%d of 2 orders with one version have it with them alone", n)
	}
	// A second version, and a third: now each has its own.
	s.apply([]record{of(2000, time.Hour, func(o *wire.Order) { o.Number = wire.Null[int64]() })}, func() int { return 1 })
	s.apply([]record{of(3000, -time.Hour, nil)}, func() int { return 1 })
	if n := s.int(`select count(*) from order_version where order_id = 'versions'`); n != 3 {
		t.Errorf("%d of 3 versions are stored", n)
	}
	// Two more versions at once, of an order that had one.
	again := func(total int64, updated time.Duration) record {
		return s.record(s.order("once", noon, total, func(o *wire.Order) { o.UpdatedAt = wire.Some(noon.Add(updated)) }))
	}
	s.apply([]record{again(20, time.Hour), again(30, 2*time.Hour)}, func() int { return 2 })
	if n := s.int(`select count(*) from order_version where order_id = 'once'`); n != 3 {
		t.Errorf("%d of 3 versions are stored, where two came at once", n)
	}
	want, versions := s.outcomes(), stored()
	up := s.takeBack(29)
	wantTexts(t, "versions of before", s.texts(`select concat_ws(' ', body->>'totalMinor', body->>'updatedAt', body->'number', body->>'orderId') from order_version where order_id = 'versions' order by version_at`),
		"3000 2026-03-10T11:00:00Z 7 versions", "1000 2026-03-10T12:00:00Z 7 versions", "2000 2026-03-10T13:00:00Z null versions")
	wantTexts(t, "orders of before", s.texts(`select concat_ws(' ', body->>'totalMinor', body->'number', body->>'name', body->>'isFirstOrder', is_first_order, shipping_minor) from orders where order_id in ('versions', 'once') order by order_id`),
		"30 #1 true t 0", "2000 null 0")
	up()
	wantTexts(t, "versions", stored(), versions...)
	wantTexts(t, "columns", s.texts(`select concat_ws(' ', order_id, name, number, discount_code, sent_first) from orders where order_id in ('versions', 'once') order by order_id`), "once #1 t", "versions")
	s.workOff()
	if got := s.outcomes(); got != want {
		t.Error(firstDifference(got, want))
	}
	s.wantSums("after the migration")
}
