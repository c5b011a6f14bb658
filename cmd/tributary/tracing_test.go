package main

import (
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/tracing"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/await"
)

// collected is a span as a collector got it.
type collected struct {
	*otlp.Span

	service string
	texts   []string // its name, and all that its attributes and its service's say
}

// traceCollector is a collector of OpenTelemetry: it takes OTLP over HTTP, in protobuf.
type traceCollector struct {
	*httptest.Server
	t *testing.T

	mu    sync.Mutex
	spans []collected
}

func startCollector(t *testing.T) *traceCollector {
	c := &traceCollector{t: t}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *traceCollector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		var err error
		if body, err = gzip.NewReader(r.Body); err != nil {
			c.t.Error(err)
			return
		}
	}
	text, err := io.ReadAll(body)
	var sent collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(text, &sent)
	}
	if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
		c.t.Errorf("%s %s: %v", r.URL.Path, r.Header.Get("Content-Type"), err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, from := range sent.ResourceSpans {
		var service string
		var texts []string
		for _, a := range from.Resource.Attributes {
			if texts = append(texts, a.Key+"="+a.Value.String()); a.Key == "service.name" {
				service = a.Value.GetStringValue()
			}
		}
		for _, scope := range from.ScopeSpans {
			for _, span := range scope.Spans {
				said := append([]string{span.Name, span.TraceState, span.Status.GetMessage()}, texts...)
				for _, a := range span.Attributes {
					if said = append(said, a.Key+"="+a.Value.String()); !slices.Contains(tracing.AllowedKeys(), a.Key) {
						c.t.Errorf("the span %q has the attribute %s", span.Name, a.Key)
					}
				}
				c.spans = append(c.spans, collected{span, service, said})
			}
		}
	}
}

// all returns what came so far.
func (c *traceCollector) all() []collected {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

// await waits for a span that fits.
func (c *traceCollector) await(what string, fits func(collected) bool) (found collected) {
	c.t.Helper()
	await.Until(c.t, await.Long, func() bool {
		i := slices.IndexFunc(c.all(), fits)
		if i >= 0 {
			found = c.all()[i]
		}
		return i >= 0
	}, func() string {
		text := "want " + what + " among"
		for _, s := range c.all() {
			text += fmt.Sprintf("\n%s %s %x %x below %x", s.service, s.Name, s.TraceId, s.SpanId, s.ParentSpanId)
		}
		return text
	})
	return found
}

// traced turns tracing on for services that start from now on.
func traced(t *testing.T, ratio string) *traceCollector {
	t.Helper()
	c := startCollector(t)
	t.Setenv("TRIBUTARY_TRACE_RATIO", ratio)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "50") // milliseconds
	return c
}

