package admin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/internal/scrub"
	"github.com/tributary-io/tributary/internal/tracing"
)

// observer does what requests of the API and of the pages have in common: it
// gives each an id, writes the access log, counts it, and answers when its
// handler panics.
type observer struct {
	log     *slog.Logger
	now     func() time.Time
	random  io.Reader
	metrics *metrics
	leaving func() bool // Config.Leaving
	tracer  *tracing.Tracer
}

// requestInfo is what is known of a request beside its answer. Handlers fill it in.
type requestInfo struct {
	// For the access log.
	id      string
	route   string
	company string

	notes *notes // of its body; nil where none was read
}

type requestKey struct{}

// requestOf returns the info of a request that came through an observer.
func requestOf(r *http.Request) *requestInfo {
	info, ok := r.Context().Value(requestKey{}).(*requestInfo)
	if !ok {
		return &requestInfo{}
	}
	return info
}

// serve serves a request with a handler. broken answers where the handler
// panicked before it answered.
func (o *observer) serve(w http.ResponseWriter, r *http.Request, handler http.Handler,
	broken func(http.ResponseWriter, *http.Request, *problem)) {
	start := o.now()
	info := &requestInfo{id: o.requestID(r.Header.Get("X-Request-Id")), route: "unknown"}
	span := o.beginSpan(r, start)
	r = r.WithContext(tracing.Within(context.WithValue(r.Context(), requestKey{}, info), span))
	w.Header().Set("X-Request-Id", info.id)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if o.leaving() {
		w.Header().Set("Connection", "close") // so that no request comes on it when it is closed
	}
	out := &recorder{ResponseWriter: w}
	defer func() { //nolint:contextcheck // the request carries it
		if cause := recover(); cause != nil {
			if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(cause)
			}
			o.log.ErrorContext(r.Context(), "panic", "request_id", info.id, "route", info.route, "cause", fmt.Sprint(cause), "stack",
				string(debug.Stack()))
			if out.status == 0 {
				broken(out, r, &problem{status: http.StatusInternalServerError, code: codeInternal, message: messageInternal})
			}
		}
		ended := o.now()
		took := ended.Sub(start)
		o.metrics.observe(info.route, r.Method, out.status, took)
		level := slog.LevelInfo
		if ofHealth(info.route) { // load balancers ask all the time
			level = slog.LevelDebug
		}
		line := []any{"request_id", info.id, "method", r.Method, "route", info.route,
			"company", info.company, "status", out.status, "duration_ms", took.Milliseconds()}
		if span != nil {
			line = append(line, "trace_id", span.TraceID())
			if info.company != "" {
				span.Set(tracing.Company(info.company))
			}
			span.Answered(r.Method, info.route, out.status)
			span.End(ended)
		}
		o.log.Log(r.Context(), level, "request", line...)
	}()
	handler.ServeHTTP(out, r)
}

// beginSpan begins the trace of a request, where it is among those that are recorded. No header of the request has a part in that:
// traceparent, tracestate and baggage are not read anywhere.
func (o *observer) beginSpan(r *http.Request, at time.Time) *tracing.Span {
	if o.tracer == nil || ofHealth(r.URL.Path) {
		return nil
	}
	return o.tracer.Root("request", tracing.Server, at)
}

// maxRequestID bounds an incoming X-Request-Id in bytes.
const maxRequestID = 128

// requestID returns the incoming id where it is short and of plain characters,
// else a new one. The log holds it, so an id that may be a phone number is not kept.
func (o *observer) requestID(incoming string) string {
	if incoming != "" && len(incoming) <= maxRequestID && !strings.ContainsFunc(incoming, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.:", r)
	}) && scrub.Strict(incoming) == incoming {
		return incoming
	}
	id, err := uuid.NewV7FromReader(o.random)
	if err != nil {
		return "req_unknown" // no randomness is left: the request is answered all the same
	}
	return "req_" + id.String()
}

// recorder remembers the status for the log. Websockets work through it.
type recorder struct {
	http.ResponseWriter
	status int
}

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *recorder) Flush() {
	if flusher, ok := w.ResponseWriter.(http.Flusher); ok {
		flusher.Flush()
	}
}

func (w *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	hijacker, ok := w.ResponseWriter.(http.Hijacker)
	if !ok {
		return nil, nil, errors.New("admin: this connection cannot be hijacked")
	}
	w.status = http.StatusSwitchingProtocols
	return hijacker.Hijack()
}
