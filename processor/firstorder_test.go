package processor

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/wire"
)

// docs/attribution.md, "Payout", "First orders": a key's lifetime count makes no hub,
// its orders in an order's own interval do, and every order of arrival gives the same.
func TestFirstOrdersOfAFaithfulCustomerAndOfACashDesk(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	const faithful, busy = 240, 205
	var orders []record
	add := func(id string, at time.Time, email string, status int) {
		orders = append(orders, s.record(s.order(id, at, 100, func(o *wire.Order) { o.EmailKey, o.Status = wire.Some(email), status })))
	}
	for i := range faithful { // one order in two days: sixteen in an interval
		add(fmt.Sprintf("a%03d", i), noon.Add(time.Duration(i)*48*time.Hour), "k1:ana", 0)
	}
	for i := range busy { // 205 orders of one day, and one of two years later
		add(fmt.Sprintf("b%03d", i), noon.Add(time.Duration(i)*time.Minute), "k1:desk", 0)
	}
	add("c", noon.Add(2*365*24*time.Hour), "k1:desk", 0)
	r := rand.New(rand.NewPCG(1, 2))
	r.Shuffle(len(orders), func(i, j int) { orders[i], orders[j] = orders[j], orders[i] })
	s.apply(orders, func() int { return 1 + r.IntN(40) })

	first := func(where string) []string {
		return s.texts(`select concat_ws(' ', coalesce(is_first_order::text, 'unknown'), count(*)) from orders left join payout using ` +
			`(company_id, order_id) where order_id ` + where + ` group by is_first_order order by 1`)
	}
	wantTexts(t, "the faithful customer's", first(`like 'a%'`), "false 239", "true 1")
	wantTexts(t, "the first", first(`= 'a000'`), "true 1")
	wantTexts(t, "the cash desk's of its busy day", first(`like 'b%'`), "unknown 205")
	wantTexts(t, "the cash desk's of two years later", first(`= 'c'`), "false 1")

	// The first two are cancelled, so the third is the first approved one.
	next := func(id string, at time.Time, status int, email string) record {
		return s.record(s.order(id, at, 100, func(o *wire.Order) {
			o.EmailKey, o.Status, o.UpdatedAt = wire.Some(email), status, wire.Some(at.Add(time.Hour))
		}))
	}
	change := func(records ...record) {
		t.Helper()
		o := s.owner()
		for i := range records {
			records[i].Offset = o.next[records[i].topic] + int64(i)
		}
		if err := o.applyRecords(s.ctx, records); err != nil {
			t.Fatal(err)
		}
	}
	second := noon.Add(48 * time.Hour)
	change(next("a000", noon, 2, "k1:ana"), next("a001", second, 2, "k1:ana"))
	wantTexts(t, "after two cancellations", first(`in ('a000', 'a001', 'a002')`), "true 3")
	wantTexts(t, "the others", first(`like 'a%' and order_id > 'a002'`), "false 237")
	change(next("a001", second.Add(time.Hour), 0, "k1:ana"))
	wantTexts(t, "after an approval", first(`in ('a000', 'a001')`), "true 2")
	wantTexts(t, "the others after it", first(`like 'a%' and order_id > 'a001'`), "false 238")
	change(next("a001", second.Add(2*time.Hour), 1, "k1:ana"))
	wantTexts(t, "a pending order takes away no first one", first(`= 'a002'`), "true 1")
	change(next("a001", second.Add(3*time.Hour), 0, "k1:ana"))
	wantTexts(t, "an approved one does", first(`= 'a002'`), "false 1")

	// Five orders leave the cash desk: 200 of a day make no hub.
	var leaving []record
	for i := range busy - 200 {
		leaving = append(leaving, next(fmt.Sprintf("b%03d", 10+i), noon.Add(time.Duration(10+i)*time.Minute), 0, "k1:other"))
	}
	change(leaving...)
	wantTexts(t, "the cash desk's that stay", first(`like 'b%' and order_id not between 'b010' and 'b014'`), "false 199", "true 1")
}

// An order that was quarantined before it had an outcome is computed since an event concerns it:
// it is said then whether it is its customer's first, and it waits no more.
func TestAnOrderThatWasQuarantinedIsComputedByAnEvent(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	o := s.owner()
	mail := func(o *wire.Order) { o.EmailKey = wire.Some("k1:me") }
	order := numbered([]record{s.record(s.order("o1", noon, 1000, mail))})
	if _, err := o.applyOnce(s.ctx, order, everyCompany); err != nil {
		t.Fatal(err)
	}
	s.exec(`update recompute set failure = 'it takes too long to compute'`)
	s.exec(`delete from recompute_company`)
	o = s.owner()
	o.queued = false
	if err := o.applyRecords(s.ctx,
		numbered([]record{s.record(s.event("v1", noon, 1, func(e *wire.Event) { e.Identity.EmailKey = "k1:me" }))})); err != nil {
		t.Fatal(err)
	}
	wantTexts(t, "first orders", s.texts(`select concat_ws(' ', order_id, is_first_order) from payout`), "o1 t")
	wantTexts(t, "waiting", s.texts(`select order_id from recompute`))
}
