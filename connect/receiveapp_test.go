package connect_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/tributary-io/tributary/connect"
	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/test/await"
)

const appSecret, appFormerSecret, appAddress = "the secret of the operator's app", "its former secret", "/connect/testshop"

func withApp(c *connect.Config, _ *connect.Deps) {
	c.Apps = map[string]connect.App{"testshop": {App: platform.App{ID: "1", Secret: appSecret}, FormerSecret: appFormerSecret},
		"othershop": {App: platform.App{ID: "1", Secret: appSecret}}}
}

// What the operator's app did not sign does nothing at the app's address, however often it comes, and holds up nobody.
func TestTheAddressOfTheAppTakesWhatTheAppSigned(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server, _ := w.run(withApp)
	plain, _ := w.run()
	w.connect(0, time.Now())
	redact := delivery{Kind: platform.NoticeRedact, Shop: "loja-1", Email: "ana.souza@example.com"}
	header, body := signed(appSecret, redact)
	another, _ := signed("another app's secret", redact)
	ofShop, _ := signed(w.secret(), redact)
	empty, _ := signed("", redact)
	otherShop := bytes.Replace(bytes.Clone(body), []byte("loja-1"), []byte("loja-2"), 1)
	for _, c := range []struct {
		what, method, path string
		header             http.Header
		body               []byte
		want               int
	}{
		{"a read", "GET", appAddress, header, body, http.StatusMethodNotAllowed},
		{"no signature", "POST", appAddress, nil, body, http.StatusUnauthorized},
		{"another app's secret", "POST", appAddress, another, body, http.StatusUnauthorized},
		{"the secret of one connection", "POST", appAddress, ofShop, body, http.StatusUnauthorized},
		{"an empty secret", "POST", appAddress, empty, body, http.StatusUnauthorized},
		{"another shop in the body", "POST", appAddress, header, otherShop, http.StatusUnauthorized},
		{"another body", "POST", appAddress, header, append(bytes.Clone(body), ' '), http.StatusUnauthorized},
		{"too much", "POST", appAddress, header, bytes.Repeat([]byte("a"), 1<<20+1), http.StatusRequestEntityTooLarge},
		{"a platform that is none", "POST", "/connect/othershop", header, body, http.StatusNotFound},
	} {
		if got := w.send(server, c.method, c.path, c.header, c.body); got != c.want {
			t.Errorf("%s: %d, want %d", c.what, got, c.want)
		}
	}
	if got := w.send(plain, "POST", appAddress, header, body); got != http.StatusNotFound {
		t.Errorf("without an app: %d", got)
	}
	refused := 0
	for range 400 {
		switch got := w.send(server, "POST", appAddress, another, body); got {
		case http.StatusUnauthorized:
		case http.StatusTooManyRequests:
			refused++
		default:
			t.Fatalf("forged: %d", got)
		}
	}
	if refused == 0 {
		t.Error("a network may forge without end")
	}
	if n := w.rows(`select count(*) from connection_notice`) + w.rows(`select count(*) from erasure`) +
		w.rows(`select count(*) from audit_log where action = 'connection.redact'`); n != 0 {
		t.Fatalf("%d rows of what was refused", n)
	}
	if got := w.send(server, "POST", appAddress, header, body); got != http.StatusOK {
		t.Errorf("a good notice after forged ones of the same network: %d", got)
	}
	w.awaitRows(`select count(*) from erasure`, 1)
}