// One trace id leads from the request of an order to the entry of its ledger, and from the request of an event to the transaction that
// stores it; and nothing that is stored has that id. What is stored is what a replay without any trace computes.
func TestOneTraceLeadsFromARequestToItsLedgerEntry(t *testing.T) {
	c := traced(t, "1")
	s := startServices(t)
	s.admin.is(http.StatusOK, func() *http.Request {
		return s.request(http.MethodPost, s.admin.origin()+"/admin/v1/influencers", `{"name":"Ana Prado","campaign":"Outono",
			"campaign_id":"outono-26","category":"moda","coupon_only":true,"coupons":[{"cupom":"ANA20","start_date":"2026-03-01"}],
			"costs":[{"var_fee":10,"start_date":"2026-03-01","is_coupon_cost":true}]}`)
	})
	const forged = "4bf92f3577b34da6a3ce929d0e0e4736"
	forge := func(r *http.Request) *http.Request {
		r.Header.Set("Traceparent", "00-"+forged+"-00f067aa0ba902b7-01")
		r.Header.Set("Tracestate", "stranger="+strings.Repeat("stranger", 500))
		r.Header.Set("Baggage", "user=stranger@example.com")
		r.Header.Set("User-Agent", "stranger")
		r.Header.Set("X-Request-Id", "stranger-1")
		return r
	}
	order := `{"orderId":"stranger-1001","orderStatus":0,"createdAt":"2026-03-15T12:00:00Z","updatedAt":"2026-03-15T12:00:00Z",
		"totalPrice":200.00,"currency":"BRL","discountCode":"ANA20","customer":{"email":"stranger@example.com"},"cartToken":"stranger-9f8a7b"}`
	s.admin.is(http.StatusOK, func() *http.Request {
		return forge(s.request(http.MethodPost, s.admin.origin()+"/admin/v1/order?stranger=1", order))
	})
	s.edge.is(http.StatusOK, func() *http.Request {
		return forge(s.request(http.MethodPost, s.edge.origin()+"/v1/events?stranger=1", s.event()))
	})

	chain := func(service, request, topic string) (traceID []byte) {
		t.Helper()
		steps := []struct{ service, name string }{
			{service, request}, {service, "send " + topic}, {"tributary-processor", "process " + topic}, {"tributary-processor", "commit"},
		}
		// The first requests may be refused, as those of a key that the edge does not know yet.
		sent := func(request collected) bool {
			return slices.ContainsFunc(c.all(), func(s collected) bool {
				return s.Name == "send "+topic && string(s.ParentSpanId) == string(request.SpanId)
			})
		}
		var before collected
		for i, step := range steps {
			span := c.await(step.name+" of "+step.service, func(s collected) bool {
				follows := i == 0 && sent(s) || i > 0 && string(s.ParentSpanId) == string(before.SpanId)
				return s.service == step.service && s.Name == step.name && follows
			})
			if i == 0 && len(span.ParentSpanId) > 0 || i > 0 && string(span.TraceId) != string(before.TraceId) {
				t.Errorf("%s is of the trace %x below %x; the step before is of %x", step.name, span.TraceId, span.ParentSpanId, before.TraceId)
			}
			before = span
		}
		if topic == wire.TopicCommerce && !slices.ContainsFunc(before.texts, func(said string) bool {
			return strings.HasPrefix(said, "tributary.ledger_entries=") && strings.Contains(said, "1")
		}) {
			t.Errorf("the commit tells of no entry: %q", before.texts)
		}
		return before.TraceId
	}
	ids := [][]byte{chain("tributary-admin", "POST /admin/v1/order", wire.TopicCommerce)}
	ids = append(ids, chain("tributary-edge", "POST events", wire.TopicEvents))
	if n := one[int](t, s.dsn, `select count(*) from ledger_entry where order_id = 'stranger-1001' and kind = 'earned'`); n != 1 {
		t.Errorf("%d entries of the ledger, want 1", n)
	}
	if line := s.admin.out.String(); !strings.Contains(line, "trace_id="+hex.EncodeToString(ids[0])) {
		t.Errorf("the log does not name the order's trace:\n%s", line)
	}
	host, _ := os.Hostname()
	for _, span := range c.all() {
		if of := hex.EncodeToString(span.TraceId); of == forged || strings.HasPrefix(span.Name, "POST ") && len(span.ParentSpanId) > 0 {
			t.Errorf("the span %q is of the trace %s, below %x", span.Name, of, span.ParentSpanId)
		}
		for _, said := range span.texts {
			for _, never := range []string{"stranger", "ANA20", forged, "example.com", host} {
				if strings.Contains(said, never) {
					t.Errorf("the span %q says %s", span.Name, said)
				}
			}
		}
	}
	wantNoTraceStored(t, s, append(ids, []byte(forged)))
	t.Setenv("TRIBUTARY_POSTGRES", s.dsn) // the owner's: a replay makes a schema
	if out, status := command(t, "verify"); status != 0 || !strings.Contains(out, "Equal: 1 orders") {
		t.Errorf("verify: exit status %d\n%s", status, out)
	}
}

