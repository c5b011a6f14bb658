package sdk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tributary-io/tributary/sdk/core"
)

// request is what the edge of a test saw.
type request struct {
	CompanyID string    `json:"companyId"`
	SentAt    time.Time `json:"sentAt"`
	Events    []struct {
		EventID string          `json:"eventId"`
		Event   string          `json:"event"`
		Payload json.RawMessage `json:"payload"`
		Seq     int64           `json:"seq"`
		Consent string          `json:"consent"`
	} `json:"events"`
}

// edge answers with what respond says; it keeps all requests.
type edge struct {
	*httptest.Server
	mu       sync.Mutex
	requests []request
	at       []time.Time
}

func newEdge(t *testing.T, respond func(n int, r request, w http.ResponseWriter)) *edge {
	t.Helper()
	e := &edge{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		text, err := io.ReadAll(req.Body)
		var r request
		if err == nil {
			err = json.Unmarshal(text, &r)
		}
		if err != nil || req.URL.Path != "/prefix/v1/events" {
			t.Errorf("%s %s: %v", req.Method, req.URL.Path, err)
		}
		e.mu.Lock()
		e.requests = append(e.requests, r)
		e.at = append(e.at, time.Now())
		n := len(e.requests)
		e.mu.Unlock()
		respond(n, r, w)
	}))
	t.Cleanup(e.Close)
	return e
}

func (e *edge) seen() []request {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]request(nil), e.requests...)
}

