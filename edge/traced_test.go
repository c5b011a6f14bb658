package edge

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/tracing"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/devtest"
)

// What a stranger sends to steer tracing. All of it has the word stranger.
const forgedTrace = "4bf92f3577b34da6a3ce929d0e0e4736"

var strangersHeaders = []string{
	"traceparent: 00-" + forgedTrace + "-00f067aa0ba902b7-01",
	"tracestate: stranger=1," + strings.Repeat("stranger@stranger=x,", 600) + "o=stranger",
	"baggage: stranger=ana%40example.com,userId=stranger",
	"b3: " + forgedTrace + "-00f067aa0ba902b7-1",
	"X-B3-Sampled: 1", "X-Request-Id: stranger-1",
	"User-Agent: stranger/1.0",
}

// traced reads the traces of the records of events.v1.
func (s *stand) traced() (found []wire.Fetched) {
	s.t.Helper()
	group := kafka.NewGroup(s.kafka, "traced", nil, wire.TopicEvents)
	read := errors.New("read")
	for p := range devtest.Partitions {
		_, end, err := group.Bounds(s.t.Context(), wire.TopicEvents, p)
		if err != nil {
			s.t.Fatal(err)
		}
		if end == 0 {
			continue
		}
		err = group.Read(s.t.Context(), wire.TopicEvents, p, 0, func(r wire.Fetched) error {
			if found = append(found, r); r.Offset+1 >= end {
				return read
			}
			return nil
		})
		if !errors.Is(err, read) {
			s.t.Fatal(err)
		}
	}
	return found
}

// A request's own traceparent is no parent. Nothing that it says comes into a span or a record.
func TestAStrangersTraceIsNoParent(t *testing.T) {
	tracer, spans := devtest.Traces(t, 1)
	s := newStand(t, func(_ *Config, d *Deps) { d.Tracer = tracer })
	s.post(http.StatusOK, fmt.Sprintf(`{"companyId":%q,"event":"PAGE_VIEW","eventId":%q,"identity":{"email":"stranger@example.com",
		"cart_token":"stranger-4f7d2a9b1c"},"context":{"page":{"url":"https://loja.example.com/?q=stranger"}}}`, testCompany, newID()),
		strangersHeaders...)
	root, send := spans.Named("POST events"), spans.Named("send events.v1")
	if root.Parent.IsValid() || root.SpanContext.TraceID().String() == forgedTrace {
		t.Errorf("the request's span has the parent %s and the trace %s", root.Parent.SpanID(), root.SpanContext.TraceID())
	}
	if send.Parent.SpanID() != root.SpanContext.SpanID() || send.SpanContext.TraceID() != root.SpanContext.TraceID() {
		t.Errorf("the records' span is below %s of %s", send.Parent.SpanID(), send.Parent.TraceID())
	}
	records := s.traced()
	if len(records) != 1 || records[0].Trace != devtest.TraceOf(send) {
		t.Fatalf("%d records, want one of %x: %x", len(records), devtest.TraceOf(send), records)
	}
	id := records[0].Trace
	for _, form := range [][]byte{id.TraceID[:], id.SpanID[:], []byte(hex.EncodeToString(id.TraceID[:])),
		[]byte(hex.EncodeToString(id.SpanID[:])), []byte(forgedTrace)} {
		if bytes.Contains(records[0].Value, form) {
			t.Errorf("the record's value has a trace's id: %s", records[0].Value)
		}
	}
	spans.MentionNone("stranger", "example.com", forgedTrace)
}

