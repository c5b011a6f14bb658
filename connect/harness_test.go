package connect_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/admin"
	"github.com/tributary-io/tributary/connect"
	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	"github.com/tributary-io/tributary/internal/postgres/report"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
)

// taken is what the admin API wrote, as Kafka would keep it.
type taken struct {
	mu     sync.Mutex
	orders map[string]wire.Order // the newest version of each
	writes int
	away   atomic.Bool
}

func (k *taken) Produce(_ context.Context, topic string, records ...wire.Record) error {
	if k.away.Load() {
		return errors.New("Kafka is away")
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range records {
		var c wire.Commerce
		if topic != wire.TopicCommerce && topic != wire.TopicBulk || json.Unmarshal(r.Value, &c) != nil || c.Kind != wire.KindOrder {
			continue
		}
		var o wire.Order
		if err := json.Unmarshal(c.Body, &o); err != nil {
			return err
		}
		k.writes++
		if old, found := k.orders[o.OrderID]; !found || !o.UpdatedAt.Value.Before(old.UpdatedAt.Value) {
			if !o.NoCommission.Present { // what is absent stays as it was
				o.NoCommission = old.NoCommission
			}
			k.orders[o.OrderID] = o
		}
	}
	return nil
}

func (k *taken) get(id string) (wire.Order, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	o, found := k.orders[id]
	return o, found
}

func (k *taken) forget(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.orders, id)
}

// world is a store with a connection to a shop: the real database and the real admin API, and a clock that can be moved.
type world struct {
	t      *testing.T
	dsn    string
	db     *merchant.Store
	shop   *shop
	kafka  *taken
	keys   *account.SealKeys
	api    string
	store  commerce.Store
	hasher *identity.Hasher
	author commerce.Author
	id     string
	ahead  atomic.Int64 // of the clock
	logs   await.Buffer
	checks *checked

	platform    string
	credentials platform.Credentials
}

// checked is the database, which also sees to it that no place is stored before what was read up to it is sent.
type checked struct {
	*merchant.Store
	w *world
	// begin is the cursor that the connection had at first: what was changed before it is not awaited.
	begin time.Time
	// behind: the processor has stored no order yet.
	behind atomic.Bool
}

func (c *checked) StorePage(ctx context.Context, l commerce.ConnectLease, companyID, id string, p commerce.ConnectPage) error {
	if !p.Cursor.IsZero() && !c.begin.IsZero() {
		for _, item := range c.w.shop.all() {
			got, found := c.w.kafka.get(item.ID)
			if item.Order != nil && !item.Order.Test && item.UpdatedAt.After(c.begin) && !item.UpdatedAt.After(p.Cursor) &&
				(!found || got.UpdatedAt.Value.Before(item.UpdatedAt.Truncate(time.Microsecond))) {
				c.w.t.Errorf("the cursor moves to %v, and order %s of %v was not sent", p.Cursor, item.ID, item.UpdatedAt)
			}
		}
	}
	return c.Store.StorePage(ctx, l, companyID, id, p)
}

// OrderDigests are of what was taken: no processor runs here.
func (c *checked) OrderDigests(_ context.Context, _ string, ids []string) (map[string]commerce.OrderDigest, error) {
	found := map[string]commerce.OrderDigest{}
	for _, id := range ids {
		if c.behind.Load() {
			break
		}
		if o, there := c.w.kafka.get(id); there {
			found[id] = commerce.OrderDigest{OrderID: id, Status: o.Status, Total: commerce.FormatMinor(o.TotalMinor, o.Currency),
				NoCommission: o.NoCommission.Value, UpdatedAt: o.UpdatedAt.Value}
		}
	}
	return found, nil
}