// accept acknowledges the events for which status says so.
func accept(r request, w http.ResponseWriter, status func(i int) string) {
	var b bytes.Buffer
	b.WriteString(`{"results":[`)
	for i, event := range r.Events {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"eventId":%q,"status":%q,"code":"c%d"}`, event.EventID, status(i), i)
	}
	b.WriteString(`],"durability":"kafka"}`)
	_, _ = w.Write(b.Bytes())
}

func ok(int) string { return "ok" }

// client of a test: quick retries, results kept in order.
func client(t *testing.T, e *edge, change func(*Config)) (*Client, func() []Result) {
	t.Helper()
	var mu sync.Mutex
	var results []Result
	cfg := Config{
		CompanyID: "loja", Endpoint: e.URL + "/prefix/", FlushInterval: time.Hour, MaxWait: 20 * time.Millisecond,
		OnResult: func(r Result) { mu.Lock(); results = append(results, r); mu.Unlock() },
		Logger:   slog.New(slog.DiscardHandler),
		random:   func() float64 { return 0 },
	}
	if change != nil {
		change(&cfg)
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c, func() []Result {
		mu.Lock()
		defer mu.Unlock()
		return append([]Result(nil), results...)
	}
}

func track(t *testing.T, c *Client, n int) {
	t.Helper()
	for range n {
		if err := c.Track(t.Context(), PageView, nil, Identity{}); err != nil {
			t.Fatal(err)
		}
	}
}

func flush(t *testing.T, c *Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := c.Flush(ctx); err != nil {
		t.Fatal(err)
	}
}

// flushFailing is flush where events are not delivered.
func flushFailing(t *testing.T, c *Client) *Failed {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var failed *Failed
	if err := c.Flush(ctx); !errors.As(err, &failed) {
		t.Fatalf("Flush: %v, want a *Failed", err)
	}
	return failed
}

func statuses(results []Result) string {
	var s []string
	for _, r := range results {
		s = append(s, r.Status)
	}
	return strings.Join(s, " ")
}

func TestEventsAreSentInBoundedBatches(t *testing.T) {
	e := newEdge(t, func(_ int, r request, w http.ResponseWriter) { accept(r, w, ok) })
	c, results := client(t, e, func(cfg *Config) { cfg.BatchEvents = 4 })
	track(t, c, 10)
	flush(t, c)
	total, seq := 0, int64(0)
	for _, r := range e.seen() {
		if r.CompanyID != "loja" || r.SentAt.IsZero() || len(r.Events) > 4 {
			t.Errorf("request %+v", r)
		}
		for _, event := range r.Events {
			if seq++; event.Seq != seq {
				t.Errorf("seq %d, want %d", event.Seq, seq)
			}
		}
		total += len(r.Events)
	}
	if total != 10 || len(results()) != 10 {
		t.Errorf("%d events, %d results, want 10", total, len(results()))
	}
}

func TestBatchesAreBoundedByBytes(t *testing.T) {
	e := newEdge(t, func(_ int, r request, w http.ResponseWriter) { accept(r, w, ok) })
	c, _ := client(t, e, func(cfg *Config) { cfg.BatchBytes = 3000 })
	for range 4 {
		if err := c.Track(t.Context(), "NOTE", map[string]string{"text": strings.Repeat("x", 2000)}, Identity{}); err != nil {
			t.Fatal(err)
		}
	}
	flush(t, c)
	if n := len(e.seen()); n != 4 {
		t.Errorf("%d requests, want 4", n)
	}
}

func TestAnEventIsSentAfterTheFlushInterval(t *testing.T) {
	sent := make(chan struct{})
	e := newEdge(t, func(_ int, r request, w http.ResponseWriter) { accept(r, w, ok); close(sent) })
	c, _ := client(t, e, func(cfg *Config) { cfg.FlushInterval = 10 * time.Millisecond })
	track(t, c, 1)
	select {
	case <-sent:
	case <-time.After(time.Minute):
		t.Fatal("not sent")
	}
}

func TestAnEventThatWouldBeRefusedIsAnErrorAtOnce(t *testing.T) {
	e := newEdge(t, func(_ int, r request, w http.ResponseWriter) { accept(r, w, ok) })
	c, _ := client(t, e, nil)
	f := func(name string, payload any, code string) {
		t.Helper()
		err := c.Track(t.Context(), name, payload, Identity{})
		var invalid *Invalid
		if !errors.As(err, &invalid) || string(invalid.Code) != code {
			t.Errorf("Track(%s, %v): %v, want %s", name, payload, err, code)
		}
	}
	f("no such name", nil, "invalid_event_name")
	f("LINK_CLICK", nil, "invalid_event_name")
	f(CheckoutCompleted, nil, "payload_items_required")
	f(CheckoutCompleted, map[string]any{"items": []any{map[string]any{"item_id": true, "item_quantity": 1}}}, "invalid_payload")
	f(PageView, []int{1}, "invalid_payload")
	if err := c.Track(t.Context(), PageView, func() {}, Identity{}); err == nil {
		t.Error("a payload that cannot be encoded was taken")
	}
	if err := c.TrackEvent(t.Context(), Event{Name: PageView, Payload: `{"a":`}); err == nil {
		t.Error("a payload that is not JSON was taken")
	}
	flush(t, c)
	if len(e.seen()) != 0 {
		t.Error("something was sent")
	}
}

func TestAnEventCarriesTheShoppersConsent(t *testing.T) {
	e := newEdge(t, func(_ int, r request, w http.ResponseWriter) { accept(r, w, ok) })
	c, _ := client(t, e, nil)
	var want []string
	f := func(given, sent Consent) {
		t.Helper()
		if err := c.TrackEvent(t.Context(), Event{Name: PageView, Consent: given}); err != nil {
			t.Errorf("%q: %v", given, err)
		}
		want = append(want, string(sent))
	}
	f("", "")
	f(ConsentGranted, "granted")
	f(ConsentDenied, "denied")
	f(ConsentUnknown, "unknown")
	f("granted meta,ga4", "granted ga4,meta")
	f("granted tiktok, meta,tiktok", "granted meta,tiktok")
	if err := c.TrackEvent(t.Context(), Event{Name: PageView, Consent: "granted", ConsentFor: "meta"}); err != nil {
		t.Error(err)
	}
	want = append(want, "granted meta")
	refused := func(consent Consent, networks, message string) {
		t.Helper()
		err := c.TrackEvent(t.Context(), Event{Name: PageView, Consent: consent, ConsentFor: networks})
		var invalid *Invalid
		if !errors.As(err, &invalid) || invalid.Code != core.CodeInvalidField || invalid.Field != "consent" ||
			!strings.Contains(err.Error(), message) {
			t.Errorf("%q %q: %v", consent, networks, err)
		}
	}
	refused("yes", "", "must be granted, denied or unknown")
	refused("Granted", "", "must be granted, denied or unknown")
	refused("denied meta", "", "after granted alone")
	refused("granted Meta Ads", "", "as meta or ga4")
	refused("granted a,b,c,d,e,f,g,h,i", "", "at most 8")
	refused("", "meta", "after granted alone")
	refused("granted meta", "ga4", "as meta or ga4")
	flush(t, c)
	var got []string
	for _, r := range e.seen() {
		for _, event := range r.Events {
			got = append(got, event.Consent)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("sent %q, want %q", got, want)
	}
}

func TestOnlyWhatHasNoResultIsSentAgain(t *testing.T) {
	e := newEdge(t, func(n int, r request, w http.ResponseWriter) {
		if n == 1 {
			accept(r, w, func(i int) string { return []string{"ok", "rejected", "try_later", "duplicate"}[i] })
			return
		}
		accept(r, w, ok)
	})
	c, results := client(t, e, nil)
	track(t, c, 4)
	_ = flushFailing(t, c)
	if got := statuses(results()); got != "ok rejected ok duplicate" {
		t.Errorf("results: %s", got)
	}
	if results()[1].Code != "c1" {
		t.Errorf("code of the rejected: %q", results()[1].Code)
	}
	if seen := e.seen(); len(seen) != 2 || len(seen[1].Events) != 1 || seen[1].Events[0].EventID != seen[0].Events[2].EventID {
		t.Errorf("requests: %+v", seen)
	}
}

func TestOutagesAreRetriedAndRetryAfterHonoured(t *testing.T) {
	e := newEdge(t, func(n int, r request, w http.ResponseWriter) {
		switch n {
		case 1:
			w.Header().Set("Retry-After", "7") // cut to MaxWait
			w.WriteHeader(http.StatusTooManyRequests)
		case 2:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 3:
			_, _ = w.Write([]byte("not JSON"))
		case 4:
			panic(http.ErrAbortHandler)
		default:
			accept(r, w, ok)
		}
	})
	c, results := client(t, e, nil)
	track(t, c, 1)
	flush(t, c)
	e.mu.Lock()
	defer e.mu.Unlock()
	at := e.at
	if got := statuses(results()); got != "ok" || len(at) != 5 {
		t.Fatalf("results %s after %d attempts", got, len(at))
	}
	if waited := at[1].Sub(at[0]); waited < 20*time.Millisecond {
		t.Errorf("waited %v after Retry-After, want MaxWait", waited)
	}
}

func TestOther4xxAreNeverRetried(t *testing.T) {
	e := newEdge(t, func(_ int, _ request, w http.ResponseWriter) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"error":{"code":"unknown_company","message":"no such company"}}`))
	})
	c, results := client(t, e, nil)
	track(t, c, 2)
	_ = flushFailing(t, c)
	if got := results(); len(e.seen()) != 1 || statuses(got) != "rejected rejected" || got[0].Code != "unknown_company" {
		t.Errorf("%d requests, results %+v", len(e.seen()), got)
	}
}

