package admin

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// testServer serves one handler as if it were the dashboard.
func testServer(t *testing.T, log *bytes.Buffer, dashboard http.HandlerFunc) *Server {
	t.Helper()
	metrics, err := newMetrics(nil)
	if err != nil {
		t.Fatal(err)
	}
	s := rulesServer()
	s.log, s.metrics, s.mux = slog.New(slog.NewJSONHandler(log, nil)), metrics, http.NewServeMux()
	s.random, s.deps.Dashboard = strings.NewReader(strings.Repeat("r", 1000)), dashboard
	s.mount(s.mux)
	return s
}

func TestPanicIsA500EnvelopeThatTellsNothing(t *testing.T) {
	var log bytes.Buffer
	s := testServer(t, &log, func(http.ResponseWriter, *http.Request) { panic("password=hunter2") })
	out := httptest.NewRecorder()
	s.ServeHTTP(out, httptest.NewRequest("GET", "/dashboard", nil))
	var e envelope
	if err := json.Unmarshal(out.Body.Bytes(), &e); err != nil || out.Code != 500 || e.Error == nil || e.Error.Code != codeInternal || e.RequestID == "" {
		t.Errorf("%d %s", out.Code, out.Body)
	}
	if strings.Contains(out.Body.String(), "hunter2") || !strings.Contains(log.String(), "hunter2") {
		t.Errorf("the cause is for the log only: %s", out.Body)
	}
}

func TestAccessLogTellsRouteStatusAndTimeAndNoSecret(t *testing.T) {
	var log bytes.Buffer
	s := testServer(t, &log, nil)
	s.keys = newKeyRing(nil, nil, s.now, s.config.DependencyTimeout)
	request := httptest.NewRequest("POST", "/admin/v1/order?email=ana@example.com", strings.NewReader(`{"email":"ana@example.com"}`))
	request.Header.Set("Authorization", "Bearer trb_live_secret")
	request.Header.Set("X-Request-Id", "mine")
	s.ServeHTTP(httptest.NewRecorder(), request)
	var line map[string]any
	if err := json.Unmarshal(log.Bytes(), &line); err != nil {
		t.Fatalf("%s: %v", &log, err)
	}
	if line["request_id"] != "mine" || line["route"] != "/admin/v1/order" || line["status"] != 401.0 || line["method"] != "POST" || line["duration_ms"] == nil {
		t.Errorf("%s", &log)
	}
	for _, secret := range []string{"trb_live", "ana@"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("%q is in the log: %s", secret, &log)
		}
	}
}
