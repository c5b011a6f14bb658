package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// testServer is an API that logs, and has nothing behind it.
func testServer(t *testing.T, log *bytes.Buffer) *Server {
	t.Helper()
	metrics, err := newMetrics(nil)
	if err != nil {
		t.Fatal(err)
	}
	s := rulesServer()
	s.config.defaults()
	s.deps.Secret = func(context.Context) error { return nil }
	s.log, s.metrics, s.mux = slog.New(slog.NewJSONHandler(log, nil)), metrics, http.NewServeMux()
	s.observer = &observer{log: s.log, now: s.now, random: strings.NewReader(strings.Repeat("r", 1000)), metrics: metrics,
		leaving: s.config.Leaving}
	s.mount(s.mux)
	return s
}

func TestPanicIsA500ThatTellsNothing(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := testServer(t, &log)
	broken := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("password=hunter2") })
	s.mux.Handle("/admin/v1/broken", broken)
	f := func(path, contentType string) *httptest.ResponseRecorder {
		t.Helper()
		log.Reset()
		out := httptest.NewRecorder()
		Mux(s, broken).ServeHTTP(out, httptest.NewRequest("GET", path, nil))
		if out.Code != 500 || !strings.HasPrefix(out.Header().Get("Content-Type"), contentType) || out.Header().Get("X-Request-Id") == "" {
			t.Errorf("%s: %d %v %s", path, out.Code, out.Header(), out.Body)
		}
		if strings.Contains(out.Body.String(), "hunter2") || !strings.Contains(log.String(), "hunter2") {
			t.Errorf("the cause is for the log only: %s", out.Body)
		}
		return out
	}
	out := f("/admin/v1/broken", "application/json")
	var e envelope
	if err := json.Unmarshal(out.Body.Bytes(), &e); err != nil || e.Error == nil || e.Error.Code != codeInternal || e.RequestID == "" {
		t.Errorf("%s: %v", out.Body, err)
	}
	f("/dashboard/", "text/plain")
}

func TestPagesHaveEveryPathThatIsNotTheAPIs(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := testServer(t, &log)
	mux := Mux(s, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	f := func(path string, pages bool) {
		t.Helper()
		log.Reset()
		out := httptest.NewRecorder()
		mux.ServeHTTP(out, httptest.NewRequest("GET", path, nil))
		if (out.Code == http.StatusTeapot) != pages || strings.Contains(log.String(), `"route":"dashboard"`) != pages {
			t.Errorf("%s: %d, want a page: %t; %s", path, out.Code, pages, &log)
		}
	}
	for _, path := range []string{"/", "/dashboard/", "/dashboard/login?next=//x", "/nowhere", "/admin", "/admin/v10", "/sandbox/"} {
		f(path, true)
	}
	for _, path := range []string{"/admin/v1", "/admin/v1/", "/admin/v1/nowhere", "/sandbox/admin/v1/nowhere", "/healthz",
		"/readyz", "/metrics",
		"//dashboard/", "/dashboard/../admin/v1/order"} {
		f(path, false)
	}
}

func TestAccessLogTellsRouteStatusAndTimeAndNoSecret(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := testServer(t, &log)
	s.keys = newKeyCache(nil, nil, s.now, s.config.DependencyTimeout)
	request := httptest.NewRequest("POST", "/admin/v1/order?email=ana@example.com", strings.NewReader(`{"email":"ana@example.com"}`))
	request.Header.Set("Authorization", "Bearer trb_live_secret")
	request.Header.Set("X-Request-Id", "mine")
	s.ServeHTTP(httptest.NewRecorder(), request)
	var line map[string]any
	if err := json.Unmarshal(log.Bytes(), &line); err != nil {
		t.Fatalf("%s: %v", &log, err)
	}
	if line["request_id"] != "mine" || line["route"] != "/admin/v1/order" || line["status"] != 401.0 || line["method"] != "POST" ||
		line["duration_ms"] == nil {
		t.Errorf("%s", &log)
	}
	for _, secret := range []string{"trb_live", "ana@"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("%q is in the log: %s", secret, &log)
		}
	}
}