func TestABodyTooLargeIsHalved(t *testing.T) {
	e := newEdge(t, func(_ int, r request, w http.ResponseWriter) {
		if len(r.Events) > 2 {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			return
		}
		accept(r, w, ok)
	})
	c, results := client(t, e, nil)
	track(t, c, 5)
	flush(t, c)
	if got := statuses(results()); got != "ok ok ok ok ok" {
		t.Errorf("results: %s", got)
	}
}

func TestAttemptsAreBounded(t *testing.T) {
	e := newEdge(t, func(_ int, _ request, w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) })
	c, results := client(t, e, func(cfg *Config) { cfg.MaxAttempts = 3 })
	track(t, c, 1)
	_ = flushFailing(t, c)
	if got := results(); len(e.seen()) != 3 || got[0].Status != GivenUp || got[0].Err == nil {
		t.Errorf("%d attempts, %+v", len(e.seen()), got)
	}
}

func TestAFullQueueIsAnErrorAtOnceOrAWait(t *testing.T) {
	release := make(chan struct{})
	e := newEdge(t, func(_ int, r request, w http.ResponseWriter) { <-release; accept(r, w, ok) })
	small := func(cfg *Config) { cfg.QueueSize, cfg.BatchEvents = 2, 1 }
	full, _ := client(t, e, small)
	waiting, _ := client(t, e, func(cfg *Config) { small(cfg); cfg.WaitWhenFull = true })
	track(t, full, 2)
	track(t, waiting, 2)
	if err := full.Track(t.Context(), PageView, nil, Identity{}); !errors.Is(err, ErrQueueFull) {
		t.Errorf("Track with a full queue: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := waiting.Track(ctx, PageView, nil, Identity{}); !errors.Is(err, ErrQueueFull) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Track that may wait until its context ends: %v", err)
	}
	got := make(chan error)
	go func() { got <- waiting.Track(context.Background(), PageView, nil, Identity{}) }()
	close(release)
	if err := <-got; err != nil {
		t.Errorf("Track that waits for room: %v", err)
	}
}

