package connect_test

import (
	"bytes"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/test/await"
)

func TestTheReceiverTakesWhatThePlatformSigned(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server, _ := w.run()
	w.connect(0, time.Now())
	good := delivery{Kind: platform.NoticeOrder, Order: "o1", Shop: "loja-1"}
	header, body := signed(w.secret(), good)
	forged, _ := signed("a guess", good)
	ofAnother, another := signed(w.secret(), delivery{Kind: platform.NoticeOrder, Order: "o1", Shop: "loja-2"})
	for _, c := range []struct {
		method, path string
		header       http.Header
		body         []byte
		want         int
	}{
		{"GET", w.address(), nil, nil, http.StatusMethodNotAllowed},
		{"PUT", w.address(), header, body, http.StatusMethodNotAllowed},
		{"POST", w.address() + "x", header, body, http.StatusNotFound},
		{"POST", "/connect/testshop/abcdefghijklmnopqrstuvwxyz", header, body, http.StatusNotFound},
		{"POST", "/connect/othershop/" + w.id, header, body, http.StatusNotFound},
		{"POST", w.address(), forged, body, http.StatusUnauthorized},
		{"POST", w.address(), nil, body, http.StatusUnauthorized},
		{"POST", w.address(), header, append(bytes.Clone(body), ' '), http.StatusUnauthorized},
		{"POST", w.address(), ofAnother, another, http.StatusUnauthorized},
		{"POST", w.address(), header, bytes.Repeat([]byte("a"), 1<<20+1), http.StatusRequestEntityTooLarge},
	} {
		if got := w.send(server, c.method, c.path, c.header, c.body); got != c.want {
			t.Errorf("%s %.40s: %d, want %d", c.method, c.path, got, c.want)
		}
	}
	if n := w.shop.count("Order"); n != 0 {
		t.Fatalf("%d orders were read for what was refused", n)
	}
	for n := range 400 { // far beyond what a network may forge
		if got := w.send(server, "POST", w.address(), forged, body); got != http.StatusUnauthorized && got != http.StatusTooManyRequests {
			t.Fatalf("forged notice %d: %d", n, got)
		}
	}
	w.shop.put("o1", w.now(), w.now(), "10.00")
	if got := w.send(server, "POST", w.address(), header, body); got != http.StatusOK {
		t.Errorf("a good notice after forged ones of the same network: %d", got)
	}
	await.Until(t, await.Long, func() bool { _, found := w.kafka.get("o1"); return found }, func() string { return "the order did not come" })
}

// A flood of notices of one order is few fetches, never two at a time, whichever services run.
func TestAFloodOfNoticesOfOneOrderIsFewFetches(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server, _ := w.run()
	other, _ := w.run()
	w.connect(0, time.Now())
	w.shop.put("o1", w.now(), w.now(), "10.00")
	header, body := signed(w.secret(), delivery{Kind: platform.NoticeOrder, Order: "o1", Shop: "loja-1"})
	const flood = 200
	var senders sync.WaitGroup
	var late atomic.Int32
	for n := range 4 {
		senders.Go(func() {
			for range flood / 4 {
				to := server
				if n%2 == 1 {
					to = other
				}
				switch got := w.send(to, "POST", w.address(), header, body); got {
				case http.StatusOK:
				case http.StatusServiceUnavailable: // within its second the database did not answer: the platform sends it again
					late.Add(1)
				default:
					t.Errorf("a notice is answered %d", got)
				}
			}
		})
	}
	senders.Wait()
	if late.Load() > flood/10 {
		t.Errorf("%d of %d notices were not stored in time", late.Load(), flood)
	}
	w.shop.put("o1", w.now(), w.now(), "11.00")
	w.send(server, "POST", w.address(), header, body)
	w.same()
	if n := w.shop.count("Order"); n > flood/2 {
		t.Errorf("%d fetches for %d notices of one order", n, flood)
	}
	w.shop.mu.Lock()
	defer w.shop.mu.Unlock()
	if w.shop.together != 0 {
		t.Errorf("the order was fetched %d times beside another fetch of it", w.shop.together)
	}
}

func TestAPrivacyNoticeIsDoneWhenTheAPITookIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server, _ := w.run()
	w.connect(0, time.Now())
	for _, kind := range []string{platform.NoticeRedact, platform.NoticeDataRequest} {
		header, body := signed(w.secret(), delivery{Kind: kind, Shop: "loja-1", Email: "ana.souza@example.com", Customer: "c77"})
		if got := w.send(server, "POST", w.address(), header, body); got != http.StatusOK {
			t.Fatalf("%s is answered %d", kind, got)
		}
		await.Until(t, await.Long, func() bool {
			return w.rows(`select count(*) from audit_log where action = $1`, "connection."+kind) == 1
		},
			func() string { return kind + " is not in the audit log" })
	}
	if n := w.rows(`select count(*) from erasure`); n != 1 {
		t.Errorf("%d erasures", n)
	}
	if list, err := w.db.ShopRequests(t.Context(), w.author.CompanyID, w.id); err != nil || len(list) != 1 ||
		list[0].Kind != platform.NoticeDataRequest || list[0].Customer != "c77" || list[0].AskedAt.IsZero() {
		t.Errorf("what the merchant has to do: %+v, %v", list, err)
	}
	if n := w.rows(`select count(*) from connection_notice`); n != 0 {
		t.Errorf("%d notices are left", n)
	}
	if n := w.rows(`select count(*) from audit_log where detail::text like '%ana.souza%' or detail::text like '%c77%'`); n != 0 {
		t.Error("the audit log has whom the notices named")
	}
}

// An old notice that the app was removed ends nothing; a true one does.
func TestARemovedAppEndsTheConnection(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server, _ := w.run()
	w.connect(0, time.Now())
	header, body := signed(w.secret(), delivery{Kind: platform.NoticeUninstalled, Shop: "loja-1"})
	asked := w.shop.count("About")
	w.send(server, "POST", w.address(), header, body)
	await.Until(t, await.Long, func() bool {
		return w.shop.count("About") > asked && w.rows(`select count(*) from connection_notice`) == 0
	},
		func() string { return "the shop is not asked" })
	if c := w.connection(); c.State != commerce.ConnectionLive {
		t.Fatalf("a replayed notice made it %s", c.State)
	}
	w.shop.mu.Lock()
	w.shop.fail = func(string, string) error { return &platform.Error{Reason: commerce.ShopRefusedKey} }
	w.shop.mu.Unlock()
	w.send(server, "POST", w.address(), header, body)
	w.await("ended", func(c commerce.Connection) bool {
		return c.State == commerce.ConnectionEnded && c.Reason == commerce.ShopUninstalled
	})
}

func (w *world) rows(query string, args ...any) (n int) {
	w.t.Helper()
	w.query(query, &n, args...)
	return n
}
