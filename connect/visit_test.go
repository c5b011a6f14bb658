package connect_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tributary-io/tributary/connect"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/test/await"
)

// An order that is edited moves to the end of a list that is sorted by changes, and all behind it one place forward: so the next
// page begins one too late. What was changed long before the cursor comes in no later poll.
func TestAnEditBetweenTwoPagesLosesNoOrder(t *testing.T) {
	t.Parallel()
	for _, oldestFirst := range []bool{true, false} {
		t.Run(fmt.Sprint("oldest first ", oldestFirst), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.shop.oldestFirst = oldestFirst
			w.run()
			w.connect(0, time.Now())
			begin := time.Now().UTC().Truncate(time.Second).Add(-6 * 24 * time.Hour)
			w.sql(`update connection set cursor_at = $1`, begin)
			w.checks.begin = begin
			for n := range 40 {
				at := begin.Add(time.Duration(n+1) * 3 * time.Hour)
				w.shop.put(fmt.Sprintf("o%02d", n), at, at, "10.00")
			}
			edits := 0
			w.shop.mu.Lock()
			first := w.shop.asked["Changed"]
			w.shop.between = func(page int) {
				if page -= first; page >= 1 && page < 8 { // after each of these pages the first order that is not edited yet
					at := w.now()
					w.shop.put(fmt.Sprintf("o%02d", edits), begin, at, "20.00")
					edits++
				}
			}
			w.shop.mu.Unlock()
			w.poll()
			if edits < 5 {
				t.Fatalf("only %d edits between pages", edits)
			}
			for n := edits; n < 40; n++ {
				if _, found := w.kafka.get(fmt.Sprintf("o%02d", n)); !found {
					t.Errorf("order %d was passed by", n)
				}
			}
			w.poll()
			w.same()
		})
	}
}

func TestTheCursorWaitsForTheAdminAPI(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run()
	w.connect(0, time.Now())
	before := w.connection()
	w.kafka.away.Store(true)
	w.later(10 * time.Minute)
	w.shop.put("o1", w.now(), w.now(), "10.00")
	w.sql(`update connection_turn set next_at = now()`)
	asked := w.shop.count("Changed")
	await.Until(t, await.Long, func() bool { return w.shop.count("Changed") > asked }, func() string { return "it is not polled" })
	time.Sleep(300 * time.Millisecond)
	if c := w.connection(); !c.Cursor.Equal(before.Cursor) || !c.PolledAt.Equal(before.PolledAt) || c.State != commerce.ConnectionLive {
		t.Errorf("it moved to %+v while nothing could be sent", c)
	}
	w.kafka.away.Store(false)
	w.same()
}

// A service that lost its lease, since it was stopped for a while, must store nothing more.
func TestALostLeaseStoresNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, stop := w.run(func(c *connect.Config, _ *connect.Deps) { c.Lease = time.Hour }) // so that it does not notice by itself
	w.connect(0, time.Now())
	held, goOn := make(chan struct{}), make(chan struct{})
	var once atomic.Bool
	w.shop.mu.Lock()
	w.shop.hold = func(_ context.Context, method string) {
		if method == "Changed" && once.CompareAndSwap(false, true) {
			close(held)
			<-goOn
		}
	}
	w.shop.mu.Unlock()
	w.later(10 * time.Minute)
	w.shop.put("o1", w.now(), w.now(), "10.00")
	w.sql(`update connection_turn set next_at = now()`)
	<-held
	w.sql(`update connection_turn set holder = 'another', leased_until = now() + interval '1 hour'`)
	before := w.connection()
	close(goOn)
	stop()
	after := w.connection()
	if !after.Cursor.Equal(before.Cursor) || after.Orders != before.Orders || !after.PolledAt.Equal(before.PolledAt) {
		t.Errorf("a service without the lease stored %+v", after)
	}
	w.sql(`update connection_turn set leased_until = now() - interval '1 second', next_at = now()`)
	w.run()
	w.same()
}

// A service whose lease another one took ends its visit by itself.
func TestAVisitEndsWithItsLease(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(func(c *connect.Config, _ *connect.Deps) { c.Lease = time.Second })
	w.connect(0, time.Now())
	ended := make(chan struct{})
	var once atomic.Bool
	held := make(chan struct{})
	w.shop.mu.Lock()
	w.shop.hold = func(ctx context.Context, method string) {
		if method == "Changed" && once.CompareAndSwap(false, true) {
			close(held)
			<-ctx.Done()
			close(ended)
		}
	}
	w.shop.mu.Unlock()
	w.later(10 * time.Minute)
	w.sql(`update connection_turn set next_at = now()`)
	<-held
	w.sql(`update connection_turn set holder = 'another', leased_until = now() + interval '1 hour'`)
	select {
	case <-ended:
	case <-time.After(await.Long):
		t.Fatal("the visit goes on without its lease")
	}
}
