package connect_test

import (
	"testing"
	"time"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/await"
)

// failOrders has the shop fail to give some orders by their id; none: it gives all. Its lists have them.
func (w *world) failOrders(ids ...string) {
	w.shop.mu.Lock()
	defer w.shop.mu.Unlock()
	w.shop.fail = func(method, id string) error {
		for _, it := range ids {
			if method == "Order" && id == it {
				return &platform.Error{Reason: commerce.ShopUnavailable, Detail: "500"}
			}
		}
		return nil
	}
}

// asideByNotice tells the service of an order until it is set aside because it cannot be read by its id.
func (w *world) asideByNotice(id string) {
	w.t.Helper()
	w.must(w.db.AddNotices(w.t.Context(), w.author.CompanyID, w.id,
		[]commerce.ShopNotice{{Kind: platform.NoticeOrder, Key: id, At: w.now(), Due: time.Now().Add(-time.Minute)}}))
	await.Until(w.t, await.Long, func() bool {
		w.sql(`update connection_notice set due_at = now() - interval '1 minute', attempts = 5`)
		w.sql(`update connection_turn set next_at = now() where leased_until is null`)
		return w.aside()[id].Reason == commerce.ShopUnavailable
	}, func() string { return id + " is not set aside" })
}

// An order whose notice could not be done is mended by the next poll that lists it, also where that version was sent before.
func TestAPollMendsWhatANoticeSetAside(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run()
	w.connect(0, time.Now())
	w.shop.put("77", w.now(), w.now(), "10.00")
	w.poll()
	w.same()
	w.failOrders("77")
	w.asideByNotice("77")
	w.poll()
	w.await("without orders aside", func(c commerce.Connection) bool { return c.AsideCount == 0 })
}

// An order that the shop always fails to give keeps no other one aside, and each night all are tried again.
func TestAnOrderThatCannotBeReadKeepsNoOtherAside(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run()
	w.connect(0, time.Now().Add(-24*time.Hour))
	old := w.now().Add(-5 * time.Hour) // the polls do not list it
	for _, id := range []string{"1", "2", "3"} {
		w.shop.put(id, old, old, "10.00")
	}
	w.failOrders("1", "3")
	w.sql(`insert into connection_aside (company_id, connection_id, order_id, reason, detail, fields, at)
		select $1, $2, unnest(array['1', '2', '3']), 'unavailable', '', '{}', now()`, w.author.CompanyID, w.id)
	if got := w.task(commerce.TaskRetry, nil); got.Reason != commerce.ShopUnavailable {
		t.Errorf("the merchant is not told that some could not be read: %+v", got)
	}
	if left := w.aside(); len(left) != 2 || left["2"].OrderID != "" {
		t.Errorf("aside are %+v", left)
	}
	w.failOrders("1")
	if got := w.task(commerce.TaskCompare, nil); got.Reason != "" {
		t.Fatalf("compare: %+v", got)
	}
	if left := w.aside(); len(left) != 1 || left["1"].OrderID == "" {
		t.Errorf("after a comparison, aside are %+v", left)
	}
}

// That an order is deleted in the shop does not say that what it earned is to be paid: it is held until it is cancelled, or sent
// once more.
func TestADeletedOrderStaysAsideWhileItEarns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run()
	w.connect(5, time.Now().Add(-72*time.Hour))
	w.checks.begin = time.Time{} // what is set aside is not sent
	at := w.now()
	ids := []string{"cancelled", "paid", "resent", "stays", "unsent"}
	for _, id := range ids[:4] {
		w.shop.put(id, at, at, "10.00")
	}
	w.poll()
	w.same()
	for _, id := range ids {
		w.shop.set(platform.Item{ID: id, UpdatedAt: w.now(), CreatedAt: at,
			Aside: &platform.Aside{Reason: commerce.ShopUnknownShape, Detail: "payment_status"}})
	}
	w.poll()
	w.shop.mu.Lock()
	clear(w.shop.orders)
	w.shop.mu.Unlock()
	retry := func(want ...string) {
		t.Helper()
		if got := w.task(commerce.TaskRetry, nil); got.Reason != "" {
			t.Fatalf("retry: %+v", got)
		}
		left := w.aside()
		for _, id := range want {
			if left[id].Reason != commerce.ShopNotFound {
				t.Errorf("%s is aside as %+v", id, left[id])
			}
		}
		if len(left) != len(want) {
			t.Errorf("aside are %+v, want %v", left, want)
		}
	}
	w.checks.behind.Store(true)
	retry(ids[:4]...)
	w.checks.behind.Store(false)
	retry(ids[:4]...)
	own := func(id string, change func(*wire.Order)) {
		w.kafka.mu.Lock()
		defer w.kafka.mu.Unlock()
		o := w.kafka.orders[id]
		change(&o)
		w.kafka.orders[id] = o
	}
	own("cancelled", func(o *wire.Order) { o.Status = int(commerce.OrderCancelled) })
	own("paid", func(o *wire.Order) { o.NoCommission = wire.Some(true) })
	own("resent", func(o *wire.Order) { o.UpdatedAt = wire.Some(w.now().Add(time.Minute)) })
	retry("stays")
}
