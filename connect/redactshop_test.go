package connect_test

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tributary-io/tributary/connect"
	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/test/await"
)

// shopRedacted counts lines of the audit log of a shop whose customers are to be erased.
const shopRedacted = `select count(*) from audit_log where action = 'connection.redact_shop'`

// soldTwo is a connection to a shop, which brought two orders.
func soldTwo(t *testing.T) (w *world, server *connect.Server) {
	w = newWorld(t)
	now := time.Now()
	for n := range 2 {
		at := now.Add(-time.Duration(n+1) * time.Hour)
		w.shop.put(fmt.Sprint("o", n), at, at, "10.00")
	}
	server, _ = w.run(withApp)
	w.connect(10, now)
	return w, server
}

// answers has each request to the shop answered so.
func (w *world) answers(reason string) {
	w.shop.mu.Lock()
	defer w.shop.mu.Unlock()
	if w.shop.fail = nil; reason != "" {
		w.shop.fail = func(string, string) error { return &platform.Error{Reason: reason} }
	}
}

// notify sends what the operator's app signed.
func (w *world) notify(server *connect.Server, kind string) {
	w.t.Helper()
	header, body := signed(appSecret, delivery{Kind: kind, Shop: "loja-1"})
	if got := w.send(server, "POST", appAddress, header, body); got != http.StatusOK {
		w.t.Fatalf("%s: answered %d", kind, got)
	}
}

// visitAfter has the connection looked at after some time.
func (w *world) visitAfter(d time.Duration) {
	w.t.Helper()
	w.later(d)
	w.sql(`update connection_turn set next_at = now()`)
}

// A connection that is paused, or fails, hears nothing of its shop's end. What the shop asks for then is done when the shop says
// that the app was removed, however late that is; a shop that takes its key is connected.
func TestAShopThatLeftWhileItsConnectionStoodStillIsErased(t *testing.T) {
	t.Parallel()
	for _, state := range []commerce.ConnectionState{commerce.ConnectionPaused, commerce.ConnectionFailing} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			w, server := soldTwo(t)
			if state == commerce.ConnectionPaused {
				w.must(w.db.PauseConnection(t.Context(), w.author, w.id))
				w.notify(server, platform.NoticeRedactShop)
				w.awaitRows(shopRedacted+` and not (detail->>'done')::boolean`, 1) // it is connected
			}
			w.answers(commerce.ShopUnavailable)
			if state == commerce.ConnectionFailing {
				w.visitAfter(3 * time.Minute)
				w.await("failing", func(c commerce.Connection) bool { return c.State == state })
			}
			before := w.rows(shopRedacted)
			w.notify(server, platform.NoticeRedactShop)
			w.awaitRows(`select count(*) from connection_notice where kind = 'redact_shop' and attempts = 1`, 1)
			w.visitAfter(2 * time.Hour)
			w.awaitRows(`select count(*) from connection_notice where kind = 'redact_shop' and attempts = 2`, 1)
			if n := w.rows(shopRedacted); n != before {
				t.Fatal("what a shop asks for that does not answer is thrown away")
			}
			w.answers(commerce.ShopRefusedKey)
			w.visitAfter(2 * time.Hour)
			w.await("ended", func(c commerce.Connection) bool { return c.State == commerce.ConnectionEnded })
			w.visitAfter(time.Minute)
			w.awaitRows(`select count(*) from shop_order where erasure_id is not null`, 2)
		})
	}
}

// A platform that says so ends a connection that is paused, and one that waits to ask its shop again.
func TestAnAppThatIsRemovedEndsAConnectionThatStandsStill(t *testing.T) {
	t.Parallel()
	w, server := soldTwo(t)
	w.must(w.db.PauseConnection(t.Context(), w.author, w.id))
	header, body := signed(w.secret(), delivery{Kind: platform.NoticeUninstalled, Shop: "loja-1"})
	uninstalled := func() {
		t.Helper()
		if got := w.send(server, "POST", w.address(), header, body); got != http.StatusOK {
			t.Fatalf("answered %d", got)
		}
	}
	uninstalled()
	w.awaitRows(`select count(*) from connection_notice`, 0)
	if c := w.connection(); c.State != commerce.ConnectionPaused {
		t.Fatalf("an old notice makes it %s", c.State)
	}
	w.answers(commerce.ShopRefusedKey)
	uninstalled()
	w.await("ended", func(c commerce.Connection) bool {
		return c.State == commerce.ConnectionEnded && c.Reason == commerce.ShopUninstalled
	})

	w, server = soldTwo(t)
	w.answers(commerce.ShopUnavailable)
	w.visitAfter(3 * time.Minute)
	w.await("failing", func(c commerce.Connection) bool { return c.State == commerce.ConnectionFailing })
	w.answers(commerce.ShopRefusedKey) // the shop is not asked for orders before the wait is over
	header, body = signed(w.secret(), delivery{Kind: platform.NoticeUninstalled, Shop: "loja-1"})
	uninstalled()
	w.await("ended", func(c commerce.Connection) bool {
		return c.State == commerce.ConnectionEnded && c.Reason == commerce.ShopUninstalled
	})
}

