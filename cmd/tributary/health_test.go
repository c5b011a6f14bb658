package main

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestHealthAsksTheServiceOfItsVariables(t *testing.T) {
	ready := true
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !ready {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = w.Write([]byte("{\n \"kafka\": \x1b[2J}"))
	})
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	server := httptest.NewServer(mux)
	defer server.Close()
	addr := strings.TrimPrefix(server.URL, "http://")
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	f := func(status int, want string, args ...string) {
		t.Helper()
		out, got := command(t, append([]string{"health"}, args...)...)
		if got != status || !strings.Contains(out, want) || strings.Contains(out, "\x1b") {
			t.Errorf("health %v: exit status %d and %q, want %d and %q", args, got, out, status, want)
		}
	}
	f(statusUsage, "give --addr or --internal-addr")
	f(statusUsage, "--addr: address nonsense: missing port", "--addr", "nonsense")
	f(0, `{ "kafka": `, "--addr", addr)
	f(statusFailed, "connection refused", "--addr", "127.0.0.1:1")
	f(statusFailed, "--tls-cert: open ", "--addr", addr, "--tls-cert", filepath.Join(t.TempDir(), "none"))
	_, port, _ := strings.Cut(addr, ":")
	t.Setenv("TRIBUTARY_ADDR", ":1")
	t.Setenv("TRIBUTARY_INTERNAL_ADDR", ":"+port)
	f(0, `{ "kafka": `)
	ready = false
	f(statusFailed, "http://"+addr+`/readyz: 503 Service Unavailable: { "kafka": `)
	f(0, "", "--live")
}

// What leads elsewhere, and what never answers, is not healthy.
func TestHealthFollowsNothingAndWaitsForNobody(t *testing.T) {
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/readyz":
			http.Redirect(w, r, "/fine", http.StatusFound)
		case "/healthz":
			<-ended
		}
	}))
	defer server.Close()
	defer close(ended)
	addr := strings.TrimPrefix(server.URL, "http://")
	if out, status := command(t, "health", "--addr", addr); status != statusFailed || !strings.Contains(out, "302 Found") {
		t.Errorf("exit status %d and %s", status, out)
	}
	asked := time.Now()
	out, status := command(t, "health", "--addr", addr, "--live", "--timeout", "50ms")
	if took := time.Since(asked); status != statusFailed || !strings.Contains(out, "deadline exceeded") || took > 4*time.Second {
		t.Errorf("exit status %d after %v and %s", status, took, out)
	}
}

func TestHealthAsksTheLoopbackInterface(t *testing.T) {
	for addr, want := range map[string]string{":7700": "127.0.0.1:7700", "0.0.0.0:1": "127.0.0.1:1", "[::]:2": "[::1]:2",
		"10.0.0.1:3": "10.0.0.1:3", "edge:4": "edge:4"} {
		f := healthFlags{addr: addr}
		if got, err := f.url(); got != "http://"+want+"/readyz" {
			t.Errorf("%s is asked at %s: %v", addr, got, err)
		}
	}
}
