package edge

import (
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpadaptor"

	"github.com/tributary-io/tributary/edge/guard"
)

// handle serves one request, with an id, and counts it. A panic is answered 500
// and logged: it ends that request alone, and its connection.
func (s *Server) handle(ctx *fasthttp.RequestCtx) {
	route := s.serve(ctx)
	s.metrics.countRequest(route, ctx.Response.StatusCode())
}

// serve reads the headers, answers and returns the route's name for metrics. The memory
// of a request that panicked is not used again.
func (s *Server) serve(ctx *fasthttp.RequestCtx) (route string) {
	route = "none"
	defer s.answerPanic(ctx)
	r := s.begin(ctx)
	r.span = s.beginSpan(ctx)
	route = s.readAndRoute(ctx, &r.body)
	s.endSpan(ctx, r.span, route)
	s.pools.put(r)
	return route
}

// readAndRoute reads the body and calls the route's handler. The request is under way
// from then on.
func (s *Server) readAndRoute(ctx *fasthttp.RequestCtx, b *body) (route string) {
	defer b.end()
	if !s.readBody(ctx, b) {
		return "none"
	}
	if s.leaving() {
		ctx.SetConnectionClose() // so that no request comes on it when it is closed
	}
	s.open.Begin()
	defer s.open.End()
	return s.route(ctx)
}

// answerPanic is deferred around all that is done for a request: fasthttp would let a
// panic end the process. It answers a panic with 500.
func (s *Server) answerPanic(ctx *fasthttp.RequestCtx) {
	cause := recover()
	if cause == nil {
		return
	}
	r, begun := ctx.UserValue(requestKey).(*request)
	if !begun {
		r = new(request)
		ctx.SetUserValue(requestKey, r)
	}
	if len(r.id) == 0 {
		r.id = appendRequestID(r.id, time.Now())
	}
	s.deps.Logger.Error("a request's handler panicked", "request_id", string(r.id), "method", string(ctx.Method()), "panic", fmt.Sprint(cause),
		"stack", string(debug.Stack()))
	ctx.Response.Reset()
	ctx.SetConnectionClose() // its body may be unread
	setHeader(ctx, headerRequestID, r.id)
	setHeader(ctx, headerSniffing, noSniff)
	s.setStrict(ctx)
	s.allowOrigin(ctx)
	s.refuse(ctx, refusedPanic)
	s.endSpan(ctx, r.span, "none")
	r.span = nil
}

// routeEvents is POST /v1/events in the metrics.
const routeEvents = "events"

// route calls the handler of the request's path and returns the route's name
// for metrics. These are all routes of the edge. The fixed paths come first, so
// that a host for short links has them too.
func (s *Server) route(ctx *fasthttp.RequestCtx) string {
	path := s.pathOf(ctx)
	switch {
	case path == "/v1/events":
		if s.allowsCrossOrigin(ctx, "POST") {
			s.collect(ctx)
		}
		return routeEvents
	case path == "/v1/known":
		if s.allowsCrossOrigin(ctx, "POST") {
			s.knownEvents(ctx)
		}
		return "known"
	case path == "/v1/forget":
		if s.allowsCrossOrigin(ctx, "POST") {
			s.forgetVisitor(ctx)
		}
		return "forget"
	case path == "/v1/pixel.gif":
		if s.allowsCrossOrigin(ctx, "GET") {
			s.pixel(ctx)
		}
		return "pixel"
	case path == "/v1/schema.json":
		if s.allows(ctx, "GET, HEAD") {
			s.serveAsset(ctx, s.schema)
		}
		return "schema"
	case requestOf(ctx).segment:
		return s.segment(ctx, strings.TrimPrefix(path, segmentPath))
	case strings.HasPrefix(path, "/sdk/v1/"):
		if s.allows(ctx, "GET, HEAD") {
			s.asset(ctx, strings.TrimPrefix(path, "/sdk/v1/"))
		}
		return "sdk"
	case path == "/healthz":
		if s.allows(ctx, "GET, HEAD") {
			s.healthz(ctx)
		}
		return "healthz"
	case path == "/readyz":
		if s.allows(ctx, "GET, HEAD") {
			s.readyz(ctx)
		}
		return "readyz"
	case path == "/metrics" && !s.config.Internal:
		if s.allows(ctx, "GET, HEAD") {
			fasthttpadaptor.NewFastHTTPHandler(s.metricsHandler())(ctx)
		}
		return "metrics"
	}
	if code := s.linkCode(ctx, path); code != "" {
		if s.allows(ctx, "GET, HEAD") {
			s.shortLink(ctx, code)
		}
		return "link"
	}
	if strings.HasPrefix(path, s.config.ShortPath+"/") {
		s.answerNoLink(ctx)
		return "link"
	}
	if isSegmentsOwn(path) {
		if s.allowsCrossOrigin(ctx, "GET, POST") {
			s.refuse(ctx, refusedSegmentPath(s.config.Prefix, path))
		}
		return "none"
	}
	s.refuse(ctx, refusedNotFound)
	return "none"
}

