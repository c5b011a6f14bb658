package connect_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/tributary-io/tributary/connect"
	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
)

func TestAConnectionBringsEarlierOrdersAndNewOnes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	now := time.Now().UTC().Truncate(time.Second)
	for n := range 23 {
		at := now.Add(-time.Duration(n) * 11 * time.Hour)
		w.shop.put(fmt.Sprint("old-", n), at, at, "10.50", func(o *platform.Order) { o.Codes = []platform.Code{{Code: "ANA10", Amount: "1.00"}} })
	}
	w.shop.put("test", now.Add(-time.Hour), now.Add(-time.Hour), "1.00", func(o *platform.Order) { o.Test = true })
	tracer, spans := devtest.Traces(t, 1)
	w.run(func(_ *connect.Config, d *connect.Deps) { d.Tracer = tracer })
	w.draft()
	test := w.task(commerce.TaskTest, nil)
	var preview commerce.ShopPreview
	w.must(json.Unmarshal(test.Answer, &preview))
	if preview.Shop != "loja-1" || preview.Orders != 23 || preview.Total != "241.5" || preview.Currency != "BRL" || preview.More ||
		len(preview.Codes) != 1 || preview.Codes[0] != (commerce.PreviewedCode{Code: "ANA10", Orders: 23}) {
		t.Errorf("the preview is %+v", preview)
	}
	if w.shop.count("Subscribe") != 0 || len(w.kafka.orders) != 0 {
		t.Error("a test asked for notices or sent orders")
	}
	paid := now.Add(-3 * 24 * time.Hour)
	w.start(5, paid)
	w.await("live", func(c commerce.Connection) bool {
		return c.State == commerce.ConnectionLive && !c.Backfill.Ended.IsZero() && !c.PolledAt.IsZero()
	})
	w.checks.begin = w.connection().Cursor
	from := w.connection().Backfill.From
	for _, item := range w.shop.all() {
		got, found := w.kafka.get(item.ID)
		if want := !item.CreatedAt.Before(from) && !item.Order.Test; found != want {
			t.Errorf("%s of %v: taken %t, want %t", item.ID, item.CreatedAt, found, want)
		} else if found && got.NoCommission.Value != item.CreatedAt.Before(paid) {
			t.Errorf("%s of %v: without commission %t", item.ID, item.CreatedAt, got.NoCommission.Value)
		}
	}
	c := w.connection()
	if c.Tests == 0 || c.Backfill.Done < 10 || !c.NoticesOn || c.ShopName != "Loja Um" {
		t.Errorf("the connection is %+v", c)
	}
	w.shop.put("new", w.now(), w.now(), "99.90")
	w.shop.put("old-0", now, w.now(), "5.25")
	w.poll()
	for id, total := range map[string]int64{"new": 9990, "old-0": 525} {
		if got, _ := w.kafka.get(id); got.TotalMinor != total {
			t.Errorf("%s has %d, want %d", id, got.TotalMinor, total)
		}
	}
	writes := w.kafka.writes
	w.poll()
	if w.kafka.writes != writes {
		t.Errorf("a poll without a change sent %d orders again", w.kafka.writes-writes)
	}
	oneTraceAVisit(t, spans.All())
}

// oneTraceAVisit: a visit begins a trace, and the requests to the admin API are in it.
func oneTraceAVisit(t *testing.T, spans tracetest.SpanStubs) {
	t.Helper()
	visits, requests := map[trace.TraceID]bool{}, 0
	for _, span := range spans {
		if span.Parent.IsValid() == (span.Name == "visit") {
			t.Errorf("the span %q has the parent %v", span.Name, span.Parent.SpanID())
		}
		if span.Name == "visit" {
			visits[span.SpanContext.TraceID()] = true
		}
	}
	for _, span := range spans {
		if strings.HasPrefix(span.Name, "POST admin /orders") && visits[span.SpanContext.TraceID()] {
			requests++
		}
	}
	if requests == 0 {
		t.Errorf("none of %d spans is a request in one of %d visits", len(spans), len(visits))
	}
}

func TestAnOrderThatIsRefusedHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run()
	w.connect(0, time.Now())
	w.checks.begin = time.Time{} // what is set aside is not sent
	at := w.now()
	w.shop.put("bad", at, at, "-5.00")
	w.shop.put("dollars", at, at, "10.00", func(o *platform.Order) { o.Currency = "USD" })
	w.shop.set(platform.Item{ID: "shape", UpdatedAt: at, CreatedAt: at,
		Aside: &platform.Aside{Reason: commerce.ShopUnknownShape, Detail: "payment_status", Fields: []string{"id", "payment_status"}}})
	for n := range 60 { // more than go one by one
		w.shop.put(fmt.Sprint("good-", n), at, at, "10.00")
	}
	w.poll()
	aside := w.aside()
	for id, want := range map[string]string{"bad": commerce.ShopOrderRefused, "dollars": commerce.ShopCurrency,
		"shape": commerce.ShopUnknownShape} {
		if aside[id].Reason != want {
			t.Errorf("%s is aside for %+v, want %s", id, aside[id], want)
		}
	}
	if !strings.HasPrefix(aside["bad"].Detail, "totalPrice ") || aside["dollars"].Detail != "USD" || len(aside["shape"].Fields) != 2 {
		t.Errorf("aside: %+v", aside)
	}
	for n := range 60 {
		if _, found := w.kafka.get(fmt.Sprint("good-", n)); !found {
			t.Errorf("good-%d was not taken", n)
		}
	}
	w.poll()
	if again := w.aside()["bad"]; again.Attempts != aside["bad"].Attempts {
		t.Errorf("a poll without a change tried it again: %+v", again)
	}
	for _, id := range []string{"bad", "dollars", "shape"} {
		w.shop.put(id, at, at, "7.00")
	}
	if got := w.task(commerce.TaskRetry, nil); got.Reason != "" {
		t.Fatalf("retry: %+v", got)
	}
	if left := w.aside(); len(left) != 0 {
		t.Errorf("still aside: %+v", left)
	}
	w.same()
}

func TestStatesSayWhyAndWhatComesBackIsRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run()
	w.connect(0, time.Now())
	failWith := func(reason string) {
		w.shop.mu.Lock()
		defer w.shop.mu.Unlock()
		w.shop.fail = nil
		if reason != "" {
			w.shop.fail = func(string, string) error { return &platform.Error{Reason: reason, Detail: "402"} }
		}
	}
	again := func() {
		w.later(20 * time.Minute)
		w.sql(`update connection_turn set next_at = now() where leased_until is null`)
	}
	failWith(commerce.ShopSuspended)
	again()
	w.await("failing", func(c commerce.Connection) bool {
		return c.State == commerce.ConnectionFailing && c.Reason == commerce.ShopSuspended && c.Detail == "402"
	})
	w.sql(`update connection set cursor_at = now() - interval '5 days', polled_at = now() - interval '5 days'`)
	long := time.Now().Add(-4 * 24 * time.Hour)
	w.shop.put("meanwhile", long, long, "12.00")
	failWith("")
	again()
	w.await("live again", func(c commerce.Connection) bool { return c.State == commerce.ConnectionLive && c.Reason == "" })
	w.same()
	failWith(commerce.ShopRefusedKey)
	again()
	w.await("failing", func(c commerce.Connection) bool {
		return c.State == commerce.ConnectionFailing && c.Reason == commerce.ShopRefusedKey
	})
	again()
	time.Sleep(200 * time.Millisecond)
	if c := w.connection(); c.State != commerce.ConnectionFailing {
		t.Fatalf("after 20 minutes it is %s", c.State)
	}
	w.later(24 * time.Hour)
	again()
	w.await("ended", func(c commerce.Connection) bool {
		return c.State == commerce.ConnectionEnded && c.Reason == commerce.ShopRefusedKey
	})
}

func TestABackfillGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	now := time.Now().UTC().Truncate(time.Second)
	for n := range 60 {
		at := now.Add(-time.Duration(n+1) * 3 * time.Hour)
		w.shop.put(fmt.Sprintf("o%02d", n), at, at, "10.00")
	}
	_, stop := w.run()
	w.draft()
	w.task(commerce.TaskTest, nil)
	var pages atomic.Int32
	reached := make(chan struct{})
	w.shop.mu.Lock()
	w.shop.hold = func(ctx context.Context, method string) {
		if method == "Created" && pages.Add(1) == 8 {
			close(reached)
			<-ctx.Done()
		}
	}
	w.shop.mu.Unlock()
	w.start(7, now)
	<-reached
	stop()
	place := w.connection().Backfill
	if !place.Ended.IsZero() || place.Done == 0 || !place.At.After(place.From) || place.Total != 55 {
		t.Fatalf("the place is %+v", place)
	}
	w.shop.mu.Lock()
	w.shop.hold = nil
	before := w.shop.asked["Created"]
	w.shop.mu.Unlock()
	w.run()
	w.await("live", func(c commerce.Connection) bool { return c.State == commerce.ConnectionLive })
	from := w.connection().Backfill.From
	for _, item := range w.shop.all() {
		if _, found := w.kafka.get(item.ID); !found && !item.CreatedAt.Before(from) {
			t.Errorf("%s was not taken", item.ID)
		}
	}
	if got := w.shop.count("Created") - before; got > 14 {
		t.Errorf("%d pages were read after the stop: it began anew", got)
	}
}

