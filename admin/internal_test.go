package admin_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/admin"
)

func TestWithAnInternalPortThePublicOneOnlySaysReadyOrNot(t *testing.T) {
	s := start(t, admin.Config{Internal: true})
	if got := s.call("GET", "/readyz", "", ""); got.Status != 200 || len(got.Data) != 0 {
		t.Errorf("readyz: %d %s", got.Status, got.Data)
	}
	if got := s.call("GET", "/metrics", "", ""); got.Status != 404 {
		t.Errorf("metrics: %d", got.Status)
	}
	internal := func(path string, status int, want string) {
		t.Helper()
		recorder := httptest.NewRecorder()
		s.server.Internal().ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), "GET", path, nil))
		if body := recorder.Body.String(); recorder.Code != status || !strings.Contains(body, want) {
			t.Errorf("%s: %d %.200s", path, recorder.Code, body)
		}
	}
	internal("/healthz", 200, `"status":"ok"`)
	internal("/readyz", 200, `"postgres":"ok"`)
	internal("/metrics", 200, `tributary_admin_requests_total{`)
	internal("/admin/v1/influencers", 404, "")
}
