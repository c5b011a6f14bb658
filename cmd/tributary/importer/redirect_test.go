package importer

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A redirect would send the lines, with their shoppers, to another host: it is not followed, and nothing was accepted.
func TestARedirectIsNotFollowed(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another host got %s %s", r.Method, r.URL)
	}))
	t.Cleanup(other.Close)
	for _, status := range []int{http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		e := newEdge(t)
		e.before = func(_ int, w http.ResponseWriter) bool {
			w.Header().Set("Location", other.URL+"/v1/events")
			w.WriteHeader(status)
			return true
		}
		text, _ := eventLines(3)
		s, err := Events(t.Context(), Config{File: "-", Stdin: strings.NewReader(text), StateDir: t.TempDir(), Backoff: quick}, e.URL, "c_1", "k")
		if err == nil && s.Accepted != 0 || e.requests == 0 {
			t.Errorf("%d: %+v, %v after %d requests", status, s, err, e.requests)
		}
	}
}