// wantNoTraceStored looks for ids in the values of all records of Kafka and in all rows of PostgreSQL.
func wantNoTraceStored(t *testing.T, s *services, ids [][]byte) {
	t.Helper()
	read := 0
	look := func(place, text string) {
		read++
		for _, id := range ids {
			if strings.Contains(text, string(id)) || strings.Contains(text, hex.EncodeToString(id)) {
				t.Errorf("%s has the trace %x: %.300s", place, id, text)
			}
		}
	}
	client, err := kafka.NewClient(kafka.Config{Brokers: []string{os.Getenv("TRIBUTARY_KAFKA_BROKERS")}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, topic := range wire.Topics {
		partitions, err := client.Partitions(t.Context(), topic)
		if err != nil {
			t.Fatal(err)
		}
		for p := range partitions {
			records, err := client.ReadPartition(t.Context(), topic, p)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range records {
				look(topic, string(r.Key)+" "+string(r.Value))
			}
		}
	}
	if read < 5 {
		t.Errorf("only %d records were read", read)
	}
	conn, err := pgx.Connect(t.Context(), s.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), `select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
		where c.relkind in ('r', 'p') and not c.relispartition and n.nspname = 'public'`)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(tables) < 20 {
		t.Fatalf("%d tables: %v", len(tables), err)
	}
	before := read
	for _, table := range tables { // bytes are written as hexadecimal digits
		rows, err := conn.Query(t.Context(), "select r::text from "+table+" r")
		if err != nil {
			t.Fatal(err)
		}
		texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			look(table, text)
		}
	}
	if read-before < 20 {
		t.Errorf("only %d rows were read", read-before)
	}
}

// Without --trace-ratio nothing is recorded, also where OpenTelemetry's variables are set for other programs.
func TestTracingIsOffUnlessItIsAskedFor(t *testing.T) {
	f := func(ratio string, variables ...string) {
		t.Helper()
		c := traced(t, ratio)
		for _, v := range variables {
			name, value, _ := strings.Cut(v, "=")
			t.Setenv(name, value)
			defer t.Setenv(name, "")
		}
		s := startServices(t)
		s.edge.is(http.StatusOK, func() *http.Request { return s.request(http.MethodPost, s.edge.origin()+"/v1/events", s.event()) })
		for _, service := range []*running{s.edge, s.admin, s.processor} {
			service.stop() // sends what is queued
		}
		if list := c.all(); len(list) > 0 {
			t.Errorf("--trace-ratio %s, %v: %d spans came", ratio, variables, len(list))
		}
	}
	f("0", "OTEL_TRACES_EXPORTER=otlp", "OTEL_TRACES_SAMPLER=always_on")
	f("1", "OTEL_TRACES_EXPORTER=none")
	f("1", "OTEL_SDK_DISABLED=true")
}

// A collector that is not there, or hangs, holds up neither a request nor the end of a service.
func TestACollectorThatHangsHoldsUpNothing(t *testing.T) {
	hangs := make(chan struct{})
	c := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hangs }))
	defer c.Close()
	defer close(hangs)
	t.Setenv("TRIBUTARY_TRACE_RATIO", "1")
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
	s := startServices(t)
	began := time.Now()
	for range 20 {
		s.edge.is(http.StatusOK, func() *http.Request { return s.request(http.MethodPost, s.edge.origin()+"/v1/events", s.event()) })
	}
	if took := time.Since(began); took > await.Long/2 {
		t.Errorf("20 requests took %v", took)
	}
	began = time.Now()
	s.edge.stop()
	if took := time.Since(began); took > shutdownDelay["edge"]+traceShutdown+10*time.Second {
		t.Errorf("the edge needed %v to stop", took)
	}
}

func TestTraceSettingsThatCannotBeMeantAreRefused(t *testing.T) {
	for _, ratio := range []string{"-0.1", "1.1", "NaN", "Inf", "all"} {
		out, status := command(t, "processor", "--postgres", "postgres://nowhere.invalid/x", "--trace-ratio", ratio)
		if !refused(status) || !strings.Contains(out, "--trace-ratio") {
			t.Errorf("--trace-ratio %s: exit status %d\n%s", ratio, status, out)
		}
	}
	t.Setenv("OTEL_TRACES_EXPORTER", "zipkin")
	out, status := command(t, "processor", "--postgres", "postgres://nowhere.invalid/x", "--trace-ratio", "1")
	if !refused(status) || !strings.Contains(out, "OTEL_TRACES_EXPORTER") {
		t.Errorf("zipkin: exit status %d\n%s", status, out)
	}
}