// A shop that fails each time puts off nothing that a person asked for, also in a process that has just begun.
func TestAShopThatFailsHoldsUpNoPerson(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, stop := w.run(withApp)
	w.connect(0, time.Now())
	w.answers(commerce.ShopUnavailable)
	w.visitAfter(3 * time.Minute)
	w.await("failing", func(c commerce.Connection) bool { return c.State == commerce.ConnectionFailing })
	stop()
	server, err := connect.New(connect.Config{AdminURL: w.api, Apps: map[string]connect.App{
		"testshop": {App: platform.App{ID: "1", Secret: appSecret}}}}, connect.Deps{Database: w.checks,
		Platforms: []platform.Platform{w.shop}, Keys: w.keys, Now: w.now})
	w.must(err)
	header, body := signed(appSecret, delivery{Kind: platform.NoticeRedact, Shop: "loja-1", Email: "ana.souza@example.com"})
	if got := w.send(server, "POST", appAddress, header, body); got != http.StatusOK {
		t.Fatalf("answered %d", got)
	}
	w.sql(`update connection_notice set attempts = 1`) // the admin API was away
	_, stop = w.run(withApp)
	w.awaitRows(`select count(*) from erasure`, 1)
	stop()
}

// What is not erased within a week is shown to the merchant, while it goes on; asked for seldom then. It is answered when it is done.
func TestAShopThatIsNotErasedWithinAWeekIsShown(t *testing.T) {
	t.Parallel()
	w, server := soldTwo(t)
	w.must(w.db.EndConnection(t.Context(), w.author, w.id))
	w.notify(server, platform.NoticeRedactShop)
	w.awaitRows(`select count(*) from shop_order where erasure_id is not null`, 2)
	w.visitAfter(6 * 24 * time.Hour)
	w.awaitRows(`select count(*) from connection_notice where attempts = 2`, 1)
	if n := w.rows(`select count(*) from connection_request`); n != 0 {
		t.Error("the merchant is told before a week is over")
	}
	w.visitAfter(2 * 24 * time.Hour)
	w.awaitRows(`select count(*) from connection_notice where attempts = 3`, 1)
	if n := w.rows(`select count(*) from connection_notice where due_at > $1`, w.now().Add(23*time.Hour)); n != 1 {
		t.Error("it is asked for again within a day")
	}
	list, err := w.db.ShopRequests(t.Context(), w.author.CompanyID, w.id)
	w.must(err)
	if len(list) != 1 || list[0].Kind != platform.NoticeRedactShop {
		t.Fatalf("the merchant is told %+v", list)
	}
	w.sql(`update erasure set done_at = now()`)
	w.sql(`delete from shop_order`) // as the processor does
	w.visitAfter(25 * time.Hour)
	w.awaitRows(shopRedacted+` and (detail->>'done')::boolean`, 1)
	if list, err = w.db.ShopRequests(t.Context(), w.author.CompanyID, w.id); err != nil || len(list) != 0 {
		t.Errorf("what is done is still asked for: %+v %v", list, err)
	}
}

// takes counts how often tasks are asked for.
type takes struct {
	*checked
	n atomic.Int64
}

func (c *takes) TakeTasks(ctx context.Context, l commerce.ConnectLease, companyID, id string, limit int) ([]commerce.ConnectTask, error) {
	c.n.Add(1)
	return c.checked.TakeTasks(ctx, l, companyID, id, limit)
}

// A visit asks for tasks at first, and again after it did something: not before each turn.
func TestAVisitThatPollsAsksForTasksTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	counted := &takes{checked: w.checks}
	_, stop := w.run(func(_ *connect.Config, d *connect.Deps) { d.Database = counted })
	w.connect(0, time.Now())
	w.sql(`update connection_turn set next_at = 'infinity'`)
	await.Until(t, await.Long, func() bool { return w.rows(`select count(*) from connection_turn where holder = ''`) == 1 },
		func() string { return "the connection is held" })
	before := counted.n.Load()
	w.poll()
	stop() // the visit has ended
	if n := counted.n.Load() - before; n < 1 || n > 2 {
		t.Errorf("a visit that polls asks %d times for tasks", n)
	}
}