// Each company that connected the shop does what the platform asks for, and no other; a shop that nobody connected is nothing.
func TestANoticeOfTheAppComesToEachCompanyThatConnectedTheShop(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server, _ := w.run(withApp)
	w.connect(0, time.Now())
	other, err := w.db.CreateStore(t.Context(), commerce.NewStore{Name: "Outra", Actor: "cli", KeyCheck: w.hasher.Check, Random: rand.Reader})
	w.must(err)
	first := w.author
	w.author.CompanyID = other.Live.CompanyID
	w.connect(0, time.Now())
	w.shop.mu.Lock()
	w.shop.name = "loja-3"
	w.shop.mu.Unlock()
	w.author.CompanyID = other.Sandbox.CompanyID
	w.connect(0, time.Now())

	header, body := signed(appSecret, delivery{Kind: platform.NoticeRedact, Shop: "loja-9", Email: "ana.souza@example.com"})
	if got := w.send(server, "POST", appAddress, header, body); got != http.StatusOK {
		t.Errorf("a shop that nobody connected: %d", got)
	}
	header, body = signed(appSecret, delivery{Kind: platform.NoticeOrder, Shop: "loja-1", Order: "o1"})
	if got := w.send(server, "POST", appAddress, header, body); got != http.StatusOK {
		t.Errorf("an order: %d", got)
	}
	if n := w.rows(`select count(*) from connection_notice`); n != 0 || w.shop.count("Order") != 0 {
		t.Errorf("%d notices are stored of a shop that nobody connected, or of an order", n)
	}

	header, body = signed(appFormerSecret, delivery{Kind: platform.NoticeRedact, Shop: "loja-1", Email: "ana.souza@example.com"})
	taken := 0
	for range 20 { // the platform, or who saw it, sends it again and again
		switch got := w.send(server, "POST", appAddress, header, body); got {
		case http.StatusOK:
			taken++
		case http.StatusServiceUnavailable: // within its second the database did not answer: the platform sends it again
		default:
			t.Fatalf("answered %d", got)
		}
	}
	if taken == 0 {
		t.Fatal("none was stored in time")
	}
	w.awaitRows(`select count(*) from connection_notice`, 0)
	for _, c := range []struct {
		company string
		want    int
	}{{first.CompanyID, 1}, {other.Live.CompanyID, 1}, {other.Sandbox.CompanyID, 0}} {
		if n := w.rows(`select count(*) from erasure where company_id = $1`, c.company); n != c.want {
			t.Errorf("%d erasures of %s, want %d", n, c.company, c.want)
		}
	}
}

// What is signed and comes again and again is put off by its shop, before the database is asked.
func TestAFloodToTheAddressOfTheAppIsPutOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	config, now := connect.Config{AdminURL: w.api}, time.Now()
	withApp(&config, nil)
	server, err := connect.New(config, connect.Deps{Database: w.checks, Platforms: []platform.Platform{w.shop}, Keys: w.keys,
		Now: func() time.Time { return now }})
	w.must(err)
	flood := func(shop string, times int) (putOff int) {
		header, body := signed(appSecret, delivery{Kind: platform.NoticeRedact, Shop: shop, Email: "ana.souza@example.com"})
		for range times {
			if w.send(server, "POST", appAddress, header, body) == http.StatusTooManyRequests {
				putOff++
			}
		}
		return putOff
	}
	if n := flood("loja-1", 450); n != 50 {
		t.Errorf("%d of 450 were put off", n)
	}
	if n := flood("loja-2", 1); n != 0 {
		t.Error("another shop is put off, too")
	}
}

// Where a company connected a shop anew, its newest connection hears what the platform asks for.
func TestANoticeOfTheAppComesToTheConnectionThatHasNotEnded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server, _ := w.run(withApp)
	for range 2 {
		w.connect(0, time.Now())
		w.must(w.db.EndConnection(t.Context(), w.author, w.id))
	}
	w.connect(0, time.Now())
	live := w.id
	header, body := signed(appSecret, delivery{Kind: platform.NoticeRedact, Shop: "loja-1", Email: "ana.souza@example.com"})
	if got := w.send(server, "POST", appAddress, header, body); got != http.StatusOK {
		t.Fatalf("answered %d", got)
	}
	w.awaitRows(`select count(*) from audit_log where action = 'connection.redact' and (detail->>'done')::boolean`, 1)
	if n := w.rows(`select count(*) from audit_log where action = 'connection.redact' and subject <> $1`, live); n != 0 {
		t.Errorf("%d ended connections heard it", n)
	}
}

