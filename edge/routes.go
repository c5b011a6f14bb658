package edge

import (
	"errors"
	"fmt"
	"net"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/tributary-io/tributary/internal/identity"
)

// handle serves one request, with an id, and counts it. A panic is answered 500
// and logged: it ends that request alone.
func (s *Server) handle(ctx *fasthttp.RequestCtx) {
	s.open.handling.Add(1)
	defer s.open.handling.Add(-1)
	id := string(ctx.Request.Header.Peek("X-Request-Id"))
	if shortCode(id) == "" || identity.ScrubStrict(id) != id { // the log may hold it
		id = ""
	}
	route := "none"
	s.serveWithRecovery(ctx, id, func() { route = s.route(ctx) })
	s.metrics.countRequest(route, ctx.Response.StatusCode())
}

// guarded serves a request under its id, a new one if it is empty, and answers
// 500 if that panics.
func (s *Server) serveWithRecovery(ctx *fasthttp.RequestCtx, id string, serve func()) {
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		s.deps.Logger.Error("a request's handler panicked", "request_id", id, "method", string(ctx.Method()), "panic", fmt.Sprint(cause), "stack", string(debug.Stack()))
		ctx.Response.Reset()
		ctx.Response.Header.Set("X-Request-Id", id)
		s.allowOrigin(ctx)
		s.refuse(ctx, refusedPanic)
	}()
	if id == "" {
		id = s.deps.NewID()
	}
	ctx.SetUserValue(requestIDKey, id)
	ctx.Response.Header.Set("X-Request-Id", id)
	serve()
}

// routeEvents is POST /v1/events in the metrics.
const routeEvents = "events"

// route calls the handler of the request's path and returns the route's name
// for metrics. These are all routes of the edge. The fixed paths come first, so
// that a host for short links has them too.
func (s *Server) route(ctx *fasthttp.RequestCtx) string {
	path := string(ctx.Path())
	if s.config.Prefix != "" {
		if rest, found := strings.CutPrefix(path, s.config.Prefix); found && strings.HasPrefix(rest, "/") {
			path = rest
		}
	}
	switch {
	case path == "/v1/events":
		s.allowCrossOrigin(ctx, "POST", func() { s.collect(ctx) })
		return routeEvents
	case path == "/v1/pixel.gif":
		s.allowCrossOrigin(ctx, "GET", func() { s.pixel(ctx) })
		return "pixel"
	case path == "/v1/schema.json":
		s.allowMethods(ctx, "GET, HEAD", func() { s.serveAsset(ctx, s.schema) })
		return "schema"
	case strings.HasPrefix(path, "/sdk/v1/"):
		s.allowMethods(ctx, "GET, HEAD", func() { s.asset(ctx, strings.TrimPrefix(path, "/sdk/v1/")) })
		return "sdk"
	case path == "/healthz":
		s.allowMethods(ctx, "GET, HEAD", func() { s.healthz(ctx) })
		return "healthz"
	case path == "/readyz":
		s.allowMethods(ctx, "GET, HEAD", func() { s.readyz(ctx) })
		return "readyz"
	case path == "/metrics":
		s.allowMethods(ctx, "GET, HEAD", func() { s.metricsPage(ctx) })
		return "metrics"
	}
	if code := s.linkCode(ctx, path); code != "" {
		s.allowMethods(ctx, "GET, HEAD", func() { s.shortLink(ctx, code) })
		return "link"
	}
	if strings.HasPrefix(path, s.config.ShortPath+"/") {
		s.answerNoLink(ctx)
		return "link"
	}
	s.refuse(ctx, refusedNotFound)
	return "none"
}

// linkCode is the short code that the request names, "" for another route.
func (s *Server) linkCode(ctx *fasthttp.RequestCtx, path string) string {
	if rest, found := strings.CutPrefix(path, s.config.ShortPath+"/"); found {
		return shortCode(rest)
	}
	if s.config.ShortHost != "" && strings.ToLower(string(ctx.Host())) == s.config.ShortHost {
		return shortCode(strings.TrimPrefix(path, "/"))
	}
	return ""
}

// allowMethods calls serve if the request has one of the methods ("GET, HEAD"),
// and answers 405 otherwise.
func (s *Server) allowMethods(ctx *fasthttp.RequestCtx, methods string, serve func()) {
	method := string(ctx.Method())
	for allowed := range strings.SplitSeq(methods, ", ") {
		if method == allowed {
			serve()
			return
		}
	}
	ctx.Response.Header.Set("Allow", methods)
	s.refuse(ctx, refusedMethod(methods))
}

// allowCrossOrigin is allowMethods for a route that pages of other origins use.
func (s *Server) allowCrossOrigin(ctx *fasthttp.RequestCtx, methods string, serve func()) {
	if ctx.IsOptions() {
		s.preflight(ctx, methods)
		return
	}
	s.allowOrigin(ctx)
	s.allowMethods(ctx, methods, serve)
}

// badRequest answers what fasthttp could not read as a request.
func (s *Server) refuseUnreadable(ctx *fasthttp.RequestCtx, err error) {
	r := refusedUnreadable
	var small *fasthttp.ErrSmallBuffer
	var network net.Error
	switch {
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		readRest(ctx.Conn(), s.config.MaxBody)
		r = refusedTooLarge
	case errors.As(err, &small):
		r = refusedHeaders
	case errors.As(err, &network) && network.Timeout():
		r = refusedTooSlow
	}
	s.serveWithRecovery(ctx, requestID(ctx), func() {
		s.allowOrigin(ctx)
		s.refuse(ctx, r)
	})
	s.metrics.requests.WithLabelValues("none", strconv.Itoa(ctx.Response.StatusCode())).Inc()
}

// Bounds of readRest. A client that pauses has written all, or waits.
const (
	restPause  = 50 * time.Millisecond
	restBodies = 4 // times the largest body
)

// readRest reads on after a body that was refused for its size, within bounds.
// A connection that is closed with unread data is reset, and a client that is
// still writing would see the reset instead of its answer.
func readRest(conn net.Conn, maxBody int) {
	buffer := make([]byte, 64<<10)
	for left := restBodies * maxBody; left > 0; {
		if conn.SetReadDeadline(time.Now().Add(restPause)) != nil {
			return
		}
		n, err := conn.Read(buffer)
		if err != nil {
			return
		}
		left -= n
	}
}
