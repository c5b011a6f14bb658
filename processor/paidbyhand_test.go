package processor

import (
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/wire"
)

// An order whose commission was paid by hand (noCommission) earns nothing, and is in reports and its customer's first order
// like any other; what it had earned is taken back, and the audit log says so.
func TestAnOrderPaidByHandEarnsNothingAndCounts(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ana, inverno := s.influencer("Ana Prado", "Inverno")
	s.coupon(ana, inverno, "ANA10")
	s.cost(ana, inverno, 500, "10")
	o := s.owner()
	hours := 0
	send := func(id string, day int, noCommission wire.Optional[bool]) {
		t.Helper()
		at := noon.Add(time.Duration(day) * 24 * time.Hour)
		hours++
		r := s.record(s.order(id, at, 10000, func(o *wire.Order) {
			o.DiscountCode, o.EmailKey, o.NoCommission = wire.Some("ANA10"), wire.Some("k1:maria"), noCommission
			o.UpdatedAt = wire.Some(at.Add(time.Duration(hours) * time.Hour))
		}))
		r.Offset = o.next[r.topic]
		if err := o.applyRecords(s.ctx, []record{r}); err != nil {
			t.Fatal(err)
		}
		if wrong := s.unbalanced(); len(wrong) > 0 {
			t.Error(wrong)
		}
		if wrong := s.wrongSums(); len(wrong) > 0 {
			t.Errorf("sums differ: %v", wrong)
		}
	}
	want := func(what string, lines ...string) {
		t.Helper()
		wantTexts(t, what, s.texts(`
			select concat_ws(' ', order_id, state, nullif(reason, ''), coalesce(is_first_order::text, 'unknown'), commission_minor,
				(select coalesce(sum(amount_minor), 0) from ledger_entry l where l.order_id = p.order_id)) from payout p
			union all select concat_ws(' ', 'winner', order_id, influencer_id = '`+ana+`') from payout
			union all select concat_ws(' ', 'sold', day, orders, sales_minor, new_customers, commission_minor) from sale_day where orders <> 0
			union all select concat_ws(' ', 'audit', action, actor, subject, detail) from audit_log where action like 'order.%'
			order by 1`), lines...)
	}
	none, yes, no := wire.Optional[bool]{}, wire.Some(true), wire.Some(false)
	send("before", 0, yes)
	send("later", 1, none)
	want("an order paid by hand, and one of the same customer", "before none paid_by_hand true 0 0", "later earned false 1500 1500",
		"sold 2026-03-10 1 10000 1 0", "sold 2026-03-11 1 10000 0 1500", "winner before t", "winner later t")
	send("later", 1, yes)
	want("the other one too", `audit order.paid_by_hand test later {"taken_back": "15.00 BRL", "influencer_id": "`+ana+`"}`,
		"before none paid_by_hand true 0 0", "later none paid_by_hand false 0 0",
		"sold 2026-03-10 1 10000 1 0", "sold 2026-03-11 1 10000 0 0", "winner before t", "winner later t")
	send("before", 0, no)
	send("later", 1, none) // keeps what was said
	want("the first is paid after all", `audit order.paid_by_hand test later {"taken_back": "15.00 BRL", "influencer_id": "`+ana+`"}`,
		"before earned true 1500 1500", "later none paid_by_hand false 0 0",
		"sold 2026-03-10 1 10000 1 1500", "sold 2026-03-11 1 10000 0 0", "winner before t", "winner later t")
}