func (s *shop) all() (list []platform.Item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, item := range s.orders {
		list = append(list, item)
	}
	return list
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, dsn: devtest.Postgres(t), shop: newShop(), kafka: &taken{orders: map[string]wire.Order{}},
		platform: "testshop", credentials: platform.Credentials{"key": theKey}}
	db, err := postgres.Open(t.Context(), w.dsn)
	w.must(err)
	t.Cleanup(db.Close)
	w.db = merchant.New(db)
	w.checks = &checked{Store: w.db, w: w}
	w.keys, err = account.NewSealKeys()
	w.must(err)
	hasher, err := identity.NewHasher(bytes.Repeat([]byte("s"), 32))
	w.must(err)
	w.hasher = hasher
	w.store, err = w.db.CreateStore(t.Context(), commerce.NewStore{Name: "Loja", Actor: "cli", KeyCheck: hasher.Check, Random: rand.Reader})
	w.must(err)
	w.author = commerce.Author{CompanyID: w.store.Live.CompanyID, Actor: "test", At: time.Now()}
	type stores struct {
		*merchant.Store
		*report.Reader
	}
	both := stores{w.db, report.New(db)}
	server, err := admin.New(admin.Config{ShortBase: "go.example.com/s", DependencyTimeout: time.Minute,
		IngestRate: admin.Rate{PerSecond: 10_000, Burst: 10_000}}, admin.Deps{Database: both, Names: both, Producer: w.kafka, Hasher: hasher})
	w.must(err)
	answers := httptest.NewServer(server)
	t.Cleanup(answers.Close)
	w.api = answers.URL
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(w.logs.String())
		}
	})
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) now() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }

