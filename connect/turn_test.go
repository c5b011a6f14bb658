package connect_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/await"
)

// What the merchant changes while a turn goes on is done at once: the turn cannot put off the one that follows it.
func TestAStartDuringATestIsNotPutOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, stop := w.run()
	defer stop()
	w.draft()
	if got := w.task(commerce.TaskTest, nil); got.Reason != "" {
		t.Fatalf("the test failed: %s %s", got.Reason, got.Detail)
	}
	entered, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	w.shop.mu.Lock()
	w.shop.hold = func(ctx context.Context, method string) {
		if method != "About" {
			return
		}
		once.Do(func() {
			close(entered)
			select {
			case <-release:
			case <-ctx.Done():
			}
		})
	}
	w.shop.mu.Unlock()
	_, err := w.db.AddConnectTask(t.Context(), w.author, commerce.ConnectTask{ConnectionID: w.id, Kind: commerce.TaskTest})
	w.must(err)
	<-entered
	w.start(0, time.Now())
	time.Sleep(2 * time.Second) // the service looks, and finds the connection in the hands of the turn that goes on
	close(release)
	w.await("live", func(c commerce.Connection) bool { return c.State == commerce.ConnectionLive })
}

// A platform ends a subscription without a word: it is made again.
func TestNoticesAreAskedForAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, stop := w.run()
	defer stop()
	w.connect(0, time.Now())
	subscribed := func() bool {
		w.shop.mu.Lock()
		defer w.shop.mu.Unlock()
		return slices.ContainsFunc(w.shop.addresses, func(a string) bool { return len(a) > 0 })
	}
	if !subscribed() {
		t.Fatal("the shop was not asked for notices")
	}
	w.shop.mu.Lock()
	w.shop.addresses = nil
	w.shop.mu.Unlock()
	w.poll()
	if subscribed() {
		t.Error("the shop is asked at each turn")
	}
	w.later(time.Hour)
	w.poll()
	await.Until(t, await.Long, subscribed, func() string { return "the shop is not asked for notices again" })
}

// Notices that come as fast as they are worked on hold up neither what was not told, nor the earlier orders.
func TestNoticesThatNeverEndHoldUpNoOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, stop := w.run()
	defer stop()
	old := time.Now().Add(-24 * time.Hour)
	w.shop.put("earlier", old, old, "10.00")
	w.draft()
	if got := w.task(commerce.TaskTest, nil); got.Reason != "" {
		t.Fatalf("the test failed: %s %s", got.Reason, got.Detail)
	}
	var told atomic.Int64
	tell := func(ctx context.Context) {
		n := commerce.ShopNotice{Kind: platform.NoticeOrder, Key: fmt.Sprint("told-", told.Add(1)), At: w.now(), Due: w.now()}
		if err := w.db.AddNotices(ctx, w.author.CompanyID, w.id, []commerce.ShopNotice{n}); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	}
	w.shop.mu.Lock()
	w.shop.hold = func(ctx context.Context, method string) {
		if method == "Order" { // the next one is there before this one is done
			tell(ctx)
		}
	}
	w.shop.mu.Unlock()
	w.start(7, old)
	tell(t.Context())
	w.await("live", func(c commerce.Connection) bool { return c.State == commerce.ConnectionLive && !c.PolledAt.IsZero() })
	w.shop.put("untold", time.Now(), time.Now(), "20.00")
	w.poll()
	w.same()
	before := told.Load()
	await.Until(t, await.Long, func() bool { return told.Load() > before }, func() string { return "notices have ended" })
}

