package live_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/tributary-io/tributary/admin/dashboard/live"
	"github.com/tributary-io/tributary/admin/dashboard/money"
	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

// stage is a running hub on a real database, fed by the dashboard's words. The
// test is the broker, and "?person=" the log-in.
type stage struct {
	*reporttest.Fixture
	t         testing.TB
	server    *httptest.Server
	companyID string
	hints     chan []byte
	stop      func() // stops the hub and waits for it
	loginFor  time.Duration
	orders    int // that load has put
}

func newStage(t testing.TB, config live.Config) *stage {
	t.Helper()
	s := &stage{Fixture: reporttest.New(t), t: t, hints: make(chan []byte), loginFor: time.Hour}
	s.companyID = s.Store.Live.CompanyID
	shared, err := site.New(site.Config{})
	if err != nil {
		t.Fatal(err)
	}
	hub := live.New(config, live.Deps{
		Feed: money.New(shared, money.Config{}, s.DB),
		Viewer: func(_ http.ResponseWriter, r *http.Request, companyID string) (live.Viewer, error) {
			if companyID != s.companyID || r.URL.Query().Get("person") == "" {
				return live.Viewer{}, errors.New("not logged in")
			}
			return live.Viewer{
				PersonID: r.URL.Query().Get("person"), Until: time.Now().Add(s.loginFor),
				Company: account.Access{CompanyID: companyID, Timezone: "America/Sao_Paulo", Currency: "BRL"},
			}, nil
		},
		Hints: func(ctx context.Context, handle func([]byte) error) error {
			for {
				select {
				case <-ctx.Done():
					return ctx.Err()
				case value := <-s.hints:
					if value == nil {
						return errors.New("the broker is gone")
					}
					if err := handle(value); err != nil {
						return err
					}
				}
			}
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = hub.Run(ctx)
	}()
	s.stop = func() { cancel(); <-done }
	s.server = httptest.NewServer(hub)
	t.Cleanup(func() { s.stop(); s.server.Close() })
	return s
}

const day = "2024-05-20"

// put commits an order of that day, processed at second n.
func (s *stage) put(id string, n int, totalMinor int64) commerce.Cursor {
	processed := time.Date(2024, 5, 20, 15, 0, n, 0, time.UTC)
	s.Put(reporttest.Order{CompanyID: s.companyID, ID: id, TotalMinor: totalMinor, ProcessedAt: processed,
		CreatedAt: time.Date(2024, 5, 20, 14, 0, n, 0, time.UTC)})
	return commerce.Cursor{At: processed, OrderID: id}
}

func (s *stage) hint(ids ...string) {
	value, err := json.Marshal(wire.Result{V: 1, CompanyID: s.companyID, OrderIDs: ids})
	if err != nil {
		s.t.Fatal(err)
	}
	s.hints <- value
}

func (s *stage) dial(change func(url.Values, http.Header)) (*websocket.Conn, *http.Response, error) {
	query := url.Values{"company": {s.companyID}, "day": {day}, "person": {"ana"}}
	header := http.Header{"Origin": {s.server.URL}}
	change(query, header)
	return websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(s.server.URL, "http")+"/?"+query.Encode(), header)
}

type page struct {
	*websocket.Conn
	t testing.TB
}

// open is a page that was rendered at the cursor.
func (s *stage) open(cursor commerce.Cursor) page {
	s.t.Helper()
	conn, _, err := s.dial(func(q url.Values, _ http.Header) { q.Set("cursor", cursor.String()) })
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close() })
	return page{conn, s.t}
}

type update struct {
	Cursor string
	Tiles  []struct {
		ID    string
		Lines []string
	}
	Orders []struct{ ID, Total string }
	Gone   []string
}

func (p page) next() (u update, err error) {
	p.t.Helper()
	if err := p.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		p.t.Fatal(err)
	}
	err = p.ReadJSON(&u)
	return u, err
}

// expect awaits a message with exactly these orders.
func (p page) expect(what string, ids ...string) update {
	p.t.Helper()
	u, err := p.next()
	var got []string
	for _, o := range u.Orders {
		got = append(got, o.ID)
	}
	if err != nil || !slices.Equal(got, ids) {
		p.t.Fatalf("%s: %v, %v; want %v", what, got, err, ids)
	}
	return u
}

func (p page) expectClosed(code int) {
	p.t.Helper()
	_, err := p.next()
	if !websocket.IsCloseError(err, code) {
		p.t.Errorf("the socket ended with %v, want code %d", err, code)
	}
}

