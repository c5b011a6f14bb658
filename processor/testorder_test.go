package processor

import (
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/wire"
)

// docs/attribution.md, "Test orders": a test earns nothing, is no first order and is in no
// report; what it had earned is taken back, and the audit log says so.
func TestATestOrderCountsNowhere(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ana, inverno := s.influencer("Ana Prado", "Inverno")
	s.coupon(ana, inverno, "ANA10")
	s.cost(ana, inverno, 0, "10")
	o := s.owner()
	hours := 0
	send := func(id string, test wire.Optional[bool]) {
		t.Helper()
		at := noon
		if id == "later" {
			at = noon.Add(24 * time.Hour)
		}
		hours++
		r := s.record(s.order(id, at, 10000, func(o *wire.Order) {
			o.DiscountCode, o.EmailKey, o.Test = wire.Some("ANA10"), wire.Some("k1:ana"), test
			o.UpdatedAt = wire.Some(at.Add(time.Duration(hours) * time.Hour))
			o.Items = wire.Some([]wire.Item{{ProductID: "p", Quantity: 1, Price: "100"}})
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
			union all select concat_ws(' ', 'credits', order_id, count(*)) from credit group by order_id
			union all select concat_ws(' ', 'sold', day, orders, sales_minor, new_customers, returning_orders, commission_minor) from sale_day
				where orders <> 0
			union all select concat_ws(' ', 'product', day, quantity) from product_day where quantity <> 0
			union all select concat_ws(' ', 'audit', actor, subject, detail) from audit_log where action = 'order.test'
			order by 1`), lines...)
	}
	none, yes, no := wire.Optional[bool]{}, wire.Some(true), wire.Some(false)
	send("try", yes)
	send("later", none)
	want("a test and an order of its customer", "credits later 1", "later earned true 1000 1000", "product 2026-03-11 1",
		"sold 2026-03-11 1 10000 1 0 1000", "try none test_order unknown 0 0")
	since := func() string { return s.texts(`select approved_since::text from orders where order_id = 'try'`)[0] }
	send("try", no)
	want("the test is none any more", "credits later 1", "credits try 1", "later earned false 1000 1000", "product 2026-03-10 1",
		"product 2026-03-11 1",
		"sold 2026-03-10 1 10000 1 0 1000", "sold 2026-03-11 1 10000 0 1 1000", "try earned true 1000 1000")
	if got := since(); got != "2026-03-10 15:00:00+00" {
		t.Errorf("it counts since %s", got)
	}
	send("try", none)
	want("a version that does not say it keeps it", "credits later 1", "credits try 1", "later earned false 1000 1000", "product 2026-03-10 1",
		"product 2026-03-11 1",
		"sold 2026-03-10 1 10000 1 0 1000", "sold 2026-03-11 1 10000 0 1 1000", "try earned true 1000 1000")
	send("try", yes)
	want("it is a test again", `audit test try {"taken_back": "10.00 BRL", "influencer_id": "`+ana+`"}`, "credits later 1",
		"later earned true 1000 1000", "product 2026-03-11 1",
		"sold 2026-03-11 1 10000 1 0 1000", "try none test_order unknown 0 0")
	send("try", yes)
	if n := s.int(`select count(*) from audit_log where action = 'order.test'`); n != 1 {
		t.Errorf("the audit log says it %d times", n)
	}
}