func TestWhatDiffersIsSentAgainAndWhatStillDiffersIsShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	now := time.Now().UTC().Truncate(time.Second)
	for n := range 12 {
		at := now.Add(-time.Duration(n+25) * time.Hour)
		w.shop.put(fmt.Sprint("o", n), at, at, "10.00")
	}
	w.shop.put("cancelled", now.Add(-31*time.Hour), now, "10.00", func(o *platform.Order) { o.Status = int(commerce.OrderCancelled) })
	w.run()
	w.connect(10, now.Add(-30*24*time.Hour))
	w.kafka.forget("o3")
	w.shop.put("o4", now.Add(-29*time.Hour), now.Add(-29*time.Hour), "4.00") // its time of change did not move
	w.shop.set(platform.Item{ID: "o5", CreatedAt: now.Add(-30 * time.Hour), UpdatedAt: now, Order: &platform.Order{OrderID: "o5",
		CreatedAt: now.Add(-30 * time.Hour), UpdatedAt: now, TotalPrice: "-1", Currency: "BRL", Codes: []platform.Code{}}})
	w.shop.mu.Lock()
	delete(w.shop.orders, "o6")
	delete(w.shop.orders, "cancelled") // shops remove such orders: nobody is warned
	w.shop.mu.Unlock()
	if got := w.task(commerce.TaskCompare, nil); got.Reason != "" {
		t.Fatalf("compare: %+v", got)
	}
	if got, found := w.kafka.get("o3"); !found || got.TotalMinor != 1000 {
		t.Error("what is missing was not sent again")
	}
	if got, _ := w.kafka.get("o4"); got.TotalMinor != 400 {
		t.Errorf("what differs has %d", got.TotalMinor)
	}
	days, err := w.db.ConnectionDays(t.Context(), w.author.CompanyID, w.id)
	w.must(err)
	var missing, differ, alone, ours, theirs int64
	for _, d := range days {
		missing, differ, alone, ours, theirs = missing+d.Missing, differ+d.Differ, alone+d.OursAlone, ours+d.Orders, theirs+d.ShopOrders
	}
	if missing != 0 || differ != 1 {
		t.Errorf("%d missing and %d differ, want the one that the API refuses: %+v", missing, differ, days)
	}
	if alone != 1 || ours != theirs+1 {
		t.Errorf("%d ours alone, want the one that the shop removed; %d of ours, %d of the shop's", alone, ours, theirs)
	}
	if !strings.Contains(w.logs.String(), "orders of a shop differ from ours") {
		t.Error("no warning")
	}
	if w.connection().Reconciled.IsZero() {
		t.Error("it is not noted when they were compared")
	}
}

func TestACouponIsMadeOnceAndReadBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run()
	w.connect(0, time.Now())
	w.shop.lostAnswer = true
	for range 2 {
		got := w.task(commerce.TaskCoupon, commerce.ShopCoupon{Code: "ANA10", Percent: "10"})
		var c commerce.ShopCoupon
		if got.Reason != "" {
			t.Fatalf("%s %s", got.Reason, got.Detail)
		}
		w.must(json.Unmarshal(got.Answer, &c))
		if c.Code != "ANA10" || c.Percent != "10" || !c.Enabled || c.Difference != "" {
			t.Errorf("the shop has %+v", c)
		}
	}
	if n := w.shop.count("CreateCoupon"); n != 1 {
		t.Errorf("it was made %d times", n)
	}
}

