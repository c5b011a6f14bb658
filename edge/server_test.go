package edge

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"go.opentelemetry.io/otel/codes"

	"github.com/tributary-io/tributary/internal/produce"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
)

// panickyProducer panics when it is asked for partitions, once.
type panickyProducer struct {
	produce.Producer
	panicked atomic.Bool
}

func (p *panickyProducer) Partitions(ctx context.Context, topic string) (int, error) {
	if p.panicked.CompareAndSwap(false, true) {
		panic("no partition today")
	}
	return p.Producer.Partitions(ctx, topic)
}

func TestAPanicIsAnswered500AndEndsItsRequestAlone(t *testing.T) {
	var log await.Buffer
	tracer, spans := devtest.Traces(t, 1)
	s := newStand(t, func(_ *Config, deps *Deps) {
		deps.Producer, deps.Tracer = &panickyProducer{Producer: deps.Producer}, tracer
		deps.Logger = slog.New(slog.NewTextHandler(&log, nil))
	})
	id := newID()
	answer := s.post(500, batchOf(pageView(id)), "X-Request-Id: try-1", "Origin: "+testOrigin)
	if answer.Error.Code != "internal_error" || answer.RequestID != "try-1" {
		t.Errorf("answer %+v", answer)
	}
	if text := log.String(); !strings.Contains(text, "request_id=try-1") || !strings.Contains(text, "no partition today") ||
		!strings.Contains(text, "panickyProducer") {
		t.Errorf("the log says %q", text)
	}
	if send := spans.Named("send events.v1"); send.Status.Code != codes.Error {
		t.Errorf("its span has ended as %v", send.Status)
	}
	// Its event was not left claimed.
	if status := s.post(200, batchOf(pageView(id))).Results[0].Status; status != "ok" {
		t.Errorf("sent again: %s", status)
	}
	if n := s.edge.open.UnderWay(); n != 0 {
		t.Errorf("%d requests are still counted as under way", n)
	}
}

// What is done before and beside a route's handler is guarded too: fasthttp would let a panic end
// the process.
func TestAPanicOutsideAHandlerIsAnswered500Too(t *testing.T) {
	s := benchServer(t)
	ours, theirs := net.Pipe()
	defer ours.Close()
	defer theirs.Close()
	f := func(what string, serve func(ctx *fasthttp.RequestCtx)) {
		t.Helper()
		var log await.Buffer
		s.deps.Logger = slog.New(slog.NewTextHandler(&log, nil))
		var ctx fasthttp.RequestCtx
		ctx.Init2(ours, nil, true)
		serve(&ctx)
		if body := ctx.Response.Body(); ctx.Response.StatusCode() != 500 || !bytes.Contains(body, []byte("internal_error")) ||
			len(ctx.Response.Header.Peek("X-Request-Id")) != 36 {
			t.Errorf("%s: %d %s %q", what, ctx.Response.StatusCode(), body, ctx.Response.Header.Peek("X-Request-Id"))
		}
		if text := log.String(); !strings.Contains(text, "panicked") {
			t.Errorf("%s: the log says %q", what, text)
		}
	}
	s.pools.requests.New = func() any { return nil }
	f("reading the headers", s.handle)
	f("refusing", func(ctx *fasthttp.RequestCtx) { s.refuseUnreadable(ctx, errors.New("no HTTP")) })
	if n := s.open.UnderWay(); n != 0 {
		t.Errorf("%d requests are still counted as under way", n)
	}
}

func TestAnEdgeWithoutAnyCompanyRefusesNobodyForGood(t *testing.T) {
	s := newBroker(t, "")
	s.start(nil) // the topic is there and empty, as after it was made anew
	if code := s.post(503, batchOf(pageView(newID()))).Error.Code; code != "directory_not_fresh" {
		t.Errorf("code %s", code)
	}
	if response, _ := s.do("GET", "/s/"+testCode, ""); response.StatusCode != 503 || response.Header.Get("Retry-After") == "" {
		t.Errorf("short link: %d", response.StatusCode)
	}
	// A preflight that browsers forget, so that the page reads the 503 itself.
	if response, _ := s.do("OPTIONS", "/v1/events", "", "Origin: "+testOrigin); response.StatusCode != 204 ||
		response.Header.Get("Access-Control-Max-Age") != "0" {
		t.Errorf("preflight: %d %v", response.StatusCode, response.Header)
	}
	if response, _ := s.do("POST", "/v1/events", batchOf(pageView(newID())), "Origin: "+testOrigin); response.StatusCode != 503 ||
		response.Header.Get("Access-Control-Allow-Origin") != testOrigin {
		t.Errorf("a page: %d %v", response.StatusCode, response.Header)
	}
	s.publishCompany(wire.Company{})
	s.eventually("the company is let in", func() bool {
		response, _ := s.do("POST", "/v1/events", batchOf(pageView(newID())))
		return response.StatusCode == 200
	})
	s.eventually("others are unknown once the directory counts as published", func() bool {
		response, _ := s.do("POST", "/v1/events", `{"companyId":"co_other","event":"PAGE_VIEW"}`)
		return response.StatusCode == 401
	})
}