func TestACommittedOrderIsPushedToThePagesOfItsCompanyAndDay(t *testing.T) {
	t.Parallel()
	s := newStage(t, live.Config{Interval: time.Millisecond, Poll: time.Hour})
	one, two := s.open(commerce.Cursor{}), s.open(commerce.Cursor{})
	one.expect("an empty day")
	two.expect("an empty day")
	s.put("1001", 1, 129990)
	s.hint("1001")
	u := one.expect("a new order", "1001")
	two.expect("a new order, on another page", "1001")
	if u.Orders[0].Total != "R$\u00a01,299.90" || u.Tiles[0].Lines[0] != "1" || u.Tiles[1].Lines[0] != "R$\u00a01,299.90" {
		t.Errorf("the message says %+v", u)
	}
	s.put("1001", 2, 100)
	s.hint("1001")
	if u := one.expect("the order, changed", "1001"); u.Tiles[1].Lines[0] != "R$\u00a01.00" {
		t.Errorf("the message says %+v", u)
	}
	s.Put(reporttest.Order{CompanyID: s.companyID, ID: "1001", CreatedAt: time.Date(2024, 5, 22, 15, 0, 0, 0, time.UTC)})
	s.hint("1001")
	if u := one.expect("the order, moved to another day"); !slices.Equal(u.Gone, []string{"1001"}) {
		t.Errorf("the message says %+v", u)
	}
}

func TestWhatWasMissedIsCaughtUpByCursor(t *testing.T) {
	t.Parallel()
	s := newStage(t, live.Config{Interval: time.Millisecond, Poll: time.Hour})
	first := s.put("1001", 0, 100)
	s.put("1002", 30, 200)
	s.put("1003", 60, 300)
	p := s.open(commerce.Cursor{At: first.At.Add(time.Minute), OrderID: "1003"})
	p.expect("rendered at the last, but for the overlap", "1003")
	s.open(first).expect("rendered at the first, nothing hinted since", "1003", "1002", "1001")

	// The broker goes away; what was committed meanwhile comes without a hint.
	s.put("1004", 90, 400)
	s.hints <- nil
	p.expect("after the hints came back, with what the overlap repeats", "1004", "1003")
	s.put("1005", 91, 500)
	s.hint("some other order")
	p.expect("left out by the hints", "1005")
}

func TestThePollFindsWhatNoHintTold(t *testing.T) {
	t.Parallel()
	s := newStage(t, live.Config{Interval: time.Millisecond, Poll: 20 * time.Millisecond})
	p := s.open(commerce.Cursor{})
	p.expect("an empty day")
	s.put("1001", 1, 100)
	p.expect("found by polling", "1001")
	s.put("1002", 2, 100)
	p.expect("and only what is new", "1002")
}

func TestWhoMayWatch(t *testing.T) {
	t.Parallel()
	s := newStage(t, live.Config{SocketsPerPerson: 1, Poll: time.Hour})
	f := func(what string, want int, change func(url.Values, http.Header)) {
		t.Helper()
		conn, answer, err := s.dial(change)
		if err == nil {
			conn.Close()
		}
		if answer == nil || answer.StatusCode != want {
			t.Errorf("%s: %v, %v; want %d", what, answer, err, want)
		}
	}
	f("another site's page", 403, func(_ url.Values, h http.Header) { h.Set("Origin", "https://evil.example") })
	f("no page at all", 403, func(_ url.Values, h http.Header) { h.Del("Origin") })
	f("not logged in", 401, func(q url.Values, _ http.Header) { q.Del("person") })
	f("another company", 401, func(q url.Values, _ http.Header) { q.Set("company", s.Store.Sandbox.CompanyID) })
	f("no day", 400, func(q url.Values, _ http.Header) { q.Del("day") })
	f("a cursor of its own making", 400, func(q url.Values, _ http.Header) { q.Set("cursor", "x") })
	s.open(commerce.Cursor{}).expect("a first page")
	f("too many pages of one person", 503, func(url.Values, http.Header) {})
	f("someone else's page", 101, func(q url.Values, _ http.Header) { q.Set("person", "bia") })
}

func TestASocketEndsWithItsLogIn(t *testing.T) {
	t.Parallel()
	s := newStage(t, live.Config{Poll: time.Hour})
	s.loginFor = 50 * time.Millisecond
	p := s.open(commerce.Cursor{})
	p.expect("an empty day")
	p.expectClosed(4001)
}

func TestStoppingClosesEverySocketAndWaits(t *testing.T) {
	t.Parallel()
	s := newStage(t, live.Config{Poll: time.Hour})
	p := s.open(commerce.Cursor{})
	p.expect("an empty day")
	s.stop()
	p.expectClosed(websocket.CloseGoingAway)
	if _, answer, err := s.dial(func(url.Values, http.Header) {}); err == nil || answer.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a stopped hub opens a socket: %v, %v", answer, err)
	}
}

func TestAPageThatTalksIsShutOut(t *testing.T) {
	t.Parallel()
	s := newStage(t, live.Config{Poll: time.Hour})
	p := s.open(commerce.Cursor{})
	p.expect("an empty day")
	if err := p.WriteMessage(websocket.TextMessage, make([]byte, 4096)); err != nil {
		t.Fatal(err)
	}
	p.expectClosed(websocket.CloseMessageTooBig)
}