// No flag of a stranger makes a trace be recorded.
func TestAStrangerCannotOrderThatATraceIsRecorded(t *testing.T) {
	tracer, spans := devtest.Traces(t, 1e-12)
	s := newStand(t, func(_ *Config, d *Deps) { d.Tracer = tracer })
	for range 50 {
		s.post(http.StatusOK, fmt.Sprintf(`{"companyId":%q,"event":"PAGE_VIEW","eventId":%q}`, testCompany, newID()), strangersHeaders...)
	}
	if list := spans.All(); len(list) > 0 {
		t.Errorf("%d spans were recorded", len(list))
	}
	for _, r := range s.traced() {
		if r.Trace.IsRecorded() {
			t.Errorf("a record has the trace %x", r.Trace)
		}
	}
}

// Routes, not paths, are told of, and no method but HTTP's.
func TestSpansTellOfNoPath(t *testing.T) {
	tracer, spans := devtest.Traces(t, 1)
	s := newStand(t, func(_ *Config, d *Deps) { d.Tracer = tracer })
	s.do("GET", "/s/stranger?email=stranger@example.com", "")
	s.do("STRANGER", "/v1/events?stranger", "")
	s.do("GET", "/v1/pixel.gif?companyId=stranger&visitorId=stranger", "")
	s.do("GET", "/s/"+testCode+"?stranger=1", "", "Referer: https://stranger.example/")
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/sdk/v1/stranger.js"} {
		s.do("GET", path, "", strangersHeaders...)
	}
	spans.MentionNone("stranger", "STRANGER", testCode)
	spans.Named("_OTHER events")
	spans.Named("GET pixel")
	link, send := spans.Named("GET link"), spans.Named("send events.v1") // of the known code: the other has no event
	if n := len(spans.All()); n != 5 {
		t.Errorf("%d spans, want those of four requests and of one record", n)
	}
	if records := s.traced(); len(records) != 1 || records[0].Trace != devtest.TraceOf(send) {
		t.Errorf("the click's record has %x, not the trace of %s", records, link.SpanContext.TraceID())
	}
}

// A produce that fails is a span that failed, and so is its request.
func TestAFailedProduceIsAFailedSpan(t *testing.T) {
	tracer, spans := devtest.Traces(t, 1)
	server := benchServer(t)
	server.deps.Tracer = tracer
	server.batcher.Close(context.Background())
	ctx := benchRequest(1)
	server.handle(ctx)
	if ctx.Response.StatusCode() != http.StatusServiceUnavailable {
		t.Fatalf("%d %s", ctx.Response.StatusCode(), ctx.Response.Body())
	}
	for _, name := range []string{"POST events", "send events.v1"} {
		if span := spans.Named(name); span.Status.Code.String() != "Error" {
			t.Errorf("%s has the status %v", name, span.Status)
		}
	}
}

// BenchmarkTracing is the edge's handler alone, without a trace, with every hundredth recorded, and with each.
func BenchmarkTracing(b *testing.B) {
	for _, ratio := range []float64{0, 0.01, 1} {
		b.Run(fmt.Sprintf("ratio=%v", ratio), func(b *testing.B) {
			server := benchServer(b)
			if ratio > 0 {
				server.deps.Tracer = tracing.New(quietTracer(b), ratio)
			}
			requests := make([]*fasthttp.RequestCtx, b.N) // made before: they are not measured
			for i := range requests {
				requests[i] = benchRequest(1)
			}
			var next atomic.Int64
			b.SetParallelism(32)
			b.ReportAllocs()
			b.ResetTimer()
			began := processorTime(b)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					server.handle(requests[next.Add(1)-1])
				}
			})
			b.ReportMetric(float64(processorTime(b)-began)/float64(b.N), "cpu-ns/event")
		})
	}
}

// processorTime is what this process has used of the processors. Other programs of a busy machine have no part in it.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// quietTracer is OpenTelemetry's, with a queue whose spans nobody takes: what is measured is what a request waits for.
func quietTracer(b testing.TB) trace.Tracer {
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(tracetest.NewNoopExporter()), sdktrace.WithSampler(sdktrace.AlwaysSample()))
	b.Cleanup(func() { _ = provider.Shutdown(context.Background()) })
	return provider.Tracer("bench")
}