func TestAHostOfShortLinksHasTheFixedRoutesToo(t *testing.T) {
	s := newStand(t, func(c *Config, _ *Deps) { c.ShortHost = "go.example.com" })
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		plain, _ := s.do("GET", path, "")
		short, _ := s.do("GET", path, "", "Host: go.example.com")
		if short.StatusCode != 200 || short.StatusCode != plain.StatusCode ||
			short.Header.Get("Content-Type") != plain.Header.Get("Content-Type") {
			t.Errorf("%s: %d %s, elsewhere %d %s", path, short.StatusCode, short.Header.Get("Content-Type"), plain.StatusCode,
				plain.Header.Get("Content-Type"))
		}
	}
	if response, _ := s.do("GET", "/"+testCode, "", "Host: go.example.com"); response.StatusCode != 302 {
		t.Errorf("a code: %d", response.StatusCode)
	}
	if response, _ := s.do("GET", "/Nowhere", "", "Host: go.example.com"); response.StatusCode != 404 {
		t.Errorf("a code of no link: %d", response.StatusCode)
	}
}

func TestReadyzTellsNoBrokersAddress(t *testing.T) {
	var log await.Buffer
	s := newStand(t, func(c *Config, deps *Deps) {
		c.ProduceTimeout = 500 * time.Millisecond
		deps.Logger = slog.New(slog.NewTextHandler(&log, nil))
	})
	s.post(200, batchOf(pageView(newID())))
	addr := s.broker.Addr()
	s.broker.Stop()
	s.post(503, batchOf(pageView(newID())))
	response, text := s.do("GET", "/readyz", "")
	if response.StatusCode != 503 || !strings.Contains(string(text), `"failure":"temporary"`) {
		t.Errorf("readyz %d %s", response.StatusCode, text)
	}
	if strings.Contains(string(text), addr) || strings.Contains(string(text), "dial") {
		t.Errorf("readyz tells %s", text)
	}
	if !strings.Contains(log.String(), "a produce failed") || !strings.Contains(log.String(), wire.TopicEvents) {
		t.Errorf("the log does not say why: %s", log.String())
	}
}

// What is answered "ok" must be such that the processor stores it.
func TestASentAtOfAnotherAgeCorrectsNothing(t *testing.T) {
	s := newStand(t, nil)
	f := func(sentAt, timestamp string, corrects bool) {
		t.Helper()
		id := newID()
		body := `{"companyId":"co_test","sentAt":"` + sentAt + `","events":[{"eventId":"` + id +
			`","event":"PAGE_VIEW","timestamp":"` + timestamp + `"}]}`
		if status := s.post(200, body).Results[0].Status; status != "ok" {
			t.Fatalf("%s: %s", sentAt, status)
		}
		events := s.events()
		e := events[slices.IndexFunc(events, func(e wire.Event) bool { return e.EventID == id })]
		if (e.ClockSkewMs != 0) != corrects {
			t.Errorf("sentAt %s, timestamp %s: a skew of %d ms", sentAt, timestamp, e.ClockSkewMs)
		}
		if at := e.Timestamp.Add(time.Duration(e.ClockSkewMs) * time.Millisecond); at.Year() < 1970 || at.Year() > 2199 {
			t.Errorf("sentAt %s, timestamp %s: corrected to %v", sentAt, timestamp, at)
		}
	}
	now := time.Now().UTC().Format(time.RFC3339)
	for _, sentAt := range []string{"0001-01-01T00:00:00Z", "1600-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "2200-01-01T00:00:00Z",
		"9999-12-31T23:59:59Z"} {
		f(sentAt, now, false)
	}
	f("1970-01-02T00:00:00Z", "1970-01-01T00:00:00Z", true) // a device whose clock began anew
	f("1970-01-02T00:00:00Z", now, true)
	f("1970-01-02T00:00:00Z", "2190-01-01T00:00:00Z", false)
	f("2199-12-31T00:00:00Z", "2199-12-31T00:00:00Z", true)
	f("2199-12-31T00:00:00Z", now, false)
}
