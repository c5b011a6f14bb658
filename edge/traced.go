package edge

import (
	"errors"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/tributary-io/tributary/internal/produce"
	"github.com/tributary-io/tributary/internal/tracing"
	"github.com/tributary-io/tributary/internal/wire"
)

// beginSpan begins the trace of a request, where it is among those that are recorded. No header of the request has a part in that:
// traceparent, tracestate and baggage are not read anywhere.
func (s *Server) beginSpan(ctx *fasthttp.RequestCtx) *tracing.Span {
	if s.deps.Tracer == nil {
		return nil
	}
	switch path := s.pathOf(ctx); {
	case path == "/healthz", path == "/readyz", path == "/metrics", strings.HasPrefix(path, "/sdk/"): // asked all the time
		return nil
	}
	return s.deps.Tracer.Root("request", tracing.Server, s.deps.Now())
}

// endSpan ends a request's trace.
func (s *Server) endSpan(ctx *fasthttp.RequestCtx, span *tracing.Span, route string) {
	if span != nil {
		span.Answered(string(ctx.Method()), route, ctx.Response.StatusCode())
		span.End(s.deps.Now())
	}
}

// beginSend begins the span of the records that a request sends: it is their trace.
func (s *Server) beginSend(ctx *fasthttp.RequestCtx, companyID string) *tracing.Span {
	span := requestOf(ctx).span
	if span == nil {
		return nil
	}
	send := span.Child("send "+wire.TopicEvents, tracing.Produce, s.deps.Now())
	send.Set(tracing.Kafka(), tracing.Topic(wire.TopicEvents), tracing.Company(companyID))
	return send
}

// errPanicked is why nothing is known of records whose handler did not come to its end.
var errPanicked = errors.New("the handler panicked")

// endSend ends it, with how many records were sent, and where they are safe; none of that is known where err says why not.
func (s *Server) endSend(send *tracing.Span, records int, durable produce.Durability, err error) {
	if send == nil {
		return
	}
	send.Set(tracing.Records(records))
	if err == nil {
		send.Set(tracing.Durability(string(durable)))
	} else {
		send.Fail()
	}
	send.End(s.deps.Now())
}