// After the end of a connection its API key does not count: what the platform asks for then is shown to the merchant, and not lost. A
// shop that is connected is not erased.
func TestWhatIsAskedForAfterTheEndIsShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server, _ := w.run(withApp)
	w.connect(0, time.Now())
	whole, wholeBody := signed(appSecret, delivery{Kind: platform.NoticeRedactShop, Shop: "loja-1"})
	if got := w.send(server, "POST", appAddress, whole, wholeBody); got != http.StatusOK {
		t.Fatalf("answered %d", got)
	}
	w.awaitRows(`select count(*) from audit_log where action = 'connection.redact_shop' and not (detail->>'done')::boolean`, 1)
	if n := w.rows(`select count(*) from connection_request`); n != 0 {
		t.Error("a shop that is connected is to be erased")
	}
	w.must(w.db.EndConnection(t.Context(), w.author, w.id))
	one, body := signed(appSecret, delivery{Kind: platform.NoticeRedact, Shop: "loja-1", Email: "ana.souza@example.com", Customer: "c77"})
	for range 2 {
		for _, send := range []func() int{
			func() int { return w.send(server, "POST", appAddress, one, body) },
			func() int { return w.send(server, "POST", appAddress, whole, wholeBody) },
		} {
			if got := send(); got != http.StatusOK {
				t.Fatalf("answered %d", got)
			}
		}
		w.awaitRows(`select count(*) from connection_notice`, 0)
	}
	list, err := w.db.ShopRequests(t.Context(), w.author.CompanyID, w.id)
	w.must(err)
	kinds := map[string]string{}
	for _, r := range list {
		kinds[r.Kind] = r.Customer
	}
	if len(list) != 1 || kinds[platform.NoticeRedact] != "c77" {
		t.Errorf("%+v", list)
	}
	if n := w.rows(`select count(*) from audit_log where action = 'connection.redact_shop' and (detail->>'done')::boolean`); n != 2 {
		t.Errorf("%d times a shop is erased that brought no order", n)
	}
	if n := w.rows(`select count(*) from erasure`) + w.rows(`select count(*) from audit_log where detail::text like '%c77%'`); n != 0 {
		t.Errorf("%d erasures, or lines of the audit log that name the customer", n)
	}
}

// A shop that left asks to erase all its customers: those of the orders that came from it are, some at a time, until none is left. A
// shop that is connected anew is not erased.
func TestTheCustomersOfAShopThatLeftAreErased(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	now := time.Now()
	for n := range 3 {
		at := now.Add(-time.Duration(n+1) * time.Hour)
		w.shop.put(fmt.Sprint("o", n), at, at, "10.00")
	}
	server, _ := w.run(withApp)
	w.connect(10, now)
	if n := w.rows(`select count(*) from shop_order where shop = 'loja-1' and erasure_id is null`); n != 3 {
		t.Fatalf("%d orders are known to be the shop's", n)
	}
	first := w.id
	w.must(w.db.EndConnection(t.Context(), w.author, w.id))
	w.connect(10, now)
	header, body := signed(appSecret, delivery{Kind: platform.NoticeRedactShop, Shop: "loja-1"})
	redact := func(address string) {
		t.Helper()
		if got := w.send(server, "POST", address, header, body); got != http.StatusOK {
			t.Fatalf("answered %d", got)
		}
	}
	redact("/connect/testshop/" + first)
	redact(appAddress)
	w.awaitRows(`select count(*) from audit_log where action = 'connection.redact_shop' and not (detail->>'done')::boolean`, 2)
	if n := w.rows(`select count(*) from erasure`); n != 0 {
		t.Fatal("a shop that is connected anew is erased")
	}
	if n := w.rows(`select count(*) from connection_request`); n != 0 {
		t.Error("the merchant is told to erase a shop that is connected anew")
	}
	w.must(w.db.EndConnection(t.Context(), w.author, w.id))
	redact(appAddress)
	w.awaitRows(`select count(*) from shop_order where erasure_id is not null`, 3)
	if n := w.rows(`select count(*) from erasure where kinds = 'shop' and done_at is null`); n != 1 {
		t.Errorf("%d erasures", n)
	}
	w.later(2 * time.Minute)
	w.sql(`update connection_turn set next_at = now()`)
	w.awaitRows(`select count(*) from connection_notice where kind = 'redact_shop' and attempts > 1`, 1) // it waits for the processor
	if n := w.rows(`select count(*) from erasure`); n != 1 {
		t.Errorf("%d erasures: what was asked for is asked for again", n)
	}
	w.sql(`update erasure set done_at = now()`)
	w.sql(`delete from shop_order`) // as the processor does
	w.later(2 * time.Minute)
	w.sql(`update connection_turn set next_at = now()`)
	w.awaitRows(`select count(*) from audit_log where action = 'connection.redact_shop' and (detail->>'done')::boolean`, 1)
	w.awaitRows(`select count(*) from connection_notice`, 0)
}

func (w *world) awaitRows(query string, want int) {
	w.t.Helper()
	await.Until(w.t, await.Long, func() bool { return w.rows(query) == want }, func() string { return query + " is another number" })
}
