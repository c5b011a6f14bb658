// Package tracing records what requests and records cost, as spans of OpenTelemetry.
//
// What belongs here: which spans there may be, what they may say, and which traces are recorded. It sends nothing: cmd/tributary gives
// it OpenTelemetry's tracer. A nil *Tracer and a nil *Span record nothing and cost nothing, so services need not ask whether tracing is
// on. No other package of a service names OpenTelemetry: so nothing else can become an attribute, above all no text that a client chose.
package tracing

import (
	"context"
	"math/rand/v2"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/tributary-io/tributary/internal/wire"
)

// Kind is what a span is to the other side.
type Kind = trace.SpanKind

// The kinds of spans that there are.
const (
	Internal = trace.SpanKindInternal
	Server   = trace.SpanKindServer
	Client   = trace.SpanKindClient
	Produce  = trace.SpanKindProducer
	Consume  = trace.SpanKindConsumer
)

// Tracer begins spans. Nil: nothing is recorded. Safe for concurrent use.
type Tracer struct {
	tracer trace.Tracer
	ratio  float64
}

// New makes a tracer that records a share of all traces, 0 to 1, with OpenTelemetry's.
func New(tracer trace.Tracer, ratio float64) *Tracer { return &Tracer{tracer: tracer, ratio: ratio} }

// Root begins a trace of its own, or returns nil where this one is not among those that are recorded. Nothing that a client sent has
// a part in that: a traceparent of a request is neither the parent nor an order to record.
func (t *Tracer) Root(name string, kind Kind, at time.Time) *Span {
	if t == nil || rand.Float64() >= t.ratio { //nolint:gosec // which traces are recorded is no secret
		return nil
	}
	return t.begin(context.Background(), name, kind, at)
}

// Follow begins a span of a trace that another of our processes began, or returns nil where parent is none that is recorded.
func (t *Tracer) Follow(parent wire.Trace, name string, kind Kind, at time.Time) *Span {
	if t == nil || !parent.IsRecorded() {
		return nil
	}
	return t.begin(trace.ContextWithRemoteSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: parent.TraceID, SpanID: parent.SpanID, TraceFlags: trace.FlagsSampled, Remote: true,
	})), name, kind, at)
}

func (t *Tracer) begin(parent context.Context, name string, kind Kind, at time.Time) *Span {
	ctx, span := t.tracer.Start(parent, name, trace.WithSpanKind(kind), trace.WithTimestamp(at))
	return &Span{tracer: t, ctx: ctx, span: span}
}

// Span is a part of a trace. Nil: it is not recorded. A span that is never ended is never sent.
type Span struct {
	tracer *Tracer
	ctx    context.Context //nolint:containedctx // it holds the span's place in its trace, and no deadline
	span   trace.Span
}

// Child begins a part of the span.
func (s *Span) Child(name string, kind Kind, at time.Time) *Span {
	if s == nil {
		return nil
	}
	return s.tracer.begin(s.ctx, name, kind, at)
}

// Answered says of the span of a request how it was answered, by the name of its route.
func (s *Span) Answered(method, route string, status int) {
	if s == nil {
		return
	}
	s.Set(Method(method), Route(route), Status(status))
	s.span.SetName(knownMethod(method) + " " + route)
	if status >= http.StatusInternalServerError {
		s.Fail()
	}
}

// Called says of the span of a request that was sent how it was answered, and ends it. route is our name for what was asked for. The
// span ends with the answer's headers.
func (s *Span) Called(method, route string, answer *http.Response, err error) {
	if s == nil {
		return
	}
	status := 0
	if err == nil {
		status = answer.StatusCode
	} else {
		s.Fail()
	}
	s.Answered(method, route, status)
	s.End(time.Now())
}

// Set adds attributes.
func (s *Span) Set(attributes ...Attribute) {
	if s == nil {
		return
	}
	for _, a := range attributes {
		s.span.SetAttributes(attribute.KeyValue(a))
	}
}

// Fail marks the span as failed. Why is in the log: an error's text may quote what a client sent.
func (s *Span) Fail() {
	if s != nil {
		s.span.SetStatus(codes.Error, "")
	}
}

// End ends the span, which is sent after that.
func (s *Span) End(at time.Time) {
	if s != nil {
		s.span.End(trace.WithTimestamp(at))
	}
}