func TestAnOlderKeyIsNotNeededForLong(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, stop := w.run()
	w.connect(0, time.Now())
	stop()
	keys, err := w.keys.Rotated()
	w.must(err)
	w.keys = keys
	newest, _ := keys.Newest()
	w.run()
	w.later(10 * time.Minute)
	w.sql(`update connection_turn set next_at = now()`)
	await.Until(t, await.Long, func() bool {
		c, err := w.db.ConnectionByID(t.Context(), w.id)
		w.must(err)
		return c.KeyID == newest && c.APIKeyKeyID == newest
	}, func() string { return "the older key is still needed" })
	w.shop.put("o1", w.now(), w.now(), "10.00")
	w.poll()
	w.same()
}

// A shop without orders may not tell in which currency it sells: it can be connected all the same.
func TestAShopThatTellsNoCurrencyIsConnected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, stop := w.run()
	defer stop()
	w.shop.mu.Lock()
	w.shop.currency = ""
	w.shop.mu.Unlock()
	w.connect(0, time.Now())
	w.shop.put("own", time.Now(), time.Now(), "20.00")
	w.poll()
	w.same()
}

func TestAWrongKeyAndAnotherCurrencySaySo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run()
	w.shop.currency = "USD"
	w.draft()
	if got := w.task(commerce.TaskTest, nil); got.Reason != commerce.ShopCurrency || got.Detail != "USD" {
		t.Errorf("another currency: %+v", got)
	}
	w.shop.mu.Lock()
	w.shop.currency = "BRL"
	w.shop.fail = func(string, string) error { return &platform.Error{Reason: commerce.ShopRefusedKey, Detail: "401"} }
	w.shop.mu.Unlock()
	if got := w.task(commerce.TaskTest, nil); got.Reason != commerce.ShopRefusedKey {
		t.Errorf("a wrong key: %+v", got)
	}
	if c := w.connection(); c.State != commerce.ConnectionDraft {
		t.Errorf("the draft is %s", c.State)
	}
}

func TestEndingTakesTheNoticesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run()
	w.connect(0, time.Now())
	if len(w.shop.addresses) != 1 || !strings.HasSuffix(w.shop.addresses[0], w.address()) {
		t.Fatalf("notices go to %v", w.shop.addresses)
	}
	w.must(w.db.EndConnection(t.Context(), w.author, w.id))
	await.Until(t, await.Long, func() bool {
		c, err := w.db.ConnectionByID(t.Context(), w.id)
		w.must(err)
		w.shop.mu.Lock()
		defer w.shop.mu.Unlock()
		return len(w.shop.addresses) == 0 && len(c.Sealed) == 0
	}, func() string { return "the notices, or the credentials, are still there" })
}

// Neither the merchant's key, the API key, the secret of notices, the whole address nor anything of a buyer is in the log.
func TestLogsHaveNoSecretAndNoPerson(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server, _ := w.run()
	w.connect(0, time.Now())
	w.checks.begin = time.Time{}
	at := w.now()
	w.shop.put("bad", at, at, "-5.00")
	w.poll()
	header, body := signed(w.secret(), delivery{Kind: platform.NoticeRedact, Shop: "loja-1", Email: "ana.souza@example.com", Customer: "c77"})
	w.send(server, "POST", w.address(), header, body)
	w.shop.mu.Lock()
	w.shop.fail = func(string, string) error { return &platform.Error{Reason: commerce.ShopUnavailable, Detail: "500"} }
	w.shop.mu.Unlock()
	w.later(time.Hour)
	w.sql(`update connection_turn set next_at = now() where leased_until is null`)
	w.await("failing", func(c commerce.Connection) bool { return c.State == commerce.ConnectionFailing })
	w.kafka.away.Store(true)
	c, err := w.db.ConnectionByID(t.Context(), w.id)
	w.must(err)
	key, err := w.keys.Open(c.APIKeyKeyID, account.SealedFor{CompanyID: c.CompanyID, ConnectionID: c.ID, Purpose: account.SealAPIKey},
		c.SealedAPIKey)
	w.must(err)
	logs := w.logs.String()
	if !strings.Contains(logs, "a shop cannot be read") {
		t.Fatal("nothing is logged")
	}
	for what, secret := range map[string]string{"merchant's key": theKey, "API key": string(key), "secret of notices": w.secret(),
		"address": w.id, "buyer": "ana.souza", "buyer's name": "Souza", "customer": "c77", "total": "-5.00"} {
		if strings.Contains(logs, secret) {
			t.Errorf("the log has the %s", what)
		}
	}
}