// pathOf is the request's path without the prefix. It is good while the request is handled.
func (s *Server) pathOf(ctx *fasthttp.RequestCtx) string {
	path := guard.TextOf(ctx.Path())
	if s.config.Prefix != "" {
		if rest, found := strings.CutPrefix(path, s.config.Prefix); found && strings.HasPrefix(rest, "/") {
			path = rest
		}
	}
	return path
}

// linkCode is the short code that the request names, "" for another route.
func (s *Server) linkCode(ctx *fasthttp.RequestCtx, path string) string {
	if rest, found := strings.CutPrefix(path, s.config.ShortPath+"/"); found {
		return shortCode(rest)
	}
	if host := strings.ToLower(string(ctx.Host())); host != "" && (host == s.config.ShortHost || host == s.directory.shortBase()) {
		return shortCode(strings.TrimPrefix(path, "/"))
	}
	return ""
}

// allows tells whether the request has one of the methods ("GET, HEAD"), and
// answers 405 otherwise.
func (s *Server) allows(ctx *fasthttp.RequestCtx, methods string) bool {
	for rest, more := methods, true; more; {
		var allowed string
		if allowed, rest, more = strings.Cut(rest, ", "); allowed == string(ctx.Method()) {
			return true
		}
	}
	ctx.Response.Header.Set("Allow", methods)
	s.refuse(ctx, refusedMethod(methods))
	return false
}

// allowsCrossOrigin is allows for a route that pages of other origins use. It
// answers preflights.
func (s *Server) allowsCrossOrigin(ctx *fasthttp.RequestCtx, methods string) bool {
	if ctx.IsOptions() {
		s.preflight(ctx, methods)
		return false
	}
	s.allowOrigin(ctx)
	return s.allows(ctx, methods)
}

// refuseUnreadable answers what fasthttp could not read as a request.
func (s *Server) refuseUnreadable(ctx *fasthttp.RequestCtx, err error) {
	defer s.renewWriteDeadline(ctx)
	defer func() {
		s.metrics.requests.WithLabelValues("none", strconv.Itoa(ctx.Response.StatusCode())).Inc()
	}()
	defer s.answerPanic(ctx)
	made := s.begin(ctx)
	s.refuseRest(ctx, refusedRead(err))
	s.pools.put(made)
}

// expectBody lets every client send its body that asks first (Expect: 100-continue).
func (s *Server) expectBody(ctx *fasthttp.RequestCtx) (status int) {
	s.renewWriteDeadline(ctx)
	return fasthttp.StatusContinue
}

// renewWriteDeadline is for the answers before which fasthttp sets no deadline: that of
// the answer before, or of the TLS handshake, may have passed.
func (s *Server) renewWriteDeadline(ctx *fasthttp.RequestCtx) {
	_ = ctx.Conn().SetWriteDeadline(time.Now().Add(s.config.WriteTimeout)) // of a closed connection: the write fails too
}
