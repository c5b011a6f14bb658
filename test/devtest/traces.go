package devtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/tributary-io/tributary/internal/tracing"
	"github.com/tributary-io/tributary/internal/wire"
)

// Spans are those that a tracer of Traces has recorded and that have ended.
type Spans struct {
	t        testing.TB
	exporter *tracetest.InMemoryExporter
}

// Traces makes a tracer that keeps a share of traces, 0 to 1, in memory.
func Traces(t testing.TB, ratio float64) (*tracing.Tracer, *Spans) {
	exporter := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter), sdktrace.WithSampler(sdktrace.AlwaysSample()))
	t.Cleanup(func() { _ = provider.Shutdown(context.Background()) })
	return tracing.New(provider.Tracer("test"), ratio), &Spans{t, exporter}
}

// All returns the spans that have ended, those that ended first being the first. It fails the test where one of them has an attribute
// that is not allowed, a trace state, an event, a link or a text about its status.
func (s *Spans) All() tracetest.SpanStubs {
	s.t.Helper()
	list := s.exporter.GetSpans()
	for i := range list {
		span := &list[i]
		for _, a := range span.Attributes {
			if !slices.Contains(tracing.AllowedKeys(), string(a.Key)) {
				s.t.Errorf("the span %q has the attribute %s", span.Name, a.Key)
			}
		}
		if span.SpanContext.TraceState().Len()+len(span.Events)+len(span.Links)+len(span.Status.Description) > 0 {
			s.t.Errorf("the span %q says more than its attributes", span.Name)
		}
	}
	return list
}

// Named returns the span of a name; there must be one.
func (s *Spans) Named(name string) tracetest.SpanStub {
	s.t.Helper()
	var names []string
	for _, span := range s.All() {
		if span.Name == name {
			return span
		}
		names = append(names, span.Name)
	}
	s.t.Fatalf("no span is named %q, but there are %q", name, names)
	return tracetest.SpanStub{}
}

// MentionNone fails the test where a span has one of some texts.
func (s *Spans) MentionNone(texts ...string) {
	s.t.Helper()
	for _, span := range s.All() {
		said := span.Name
		for _, a := range span.Attributes {
			said += fmt.Sprintf(" %s=%s", a.Key, a.Value.String())
		}
		for _, text := range texts {
			if strings.Contains(said, text) {
				s.t.Errorf("a span mentions %q: %s", text, said)
			}
		}
	}
}

// TraceOf names a span as records do.
func TraceOf(span tracetest.SpanStub) wire.Trace {
	return wire.Trace{TraceID: span.SpanContext.TraceID(), SpanID: span.SpanContext.SpanID()}
}