func TestCloseSendsWhatIsQueued(t *testing.T) {
	e := newEdge(t, func(_ int, r request, w http.ResponseWriter) { accept(r, w, ok) })
	c, results := client(t, e, nil)
	track(t, c, 3)
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := statuses(results()); got != "ok ok ok" {
		t.Errorf("results: %s", got)
	}
	if err := c.Track(t.Context(), PageView, nil, Identity{}); !errors.Is(err, ErrClosed) {
		t.Errorf("Track after Close: %v", err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Errorf("Close after Close: %v", err)
	}
}

func TestCloseGivesUpWhenItsContextEnds(t *testing.T) {
	e := newEdge(t, func(_ int, _ request, w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) })
	c, results := client(t, e, func(cfg *Config) {
		cfg.MaxAttempts, cfg.MaxWait = 1000, time.Hour
		cfg.random = func() float64 { return 0.99 }
	})
	track(t, c, 3)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if err := c.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Close: %v", err)
	}
	if got := statuses(results()); got != "given_up given_up given_up" {
		t.Errorf("results: %s", got)
	}
	noGoroutineIsLeft(t)
}

func TestABatchIsNeverLargerThanTheEdgeTakes(t *testing.T) {
	e := newEdge(t, func(_ int, r request, w http.ResponseWriter) {
		if len(r.Events) > 500 {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		accept(r, w, ok)
	})
	c, results := client(t, e, func(cfg *Config) { cfg.BatchEvents = 5000 })
	track(t, c, 600)
	flush(t, c)
	if got := strings.Count(statuses(results()), "ok"); got != 600 {
		t.Errorf("%d events acknowledged, want 600", got)
	}
}

// Instrumentation replaces the default transport by one of its own kind.
func TestAnotherDefaultTransportIsTakenAsItIs(t *testing.T) {
	standard := http.DefaultTransport
	http.DefaultTransport = wrapped{standard}
	defer func() { http.DefaultTransport = standard }()
	e := newEdge(t, func(_ int, r request, w http.ResponseWriter) { accept(r, w, ok) })
	c, results := client(t, e, nil)
	track(t, c, 1)
	flush(t, c)
	if got := statuses(results()); got != "ok" {
		t.Errorf("results: %s", got)
	}
}

type wrapped struct{ http.RoundTripper }

func TestConfigIsChecked(t *testing.T) {
	f := func(cfg Config) {
		t.Helper()
		if c, err := New(cfg); err == nil {
			_ = c.Close(context.Background())
			t.Errorf("New(%+v) was taken", cfg)
		}
	}
	f(Config{Endpoint: "https://t.example.com"})
	f(Config{CompanyID: "loja"})
	f(Config{CompanyID: "loja", Endpoint: "t.example.com"})
	f(Config{CompanyID: "loja", Endpoint: "ftp://t.example.com"})
	f(Config{CompanyID: "loja", Endpoint: "https://t.example.com?x=1"})
}

// The edge's address may be given with the route.
func TestTheEndpointMayHaveItsRoute(t *testing.T) {
	e := newEdge(t, func(_ int, r request, w http.ResponseWriter) { accept(r, w, ok) }) // which knows one path
	for _, end := range []string{"", "/", "/v1/events", "/v1/events/", "//"} {
		c, results := client(t, e, func(cfg *Config) { cfg.Endpoint = e.URL + "/prefix" + end })
		track(t, c, 1)
		if err := c.Close(t.Context()); err != nil || statuses(results()) != "ok" {
			t.Errorf("%q: %v, results %s", end, err, statuses(results()))
		}
	}
}