// A shop that is connected again with a later first day of commissions keeps what its orders earned, also where the processor is
// behind, and an earlier day gives the others theirs.
func TestTheFirstDayOfCommissionsTakesNothingBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	now := time.Now().UTC().Truncate(time.Second)
	for n := range 4 {
		at := now.Add(-time.Duration(n)*24*time.Hour - time.Hour)
		w.shop.put(fmt.Sprint(n), at, at, "10.50")
	}
	w.run()
	w.connect(5, now.Add(-48*time.Hour)) // 0 and 1 earn
	w.must(w.db.EndConnection(t.Context(), w.author, w.id))
	w.await("ended", func(c commerce.Connection) bool { return c.State == commerce.ConnectionEnded })
	w.checks.behind.Store(true)
	writes := w.kafka.writes
	w.connect(5, now)
	w.await("read", func(c commerce.Connection) bool { return !c.Backfill.Ended.IsZero() })
	if w.kafka.writes == writes {
		t.Fatal("nothing was read again")
	}
	w.shop.put("1", now.Add(-25*time.Hour), w.now(), "9.00") // an edit
	w.poll()
	for id, want := range map[string]bool{"0": false, "1": false, "2": true, "3": true} {
		if w.earnsNothing(id) != want {
			t.Errorf("connected again, order %s earns nothing: %t, want %t", id, !want, want)
		}
	}
	w.firstDay(now.Add(-10 * 24 * time.Hour))
	for _, id := range []string{"0", "1", "2", "3"} {
		if w.earnsNothing(id) {
			t.Errorf("order %s earns nothing after the first day was set before it", id)
		}
	}
}

// A merchant who pays an order by hand says so with a key of their own. What the shop changes later does not take that back.
func TestWhatAMerchantPaidByHandStaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	now := time.Now().UTC().Truncate(time.Second)
	paid := func(id string) {
		w.kafka.mu.Lock()
		defer w.kafka.mu.Unlock()
		o := w.kafka.orders[id]
		o.NoCommission = wire.Some(true)
		w.kafka.orders[id] = o
	}
	w.shop.put("early", now.Add(-50*time.Hour), now.Add(-50*time.Hour), "10.00")
	w.shop.put("late", now.Add(-2*time.Hour), now.Add(-2*time.Hour), "10.00")
	w.run()
	w.connect(5, now.Add(-24*time.Hour))
	w.firstDay(now.Add(-10 * 24 * time.Hour))
	for _, id := range []string{"early", "late"} {
		if w.earnsNothing(id) {
			t.Errorf("order %s earns nothing", id)
		}
		paid(id)
	}
	w.shop.put("early", now.Add(-50*time.Hour), w.now(), "9.00")
	w.shop.put("late", now.Add(-2*time.Hour), w.now(), "9.00")
	w.poll()
	w.same()
	for _, id := range []string{"early", "late"} {
		if !w.earnsNothing(id) {
			t.Errorf("order %s, paid by hand, earns again after the shop changed it", id)
		}
	}
}

func (w *world) earnsNothing(id string) bool {
	w.t.Helper()
	got, found := w.kafka.get(id)
	if !found {
		w.t.Fatalf("%s was not taken", id)
	}
	return got.NoCommission.Value
}

// firstDay sets the first day of commissions and has earlier orders read again.
func (w *world) firstDay(from time.Time) {
	w.t.Helper()
	w.must(w.db.ChangeConnection(w.t.Context(), w.author,
		commerce.ConnectionChange{ID: w.id, PollEvery: time.Minute, CommissionsFrom: from}))
	if got := w.task(commerce.TaskBackfill, commerce.BackfillAsked{Days: 5}); got.Reason != "" {
		w.t.Fatal(got.Reason)
	}
	w.await("read", func(c commerce.Connection) bool {
		return !c.Backfill.Ended.IsZero() && c.State == commerce.ConnectionLive
	})
}

// What the shop says of an order's creation may change: it is compared on the day that the shop lists it. Orders are read by pages.
func TestOrdersOfAShopAreOfTheDayThatItSaysNow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	now := time.Now().UTC().Truncate(time.Second)
	for n := range 5 {
		at := now.Add(-time.Duration(n+1) * time.Hour)
		w.shop.put(fmt.Sprint(n), at, at, "10.00")
	}
	w.run()
	w.connect(5, now.Add(-72*time.Hour))
	w.shop.put("0", now.Add(-48*time.Hour), w.now(), "10.00")
	w.poll()
	var ids []string
	var after commerce.SentOrder
	for len(ids) < 10 {
		page, err := w.db.OrdersOfShop(t.Context(), w.author.CompanyID, w.id, now.Add(-72*time.Hour), now, after, 2)
		if w.must(err); len(page) == 0 {
			break
		}
		for _, o := range page {
			ids = append(ids, o.OrderID)
		}
		after = page[len(page)-1]
	}
	if want := []string{"0", "4", "3", "2", "1"}; !slices.Equal(ids, want) {
		t.Errorf("by their creation they are %v, want %v", ids, want)
	}
}