// Trace names the span, for the header of a record; the zero value where nothing is recorded.
func (s *Span) Trace() wire.Trace {
	if s == nil {
		return wire.Trace{}
	}
	c := s.span.SpanContext()
	return wire.Trace{TraceID: c.TraceID(), SpanID: c.SpanID()}
}

// TraceID is the trace's id in hexadecimal digits, for the log; "" where nothing is recorded.
func (s *Span) TraceID() string {
	if s == nil {
		return ""
	}
	return s.span.SpanContext().TraceID().String()
}

// ID is the span's own id in hexadecimal digits; "" where nothing is recorded.
func (s *Span) ID() string {
	if s == nil {
		return ""
	}
	return s.span.SpanContext().SpanID().String()
}

type spanKey struct{}

// Within returns a context that carries the span.
func Within(ctx context.Context, s *Span) context.Context {
	if s == nil {
		return ctx
	}
	return context.WithValue(ctx, spanKey{}, s)
}

// Of returns the span that a context carries, or nil.
func Of(ctx context.Context) *Span {
	s, _ := ctx.Value(spanKey{}).(*Span)
	return s
}

// Attribute is something that a span says. The functions below make all that there are.
type Attribute attribute.KeyValue

// Keys of attributes: those of OpenTelemetry's semantic conventions, and our own.
const (
	keyMethod    = "http.request.method"
	keyRoute     = "http.route"
	keyStatus    = "http.response.status_code"
	keySystem    = "messaging.system"
	keyTopic     = "messaging.destination.name"
	keyPartition = "messaging.destination.partition.id"
	keyOffset    = "messaging.kafka.offset"
	keyRecords   = "messaging.batch.message_count"
	keyCompany   = "tributary.company"
	keyDurable   = "tributary.durability"
	keyEntries   = "tributary.ledger_entries"
	keyQueued    = "tributary.queued"
	keyPlatform  = "tributary.platform"
)

// AllowedKeys are the keys of all attributes that a span can have. None of them holds what a client chose.
func AllowedKeys() []string {
	return []string{keyMethod, keyRoute, keyStatus, keySystem, keyTopic, keyPartition, keyOffset, keyRecords, keyCompany, keyDurable,
		keyEntries, keyQueued, keyPlatform}
}

// Method is a request's method.
func Method(method string) Attribute {
	return Attribute(attribute.String(keyMethod, knownMethod(method)))
}

// knownMethod is a method, or "_OTHER" for one that HTTP does not have: a client may write anything there.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "_OTHER"
}

// Route is the route that answered a request, as the program names it: never the request's own path.
func Route(route string) Attribute { return Attribute(attribute.String(keyRoute, route)) }

// Status is the status of an answer.
func Status(status int) Attribute { return Attribute(attribute.Int(keyStatus, status)) }

// Topic is a topic of Kafka.
func Topic(topic string) Attribute { return Attribute(attribute.String(keyTopic, topic)) }

// Kafka says that the messages are Kafka's.
func Kafka() Attribute { return Attribute(attribute.String(keySystem, "kafka")) }

// Partition is a topic's partition.
func Partition(partition int) Attribute { return Attribute(attribute.Int(keyPartition, partition)) }

// Offset is a record's place in its partition.
func Offset(offset int64) Attribute { return Attribute(attribute.Int64(keyOffset, offset)) }

// Records is how many records were sent or applied together.
func Records(n int) Attribute { return Attribute(attribute.Int(keyRecords, n)) }

// Company is the id of the store's company, which we made.
func Company(id string) Attribute { return Attribute(attribute.String(keyCompany, id)) }

// Durability is where records are safe: kafka or spool.
func Durability(where string) Attribute { return Attribute(attribute.String(keyDurable, where)) }

// Entries is how many entries were appended to the order's ledger.
func Entries(n int) Attribute { return Attribute(attribute.Int(keyEntries, n)) }

// Queued says whether the order is computed later.
func Queued(queued bool) Attribute { return Attribute(attribute.Bool(keyQueued, queued)) }

// Platform is the name of a shop platform.
func Platform(name string) Attribute { return Attribute(attribute.String(keyPlatform, name)) }
