package admin

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/lenient"
)

// caller is who calls an operation.
type caller struct {
	companyID string
	actor     string        // "key/<keyId>"
	keys      identity.Keys // of the company
	country   string        // of the company, ISO 3166-1 alpha-2: phones are read by it
	scopes    []account.Scope
}

// ServeHTTP serves the API.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.observer.serve(w, r, http.HandlerFunc(s.dispatch), s.writeProblem)
}

func (s *Server) dispatch(w http.ResponseWriter, r *http.Request) {
	if unclean(r) {
		s.unknownRoute(w, r)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// unclean reports whether ServeMux would redirect a path to a cleaned one. That
// answer would not be in our envelope, and clients turn a redirected POST into a
// GET.
func unclean(r *http.Request) bool {
	path := r.URL.EscapedPath()
	return strings.Contains(path, "//") ||
		slices.ContainsFunc(strings.Split(path, "/"), func(segment string) bool { return segment == "." || segment == ".." })
}

// resource serves one path. Other methods than its own are answered 405 with
// Allow; HEAD is answered as GET without a body, OPTIONS with Allow.
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
			s.operate(w, r, operation, environment) //nolint:contextcheck // the request carries it
		case r.Method == http.MethodOptions:
			w.Header().Set("Allow", allow)
			w.WriteHeader(http.StatusNoContent)
		default:
			s.writeProblem(w, r, &problem{status: http.StatusMethodNotAllowed, code: codeMethod,
				message: "this path takes " + allow, header: http.Header{"Allow": {allow}}})
		}
	})
}

// operate checks key, scope, rate and Idempotency-Key, then runs the operation.
func (s *Server) operate(w http.ResponseWriter, r *http.Request, operation route, environment string) {
	fail := func(err error) {
		p := problemOf(err)
		switch {
		case p.status < http.StatusInternalServerError:
		case r.Context().Err() != nil: // the client hung up, or the service stops
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
	if !operation.opensTo(entry.key) {
		fail(missingScope(operation.scope))
		return
	}
	if err := s.limits.take(w.Header(), entry.key.KeyID, operation.rate, s.now()); err != nil {
		fail(err)
		return
	}
	result, err := s.runOnce(w, r, operation,
		caller{companyID: entry.key.CompanyID, actor: "key/" + entry.key.KeyID, keys: entry.keys, country: entry.key.Country,
			scopes: entry.key.Scopes})
	if how := lenient.Handling(r.Header["Prefer"]...); how != "" && operation.method != http.MethodGet &&
		(err == nil || problemOf(err).status == http.StatusBadRequest) {
		w.Header().Set("Preference-Applied", "handling="+how)
	}
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

// plain serves a path that needs no key. name is its route in the log and in metrics.
func plain(name string, handler http.Handler) http.Handler {
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

// author returns the caller as the author of a change.
func (c caller) author(at time.Time) commerce.Author {
	return commerce.Author{CompanyID: c.companyID, Actor: c.actor, At: at}
}
