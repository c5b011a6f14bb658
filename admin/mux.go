package admin

import (
	"net/http"
	"strings"
)

// Mux serves the API, and the pages at every path that is not the API's.
// Requests of both are logged and measured in the same way.
func Mux(api *Server, pages http.Handler) http.Handler {
	pages = plain("dashboard", pages)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ofAPI(r.URL.Path) || unclean(r) {
			api.ServeHTTP(w, r)
			return
		}
		api.observer.serve(w, r, pages, brokenPage)
	})
}

// ofAPI reports whether a path is the API's.
func ofAPI(path string) bool {
	for _, base := range []string{liveBase, sandboxBase} {
		if rest, found := strings.CutPrefix(path, base); found && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return path == healthPath || path == readyPath || path == metricsPath
}

func brokenPage(w http.ResponseWriter, _ *http.Request, p *problem) {
	http.Error(w, p.message, p.status)
}
