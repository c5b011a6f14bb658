package admin

import (
	"net/http"
	"strings"
)

// Mux serves the API, and the pages at every path that is not the API's. Requests of both are logged and measured in the
// same way. While Deps.Secret fails, both answer 503: with a wrong secret a sale would be joined to nobody, and an erasure
// would find nothing.
func Mux(api *Server, pages http.Handler) http.Handler {
	pages = plain("dashboard", pages)
	refused := plain("refused", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := unavailable()
		p.message = "this process has the wrong hashing secret, and takes no requests; retry the same request"
		api.writeProblem(w, r, p)
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !ofHealth(r.URL.Path) && api.deps.Secret(r.Context()) != nil:
			api.observer.serve(w, r, refused, brokenPage)
		case ofAPI(r.URL.Path) || unclean(r):
			api.ServeHTTP(w, r)
		default:
			api.observer.serve(w, r, pages, brokenPage)
		}
	})
}

// ofAPI reports whether a path is the API's.
func ofAPI(path string) bool {
	for _, base := range []string{liveBase, sandboxBase} {
		if rest, found := strings.CutPrefix(path, base); found && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return ofHealth(path)
}

// ofHealth reports whether a path tells how the process is.
func ofHealth(path string) bool {
	return path == healthPath || path == readyPath || path == metricsPath
}

func brokenPage(w http.ResponseWriter, _ *http.Request, p *problem) {
	http.Error(w, p.message, p.status)
}