// run starts a service; stop ends it and waits.
func (w *world) run(change ...func(*connect.Config, *connect.Deps)) (server *connect.Server, stop func()) {
	w.t.Helper()
	config := connect.Config{AdminURL: w.api, PublicURL: "https://connect.example.com", LookEvery: 20 * time.Millisecond,
		CompareAgain: time.Millisecond}
	deps := connect.Deps{Database: w.checks, Platforms: []platform.Platform{w.shop}, Keys: w.keys, Now: w.now,
		Logger: slog.New(slog.NewJSONHandler(&w.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	for _, c := range change {
		c(&config, &deps)
	}
	server, err := connect.New(config, deps)
	w.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Run(ctx); err != nil {
			w.t.Error(err)
		}
	}()
	stop = func() { cancel(); <-done }
	w.t.Cleanup(stop)
	return server, stop
}

// draft gives the merchant's key, sealed.
func (w *world) draft() {
	w.t.Helper()
	w.id = strings.ToLower(rand.Text())
	plain, _ := json.Marshal(w.credentials)
	bound := account.SealedFor{CompanyID: w.author.CompanyID, ConnectionID: w.id, Purpose: account.SealCredentials}
	sealed, keyID, err := w.keys.Seal(bound, plain)
	w.must(err)
	w.must(w.db.AddConnection(w.t.Context(), w.author, commerce.NewConnection{ID: w.id, Platform: w.platform, Sealed: sealed, KeyID: keyID}))
}

// task gives the service something to do and waits for its answer.
func (w *world) task(kind string, question any) commerce.ConnectTask {
	w.t.Helper()
	asked := commerce.ConnectTask{CompanyID: w.author.CompanyID, ConnectionID: w.id, Kind: kind}
	if question != nil {
		asked.Question, _ = json.Marshal(question)
	}
	id, err := w.db.AddConnectTask(w.t.Context(), w.author, asked)
	w.must(err)
	var got commerce.ConnectTask
	await.Until(w.t, await.Long, func() bool {
		got, err = w.db.ConnectTask(w.t.Context(), w.author.CompanyID, id)
		w.must(err)
		return !got.DoneAt.IsZero()
	}, func() string { return "task " + kind + " is not done" })
	return got
}

// connect tests the draft, starts it and waits until it is live.
func (w *world) connect(days int, from time.Time) {
	w.t.Helper()
	w.draft()
	if got := w.task(commerce.TaskTest, nil); got.Reason != "" {
		w.t.Fatalf("the test failed: %s %s", got.Reason, got.Detail)
	}
	w.start(days, from)
	w.await("live", func(c commerce.Connection) bool { return c.State == commerce.ConnectionLive && !c.PolledAt.IsZero() })
	w.checks.begin = w.connection().Cursor
}

func (w *world) start(days int, from time.Time) {
	w.t.Helper()
	keyID, _ := w.keys.Newest()
	w.must(w.db.StartConnection(w.t.Context(), w.author, commerce.ConnectionStart{ID: w.id, Days: days, CommissionsFrom: from, KeyID: keyID,
		SealKey: func(key string) ([]byte, error) {
			bound := account.SealedFor{CompanyID: w.author.CompanyID, ConnectionID: w.id, Purpose: account.SealAPIKey}
			sealed, _, err := w.keys.Seal(bound, []byte(key))
			return sealed, err
		}}))
}

func (w *world) connection() commerce.Connection {
	w.t.Helper()
	c, err := w.db.Connection(w.t.Context(), w.author.CompanyID, w.id)
	w.must(err)
	return c
}

func (w *world) await(what string, ok func(c commerce.Connection) bool) {
	w.t.Helper()
	await.Until(w.t, await.Long, func() bool { return ok(w.connection()) }, func() string {
		return fmt.Sprintf("the connection is not %s: %+v", what, w.connection())
	})
}

// later moves the clock.
func (w *world) later(d time.Duration) { w.ahead.Add(int64(d)) }

// poll has the connection polled now, and waits until it was.
func (w *world) poll() {
	w.t.Helper()
	before := w.connection().PolledAt
	w.later(3 * time.Minute)
	w.sql(`update connection_turn set next_at = now()`)
	w.await("polled", func(c commerce.Connection) bool { return c.PolledAt.After(before) })
}

func (w *world) sql(statement string, args ...any) {
	w.t.Helper()
	c, err := pgx.Connect(w.t.Context(), w.dsn)
	w.must(err)
	defer func() { _ = c.Close(context.Background()) }()
	_, err = c.Exec(w.t.Context(), statement, args...)
	w.must(err)
}

func (w *world) query(query string, to any, args ...any) {
	w.t.Helper()
	c, err := pgx.Connect(w.t.Context(), w.dsn)
	w.must(err)
	defer func() { _ = c.Close(context.Background()) }()
	w.must(c.QueryRow(w.t.Context(), query, args...).Scan(to))
}

// same waits until what was taken is what the shop has.
func (w *world) same() {
	w.t.Helper()
	await.Until(w.t, await.Long, func() bool { return w.difference() == "" }, w.difference)
}

// difference says what of the shop's orders was not taken as it is.
func (w *world) difference() string {
	for _, item := range w.shop.all() {
		got, found := w.kafka.get(item.ID)
		switch o := item.Order; {
		case o == nil || o.Test:
		case !found:
			return "order " + item.ID + " was not taken"
		case got.Status != o.Status || commerce.FormatMinor(got.TotalMinor, got.Currency) != o.TotalPrice.String():
			return fmt.Sprintf("order %s is %d %d, the shop's %d %s", item.ID, got.Status, got.TotalMinor, o.Status, o.TotalPrice)
		}
	}
	return ""
}

// aside returns the orders that are set aside, by their ids.
func (w *world) aside() map[string]commerce.AsideOrder {
	w.t.Helper()
	list, err := w.db.Aside(w.t.Context(), w.author.CompanyID, w.id, "", 100)
	w.must(err)
	found := map[string]commerce.AsideOrder{}
	for _, o := range list {
		found[o.OrderID] = o
	}
	return found
}

// secret is what the connection's notices are signed with.
func (w *world) secret() string {
	w.t.Helper()
	c, err := w.db.ConnectionByID(w.t.Context(), w.id)
	w.must(err)
	bound := account.SealedFor{CompanyID: c.CompanyID, ConnectionID: c.ID, Purpose: account.SealCredentials}
	plain, err := w.keys.Open(c.KeyID, bound, c.Sealed)
	w.must(err)
	var secrets platform.Credentials
	w.must(json.Unmarshal(plain, &secrets))
	return secrets["notice_secret"]
}

// send sends to the connection's address.
func (w *world) send(server *connect.Server, method, path string, header http.Header, body []byte) int {
	w.t.Helper()
	r := httptest.NewRequest(method, path, bytes.NewReader(body))
	for name := range header {
		r.Header.Set(name, header.Get(name))
	}
	answer := httptest.NewRecorder()
	server.Handler().ServeHTTP(answer, r)
	return answer.Code
}

func (w *world) address() string { return "/connect/testshop/" + w.id }
