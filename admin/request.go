package admin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/identity"
)

// caller is who calls an operation.
type caller struct {
	companyID string
	actor     string        // "key/<keyId>"
	keys      identity.Keys // of the company
}

// requestInfo is what the access log tells of a request. It is filled along the way.
type requestInfo struct {
	id      string
	route   string
	company string
}

type requestKey struct{}

// requestOf gives the request's info; each request that came through Handler has one.
func requestOf(r *http.Request) *requestInfo {
	info, ok := r.Context().Value(requestKey{}).(*requestInfo)
	if !ok {
		return &requestInfo{}
	}
	return info
}

// ServeHTTP is the outermost part of the corridor.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := s.now()
	info := &requestInfo{id: s.requestID(r.Header.Get("X-Request-Id")), route: "unknown"}
	r = r.WithContext(context.WithValue(r.Context(), requestKey{}, info))
	w.Header().Set("X-Request-Id", info.id)
	out := &recorder{ResponseWriter: w}
	defer func() {
		if cause := recover(); cause != nil {
			if cause == http.ErrAbortHandler {
				panic(cause)
			}
			s.log.ErrorContext(r.Context(), "panic", "request_id", info.id, "route", info.route, "cause", fmt.Sprint(cause), "stack", string(debug.Stack()))
			if out.status == 0 {
				s.writeProblem(out, r, &problem{status: http.StatusInternalServerError, code: codeInternal, message: messageInternal})
			}
		}
		took := s.now().Sub(start)
		s.metrics.observe(info.route, r.Method, out.status, took)
		s.log.InfoContext(r.Context(), "request", "request_id", info.id, "method", r.Method, "route", info.route,
			"company", info.company, "status", out.status, "duration_ms", took.Milliseconds())
	}()
	// ServeMux would answer an unclean path with a redirect outside our
	// envelope, which turns a POST into a GET.
	if path := r.URL.EscapedPath(); strings.Contains(path, "//") || slices.ContainsFunc(strings.Split(path, "/"), func(segment string) bool { return segment == "." || segment == ".." }) {
		s.unknownRoute(out, r)
		return
	}
	s.mux.ServeHTTP(out, r)
}

// maxRequestID bounds an incoming X-Request-Id in bytes.
const maxRequestID = 128

// requestID keeps a sane incoming id, else makes one.
func (s *Server) requestID(incoming string) string {
	if incoming != "" && len(incoming) <= maxRequestID && !strings.ContainsFunc(incoming, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.:", r)
	}) {
		return incoming
	}
	id, err := uuid.NewV7FromReader(s.random)
	if err != nil {
		return "req_unknown" // the system has no randomness: answering matters more
	}
	return "req_" + id.String()
}

// resource serves one path: a method it has not is 405 with Allow, HEAD is
// GET's without a body, OPTIONS tells Allow.
func (s *Server) resource(pattern, environment string, methods map[string]route) http.Handler {
	var allowed []string
	for method := range methods {
		allowed = append(allowed, method)
	}
	if _, ok := methods[http.MethodGet]; ok {
		allowed = append(allowed, http.MethodHead)
	}
	allowed = append(allowed, http.MethodOptions)
	slices.Sort(allowed)
	allow := strings.Join(allowed, ", ")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requestOf(r).route = pattern
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet
		}
		operation, ok := methods[method]
		switch {
		case ok:
			s.operate(w, r, operation, environment)
		case r.Method == http.MethodOptions:
			w.Header().Set("Allow", allow)
			w.WriteHeader(http.StatusNoContent)
		default:
			s.writeProblem(w, r, &problem{status: http.StatusMethodNotAllowed, code: codeMethod,
				message: "this path takes " + allow, header: http.Header{"Allow": {allow}}})
		}
	})
}

// operate runs one operation: key, scope, rate, Idempotency-Key, then the
// resource's own part.
func (s *Server) operate(w http.ResponseWriter, r *http.Request, operation route, environment string) {
	fail := func(err error) {
		p := problemOf(err)
		switch {
		case p.status < http.StatusInternalServerError:
		case r.Context().Err() != nil: // the client hung up, or we are stopping: no fault of ours
			s.log.InfoContext(r.Context(), "request abandoned", "request_id", requestOf(r).id, "route", requestOf(r).route, "error", err)
		default:
			s.log.ErrorContext(r.Context(), "request failed", "request_id", requestOf(r).id, "route", requestOf(r).route, "error", err)
		}
		s.writeProblem(w, r, p)
	}
	entry, err := s.authenticate(r, environment)
	if err != nil {
		fail(err)
		return
	}
	requestOf(r).company = entry.key.CompanyID
	if !entry.key.Has(operation.scope) {
		fail(&problem{status: http.StatusForbidden, code: codeScope, message: "this needs an API key with the scope " + string(operation.scope)})
		return
	}
	if err := s.limits.take(w.Header(), entry.key.KeyID, operation.rate, s.now()); err != nil {
		fail(err)
		return
	}
	result, err := s.once(w, r, operation, caller{companyID: entry.key.CompanyID, actor: "key/" + entry.key.KeyID, keys: entry.keys})
	unchanged := false
	if err == nil && operation.method == http.MethodGet {
		unchanged, err = revalidated(w, r, result)
	}
	switch {
	case err != nil:
		fail(err)
	case unchanged:
		w.WriteHeader(http.StatusNotModified)
	default:
		s.writeAnswer(w, r, result)
	}
}

// plain serves a path without a key.
func (s *Server) plain(name string, handle http.HandlerFunc) http.Handler {
	return s.observed(name, handle)
}

func (s *Server) observed(name string, handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requestOf(r).route = name
		handler.ServeHTTP(w, r)
	})
}

func (s *Server) unknownRoute(w http.ResponseWriter, r *http.Request) {
	s.writeProblem(w, r, notFound("there is no such route"))
}

func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	s.writeAnswer(w, r, answer{data: map[string]string{"status": "ok"}})
}

// checkTimeout bounds each check of /readyz.
const checkTimeout = time.Second

func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	state := map[string]string{}
	failed := false
	for name, check := range s.deps.Checks {
		ctx, cancel := context.WithTimeout(r.Context(), checkTimeout)
		err := check(ctx)
		cancel()
		state[name] = "ok"
		if err != nil {
			// The cause may name hosts and users: it is for the log.
			s.log.WarnContext(r.Context(), "not ready", "check", name, "error", err)
			state[name], failed = "failing", true
		}
	}
	if failed {
		p := unavailable()
		p.message, p.data = "not every dependency answers", state
		s.writeProblem(w, r, p)
		return
	}
	s.writeAnswer(w, r, answer{data: state})
}

// recorder notes the status for the log, and lets websockets through.
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

// author is the caller as the author of a change of rules.
func (c caller) author(at time.Time) commerce.Author {
	return commerce.Author{CompanyID: c.companyID, Actor: c.actor, At: at}
}
